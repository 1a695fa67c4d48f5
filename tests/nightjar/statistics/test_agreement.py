"""Agreement of judges against its definition, pair by pair, and a published example."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.statistics.agreement import blanc, nominal_alpha, raw_agreement


def _alpha_by_pairs(items: Sequence[Sequence[str]]) -> float | None:
    """Alpha from its definition: disagreement of pairs within items, and of pairs of all labels."""
    items = [labels for labels in items if len(labels) > 1]
    every = [label for labels in items for label in labels]
    n = len(every)
    within = sum(
        (one != other) / (len(labels) - 1) for labels in items for one, other in permutations(labels, 2)
    )
    apart = sum(one != other for one, other in permutations(every, 2))
    return None if not apart else 1 - (within / n) / (apart / (n * (n - 1)))


RATINGS = st.lists(st.lists(st.sampled_from(["a", "b", "tie"]), max_size=5), max_size=8)


@given(RATINGS)
def test_agreement_is_that_of_its_definition(items: list[list[str]]) -> None:
    expected = _alpha_by_pairs(items)
    found = nominal_alpha(items)
    assert found == (None if expected is None else pytest.approx(expected))
    shares = [[one == other for one, other in combinations(labels, 2)] for labels in items if len(labels) > 1]
    raw = raw_agreement(items)
    if shares:
        assert raw == pytest.approx(sum(sum(share) / len(share) for share in shares) / len(shares))
    else:
        assert raw is None


def test_alpha_of_krippendorffs_own_example() -> None:
    """Four observers, twelve units, with gaps; nominal alpha is 0.743 (Krippendorff 2011, section C)."""
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[value for value in unit if value != "."] for unit in zip(*observers, strict=True)]
    assert nominal_alpha(units) == pytest.approx(0.743, abs=0.0005)


def blanc_by_pairs(one: list[int], other: list[int]) -> float | None:
    """Precision and recall of links and of non-links from the list of all pairs."""
    places = list(combinations(range(len(one)), 2))
    values = []
    for linked in (True, False):
        ours = {(i, j) for i, j in places if (one[i] == one[j]) == linked}
        theirs = {(i, j) for i, j in places if (other[i] == other[j]) == linked}
        if not ours and not theirs:
            continue
        right = len(ours & theirs)
        precision, recall = (right / len(it) if it else 0.0 for it in (theirs, ours))
        values.append(2 * precision * recall / (precision + recall) if right else 0.0)
    return sum(values) / len(values) if values else None


labels = st.integers(0, 4)


@given(st.lists(st.tuples(labels, labels), max_size=12))
def test_blanc_is_that_of_all_pairs(items: list[tuple[int, int]]) -> None:
    one, other = [it[0] for it in items], [it[1] for it in items]
    found = blanc(one, other)
    expected = blanc_by_pairs(one, other)
    assert found == (expected and pytest.approx(expected))
    swapped = blanc(other, one)
    assert swapped == found


def test_blanc_at_the_edges() -> None:
    assert blanc([], []) is None
    assert blanc([1], [2]) is None
    assert blanc([1, 1], [2, 2]) == 1.0
    assert blanc([1, 2], ["a", "b"]) == 1.0
    assert blanc([1, 1], [1, 2]) == 0.0
    # All in one cluster against two clusters: the non-links of one clustering alone.
    assert blanc([1, 1, 1], [1, 1, 2]) == 0.25
