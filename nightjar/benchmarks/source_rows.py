"""Rows of a data set's own files, for the loaders of cards: a row becomes a record, or is refused with the reason."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import NotJson, duplicate_key, exact, is_text, not_text, quote_short, raw_text

FIX = "download the file again"
# The files that `rows` reads.
TABLES = (".csv", ".tsv")
ENDINGS = (".jsonl", ".json", *TABLES)
# A cell of whole numbers whose column has gaps, as a table of floats is written.
_WHOLE = re.compile(r"-?[0-9]+\.0")
JsonObject = dict[str, Any]


class InvalidRow(ValueError):
    """A row that cannot be used; the message is the reason."""


@dataclass(frozen=True)
class SourceRow:
    """A row with its number from 1 and its text as published (None: the JSON of `value`).

    `fault` is the reason why the row cannot be used, "" if there is none. `line` is the line of the file that the row
    begins on, for files that have a row a line.
    """

    number: int
    value: Any
    text: str | None = None
    fault: str = ""
    line: int | None = None

    @property
    def raw(self) -> str:
        """The text of the row, for rejected rows."""
        return raw_text(self.value) if self.text is None else self.text


def read_bytes(path: Path, *kinds: str) -> bytes:
    """The content of an ordinary file, or of one of `kinds`. Raises NightjarError if the file cannot be read."""
    check_input(path, *kinds)
    try:
        return path.read_bytes()
    except OSError as error:
        raise from_os_error(error, path) or error from None


def read_text(path: Path, fix: str = FIX, *kinds: str) -> str:
    """The text of a file in UTF-8 without its byte order mark; `kinds` and errors as in `read_bytes`."""
    try:
        return read_bytes(path, *kinds).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", path, fix) from None


def lines(path: Path, *kinds: str) -> Iterator[tuple[int, bytes]]:
    """The number and the bytes of every line that is not blank; `kinds` and errors as in `read_bytes`."""
    for number, line in enumerate(read_bytes(path, *kinds).splitlines(), start=1):
        if line.strip():
            yield number, line


def files_of(
    folder: Path, name: str, patterns: tuple[str, ...], of: str = "", example: str = ""
) -> list[Path]:
    """The files of the patterns in folder/name, sorted."""
    files = sorted(path for pattern in patterns for path in (folder / name).glob(pattern))
    if not files:
        what = f"no files {' or '.join(patterns)}{of}"
        raise NightjarError(what, folder / name, f"put at least one in it{example}")
    return files


def rows(path: Path) -> Iterator[SourceRow]:
    """The rows of a file NAME.jsonl, .json, .csv or .tsv as JSON objects.

    A file .json is one object, a list, an object of objects by id (each gets its id as `id`), or JSON Lines. The keys
    of a table are its column names in lower case. A file .tsv has no quoting.
    """
    if path.suffix in TABLES:
        return _table(path)
    if path.suffix != ".json":
        return json_lines(path)
    try:
        value = exact(read_bytes(path))
    except NotJson:
        return json_lines(path)
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        value = [{"id": id, **one} for id, one in value.items()]
    return objects(value if isinstance(value, list) else [value])


def plain_rows(path: Path) -> Iterator[SourceRow]:
    """The rows of a file with whole numbers as they were before their column had gaps (`plain`).

    A column of a table with gaps, and 5.0 for 5 in all other cells, is one of whole numbers.
    """
    if path.suffix not in TABLES:
        yield from plain(rows(path))
        return
    table = list(rows(path))
    values = [row.value for row in table if not row.fault]
    columns = {name for name in (values[0] if values else ()) if _is_whole([value[name] for value in values])}
    for row in table:
        cells = {
            name: cell.removesuffix(".0") if name in columns else cell for name, cell in row.value.items()
        }
        yield row if row.fault else replace(row, value=cells)


def _is_whole(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return 0 < len(filled) < len(cells) and all(map(_WHOLE.fullmatch, filled))


def plain(listed: Iterable[SourceRow]) -> Iterator[SourceRow]:
    """Rows with the numbers that a column with gaps has when it is saved: 5 for 5.0, and null for NaN."""
    for row in listed:
        yield row if row.fault else replace(row, value=_plain_value(row.value), text=row.raw)


def _plain_value(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {name: _plain_value(part) for name, part in value.items()}
    return [_plain_value(part) for part in value] if isinstance(value, list) else value


def json_value(path: Path) -> Any:
    """The value of a JSON file."""
    try:
        return exact(read_bytes(path))
    except NotJson as error:
        raise NightjarError(str(error), f"{path}:{error.line}" if error.line else path, FIX) from None


def json_list(path: Path) -> Iterator[SourceRow]:
    """The objects of a JSON file that holds a list."""
    values = json_value(path)
    if not isinstance(values, list):
        raise NightjarError("not a JSON list", path, FIX)
    return objects(values)


def objects(values: Iterable[Any]) -> Iterator[SourceRow]:
    """JSON values as rows; one that is no object, or has a duplicate key, has a fault."""
    for number, value in enumerate(values, start=1):
        yield SourceRow(number, value, fault=_fault(value))


def json_lines(path: Path) -> Iterator[SourceRow]:
    """The objects of a file of JSON Lines; a line of something else has a fault, and blank lines are skipped."""
    for number, line in lines(path):
        yield json_row(number, line)


def json_row(number: int, line: bytes) -> SourceRow:
    """The object of a line of JSON Lines; a line of something else has a fault."""
    text = line.decode("utf-8", "backslashreplace")
    try:
        value = exact(line)
    except NotJson as error:
        return SourceRow(number, None, text, str(error), number)
    return SourceRow(number, value, text, _fault(value), number)


def _fault(value: Any) -> str:
    if not isinstance(value, dict):
        return "not an object"
    key = duplicate_key(value)
    return "" if key is None else f"the key {quote_short(key)} occurs twice"


def _table(path: Path) -> Iterator[SourceRow]:
    text = read_text(path, "save the table as UTF-8")
    # A review or a summary may be longer than the module's own limit.
    limit, line = csv.field_size_limit(sys.maxsize), 1
    source = io.StringIO(text, newline="")
    tabs = path.suffix == ".tsv"
    # Strict: otherwise a quote that is never closed takes all further rows into its cell.
    reader = (
        csv.reader(source, csv.excel_tab, quoting=csv.QUOTE_NONE) if tabs else csv.reader(source, strict=True)
    )
    table, lines_of_rows = [], []
    try:
        for cells in reader:
            if cells:
                table.append(cells)
                lines_of_rows.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        what = f"a quote is not closed, or text follows a closing quote, in the row of this line ({error})"
        fix = 'close it, and write "" for a quote within a cell in quotes'
        raise NightjarError(what, f"{path}:{line}", fix) from None
    finally:
        csv.field_size_limit(limit)
    head = [name.strip().lower() for name in table[0]] if table else []
    if repeated := next((name for name, count in Counter(filter(None, head)).items() if count > 1), None):
        raise NightjarError(
            f"the column {quote_short(repeated)} occurs twice", f"{path}:1", "rename one of them"
        )
    for number, (cells, line) in enumerate(zip(table[1:], lines_of_rows[1:], strict=True), start=2):
        fault = "" if len(cells) == len(head) else f"{len(cells)} cells, not {len(head)}"
        yield SourceRow(
            number, dict(zip(head, cells, strict=False)), ("\t" if tabs else ",").join(cells), fault, line
        )


def records(
    file: str,
    rows: Iterable[SourceRow],
    id_of: str | Callable[[Any], str] | None,
    read: Callable[[Any, str], Record],
    ids: set[str] | None = None,
) -> Iterator[Record | Refused]:
    """The record that `read` makes of every row's value and id, or the row as refused, with the reason.

    `id_of` is the key of the id in a JSON object, a function of the value, or None: the number of the row. A row with
    the id of an earlier record is refused; `ids` are those of the task's records from other files.
    """
    ids = set() if ids is None else ids
    for row in rows:
        id = None
        try:
            if row.fault:
                raise InvalidRow(row.fault)
            if isinstance(id_of, str):
                id = text(row.value.get(id_of), id_of)
            else:
                id = id_of(row.value) if id_of else str(row.number)
            if id in ids:
                raise InvalidRow(f"the id {quote_short(id)} occurs twice")
            record = read(row.value, id)
        except InvalidRow as error:
            yield Refused(file, str(error), row.raw, id)
        else:
            ids.add(id)
            yield record


def need(row: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first of the keys that the row has. Raises InvalidRow if the row has none."""
    for key in keys:
        if row.get(key) is not None:
            return row[key]
    raise InvalidRow(f"no {' and no '.join(keys)}")


def text(value: object, name: str) -> str:
    """`value` without blanks around it. Raises InvalidRow if it is no text, or blank."""
    if value is None:
        raise InvalidRow(f"no {name}")
    if not is_text(value):
        raise InvalidRow(f"{name} is {not_text(value)}")
    if not value.strip():
        raise InvalidRow(f"{name} is blank")
    return value.strip()


def items(value: object, name: str, read: Callable[[Any], str], of: str = "text") -> list[str]:
    """Read each item of a list. Raises InvalidRow if `value` is no list, or empty."""
    if not isinstance(value, list) or not value:
        raise InvalidRow(f"{name} is not a list of at least one {of}")
    return [read(one) for one in value]


def distinct(values: Iterable[str]) -> tuple[str, ...]:
    """The values, each once, in the order of their first occurrence."""
    return tuple(dict.fromkeys(values))


def objects_of(value: object, name: str, least: int = 0) -> list[JsonObject]:
    """The objects of a list. Raises InvalidRow if `value` is no list of objects, or has fewer than `least`."""
    if not isinstance(value, list) or len(value) < least or not all(isinstance(one, dict) for one in value):
        raise InvalidRow(f"{name} is not a list of {'at least one object' if least else 'objects'}")
    return value
