"""SVAMP (Patel et al. 2021): 1,000 short word problems, all of which are evaluated. One file, SVAMP.json."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import JsonObject, Unfit, json_records, text

NAME = FOLDER = "svamp"
FILE = "svamp/SVAMP.json"


def load(folder: Path) -> Iterator[Record | Refused]:
    """The problems of folder/svamp/SVAMP.json: a list of {ID, Body, Question, Answer}, other keys are not read.

    The reference is the number in Answer, without a decimal point if it is whole. Raises NightjarError if the file
    cannot be read.
    """
    return json_records(folder, FILE, "ID", _record)


def _record(row: JsonObject, id: str) -> Record:
    parts = {name.lower(): text(row.get(name), name) for name in ("Body", "Question")}
    return Record(NAME, id, FILE, parts, (number(row.get("Answer")),))


def number(value: object, name: str = "Answer") -> str:
    """A number of a JSON file without a decimal point if it is whole. Raises Unfit if it is none, or not finite."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, float) or not math.isfinite(value):
        raise Unfit(f"{name} is not a number" if value is not None else f"no {name}")
    return str(int(value)) if value == int(value) else f"{Decimal(repr(value)):f}"
