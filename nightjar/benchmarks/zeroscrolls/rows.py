"""The rows of a file of a data set: JSON Lines, JSON, or a table with a head (CSV, TSV)."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.zeroscrolls.examples import Unfit
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import NotJson, doubled_key, exact, raw_text, shown

ENDINGS = (".jsonl", ".json", ".csv", ".tsv")


@dataclass(frozen=True)
class Row:
    """A row with its number from 1 and its text. `value` is None if it cannot be used, for the reason in `fault`."""

    number: int
    raw: str
    value: Mapping[str, Any] | None
    fault: str = ""


def rows(path: Path) -> Iterator[Row]:
    """The rows of a file.

    A file .json is one object, a list, an object of objects by id (each gets its id as `id`), or JSON Lines. The keys
    of a table are its column names in lower case. Raises NightjarError if the file cannot be read.
    """
    check_input(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise from_os_error(error, path) or error from None
    if path.suffix in (".csv", ".tsv"):
        yield from _table(path, content)
        return
    if path.suffix == ".json" and (whole := _whole(content)) is not None:
        for number, value in enumerate(whole, start=1):
            yield _checked(number, raw_text(value), value)
        return
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield _line(number, line)


def _whole(content: bytes) -> list[Any] | None:
    """The rows of a file that is one JSON value; None if it is not."""
    try:
        value = exact(content)
    except NotJson:
        return None
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return [{"id": id, **one} for id, one in value.items()]
    return [value]


def _line(number: int, line: bytes) -> Row:
    try:
        value = exact(line)
    except NotJson as error:
        return Row(number, line.decode("utf-8", "backslashreplace"), None, str(error))
    return _checked(number, line.decode("utf-8-sig").strip(), value)


def _checked(number: int, raw: str, value: Any) -> Row:
    if not isinstance(value, dict):
        return Row(number, raw, None, "not an object")
    if (key := doubled_key(value)) is not None:
        return Row(number, raw, None, f"the key {shown(key)} occurs twice")
    return Row(number, raw, value)


def _table(path: Path, content: bytes) -> Iterator[Row]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 (byte {error.start})", path, "save the table as UTF-8") from None
    # A review or a summary may be longer than the module's own limit.
    limit = csv.field_size_limit(sys.maxsize)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ",")
        found = [cells for cells in reader if cells]
    except csv.Error as error:
        raise NightjarError(f"not a table ({error})", path, "save it as CSV with a head") from None
    finally:
        csv.field_size_limit(limit)
    head = [name.strip().lower() for name in found[0]] if found else []
    for number, cells in enumerate(found[1:], start=2):
        raw = ",".join(cells)
        if len(cells) != len(head):
            yield Row(number, raw, None, f"{len(cells)} cells, not {len(head)}")
        else:
            yield Row(number, raw, dict(zip(head, cells, strict=True)))


def need(row: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first of the keys that the row has. Raises Unfit if it has none."""
    for key in keys:
        if row.get(key) is not None:
            return row[key]
    raise Unfit(f"no {' and no '.join(keys)}")
