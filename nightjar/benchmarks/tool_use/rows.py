"""Rows of published files: read one by one, each kept as a record or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from nightjar.benchmarks.card import Record, Refused
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import NotJson, doubled_key, exact, is_text, not_text, raw_text, shown

FIX = "download the file again"
Row = TypeVar("Row")
JsonObject = dict[str, Any]


class Unfit(ValueError):
    """A row that cannot be used; the message is the reason."""


def read_bytes(path: Path) -> bytes:
    """The content of an ordinary file. Raises NightjarError if it cannot be read."""
    check_input(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise from_os_error(error, path) or error from None


def text(value: object, name: str) -> str:
    """`value` without blanks around it. Raises Unfit if it is no text, or blank."""
    if value is None:
        raise Unfit(f"no {name}")
    if not is_text(value):
        raise Unfit(f"{name} is {not_text(value)}")
    if not value.strip():
        raise Unfit(f"{name} is blank")
    return value.strip()


def records(
    file: str,
    rows: Iterable[Row],
    id_of: Callable[[Row], str],
    read: Callable[[Row, str], Record],
    raw: Callable[[Row], str],
) -> Iterator[Record | Refused]:
    """The record that `read` makes of every row and its id, or the row as `raw` shows it, with the reason of Unfit.

    A row whose id an earlier record has is refused.
    """
    seen: set[str] = set()
    for row in rows:
        id = None
        try:
            id = id_of(row)
            if id in seen:
                raise Unfit(f"the id {shown(id)} occurs twice")
            record = read(row, id)
        except Unfit as error:
            yield Refused(file, str(error), raw(row), id)
        else:
            seen.add(id)
            yield record


def json_records(
    folder: Path, file: str, id_key: str, read: Callable[[JsonObject, str], Record]
) -> Iterator[Record | Refused]:
    """The records of a JSON file that holds a list of objects; `file` is its path in `folder`.

    Raises NightjarError if the file cannot be read or is no such list.
    """
    path = folder / file
    try:
        rows = exact(read_bytes(path))
    except NotJson as error:
        raise NightjarError(str(error), f"{path}:{error.line}" if error.line else path, FIX) from None
    if not isinstance(rows, list):
        raise NightjarError("not a JSON list", path, FIX)

    def id_of(row: Any) -> str:
        if not isinstance(row, dict):
            raise Unfit("not an object")
        if (key := doubled_key(row)) is not None:
            raise Unfit(f"the key {shown(key)} occurs twice")
        return text(row.get(id_key), id_key)

    yield from records(file, rows, id_of, read, raw_text)
