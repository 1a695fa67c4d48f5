"""The calculator against the results in the paper, exact arithmetic on trees, and Python's own grammar."""

from __future__ import annotations

import ast
import json
import random
import time
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nightjar.tools import calculator
from nightjar.tools.calculator import (
    MAX_LENGTH,
    calculator_document,
    compute,
    evaluate,
    numbers,
    related,
    show,
)

Tree = tuple  # ("num", text) | ("neg", tree) | (sign, tree, tree)

NUMBERS = st.integers(0, 10**6).map(str) | st.from_regex(r"[0-9]{1,4}\.[0-9]{1,4}", fullmatch=True)
TREES: st.SearchStrategy[Tree] = st.recursive(
    NUMBERS.map(lambda text: ("num", text)),
    lambda inner: inner.map(lambda tree: ("neg", tree)) | st.tuples(st.sampled_from("+-*/"), inner, inner),
    max_leaves=8,
)


def _value(tree: Tree) -> Fraction:
    if tree[0] == "num":
        return Fraction(tree[1])
    if tree[0] == "neg":
        return -_value(tree[1])
    a, b = _value(tree[1]), _value(tree[2])
    return {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[tree[0]](b)


def _text(tree: Tree) -> str:
    """Every operation in parentheses, so that the reading is beyond doubt."""
    if tree[0] == "num":
        return str(tree[1])
    if tree[0] == "neg":
        return f"-({_text(tree[1])})"
    return f"({_text(tree[1])}) {tree[0]} ({_text(tree[2])})"


def _python(node: ast.expr) -> Fraction:
    """Python's reading of an expression of integers, in exact arithmetic."""
    if isinstance(node, ast.Constant):
        return Fraction(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_python(node.operand)
    assert isinstance(node, ast.BinOp)
    a, b = _python(node.left), _python(node.right)
    signs = {ast.Add: a.__add__, ast.Sub: a.__sub__, ast.Mult: a.__mul__, ast.Div: a.__truediv__}
    return signs[type(node.op)](b)


def test_results_in_the_paper(golden: Path) -> None:
    sheet = json.loads((golden / "toolformer_formulas.json").read_text())
    cases = sheet["calculator_results_seen_in_paper"]
    assert len(cases) == 9
    assert {case["expr"]: evaluate(case["expr"]) for case in cases} == {
        case["expr"]: case["result"] for case in cases
    }


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("27 + 4 * 2", "35"),
        ("400/1400", "0.29"),
        ("10-5-2", "3"),
        ("8/4/2", "1"),
        ("2 * -3", "-6"),
        ("--3", "3"),
        ("-(1 + 2)", "-3"),
        (" ( 1 ) ", "1"),
        (".5 * 2", "1"),
        ("0.1 + 0.2", "0.30"),
        ("1/8", "0.13"),
        ("-1/8", "-0.13"),
        ("-1/1000", "0.00"),
        ("2999/3000", "1.00"),
        ("-0", "0"),
        ("007", "7"),
    ],
)
def test_result(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "658,893 / 11.4%",
            "1/0",
            "9**9**9**9",
            "1 2",
            "1 +",
            "+1",
            "*",
        ),
        *(
            "",
            "  ",
            "()",
            "(1",
            "1)",
            "1..2",
            "5.",
            "1e3",
            "1_000",
            "18 + 12 x 3",
        ),
        *("__import__('os')", "1;2", "١ + ١", "²", "nan", "inf", "1j", "1 \n+ 1", "1/1/0"),
        *("9" * 10_000, "9" * 31, "(" * 100 + "1" + ")" * 100, "-" * 100 + "1", "1+" * 100 + "1"),
    ],
)
def test_no_result(expression: str) -> None:
    started = time.process_time()
    assert evaluate(expression) is None
    assert time.process_time() - started < 0.1


@given(TREES)
def test_value_of_any_tree(tree: Tree) -> None:
    text = _text(tree)
    assume(len(text) <= MAX_LENGTH)
    try:
        expected = _value(tree)
    except ZeroDivisionError:
        assert evaluate(text) is None
    else:
        assert compute(text) == expected


@given(
    st.lists(
        st.tuples(st.sampled_from(["+", "-", "*", "/", " - ", "*-", "-("]), st.integers(0, 99)), max_size=9
    )
)
def test_precedence_and_association_as_in_python(pairs: list[tuple[str, int]]) -> None:
    text = "1" + "".join(f"{sign}{number}" for sign, number in pairs)
    text += ")" * text.count("(")
    try:
        expected = _python(ast.parse(text, mode="eval").body)
    except ZeroDivisionError:
        assert evaluate(text) is None
    else:
        assert compute(text) == expected


@given(st.fractions(-(10**9), 10**9, max_denominator=10**5))
def test_rounding_is_half_up(value: Fraction) -> None:
    if value.denominator == 1:
        assert show(value) == str(int(value))
        return
    exact = Context(prec=60).divide(Decimal(value.numerator), Decimal(value.denominator))
    expected = exact.quantize(Decimal("0.01"), ROUND_HALF_UP)
    assert show(value) == str(expected if expected else abs(expected))


@given(st.text(max_size=250))
def test_any_text_is_answered_without_an_error(text: str) -> None:
    result = evaluate(text)
    assert result is None or Fraction(result) is not None


def _spelled(number: Fraction, percent: bool, commas: bool) -> str:
    """A number of at most two decimals as a text may have it."""
    shown = f"{float(number * (100 if percent else 1)):{',' if commas else ''}.2f}"
    return f"{shown}%" if percent else shown


@given(
    st.lists(
        st.tuples(st.integers(1, 10**9), st.booleans(), st.booleans(), st.sampled_from("+-*/")),
        min_size=1,
        max_size=6,
    )
)
def test_lenient_numbers_are_those_without_commas_and_percents(
    terms: list[tuple[int, bool, bool, str]],
) -> None:
    numbers = [
        (Fraction(cents, 10000 if percent else 100), percent, commas) for cents, percent, commas, _ in terms
    ]
    lenient = " ".join(
        f"{_spelled(*number)} {term[3]}" for number, term in zip(numbers, terms, strict=True)
    ).rstrip("+-*/ ")
    plain = " ".join(
        f"({number[0].numerator} / {number[0].denominator}) {term[3]}"
        for number, term in zip(numbers, terms, strict=True)
    ).rstrip("+-*/ ")
    assert compute(lenient, lenient=True) == _python(ast.parse(plain, mode="eval").body)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("658,893 / 11.4%", "5779763.16"),  # the paper's own example
        ("1,000", "1000"),
        ("(50%) * 2", "1"),
        ("12 * .5%", "0.06"),
        ("1,00", None),
        ("1000,000", None),
        ("5%%", None),
        ("(1 + 1)%", None),
        ("1,000 + 2", "1002"),
        ("1" + ",000" * 11, None),
    ],
)
def test_lenient(expression: str, result: str | None) -> None:
    assert evaluate(expression, lenient=True) == result
    assert evaluate(expression) is None


@given(st.text(st.sampled_from("0123456789,.%+-*/() "), max_size=40))
def test_lenient_reads_all_that_the_paper_reads(text: str) -> None:
    strict, lenient = evaluate(text), evaluate(text, lenient=True)
    if strict is not None:
        assert lenient == strict


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
