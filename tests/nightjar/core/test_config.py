"""YAML as it is read here against ruamel.yaml's parser in Python alone, which DVC uses."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import ReusedAnchorWarning, YAMLError

from nightjar.core.config import parse
from nightjar.core.errors import NightjarError
from tests.conftest import ROOT

REFUSED = "refused"


def ours(text: str) -> Any:
    try:
        return parse(text, "made.yaml", aliases=True)
    except NightjarError:
        return REFUSED


def theirs(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)
            return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return REFUSED


@pytest.mark.parametrize(
    "path", [*ROOT.glob("*.yaml"), *ROOT.glob("profiles/*.yaml")], ids=lambda it: it.name
)
def test_the_files_of_the_project(path: Path) -> None:
    text = path.read_text("utf-8")
    assert ours(text) == theirs(text) != REFUSED


@pytest.mark.parametrize(
    "text",
    [
        # Read by the parser in C in another way.
        *(
            "a\u2028b: 1",
            "a:\n  b\x85c:\n    d: 1",
            "!",
            ">#",
            "|#x",
            "&1:3",
            "\ufeff\ufeff",
            "a\n\tb",
            "- a \t",
        ),
        # Refused by it.
        *(" :   a: b", "{a:x b, c: d}", "{b: \r- : "),
        # Of YAML 1.1 and 1.2.
        *("a: yes", "a: 0o17", "a: 1:30", "a: 1e-05", "a: 2001-01-01", "a: .inf", "a: ~", "{a:1}", '"\\/"'),
    ],
)
def test_texts_that_parsers_read_in_several_ways(text: str) -> None:
    assert repr(ours(text)) == repr(theirs(text))


SIGNS = st.text("ab1. :-?,[]{}#'\"\\%@`*&!|>~=<\n\t\r", max_size=20)


@given(SIGNS)
def test_any_text(text: str) -> None:
    assert repr(ours(text)) == repr(theirs(text))
