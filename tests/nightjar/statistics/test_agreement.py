"""Agreement of judges against its definition, pair by pair, and a published example."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.statistics.agreement import nominal_alpha, raw_agreement


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
