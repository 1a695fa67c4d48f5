"""The facts that the harness writes of a stage, data/metrics/<stage>.json: read again, and their form checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nightjar.core.artifact_rules import ROWS
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short, read_object


def read(file: Path) -> dict[str, Any]:
    """The facts in a file. Raises NightjarError if it does not hold the facts of a stage."""
    fix = "delete it and run its stage again"
    facts = read_object(file, fix, constants=True)
    if wrong := fault(facts, ("stage", *ROWS, "inputs", "outputs")):
        raise NightjarError(f"not the facts of a stage: {wrong}", file, fix)
    return facts


def fault(facts: Mapping[str, Any], needed: Iterable[str]) -> str:
    """Return the fault in the form of facts: the first key of `needed` that is missing, or a value of another kind;
    empty if nothing is. Stages of other repositories may leave keys out.
    """
    for name in needed:
        if name not in facts:
            return f"{name} is missing"
    if not isinstance(facts.get("stage", ""), str):
        return "stage is not a text"
    for name in ROWS:
        if not _count(facts.get(name, 0)):
            return f"{name} is not a count of rows"
    for name in ("inputs", "outputs"):
        paths = facts.get(name, [])
        if not isinstance(paths, list) or not all(
            isinstance(path, str) and "\0" not in path for path in paths
        ):
            return f"{name} is not a list of paths"
    written = facts.get("tables", {})  # older releases have none
    if not isinstance(written, Mapping):
        return "tables is not an object"
    for path, counts in written.items():
        if not isinstance(counts, Mapping):
            return f"tables: {quote_short(path)} is not an object"
        for table, count in counts.items():
            if not isinstance(count, Mapping) or not _count(count.get("rows")):
                return f"tables: {quote_short(path)}: {quote_short(table)} has no count of rows"
    return ""


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
