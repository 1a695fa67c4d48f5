"""The calculator: + - * / and parentheses, in exact rational arithmetic, and the documents it suits (appendix A).

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*
    factor  = "-" factor | "(" sum ")" | number
    number  = digits ["." digits] | "." digits

Both levels associate to the left; blanks may be between signs. Anything else (commas, %, **, letters) has no result,
and neither has what is too long, too deep, or divides by zero. The setting `lenient` also reads numbers with commas
between groups of three digits, and "%" after a number as hundredths: the paper's own prompt has 658,893 / 11.4%, which
its grammar does not (Toolformer, appendix A).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from nightjar.core.config import StrictModel
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.tools.tool import Text, Tool, ToolRequest

MAX_LENGTH = 200  # characters of an expression
MAX_DIGITS = 30  # of one number
MAX_DEPTH = 20  # of parentheses and minus signs within one another

# Of the document heuristic.
WINDOW = 100  # whitespace tokens
SAMPLED = 0.01  # share of the documents with three unrelated numbers that is kept
_UNIT = 10**6  # numbers are held as whole millionths, so that sums and products are exact

# A number that is not a part of a word, a version or a longer number; thousands may have commas.
_NUMBER = r"(?<![\w.,])(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,6})?(?![\w]|[.,][0-9])"
_NUMBERS = re.compile(_NUMBER)
_PHRASE = re.compile(
    rf"(?:=|\b(?:equals|equal\s+to|total\s+of|average\s+of)\s)\s*[-−]?[$€£]?{_NUMBER}", re.IGNORECASE
)

_TOKEN = re.compile(r"[ \t]*(?:([0-9]+(?:\.[0-9]+)?|\.[0-9]+)|([-+*/()]))")
_LENIENT = re.compile(
    r"[ \t]*(?:((?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?%?|\.[0-9]+%?)|([-+*/()]))"
)

# The rules of Toolformer's appendix A, as they are counted.
RELATED = "three numbers, one the result of an operation on the others"
STATED = "a number after = or after words such as equals"
DRAWN = "three numbers, in the 1% drawn"


class NoResult(Exception):
    """The expression has no result; the message says why, in a few words."""


def _tokens(expression: str, lenient: bool) -> list[str]:
    if len(expression) > MAX_LENGTH:
        raise NoResult(f"too long: {len(expression)} characters, at most {MAX_LENGTH} are allowed")
    text, tokens, position = expression.strip(), [], 0
    pattern = _LENIENT if lenient else _TOKEN
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            sign = text[position:].lstrip()[0]
            raise NoResult(f"not an expression of + - * / and numbers: {sign!r} is not allowed")
        if match[1] and sum(sign.isdigit() for sign in match[1]) > MAX_DIGITS:
            raise NoResult(f"a number of more than {MAX_DIGITS} digits")
        tokens.append(match[1] or match[2])
        position = match.end()
    if not tokens:
        raise NoResult("the expression is empty")
    return tokens


class _Parser:
    """Recursive descent over the tokens; `depth` bounds the recursion."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.position, self.depth = tokens, 0, 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def sum(self) -> Fraction:
        value = self.product()
        while self.peek() in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self) -> Fraction:
        value = self.factor()
        while self.peek() in ("*", "/"):
            if self.take() == "*":
                value *= self.factor()
            elif divisor := self.factor():
                value /= divisor
            else:
                raise NoResult("division by zero")
        return value

    def factor(self) -> Fraction:
        sign = self.take()
        if sign in ("-", "("):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise NoResult(f"more than {MAX_DEPTH} levels deep")
            value = -self.factor() if sign == "-" else self.sum()
            if sign == "(" and self.take() != ")":
                raise NoResult("not an expression: a parenthesis is not closed")
            self.depth -= 1
            return value
        if sign and sign not in "+*/)":
            number = Fraction(sign.rstrip("%").replace(",", ""))
            return number / 100 if sign.endswith("%") else number
        place = f"before {sign}" if sign else "at the end"
        raise NoResult(f"not an expression: a number is missing {place}")


def compute(expression: str, lenient: bool = False) -> Fraction:
    """The exact value of `expression`; with `lenient`, thousands commas and percents are read. Raises NoResult."""
    parser = _Parser(_tokens(expression, lenient))
    value = parser.sum()
    if unread := parser.peek():
        raise NoResult(f"not an expression: {unread!r} is not expected there")
    return value


def show(value: Fraction) -> str:
    """`value` as the calculator prints it: integers without decimals, anything else with exactly two.

    Halves go away from zero (1/8 is 0.13, -1/8 is -0.13), as is done by hand; the examples printed in the
    paper do not show. What rounds to nothing is 0.00, never -0.00.
    """
    if value.denominator == 1:
        return str(value.numerator)
    numerator, denominator = abs(value.numerator) * 100, value.denominator
    hundredths = (2 * numerator + denominator) // (2 * denominator)
    sign = "-" if value < 0 and hundredths else ""
    return f"{sign}{hundredths // 100}.{hundredths % 100:02d}"


def evaluate(expression: str, lenient: bool = False) -> str | None:
    """The printed result of `expression`, e.g. "0.29" for "400 / 1400"; None if it has none."""
    try:
        return show(compute(expression, lenient))
    except NoResult:
        return None


def numbers(text: str) -> list[tuple[int, int]]:
    """The numbers of `text` as (index of the whitespace token, value in millionths), in order.

    At most 15 digits before the point (or groups of three) and 6 behind it; signs are not read, as a hyphen
    in a text is mostly no minus.
    """
    positioned = []
    for index, token in enumerate(text.split()):
        for match in _NUMBERS.finditer(token):
            integer, _, decimals = match[0].replace(",", "").partition(".")
            positioned.append((index, int(integer) * _UNIT + int(decimals.ljust(6, "0"))))
    return positioned


def _results(a: int, b: int) -> set[int]:
    """Results of the four operations on two numbers, in millionths, without those that cannot stand in a text.

    A quotient counts as the calculator prints it, with two decimals, as well as exactly.
    """
    results = {a + b, abs(a - b)}
    product, remainder = divmod(a * b, _UNIT)
    if not remainder:
        results.add(product)
    for x, y in ((a, b), (b, a)):
        if y:
            results.add((200 * x + y) // (2 * y) * (_UNIT // 100))
            quotient, remainder = divmod(x * _UNIT, y)
            if not remainder:
                results.add(quotient)
    return results


def related(positioned: list[tuple[int, int]], window: int = WINDOW) -> bool:
    """Return true if three of the numbers lie within `window` tokens, one being the result of an operation on the
    others.

    `positioned` as `numbers` gives it. A number is combined once with each value that shares a window with it: at most
    `window` steps a number (a token with several numbers aside), whatever the length of the document.
    """
    recent: deque[tuple[int, int]] = deque()
    counts: dict[int, int] = {}  # how often each value stands in the window
    latest: dict[int, int] = {}  # the last token of each of them
    results: dict[int, int] = {}  # result of a pair -> the latest first token of a pair that gives it
    for index, value in positioned:
        while recent and recent[0][0] <= index - window:
            oldest = recent.popleft()[1]
            counts[oldest] -= 1
            if not counts[oldest]:
                del counts[oldest], latest[oldest]
        if results.get(value, index - window) > index - window:
            return True
        for earlier, first in latest.items():
            for result in _results(value, earlier):
                if counts.get(result, 0) > (result == earlier):
                    return True
                results[result] = max(first, results.get(result, first))
        recent.append((index, value))
        counts[value] = counts.get(value, 0) + 1
        latest[value] = index
    return False


def calculator_document(text: str, rng_value: float) -> str:
    """The first of the rules of appendix A by which to look for calculator calls in a document; empty if none holds.

    STATED (rule ii): "=", "equals", "equal to", "total of" or "average of" is followed by a number. RELATED (rule i):
    three numbers within 100 tokens, one being the result of an operation on the others. DRAWN (rule iii): three numbers
    at all, and `rng_value`, which the caller draws uniformly from [0, 1) with a seed, is below 1%.
    """
    if _PHRASE.search(text):
        return STATED
    positioned = numbers(text)
    if len(positioned) < 3:
        return ""
    if related(positioned):
        return RELATED
    return DRAWN if rng_value < SAMPLED else ""


class CalculatorSettings(StrictModel):
    """`lenient`: whether thousands commas and percents are read."""

    lenient: bool = False


class Calculator(Tool):
    """The calculator as a tool; it reads nothing but the input of a call."""

    name = CALL_NAMES["calculator"]
    description = (
        "Computes an arithmetic expression of numbers, + - * / and parentheses, and gives its value."
    )
    argument = "the expression, such as (12 + 8) * 3"
    instructions = head("calculator")
    settings = CalculatorSettings

    def __init__(self, lenient: bool = False) -> None:
        self.lenient = lenient
        self.version = "1 lenient" if lenient else "1"

    @classmethod
    def make(cls, resource: Path | None, settings: CalculatorSettings) -> Calculator:
        return cls(settings.lenient)

    def suits(self, text: Text, chance: float) -> str:
        """As `calculator_document`. A body without a digit after a context has no use for the calculator."""
        if text.context and not any(sign.isdigit() for sign in text.body):
            return ""
        return calculator_document(f"{text.context} {text.body}", chance)

    def run(self, requests: Sequence[ToolRequest]) -> list[str | None]:
        return [evaluate(request.input, self.lenient) for request in requests]

    def why(self, request: ToolRequest) -> str:
        try:
            compute(request.input, self.lenient)
        except NoResult as error:
            return str(error)
        return super().why(request)
