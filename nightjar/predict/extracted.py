"""Ranked answers from passages: a language model extracts one from each, and their scores are summed by answer.

For a benchmark whose card ranks answers. A passage is read as by the tool for question answering: its examples, the
passage, the question.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest
from nightjar.models.directory.weights import CONFIG
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.params.predict import PredictBenchmark
from nightjar.predict.predictor import Job, Predictor, Row, about, check_ranking, ranked_row
from nightjar.predict.requests import Evidence, evidence_of, limit
from nightjar.tools.line_generation import generate_lines
from nightjar.tools.question_answering import HEAD, prompt


@dataclass(frozen=True)
class Reading:
    """A question with a prompt for each of its passages, and the weights of these."""

    question: Question
    prompts: list[str]
    weights: list[float]

    @property
    def text(self) -> str:
        """Return the text that the model reads, with the examples once."""
        return HEAD + "\n\n".join(self.prompts)


def readings(card: QuestionSet, questions: Sequence[Question], evidence: Evidence) -> list[Reading]:
    """The questions in their order. A passage's weight is its score, 0 for a negative one."""
    question_readings = []
    for question in questions:
        rows = evidence.get(question.key, ())
        query = card.query(question.parts)
        prompts = [prompt(query, [(row["title"], row["text"])]) for row in rows]
        question_readings.append(Reading(question, prompts, [max(row["score"], 0.0) for row in rows]))
    return question_readings


def extracted(
    lm: LanguageModel, card: QuestionSet, chosen: Sequence[Reading], settings: PredictBenchmark
) -> list[dict[str, Any]]:
    """The answers to questions of one task, in the columns of contracts.PREDICTIONS; their passages are read together.

    A passage without an answer does not count. An extracted answer is whole: the rules for samples, `cut_at_full_stop`
    and `require_full_stop`, do not apply to it.
    """
    sample_settings = settings.model_copy(update={"cut_at_full_stop": False, "require_full_stop": False})
    started = time.monotonic()
    max_new_tokens = limit(card, chosen[0].question.task_id, settings)
    answers = iter(
        generate_lines(lm, HEAD, [prompt for reading in chosen for prompt in reading.prompts], max_new_tokens)
    )
    rows = []
    for reading in chosen:
        extracts = list(islice(answers, len(reading.prompts)))
        weighted = (
            (answer.removesuffix("."), weight)
            for answer, weight in zip(extracts, reading.weights, strict=True)
        )
        texts = [(f"{answer}.", weight) for answer, weight in weighted if answer]
        tokens = sum(len(lm.tokenizer.continuation(answer)) for answer in extracts)
        rows.append(ranked_row(card, texts, sample_settings) | {"calls": [], "new_tokens": tokens})
    seconds = round((time.monotonic() - started) / len(chosen), 6)
    return [row | {"seconds": seconds} for row in rows]


class ExtractivePredictor(Predictor):
    """The answers that the language model in `weights` extracts; a question without evidence gets an empty list."""

    def __init__(self, job: Job) -> None:
        job.check_kind((job.weights / CONFIG).is_file(), "passages that a language model reads")
        if job.evidence is None:
            raise NightjarError(
                "answers are extracted from evidence", job.key("evidence"), "name its artifact"
            )
        check_ranking(job.card)
        self.questions, self._card, self._settings = job.questions, job.card, job.settings
        self._readings = all_readings = readings(job.card, job.questions, evidence_of(job.evidence))
        prepare(job.seed, job.threads)
        self._lm = lm = load(job.weights, job.settings.precision)
        self.keys = len(all_readings)
        questions = digest({"all": [[*one.question.key, one.text, one.weights] for one in all_readings]})
        self.cache_key = job.cache_key(model=lm.sha256, questions=questions)

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        size = self._settings.batch_size
        for _, task in groupby(numbers, lambda number: self.questions[number].task_id):
            task_numbers = list(task)
            for batch in (task_numbers[first : first + size] for first in range(0, len(task_numbers), size)):
                chosen = [self._readings[number] for number in batch]
                yield from zip(batch, extracted(self._lm, self._card, chosen, self._settings), strict=True)

    def about(self, number: int) -> Row:
        text = self._readings[number].text
        return about(text, len(self._lm.tokenizer.encode(text)), self._lm.sha256)

    def facts(self) -> Mapping[str, Any]:
        return {"passages": sum(len(one.prompts) for one in self._readings)}
