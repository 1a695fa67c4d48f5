"""Ranked answers from passages: the untuned model extracts one from each, and their scores are summed by answer.

For a system with evidence on a benchmark whose card ranks answers. A passage is read as by the tool for question
answering: its examples, the passage, the question.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.files import read_questions
from nightjar.benchmarks.question import Question
from nightjar.core.harness import Stage
from nightjar.core.journal import code, digest
from nightjar.core.predict_params import PredictBenchmark, System
from nightjar.lm.load import LanguageModel, device_name, load, prepare
from nightjar.tools.lines import lines
from nightjar.tools.question_answering import HEAD, prompt
from stages.predict.answers import limit
from stages.predict.output import publish
from stages.predict.prompts import MODEL, QUESTIONS
from stages.predict.ranked import ranked_row

Evidence = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Reading:
    """A question with a prompt for each of its passages, and the weights of these."""

    question: Question
    prompts: list[str]
    weights: list[float]

    @property
    def text(self) -> str:
        """What the model reads; the examples once."""
        return HEAD + "\n\n".join(self.prompts)


def readings(card: Card, questions: Sequence[Question], evidence: Evidence) -> list[Reading]:
    """The questions in their order. A passage's weight is its score, 0 for a negative one."""
    found = []
    for question in questions:
        rows = evidence.get(question.key, ())
        asked = card.query(question.parts)
        prompts = [prompt(asked, [(row["title"], row["text"])]) for row in rows]
        found.append(Reading(question, prompts, [max(row["score"], 0.0) for row in rows]))
    return found


def extracted(
    lm: LanguageModel, card: Card, asked: Sequence[Reading], settings: PredictBenchmark
) -> list[dict[str, Any]]:
    """The answers to questions of one task, in the columns of `answers.answering`; their passages are read together.

    A passage without an answer does not count. An extracted answer is whole: the rules for samples, `cut_at_full_stop`
    and `require_full_stop`, do not apply to it.
    """
    whole = settings.model_copy(update={"cut_at_full_stop": False, "require_full_stop": False})
    started = time.monotonic()
    most = limit(card, asked[0].question.task_id, settings)
    answers = iter(lines(lm, HEAD, [prompt for one in asked for prompt in one.prompts], most))
    found = []
    for one in asked:
        own = list(islice(answers, len(one.prompts)))
        given = ((answer.removesuffix("."), weight) for answer, weight in zip(own, one.weights, strict=True))
        texts = [(f"{answer}.", weight) for answer, weight in given if answer]
        tokens = sum(len(lm.tokenizer.encode(answer)) for answer in own)
        found.append(ranked_row(card, texts, whole) | {"calls": [], "new_tokens": tokens})
    seconds = round((time.monotonic() - started) / len(asked), 6)
    return [row | {"seconds": seconds} for row in found]


def run(stage: Stage, card: Card, system: System, evidence: Evidence) -> None:
    """A row of contracts.PREDICTIONS for each question; one without evidence gets an empty list."""
    settings, source = stage.params.predict.benchmark(card.name), QUESTIONS / card.name
    asked = readings(card, read_questions(source), evidence)
    prepare(stage.params.seed, stage.params.threads)
    lm = load(MODEL, settings.precision)
    decides = {
        "model": lm.sha256,
        "settings": settings.model_dump(),
        "machine": [device_name(), stage.params.threads],
        "card": [card.name, card.version],
        "code": [
            code("nightjar/lm", "stages/predict", "nightjar/prompts", "nightjar/tools"),
            *map(version, ("torch", "transformers")),
        ],
        "questions": digest({"all": [[*one.question.key, one.text, one.weights] for one in asked]}),
    }

    def answer(numbers: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        for _, task in groupby(numbers, lambda number: asked[number].question.task_id):
            own = list(task)
            for first in range(0, len(own), settings.batch_size):
                some = own[first : first + settings.batch_size]
                yield from zip(some, extracted(lm, card, [asked[n] for n in some], settings), strict=True)

    with stage.resumed_in_any_order(decides, len(asked), answer, "questions") as given:
        if given is None:
            return
        rows = [
            {
                **row,
                "prompt": one.text,
                "prompt_sha256": hashlib.sha256(one.text.encode()).hexdigest(),
                "prompt_tokens": len(lm.tokenizer.encode(one.text)),
                "model_sha256": lm.sha256,
                "adapter_sha256": None,
            }
            for one, row in zip(asked, given, strict=True)
        ]
        publish(stage, system, [one.question for one in asked], rows)
    stage.reads(source, Path(system.evidence), MODEL)
    stage.details["passages"] = sum(len(one.prompts) for one in asked)
