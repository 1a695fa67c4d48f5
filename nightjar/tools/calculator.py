"""The calculator: + - * / and parentheses, in exact rational arithmetic (Toolformer appendix A.1, sheet 3.5).

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*
    factor  = "-" factor | "(" sum ")" | number
    number  = digits ["." digits] | "." digits

Both levels associate to the left; blanks may stand between signs. Anything else (commas, %, **, letters)
has no result, and neither has what is too long, too deep, or divides by zero.
"""

from __future__ import annotations

import re
from fractions import Fraction

MAX_LENGTH = 200  # characters of an expression
MAX_DIGITS = 30  # of one number
MAX_DEPTH = 20  # of parentheses and minus signs within one another

_TOKEN = re.compile(r"[ \t]*(?:([0-9]+(?:\.[0-9]+)?|\.[0-9]+)|([-+*/()]))")


class NoResult(Exception):
    """The expression has no result; the message says why, in a few words."""


def _tokens(expression: str) -> list[str]:
    if len(expression) > MAX_LENGTH:
        raise NoResult(f"too long: {len(expression)} characters, at most {MAX_LENGTH} are allowed")
    text, tokens, position = expression.strip(), [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            sign = text[position:].lstrip()[0]
            raise NoResult(f"not an expression of + - * / and numbers: {sign!r} is not allowed")
        if match[1] and len(match[1].replace(".", "")) > MAX_DIGITS:
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
            return Fraction(sign)
        place = f"before {sign}" if sign else "at the end"
        raise NoResult(f"not an expression: a number is missing {place}")


def compute(expression: str) -> Fraction:
    """The exact value of `expression`. Raises NoResult."""
    parser = _Parser(_tokens(expression))
    value = parser.sum()
    if rest := parser.peek():
        raise NoResult(f"not an expression: {rest!r} is not expected there")
    return value


def show(value: Fraction) -> str:
    """`value` as the calculator prints it: integers without decimals, anything else with exactly two.

    Halves go away from zero (1/8 is 0.13, -1/8 is -0.13), as is done by hand; the examples printed in the
    paper do not tell. What rounds to nothing is 0.00, never -0.00.
    """
    if value.denominator == 1:
        return str(value.numerator)
    numerator, denominator = abs(value.numerator) * 100, value.denominator
    hundredths = (2 * numerator + denominator) // (2 * denominator)
    sign = "-" if value < 0 and hundredths else ""
    return f"{sign}{hundredths // 100}.{hundredths % 100:02d}"


def evaluate(expression: str) -> str | None:
    """The printed result of `expression`, e.g. "0.29" for "400 / 1400"; None if it has none."""
    try:
        return show(compute(expression))
    except NoResult:
        return None
