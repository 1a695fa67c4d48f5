"""Answers of an extractive reader: the best span of the passage that a question comes with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest
from nightjar.models.directory.weights import is_extractive
from nightjar.models.engine.loading import prepare
from nightjar.models.extractive_reader import load_extractive_reader, titled_passage
from nightjar.predict.predictor import Job, Predictor, Row, about

# The parts of a question that a reader needs.
PARTS = ("title", "passage", "question")


class SpanPredictor(Predictor):
    """The answers of the reader in `weights`; an answer is empty where "no answer" is likelier than every span."""

    def __init__(self, job: Job) -> None:
        job.check_kind(is_extractive(job.weights), "a model for question answering")
        if any(not isinstance(one.parts.get(part), str) for one in job.questions for part in PARTS):
            what = f"the questions of {job.card.name} have no passage"
            raise NightjarError(what, job.key("benchmark"), "name a benchmark whose questions have one")
        prepare(job.seed, job.threads)
        self.questions, self._size = job.questions, job.settings.batch_size
        self._reader = reader = load_extractive_reader(job.weights)
        self._question_texts = [
            (one.parts["question"], titled_passage(one.parts["title"], one.parts["passage"]))
            for one in job.questions
        ]
        self.keys = len(job.questions)
        self.cache_key = job.cache_key(model=reader.sha256, questions=digest({"all": self._question_texts}))

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        for first in range(0, len(numbers), self._size):
            batch, started = numbers[first : first + self._size], time.monotonic()
            spans = self._reader.spans([self._question_texts[number] for number in batch])
            seconds = round((time.monotonic() - started) / len(batch), 6)
            for number, span in zip(batch, spans, strict=True):
                text = span.text if span.score > 0 else ""
                yield (
                    number,
                    {"answers": [text], "text": span.text, "calls": [], "new_tokens": 0, "seconds": seconds},
                )

    def about(self, number: int) -> Row:
        question, passage = self._question_texts[number]
        tokens = sum(len(one.ids) for one in self._reader.windows(question, passage))
        return about(f"{question}\n{passage}", tokens, self._reader.sha256)
