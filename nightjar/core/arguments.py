"""Checks of what a caller of the library gives: a text where texts are wanted would be read letter by letter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError

AnyPath = str | Path


def as_path(value: AnyPath, name: str = "path") -> Path:
    """The path that the argument `name` is, as a Path or a text."""
    if not isinstance(value, str | Path) or value == "":
        what = "the name is empty" if value == "" else f"a {type(value).__name__} instead of a path"
        raise NightjarError(what, name, "give a text or a Path")
    return Path(value)


def as_optional_path(value: AnyPath | None, name: str = "path") -> Path | None:
    """As `as_path`; None remains."""
    return None if value is None else as_path(value, name)


def check_count(value: Any, name: str) -> None:
    """Raise NightjarError unless `value`, the argument `name`, is a whole number of at least 1."""
    if not isinstance(value, Integral) or int(value) < 1:
        raise NightjarError(f"{str(value)[:100]} is not allowed", name, "give a whole number of at least 1")


def check_list(values: Any, name: str) -> None:
    """Raise NightjarError unless `values`, the argument `name`, is a sequence, and no text."""
    _check_sequence(values, name, "values")


def check_texts(values: Any, name: str) -> None:
    """Raise NightjarError unless `values`, the argument `name`, is a sequence of texts."""
    _check_sequence(values, name, "texts")
    _check_all_texts(values, values, name)


def check_lists(values: Any, name: str) -> None:
    """Raise NightjarError unless `values`, the argument `name`, is a sequence of sequences of texts."""
    _check_sequence(values, name, "lists of texts")
    kinds = set(map(type, values))
    if not kinds <= {list, tuple}:
        for number, value in enumerate(values):
            _check_sequence(value, f"{name}[{number}]", "texts")
    _check_all_texts(itertools.chain.from_iterable(values), values, name)


def _check_sequence(values: Any, name: str, of: str) -> None:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise NightjarError(f"a {type(values).__name__} instead of a list of {of}", name, "give a list")


def _check_all_texts(texts: Any, values: Sequence[Any], name: str) -> None:
    # One pass in C over what may be millions of texts.
    if odd := {kind for kind in set(map(type, texts)) if not issubclass(kind, str)}:
        places = (number for number, value in enumerate(values) if _has(value, odd))
        what = f"a {min(kind.__name__ for kind in odd)} instead of a text"
        raise NightjarError(what, f"{name}[{next(places)}]", "give texts")


def _has(value: Any, kinds: set[type]) -> bool:
    return type(value) in kinds or (not isinstance(value, str) and any(type(one) in kinds for one in value))
