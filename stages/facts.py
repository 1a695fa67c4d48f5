"""The facts that the harness writes of a stage, data/metrics/<stage>.json: read again, and their form checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages.errors import NightjarError
from stages.json_text import read_object, shown

ROWS = ("rows_in", "rows_out", "rows_rejected")
FIX = "delete it and run its stage again"


def read(file: Path) -> dict[str, Any]:
    """The facts in a file. Raises NightjarError if it does not hold the facts of a stage."""
    facts = read_object(file, FIX, constants=True)
    if missing := [name for name in ("stage", *ROWS, "inputs", "outputs") if name not in facts]:
        raise NightjarError(f"not the facts of a stage: {missing[0]} is missing", file, FIX)
    check(facts, file)
    return facts


def check(facts: Mapping[str, Any], file: Path) -> None:
    """Raise NightjarError for a key that has another kind of value; stages of other repositories may leave keys out."""
    if wrong := _fault(facts):
        raise NightjarError(f"not the facts of a stage: {wrong}", file, FIX)


def _fault(facts: Mapping[str, Any]) -> str:
    if not isinstance(facts.get("stage", ""), str):
        return "stage is no text"
    for name in ROWS:
        if not _count(facts.get(name, 0)):
            return f"{name} is no count of rows"
    for name in ("inputs", "outputs"):
        paths = facts.get(name, [])
        if not isinstance(paths, list) or not all(
            isinstance(path, str) and "\0" not in path for path in paths
        ):
            return f"{name} is no list of paths"
    written = facts.get("tables", {})  # older releases have none
    if not isinstance(written, Mapping):
        return "tables is no object"
    for path, counts in written.items():
        if not isinstance(counts, Mapping):
            return f"tables: {shown(path)} is no object"
        for table, told in counts.items():
            if not isinstance(told, Mapping) or not _count(told.get("rows")):
                return f"tables: {shown(path)}: {shown(table)} has no count of rows"
    return ""


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
