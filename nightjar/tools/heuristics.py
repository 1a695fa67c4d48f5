"""Which documents are worth sampling calls for (Toolformer appendix A, sheet 3.5)."""

from __future__ import annotations

import re
from collections import deque
from datetime import date

WINDOW = 100  # whitespace tokens
SAMPLED = 0.01  # share of the documents with three unrelated numbers that is kept
_UNIT = 10**6  # numbers are held as whole millionths, so that sums and products are exact

# A number that is not a part of a word, a version or a longer number; thousands may have commas.
_NUMBER = r"(?<![\w.,])(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,6})?(?![\w]|[.,][0-9])"
_NUMBERS = re.compile(_NUMBER)
_PHRASE = re.compile(
    rf"(?:=|\b(?:equals|equal\s+to|total\s+of|average\s+of)\s)\s*[-−]?[$€£]?{_NUMBER}", re.IGNORECASE
)


def numbers(text: str) -> list[tuple[int, int]]:
    """The numbers of `text` as (index of the whitespace token, value in millionths), in order.

    At most 15 digits before the point (or groups of three) and 6 behind it; signs are not read, as a hyphen
    in a text is mostly no minus.
    """
    found = []
    for index, token in enumerate(text.split()):
        for match in _NUMBERS.finditer(token):
            whole, _, decimals = match[0].replace(",", "").partition(".")
            found.append((index, int(whole) * _UNIT + int(decimals.ljust(6, "0"))))
    return found


def _results(a: int, b: int) -> set[int]:
    """What the four operations make of two numbers, all in millionths; without what cannot stand in a text.

    A quotient counts as the calculator prints it, with two decimals, as well as exactly.
    """
    results = {a + b, abs(a - b)}
    product, rest = divmod(a * b, _UNIT)
    if not rest:
        results.add(product)
    for x, y in ((a, b), (b, a)):
        if y:
            results.add((200 * x + y) // (2 * y) * (_UNIT // 100))
            quotient, rest = divmod(x * _UNIT, y)
            if not rest:
                results.add(quotient)
    return results


def related(found: list[tuple[int, int]], window: int = WINDOW) -> bool:
    """Whether three of the numbers lie within `window` tokens, one being the result of an operation on the
    others.

    `found` as `numbers` gives it. Every pair is combined once while it shares a window: at most `window`
    steps a number (a token with several numbers aside), whatever the length of the document.
    """
    recent: deque[tuple[int, int]] = deque()
    counts: dict[int, int] = {}  # how often each value stands in the window
    results: dict[int, int] = {}  # result of a pair -> the latest first token of a pair that gives it
    for index, value in found:
        while recent and recent[0][0] <= index - window:
            counts[recent.popleft()[1]] -= 1
        if results.get(value, index - window) > index - window:
            return True
        for first, other in recent:
            for result in _results(value, other):
                if counts.get(result, 0) > (result == other):
                    return True
                results[result] = max(first, results.get(result, first))
        recent.append((index, value))
        counts[value] = counts.get(value, 0) + 1
    return False


def calculator_document(text: str, rng_value: float) -> bool:
    """Whether to look for calculator calls in a document.

    True if (i) three numbers within 100 tokens belong together, (ii) "=", "equals", "equal to", "total of" or
    "average of" is followed by a number, or (iii) there are three numbers at all and `rng_value`, a number
    that the caller draws uniformly from [0, 1) with a seed, is below 1%.
    """
    if _PHRASE.search(text):
        return True
    found = numbers(text)
    return len(found) >= 3 and (rng_value < SAMPLED or related(found))


def calendar_document(day: date | None) -> bool:
    """Whether to look for calendar calls in a document: if its URL gave it a date."""
    return day is not None
