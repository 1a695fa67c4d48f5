"""Answers that are the labels of the nearest training questions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.question import Question, questions_of
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import CONFIG, RECIPE
from nightjar.predict.predictor import NOTHING_WRITTEN, Job, Predictor, Row, about
from nightjar.search.encoders import RECORD, Encoder, load_encoder


class NeighbourPredictor(Predictor):
    """The labels of training questions, by the encoder in `weights` (Guo et al. 2023: by T5's embeddings)."""

    def __init__(self, job: Job) -> None:
        weights = job.weights
        trained = (weights / RECIPE).is_file() or not (weights / CONFIG).is_file()
        job.check_kind(not trained or (weights / RECORD).is_file(), "the vectors of an encoder")
        if not (job.source / contracts.TRAIN_QUESTIONS.name).exists():
            fix = "use a benchmark whose card has training questions"
            raise NightjarError("no training questions to compare with", job.source, fix)
        self.questions = job.questions
        self.keys = len(self.questions)
        self._job = job
        self._sha256 = ""

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        train = questions_of(tables.read_rows(self._job.source, contracts.TRAIN_QUESTIONS))
        encoder = load_encoder(self._job.weights, self._job.threads)
        self._sha256 = str(encoder.identity.get("sha256", ""))
        started, chosen = time.monotonic(), [self.questions[number] for number in numbers]
        answers = nearest_labels(self._job.card, encoder, chosen, train, self._job.settings.neighbours)
        seconds = round((time.monotonic() - started) / max(1, len(chosen)), 6)
        for number, answer in zip(numbers, answers, strict=True):
            yield number, {"answers": [answer], **NOTHING_WRITTEN, "seconds": seconds}

    def about(self, number: int) -> Row:
        return about(self._job.card.query(self.questions[number].parts), 0, self._sha256)

    def facts(self) -> Mapping[str, Any]:
        return {"neighbours": self._job.settings.neighbours}


def nearest_labels(
    card: QuestionSet,
    encoder: Encoder,
    questions: Sequence[Question],
    train: Sequence[Question],
    neighbours: int,
) -> list[str]:
    """For each question the label that most of its `neighbours` nearest training questions of the same task have.

    Near is a large inner product of the encoder's vectors of the texts that evidence is searched by. Of labels with
    equally many votes, the one of the nearest neighbour; of equally near ones, the earlier is nearer. The label of a
    training question is its first reference.
    """
    labels_by_key: dict[tuple[str, str], str] = {}
    for task in dict.fromkeys(question.task_id for question in questions):
        task_train = [one for one in train if one.task_id == task]
        chosen = [one for one in questions if one.task_id == task]
        if not task_train:
            raise NightjarError(
                "no training questions", f"{card.name} {task}", "raise train_per_task, or leave the task out"
            )
        labels = [one.references[0] for one in task_train]
        vectors = _vectors(card, encoder, task_train)
        scores = _vectors(card, encoder, chosen) @ vectors.T
        for question, row in zip(chosen, scores, strict=True):
            order = np.argsort(-row, kind="stable")[:neighbours]
            labels_by_key[question.key] = _majority([labels[place] for place in order])
    return [labels_by_key[question.key] for question in questions]


def _majority(labels: Sequence[str]) -> str:
    """The commonest of labels, nearest first; of equally common ones the nearest."""
    return Counter(labels).most_common(1)[0][0]


def _vectors(card: QuestionSet, encoder: Encoder, questions: Sequence[Question]) -> NDArray[Any]:
    return encoder.encode([card.query(one.parts) for one in questions])
