"""Splits of our own: sizes, equal texts on one side, and no dependence on the order of lines."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.classification.splits import Sentence, Sizes, divide


def sentences(texts: list[str]) -> list[Sentence]:
    return [Sentence("f", n, text, "positive", f"f:{n}") for n, text in enumerate(texts, start=1)]


def test_a_published_training_side_leaves_the_set_to_test() -> None:
    found = sentences([f"claim {n}" for n in range(30)])
    train = [
        it._replace(file="t", id=f"t:{it.line}") for it in sentences([f"claim {n}" for n in range(20, 80)])
    ]
    sides = divide(found, Sizes(25, 40), train)
    assert [len(sides[side]) for side in ("test", "train", "dev")] == [25, 36, 4]  # type: ignore[index]
    assert {it.file for it in sides["test"]} == {"f"} and {it.file for it in sides["train"]} == {"t"}
    tested = {it.text for it in sides["test"]}
    assert not tested & {it.text for side in ("train", "dev") for it in sides[side]}  # type: ignore[index]
    assert sum(map(len, sides.values())) == 90


texts = st.lists(st.text("abAB ", min_size=1, max_size=4), max_size=60)


@given(texts, st.integers(1, 30), st.none() | st.integers(1, 20))
def test_every_sentence_is_on_one_side_and_equal_texts_are_together(
    found: list[str], test: int, train: int | None
) -> None:
    rows = sentences(found)
    sides = divide(rows, Sizes(test, train))
    assert Counter(it.id for side in sides.values() for it in side) == Counter(it.id for it in rows)
    places: dict[str, set[str]] = {}
    for side, members in sides.items():
        for it in members:
            places.setdefault(" ".join(it.text.casefold().split()), set()).add(side)
    assert all(len(on) == 1 for on in places.values())
    assert len(sides["test"]) <= max(test, len(rows) * 30 // 100)
    if train is not None and len(rows) >= 1.5 * test:
        assert len(sides["train"]) + len(sides["dev"]) <= train


def test_sizes_are_exact_where_texts_differ() -> None:
    many = sentences([f"text {n}" for n in range(10_000)])
    sides = divide(many, Sizes(1000, 5000))
    assert {side: len(found) for side, found in sides.items()} == {
        "test": 1000, "train": 4500, "dev": 500, "rest": 4000,
    }  # fmt: skip
    small = divide(many[:80], Sizes(2000))
    assert {side: len(found) for side, found in small.items()} == {
        "test": 24,
        "train": 51,
        "dev": 5,
        "rest": 0,
    }


def test_the_order_of_lines_does_not_matter() -> None:
    found = [f"text {n % 70}" for n in range(100)]
    mixed = random.Random(1).sample(found, len(found))
    one, other = (divide(sentences(rows), Sizes(20)) for rows in (found, mixed))
    assert {side: [it.text for it in rows] for side, rows in one.items()} == {
        side: [it.text for it in rows] for side, rows in other.items()
    }
