"""k-NN against one comparison at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nightjar.benchmarks.capabilities import Query
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError
from nightjar.predict.lookup import nearest_labels
from nightjar.search.encoders import load_encoder
from tests.made_card import CARD
from tests.tiny_models import sentence_encoder

LABELS = ("red", "green", "blue")
CARD_OF_TEXTS = CARD.with_capabilities(Query(lambda parts: str(parts["text"])))


class Letters:
    """Vectors on a line: the number of a text, so that all distances are known."""

    identity: Mapping[str, Any] = MappingProxyType({"sha256": "s"})
    dimension = 2

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = np.array([float(text) for text in texts]) / 100
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def question(task: str, number: int, text: str, label: str) -> Question:
    return Question("made", task, f"{task}-{number}", {"text": text}, (label,))


def plain(asked: Question, train: Sequence[Question], neighbours: int) -> str:
    """Sorted by distance; votes counted one by one."""
    known = [one for one in train if one.task_id == asked.task_id]
    here = float(asked.parts["text"])
    near = sorted(known, key=lambda one: abs(float(one.parts["text"]) - here))[:neighbours]
    labels = [one.references[0] for one in near]
    most = max(labels.count(label) for label in labels)
    return next(label for label in labels if labels.count(label) == most)


points = st.lists(
    st.tuples(st.integers(0, 150), st.sampled_from(LABELS)),
    min_size=1,
    max_size=12,
    unique_by=lambda it: it[0],
)


@given(points, points, st.integers(0, 20).map(lambda n: n + 0.37), st.integers(1, 15))
def test_the_majority_of_the_nearest(
    first: list[tuple[int, str]], second: list[tuple[int, str]], at: float, neighbours: int
) -> None:
    train = [
        question(task, number, str(place), label)
        for task, some in (("a", first), ("b", second))
        for number, (place, label) in enumerate(some)
    ]
    asked = [question("b", 100, str(at), ""), question("a", 101, str(at), "")]
    found = nearest_labels(CARD_OF_TEXTS, Letters(), asked, train, neighbours)
    assert found == [plain(one, train, neighbours) for one in asked]


def test_a_tie_is_decided_by_the_nearest() -> None:
    train = [
        question("a", n, str(place), label) for n, (place, label) in enumerate([(9, "red"), (2, "blue")])
    ]
    assert nearest_labels(CARD_OF_TEXTS, Letters(), [question("a", 9, "1", "")], train, 2) == ["blue"]


def test_with_a_sentence_encoder_a_text_is_nearest_to_itself(tmp_path: Path) -> None:
    encoder: Any = load_encoder(sentence_encoder(tmp_path))
    texts = ["the first text", "quite another", "a third one that is longer"]
    train = [question("a", n, text, LABELS[n]) for n, text in enumerate(texts)]
    assert nearest_labels(CARD_OF_TEXTS, encoder, train, train, 1) == list(LABELS)


def test_a_task_without_training_questions_is_one_line() -> None:
    with pytest.raises(NightjarError, match="made b: no training questions"):
        nearest_labels(
            CARD_OF_TEXTS, Letters(), [question("b", 0, "1", "")], [question("a", 0, "1", "red")], 1
        )
