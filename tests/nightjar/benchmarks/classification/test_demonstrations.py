"""Demonstrations: the rule of PGRA's second_stage.py."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.classification.prompts import Labelled, demonstrations
from nightjar.benchmarks.classification.tasks import names
from nightjar.core.errors import NightjarError


def train(task: str, places: list[int]) -> list[Labelled]:
    return [Labelled(task, str(n), f"text {n}", names(task)[place]) for n, place in enumerate(places)]


def walked(places: list[int], labels: int, shots: int) -> list[int] | None:
    """The rule by brute force: the shortest beginning whose capped choice is enough; None if a label is missing."""
    if len(set(places)) < labels:
        return None
    for end in range(1, len(places) + 1):
        kept = [n for n in range(end) if places[:n].count(places[n]) < shots // labels + 1]
        if len(kept) >= shots and len({places[n] for n in kept}) == labels:
            break
    return kept


@given(
    st.sampled_from(["sst2", "sst5", "trec", "fever"]).flatmap(
        lambda task: st.tuples(st.just(task), st.lists(st.integers(0, len(names(task)) - 1), max_size=40))
    ),
    st.integers(1, 12),
    st.integers(0, 99),
)
def test_the_rule_and_the_seeded_order(case: tuple[str, list[int]], shots: int, seed: int) -> None:
    task, places = case
    rows, wanted = train(task, places), walked(places, len(names(task)), shots)
    if wanted is None:
        with pytest.raises(NightjarError, match="no training sentence has the label"):
            demonstrations(rows, task, shots, seed)
        return
    found = demonstrations(rows, task, shots, seed)
    assert sorted(int(it.id) for it in found) == wanted
    assert found == demonstrations(iter(rows), task, shots, seed)


def test_published_counts() -> None:
    """Two labels: 5 + 3 of a sorted file; six labels, the last one late: eleven."""
    found = demonstrations(train("sst2", [1] * 40 + [0] * 40), "sst2")
    assert Counter(it.label for it in found) == {"positive": 5, "negative": 3}
    late = demonstrations(train("trec", [0, 1, 2, 3, 4] * 9 + [5]), "trec")
    assert len(late) == 11 and Counter(it.label for it in late)["Number"] == 1


def test_the_order_depends_on_the_seed_alone() -> None:
    rows = train("sst2", [0, 1] * 8)
    orders = {tuple(it.id for it in demonstrations(rows, "sst2", seed=seed)) for seed in range(5)}
    assert len(orders) > 1 and len({tuple(sorted(order)) for order in orders}) == 1


def test_no_shots_and_a_missing_label() -> None:
    assert demonstrations([], "sst2", 0) == []
    with pytest.raises(
        NightjarError, match="cola: no training sentence has the label unacceptable; add some"
    ):
        demonstrations(train("cola", [1, 1]), "cola")
