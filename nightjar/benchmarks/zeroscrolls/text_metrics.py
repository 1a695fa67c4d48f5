"""The metrics of one answer, as the public metric code computes them (Hugging Face). Values are from 0 to 1.

F1, accuracy, exponential similarity and concordance compare an answer with one reference; `best` takes the maximum over
several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations

_LETTER = re.compile(r"\b[A-D]\b")
_NOT_IDS = re.compile(r"[^0-9,\s]")
# The first match of \d+\.?\d*%, which takes cubic time on long numbers; this takes linear time.
_PERCENTAGE = re.compile(r"(?<!\d)\d++\.?+\d*+%")
# Digits of an id that are read; Python refuses to read much longer numbers.
MOST_DIGITS = 18


def best(metric: Callable[[str, str], float], answer: str, references: Sequence[str]) -> float:
    """The largest value of a metric over the references. Raises ValueError if there are none."""
    return max(metric(answer, reference) for reference in references)


def letter(text: str) -> str:
    """The first capital A to D that is a word of its own; empty if there is none."""
    match = _LETTER.search(text)
    return match[0] if match else ""


def accuracy(answer: str, reference: str) -> float:
    """1 if both have the same letter, else 0."""
    return float(bool(letter(answer)) and letter(answer) == letter(reference))


def percentage(text: str) -> float | None:
    r"""The first match of \d+\.?\d*% as a number, which may exceed 100; None if there is none."""
    match = _PERCENTAGE.search(text)
    return float(match[0][:-1]) if match else None


def exponential_similarity(answer: str, reference: str) -> float:
    """0.5 ** (distance / 10), the distance in percentage points; 0 if either has no percentage."""
    predicted, gold = percentage(answer), percentage(reference)
    return 0.0 if predicted is None or gold is None else similarity(predicted, gold)


def similarity(predicted: float, gold: float) -> float:
    """0.5 ** (distance / 10) of two percentages."""
    return float(0.5 ** (abs(gold - predicted) / 10))


def ids(text: str) -> list[int] | None:
    """The numbers in a text of which all but ASCII digits, blanks and commas is deleted; None if one is too long."""
    words = _NOT_IDS.sub("", text).replace(",", " ").split()
    return list(map(int, words)) if all(len(word) <= MOST_DIGITS for word in words) else None


def concordance(answer: str, reference: str) -> float:
    """The share of pairs of ids in the order of the reference; 0 if the answer does not have exactly its ids.

    A single id is 1 if it is the reference's; the published code fails on it.
    """
    predicted, gold = ids(answer), ids(reference)
    return (
        0.0 if not predicted or not gold or sorted(predicted) != sorted(gold) else in_order(predicted, gold)
    )


def in_order(predicted: Sequence[int], gold: Sequence[int]) -> float:
    """The share of pairs that come in the same order in two lists of the same ids."""
    places = {id: place for place, id in enumerate(gold)}
    turned = [places[one] > places[other] for one, other in combinations(predicted, 2)]
    return 1 - sum(turned) / len(turned) if turned else 1.0
