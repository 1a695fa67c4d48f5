"""Checks of what a caller of the library gives: a text where texts are wanted would be read letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nightjar.core.errors import NightjarError


def check_texts(values: Any, name: str) -> None:
    """Raise NightjarError unless `values`, the argument `name`, is a sequence of texts."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise NightjarError(f"a {type(values).__name__} instead of a list of texts", name, "give a list")
    # One pass in C over what may be millions of texts.
    if not set(map(type, values)) <= {str}:
        for number, value in enumerate(values):
            if not isinstance(value, str):
                what = f"a {type(value).__name__} instead of a text"
                raise NightjarError(what, f"{name}[{number}]", "give texts")
