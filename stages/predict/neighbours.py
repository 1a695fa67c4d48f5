"""k-NN: the label of the training questions whose vectors are nearest (Guo et al. 2023: by T5's embeddings)."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.files import read_questions
from nightjar.benchmarks.question import Question, questions_of
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.harness import Stage
from nightjar.core.predict_params import System
from nightjar.lm.weights import CONFIG, RECIPE
from nightjar.search.encoders import Encoder, load_encoder
from stages.predict.output import NOTHING_WRITTEN, publish
from stages.predict.prompts import MODEL

ENCODER = Path("models/base/sentence_encoder")


def is_encoder(weights: Path) -> bool:
    """Whether these are the weights of a k-NN system: the project's encoder, or a model's folder that no stage made."""
    given = (weights / CONFIG).is_file() and not (weights / RECIPE).is_file()
    return weights == ENCODER or (given and weights != MODEL)


def run(stage: Stage, card: Card, system: System, source: Path) -> None:
    """Predict with the encoder in system.weights: a row of contracts.PREDICTIONS for each question of `source`.

    Raises NightjarError for a benchmark without training questions, for a task that has none, and for weights of which
    no encoder can be made.
    """
    if stage.shard:
        return  # the run that publishes takes seconds
    neighbours = stage.params.predict.benchmark(card.name).neighbours
    questions = read_questions(source)
    if not (source / contracts.TRAIN_QUESTIONS.name).exists():
        fix = "use a benchmark whose card has training questions"
        raise NightjarError("no training questions to compare with", source, fix)
    train = questions_of(tables.read_rows(source, contracts.TRAIN_QUESTIONS))
    encoder = load_encoder(Path(system.weights), stage.params.threads)
    started = time.monotonic()
    answers = nearest_labels(card, encoder, questions, train, neighbours)
    seconds = (time.monotonic() - started) / max(1, len(questions))
    digest = str(encoder.identity.get("sha256", ""))
    rows = [
        {
            "answers": [answer],
            **NOTHING_WRITTEN,
            "seconds": round(seconds, 6),
            "prompt": (text := card.query(question.parts)),
            "prompt_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "prompt_tokens": 0,
            "model_sha256": digest,
            "adapter_sha256": None,
        }
        for question, answer in zip(questions, answers, strict=True)
    ]
    publish(stage, system, questions, rows)
    stage.reads(source, Path(system.weights))
    stage.details["neighbours"] = neighbours


def nearest_labels(
    card: Card, encoder: Encoder, questions: Sequence[Question], train: Sequence[Question], neighbours: int
) -> list[str]:
    """For each question the label that most of its `neighbours` nearest training questions of the same task have.

    Near is a large inner product of the encoder's vectors of the texts that evidence is searched by. Of labels with
    equally many votes, the one of the nearest neighbour; of equally near ones, the earlier is nearer. The label of a
    training question is its first reference. Raises NightjarError for a task without training questions.
    """
    found: dict[tuple[str, str], str] = {}
    for task in dict.fromkeys(question.task_id for question in questions):
        known = [one for one in train if one.task_id == task]
        asked = [one for one in questions if one.task_id == task]
        if not known:
            raise NightjarError(
                "no training questions", f"{card.name} {task}", "raise train_per_task, or leave the task out"
            )
        labels = [one.references[0] for one in known]
        vectors = _vectors(card, encoder, known)
        scores = _vectors(card, encoder, asked) @ vectors.T
        for question, row in zip(asked, scores, strict=True):
            order = np.argsort(-row, kind="stable")[:neighbours]
            found[question.key] = _majority([labels[place] for place in order])
    return [found[question.key] for question in questions]


def _majority(labels: Sequence[str]) -> str:
    """The commonest of labels, nearest first; of equally common ones the nearest."""
    return Counter(labels).most_common(1)[0][0]


def _vectors(card: Card, encoder: Encoder, questions: Sequence[Question]) -> NDArray[Any]:
    return encoder.encode([card.query(one.parts) for one in questions])
