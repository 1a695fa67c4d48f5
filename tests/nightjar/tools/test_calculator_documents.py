"""The calculator's document heuristic against a brute-force search of all triples, in exact arithmetic."""

from __future__ import annotations

import random
import time
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.tools import calculator
from nightjar.tools.calculator import calculator_document, numbers, related, show


def _brute_force(found: list[tuple[int, int]], window: int) -> bool:
    for (i, a), (j, b), (k, c) in permutations(found, 3):
        if max(i, j, k) - min(i, j, k) >= window:
            continue
        x, y, z = (Fraction(n, 10**6) for n in (a, b, c))
        if z in (x + y, x - y, x * y):
            return True
        if y and (z == x / y or z == Fraction(show(x / y))):
            return True
    return False


VALUES = st.integers(0, 40).map(lambda n: n * 10**6) | st.integers(1, 2000).map(lambda n: n * 10**4)
# Numbers at rising token positions; several may share a token.
FOUND = st.lists(st.tuples(st.integers(0, 3), VALUES), max_size=9)


@given(FOUND, st.integers(1, 8))
def test_related_is_what_all_triples_say(steps: list[tuple[int, int]], window: int) -> None:
    index, found = 0, []
    for step, value in steps:
        index += step
        found.append((index, value))
    assert related(found, window) == _brute_force(found, window)


def test_numbers() -> None:
    text = "In 1994, 658,893 people ($3.50 each); 11.4% of 5.7 but not B2B, 1.2.3, x9, 12th or 1,23."
    assert numbers(text) == [
        (1, 1994 * 10**6),
        (2, 658893 * 10**6),
        (4, 3_500_000),
        (6, 11_400_000),
        (8, 5_700_000),
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("They won 723 goals in 252 matches, 2.87 a match.", True),
        ("From 1994 to 2011 it was 17 years.", True),
        ("We sold 12 boxes of 8 pens, 96 in all.", True),
        ("x = 5", True),
        ("It is EQUAL TO 5.", True),
        ("a total of $1,500", True),
        ("an average of 2.5 a day", True),
        ("subtotal of 3", False),
        ("equals nothing, 5", False),
        ("In 1994, 31 people came with 7 dogs.", False),
        ("no numbers", False),
        ("12 boxes of 8" + " word" * 100 + " 96", False),
        ("12 boxes of 8" + " word" * 90 + " 96", True),
        ("", False),
    ],
)
def test_documents(text: str, kept: bool) -> None:
    assert bool(calculator_document(text, 0.5)) is kept


def test_one_in_a_hundred_of_three_unrelated_numbers() -> None:
    text = "In 1994, 31 people came with 7 dogs."
    rng = random.Random(7)
    assert calculator_document(text, 0.0099)
    assert not calculator_document(text, 0.01)
    assert not calculator_document("31 people, 7 dogs", 0.0)
    assert 60 < sum(bool(calculator_document(text, rng.random())) for _ in range(10_000)) < 140


def test_long_documents_take_time_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd numbers too large for products: no two add up to a third, so every window is searched through."""
    pairs = 0

    def counted(a: int, b: int) -> Any:
        nonlocal pairs
        pairs += 1
        return results(a, b)

    results = calculator._results
    monkeypatch.setattr(calculator, "_results", counted)
    rng = random.Random(3)
    values = [rng.randrange(10**11, 9 * 10**11) * 2 + 1 for _ in range(1000)]  # odd: no sum is odd
    started = time.process_time()
    assert not calculator_document(" ".join(map(str, values)), 0.5)
    assert time.process_time() - started < 5
    assert 0 < pairs < calculator.WINDOW * len(values)
