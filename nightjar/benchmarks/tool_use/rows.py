"""Rows of published files: read one by one, each kept as a record or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from nightjar.benchmarks.question import Record, Refused
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


def texts(value: object, name: str) -> tuple[str, ...]:
    """The texts of a list, without blanks around them, each once. Raises Unfit if there is none, or one is no text."""
    if not isinstance(value, list) or not value:
        raise Unfit(f"{name} is not a list of at least one answer")
    return tuple(dict.fromkeys(text(one, "an answer") for one in value))


def before_mask(statement: str, mask: str) -> str:
    """The statement before its mask, of which only signs follow. Raises Unfit for any other place or number of masks.

    A model that reads from left to right can complete no other statement (Schick et al. 2023, section 4.2).
    """
    before, *after = statement.split(mask)
    if len(after) != 1:
        raise Unfit(f"{mask} occurs {len(after)} times")
    if any(sign.isalnum() for sign in after[0]):
        raise Unfit(f"{mask} is not the final token")
    if not before.strip():
        raise Unfit(f"nothing stands before {mask}")
    return before.strip()


def records(
    file: str,
    rows: Iterable[Row],
    id_of: Callable[[Row], str],
    read: Callable[[Row, str], Record],
    raw: Callable[[Row], str],
    seen: set[str] | None = None,
) -> Iterator[Record | Refused]:
    """The record that `read` makes of every row and its id, or the row as `raw` shows it, with the reason of Unfit.

    A row whose id an earlier record has is refused; `seen` are the ids of the records of other files of the task.
    """
    seen = set() if seen is None else seen
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


def json_value(path: Path) -> Any:
    """The value of a JSON file. Raises NightjarError if it cannot be read."""
    try:
        return exact(read_bytes(path))
    except NotJson as error:
        raise NightjarError(str(error), f"{path}:{error.line}" if error.line else path, FIX) from None


def json_records(
    folder: Path,
    file: str,
    id_of: str | Callable[[JsonObject], str],
    read: Callable[[JsonObject, str], Record],
    seen: set[str] | None = None,
) -> Iterator[Record | Refused]:
    """The records of a JSON file that holds a list of objects; `file` is its path in `folder`.

    `id_of` makes the id of an object, or is its key. Raises NightjarError if the file cannot be read or is no such
    list.
    """
    rows = json_value(folder / file)
    if not isinstance(rows, list):
        raise NightjarError("not a JSON list", folder / file, FIX)
    yield from objects(file, rows, id_of, read, seen)


def objects(
    file: str,
    rows: Iterable[Any],
    id_of: str | Callable[[JsonObject], str],
    read: Callable[[JsonObject, str], Record],
    seen: set[str] | None = None,
) -> Iterator[Record | Refused]:
    """`records` of JSON values; one that is no object, or has a key twice, is refused."""

    def id(row: Any) -> str:
        _check(row)
        return text(row.get(id_of), id_of) if isinstance(id_of, str) else id_of(row)

    yield from records(file, rows, id, read, raw_text, seen)


def _check(row: Any) -> None:
    if not isinstance(row, dict):
        raise Unfit("not an object")
    if (key := doubled_key(row)) is not None:
        raise Unfit(f"the key {shown(key)} occurs twice")


def line_records(
    folder: Path,
    file: str,
    id_of: str | None,
    read: Callable[[JsonObject, str], Record],
    seen: set[str] | None = None,
) -> Iterator[Record | Refused]:
    """The records of a file of JSON Lines; a line that is not JSON is refused, a blank one skipped.

    `id_of` is the key of the id; None: the number of the line. Raises NightjarError if the file cannot be read.
    """

    def id(line: tuple[int, bytes, Any]) -> str:
        number, _, row = line
        if isinstance(row, NotJson):
            raise Unfit(str(row))
        _check(row)
        return str(number) if id_of is None else text(row.get(id_of), id_of)

    yield from records(
        file,
        _lines(read_bytes(folder / file)),
        id,
        lambda line, id: read(line[2], id),
        lambda line: line[1].decode("utf-8", "backslashreplace"),
        seen,
    )


def _lines(content: bytes) -> Iterator[tuple[int, bytes, Any]]:
    """The number, the bytes and the value of every line, or why it is not JSON."""
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            try:
                yield number, line, exact(line)
            except NotJson as error:
                yield number, line, error
