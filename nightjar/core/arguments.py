"""Checks of the arguments of public functions: a text where a list is wanted would be read letter by letter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError

AnyPath = str | Path


def check_count(value: int, name: str) -> None:
    """Raise NightjarError unless `value`, the argument `name`, is at least 1."""
    if value < 1:
        raise NightjarError(f"{value} is not allowed", name, "give a whole number of at least 1")


def check_list(values: Any, name: str) -> None:
    """Raise NightjarError if `values`, the argument `name`, is a single text."""
    if isinstance(values, str | bytes):
        raise NightjarError(f"a {type(values).__name__} instead of a list", name, "give a list")
