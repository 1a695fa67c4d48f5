"""Predictions of one system: the untuned model, or one trained by a recipe, which says what its prompts carry."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from nightjar.core.params import Encoding, PredictBenchmark
from nightjar.lm.forward import Prefix, common_length, prefill
from nightjar.lm.load import LanguageModel
from nightjar.lm.sample import Sampling, generator_for
from nightjar.lm.tokenizer import Tokenizer
from nightjar.prompts.model_text import model_input
from nightjar.tools.calendar import find_date
from nightjar.tools.decode import answer


@dataclass(frozen=True)
class Question:
    """What the model is asked for one instance: the prompt, its ids, and the day that the calendar would tell."""

    task_id: str
    id: str
    prompt: str
    ids: list[int]
    day: date | None

    @property
    def sha256(self) -> str:
        """Of the prompt's text."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()


def ask(
    tokenizer: Tokenizer,
    instances: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    evidence: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
    passages: int,
    options: Encoding,
) -> list[Question]:
    """The question of every instance (contracts.TEST), in their order, with at most `passages` of its evidence."""
    questions = []
    for row in instances:
        task_id, id = row["task_id"], row["id"]
        found = evidence.get((task_id, id), ())[:passages]
        text = model_input(tasks[task_id], row["input"], options, tokenizer, found, tokenizer.encoder_decoder)
        ids = tokenizer.encode(text)
        if tokenizer.encoder_decoder:
            # A text that was cut to length may have more tokens when read again: it is cut once more (facts 1.7).
            ids = tokenizer.fit(ids, options.max_source_length)
        questions.append(Question(task_id, id, text, ids, find_date(row["input"])))
    return questions


def answering(
    lm: LanguageModel,
    questions: Sequence[Question],
    batches: Sequence[Sequence[int]],
    settings: PredictBenchmark,
    calls: bool,
    seed: int,
) -> Callable[[int], list[dict[str, Any]]]:
    """A function that answers the batch of a number: for each of its rows prediction, text, calls, new_tokens, seconds.

    `batches` are those of `batches.plan`. With `calls` the model may call tools; the calendar tells the day that the
    instance's own input names, and has no answer where it names none. `seconds` are those of a batch divided by its
    rows. An answer does not hang on which batches were answered before.
    """
    shared = _Shared(lm, questions)

    def answer_batch(number: int) -> list[dict[str, Any]]:
        rows = batches[number]
        started = time.monotonic()
        base = shared.of(questions[rows[0]].task_id)
        given = _answer(lm, [questions[row] for row in rows], settings, calls, seed, base)
        seconds = (time.monotonic() - started) / len(rows)
        return [{**row, "seconds": round(seconds, 6)} for row in given]

    return answer_batch


def in_order(
    batches: Sequence[Sequence[int]], given: Iterable[Sequence[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The answers of all batches in the order of the questions."""
    found = {
        row: answer
        for rows, answers in zip(batches, given, strict=True)
        for row, answer in zip(rows, answers, strict=True)
    }
    return [found[row] for row in sorted(found)]


class _Shared:
    """What all prompts of a task begin with, computed once a task.

    It hangs on the questions alone, not on which batches are still to be answered: a resumed run computes the same.
    """

    def __init__(self, lm: LanguageModel, questions: Sequence[Question]) -> None:
        self.lm = lm
        self.task_id: str | None = None
        self.base: Prefix | None = None
        self.prompts: dict[str, list[list[int]]] = {}
        for question in questions:
            self.prompts.setdefault(question.task_id, []).append(question.ids)

    def of(self, task_id: str) -> Prefix | None:
        if self.lm.encoder_decoder:
            return None
        if task_id != self.task_id:
            prompts = self.prompts[task_id]
            length = min(common_length(prompts), min(map(len, prompts)) - 1) if len(prompts) > 1 else 0
            self.task_id = task_id
            self.base = prefill(self.lm, prompts[0][:length]) if length > 0 else None
        return self.base


def _answer(
    lm: LanguageModel,
    questions: Sequence[Question],
    settings: PredictBenchmark,
    calls: bool,
    seed: int,
    base: Prefix | None,
) -> list[dict[str, Any]]:
    sampling = None
    if settings.temperature > 0:
        generators = [generator_for(seed, question.sha256) for question in questions]
        sampling = Sampling(settings.temperature, generators, settings.top_p)
    answers = answer(
        lm,
        [question.ids for question in questions],
        [question.day for question in questions],
        settings.max_new_tokens,
        settings.stop,
        settings.call_top_k if calls else 0,
        settings.max_calls,
        sampling,
        base,
    )
    return [
        {
            "prediction": before_full_stop(given.prediction)
            if settings.cut_at_full_stop
            else given.prediction,
            "text": given.text,
            "calls": [{"tool": c.call.tool, "input": c.call.input, "result": c.result} for c in given.calls],
            "new_tokens": given.tokens,
        }
        for given in answers
    ]


def before_full_stop(text: str) -> str:
    """What stands before the first full stop of the stripped text: the published GPT-3 setting (facts 1.9)."""
    return text.strip().partition(".")[0]


def table_row(
    instance: Mapping[str, Any], question: Question, given: Mapping[str, Any], lm: LanguageModel
) -> dict[str, Any]:
    """A row of contracts.PREDICTIONS without benchmark and system."""
    return {
        "track": instance["track"],
        "category": instance["category"],
        "task_id": question.task_id,
        "id": question.id,
        **{name: given[name] for name in ("prediction", "text", "calls", "new_tokens")},
        "prompt": question.prompt,
        "prompt_sha256": question.sha256,
        "prompt_tokens": len(question.ids),
        "model_sha256": lm.sha256,
        "adapter_sha256": lm.adapter_sha256,
    }
