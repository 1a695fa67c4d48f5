"""The files of the sample, as its tests read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record
from tests.conftest import ROOT

SAMPLE = ROOT / "data" / "sample"


def lines(path: str) -> list[dict[str, Any]]:
    """The objects of a file in JSON lines."""
    return [json.loads(line) for line in (SAMPLE / path).read_text(encoding="utf-8").splitlines()]


def corpus() -> list[dict[str, Any]]:
    return lines("corpus/documents.jsonl")


@cache
def tasks() -> dict[str, dict[str, Any]]:
    """Each task by the name of its file."""
    files = (SAMPLE / "natural_instructions/tasks").glob("*.json")
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(files)}


@cache
def records(load: Callable[[Path], Iterable[object]], folder: str) -> list[Record]:
    """What a benchmark's own loader reads; it refuses no line."""
    rows = list(load(SAMPLE / folder))
    found = [row for row in rows if isinstance(row, Record)]
    assert found and len(found) == len(rows)
    return found
