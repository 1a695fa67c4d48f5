"""The documents in a file of a corpus: JSON Lines, Parquet or text, such as the corpus of Toolformer.

A row of a .jsonl or .parquet file is {"id", "title", "text", "url"}, of which only the text is needed; without an id it
gets FILE#ROW. A row of KILT's Wikipedia (Petroni et al. 2021) has `wikipedia_id`, `wikipedia_title`, a list of
paragraphs as `text`, and its address in `history`. A .txt file gives a document a paragraph (paragraphs are separated
by blank lines) or a line, with the id FILE#N.
The date is the first valid one in the URL, as /2023/01/30/ or 2023-01-30: the calendar tool's "today" of a
document (Schick et al. 2023, appendix A).
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from nightjar.core.contracts import DOCUMENTS
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import NotJson, duplicate_key, exact, is_text, not_text, raw_text
from nightjar.core.tables import ArtifactWriter
from stages.ingest.accounts import (
    Ledger,
    Progress,
    RefusedRow,
    Statistics,
    UnreadableFile,
    file_size,
    open_file,
)
from stages.ingest.training_inputs import ROWS_PER_PART, ingest_training_inputs, is_split

DATASET = "corpus"
SUFFIXES = (".jsonl", ".parquet", ".txt")
Unit = Literal["paragraphs", "lines"]
# Its bytes, and a document, a refusal, or None for a blank line.
Row = tuple[int, dict[str, Any] | RefusedRow | None]

_YEAR = r"((?:19|20)\d\d)"
_DATE = re.compile(rf"/{_YEAR}/(\d{{1,2}})/(\d{{1,2}})(?!\d)|(?<!\d){_YEAR}-(\d{{2}})-(\d{{2}})(?!\d)")
_PARAGRAPHS = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_COLUMNS = ("id", "title", "text", "url")
_ROWS = 4096

log = logging.getLogger("nightjar")


def url_date(url: str) -> date | None:
    """The first valid date in a URL (/2023/01/30/ or 2023-01-30, years 1900 to 2099), or None."""
    for date_match in _DATE.finditer(url):
        year, month, day = (int(part) for part in date_match.groups() if part is not None)
        try:
            return date(year, month, day)
        except ValueError:
            continue
    return None


def rows(file: Path, name: str, encoding: str = "utf-8", unit: Unit = "paragraphs") -> Iterator[Row]:
    """Every document of a file, whose name as it is recorded is `name`; the bytes of all rows add up to the file's.

    `encoding` is that of a .jsonl or .txt file; a `unit` of a .txt file is a document. Raises UnreadableFile if the
    file cannot be opened, is not in its encoding or format, or has no text.
    """
    if file.suffix == ".parquet":
        return _parquet(file, name)
    if file.suffix == ".jsonl":
        return _lines(file, name, encoding)
    return _text_lines(file, name, encoding) if unit == "lines" else _paragraphs(file, name, encoding)


def _lines(file: Path, name: str, encoding: str) -> Iterator[Row]:
    for number, size, line in _decoded(file, name, encoding):
        if isinstance(line, RefusedRow):
            yield size, line
        else:
            yield size, _line(line, name, f"{name}#{number}") if line.strip() else None


def _decoded(file: Path, name: str, encoding: str) -> Iterator[tuple[int, int, str | RefusedRow]]:
    """The number, the bytes and the text of each line; the first that is not in the encoding is logged."""
    warned = False
    with open_file(file) as handle:
        for number, line in enumerate(handle, 1):
            try:
                text: str | RefusedRow = line.decode(_codec(encoding) if number == 1 else encoding)
            except UnicodeDecodeError:
                raw = line.decode("utf-8", "backslashreplace").rstrip("\n")
                error = _not_in(encoding, name, number)
                text = RefusedRow(error.reason, raw, detail=error.detail)
                if not warned:
                    log.warning("warning: %s: a line is left out: %s", name, error)
                warned = True
            yield number, len(line), text


def _codec(encoding: str) -> str:
    """The codec for the start of a file, which may be a byte order mark."""
    return "utf-8-sig" if encoding == "utf-8" else encoding


def _not_in(encoding: str, name: str, line: int) -> UnreadableFile:
    encoding_name = "UTF-8" if encoding == "utf-8" else encoding
    alternative = "latin-1" if encoding == "utf-8" else "utf-8"
    fix = f"set ingest.corpus.encodings to {{{json.dumps(name)}: {alternative}}}, or to its encoding"
    return UnreadableFile(f"not {encoding_name}", f"line {line}; {fix}")


def _line(line: str, name: str, default_id: str) -> dict[str, Any] | RefusedRow:
    try:
        value = exact(line.encode())
    except NotJson as error:
        return RefusedRow(error.reason, line.rstrip("\n"), detail=error.detail)
    return _check(value, name, default_id)


def _check(value: Any, file: str, default_id: str) -> dict[str, Any] | RefusedRow:
    if not isinstance(value, dict):
        return RefusedRow("not an object", raw_text(value))
    if "wikipedia_id" in value:
        value = {**value, **_kilt(value)}
    id = value.get("id")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if id is None or id == "":
        id = default_id
    known_id = id if is_text(id) else None

    def refuse(reason: str, detail: str = "") -> RefusedRow:
        return RefusedRow(reason, raw_text(value), known_id, detail)

    key = duplicate_key(value)
    if key is not None:
        return refuse("a duplicate key", raw_text(key))
    if "text" not in value:
        return refuse("no text")
    fields: dict[str, Any] = {
        "id": id,
        "title": value.get("title"),
        "text": value["text"],
        "url": value.get("url"),
    }
    for name in ("title", "url"):
        fields[name] = "" if fields[name] is None else fields[name]
    for name, item in fields.items():
        if not is_text(item):
            return refuse(f"{name} is {not_text(item)}")
    if not fields["text"].strip():
        return refuse("text is blank")
    return {"dataset": DATASET, "file": file, **fields, "date": url_date(fields["url"])}


def _kilt(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of a document in a row of KILT, as far as they are valid: `_check` names the others."""
    text, history = value.get("text"), value.get("history")
    fields = {"id": value["wikipedia_id"], "title": value.get("wikipedia_title")}
    if isinstance(text, list) and all(map(is_text, text)):
        fields["text"] = "\n".join(part.strip("\n") for part in text)
    if isinstance(history, dict):
        fields["url"] = history.get("url")
    return fields


def _parquet(file: Path, name: str) -> Iterator[Row]:
    """Every row of a Parquet file; the file's bytes are counted with the first."""
    open_file(file).close()
    size, number = file_size(file), 0
    try:
        with pq.ParquetFile(file) as source:
            schema = source.schema_arrow
            columns = [column for column in _COLUMNS if column in schema.names]
            if "text" not in columns:
                raise UnreadableFile("no column text", f"columns are {', '.join(schema.names)}"[:300])
            for column in columns:
                kind = schema.field(column).type
                numbers = column == "id" and pa.types.is_integer(kind)
                if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or numbers):
                    raise UnreadableFile(f"column {column} is not a string", str(kind))
            for batch in source.iter_batches(_ROWS, columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield (size if number == 1 else 0), _check(row, name, f"{name}#{number}")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        detail = " ".join(str(error).split())[:300]
        raise UnreadableFile("not readable as Parquet", detail) from None
    if not number:
        raise UnreadableFile("no rows")


def _paragraphs(file: Path, name: str, encoding: str) -> Iterator[Row]:
    """Every paragraph of a text file; the file's bytes are counted with the first."""
    with open_file(file) as handle:
        data = handle.read()
    try:
        text = data.decode(_codec(encoding)).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise _not_in(encoding, name, data.count(b"\n", 0, error.start) + 1) from None
    paragraphs = [part.strip() for part in _PARAGRAPHS.split(text)]
    paragraphs = [part for part in paragraphs if part]
    if not paragraphs:
        raise UnreadableFile("text is blank")
    for number, part in enumerate(paragraphs, 1):
        row = {"id": f"{name}#{number}", "title": name.removesuffix(".txt"), "text": part}
        yield (len(data) if number == 1 else 0), _document(name, row)


def _text_lines(file: Path, name: str, encoding: str) -> Iterator[Row]:
    """Every line of a text file that is not blank. Its title is empty: a line says nothing of the others."""
    for number, size, line in _decoded(file, name, encoding):
        if isinstance(line, RefusedRow):
            yield size, line
        else:
            text = line.strip()
            yield (
                size,
                _document(name, {"id": f"{name}#{number}", "title": "", "text": text}) if text else None,
            )


def _document(name: str, row: dict[str, Any]) -> dict[str, Any]:
    return {"dataset": DATASET, "file": name, **row, "url": "", "date": None}


def ingest_corpus(
    path: Path,
    output: Path,
    progress: Progress | None = None,
    max_inputs: int | None = None,
    seed: int = 0,
    encodings: Mapping[str, str] | None = None,
    unit: Unit = "paragraphs",
) -> Statistics:
    """Ingest the documents of `path`/*.jsonl, *.parquet and *.txt into the artifact `output`.

    `encodings`: pattern of a file's name to its encoding (default UTF-8); `unit`: what is a document in a .txt file.
    Where `path` is an artifact of the stage split, its training inputs are the documents: at most `max_inputs`, drawn
    by `seed`. Raises NightjarError if the folder is missing, has no such file, nothing in it can be used, or a
    pattern matches no file.
    """
    if is_split(path):
        return ingest_training_inputs(path, output, max_inputs, seed, progress)
    if not path.is_dir():
        what = "not a folder" if path.exists() else "no such folder"
        raise NightjarError(what, path, "set ingest.corpus.path or give another --input")
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        kinds = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        raise NightjarError(f"no documents ({kinds}) in it", path, "give the folder that holds them")
    encodings = encodings or {}
    for pattern in encodings:
        if not any(fnmatchcase(file.name, pattern) for file in files):
            what = f"ingest.corpus.encodings has {pattern!r}, which matches no file"
            raise NightjarError(what, path, "correct or remove this pattern")
    total = sum(map(file_size, files))
    with ArtifactWriter(output) as writer:
        ledger = Ledger(DATASET, writer)
        numbers = ledger.statistics
        numbers.source = "files"
        chosen = [(file, _file_rows(file, encodings, unit)) for file in files]
        documents = _documents(chosen, ledger, progress, total)
        numbers.rows_out = writer.write_parts(DOCUMENTS, documents, ROWS_PER_PART)
        return ledger.close(path)


def _name(file: Path) -> str:
    return file.name.encode("utf-8", "backslashreplace").decode("utf-8")


def _file_rows(file: Path, encodings: Mapping[str, str], unit: Unit) -> Iterator[Row]:
    """The rows of a file in the encoding of the first pattern that matches it."""
    matching = (encoding for pattern, encoding in encodings.items() if fnmatchcase(file.name, pattern))
    return rows(file, _name(file), next(matching, "utf-8"), unit)


def _documents(
    files: list[tuple[Path, Iterator[Row]]], ledger: Ledger, progress: Progress | None, total: int
) -> Iterator[dict[str, Any]]:
    """The documents that are taken, in order; the ledger gets the others and the counts."""
    numbers = ledger.statistics
    known_ids: set[str] = set()
    for file, results in files:
        name = _name(file)
        numbers.files += 1
        before = numbers.bytes
        try:
            for size, result in results:
                numbers.bytes += size
                if result is None:
                    continue
                numbers.rows_in += 1
                if isinstance(result, dict) and result["id"] in known_ids:
                    result = RefusedRow("the same id twice", raw_text(_as_given(result)), result["id"])
                if isinstance(result, RefusedRow):
                    ledger.refuse(name, result)
                else:
                    known_ids.add(result["id"])
                    yield result
                if progress and numbers.rows_in % 1000 == 0:
                    progress(numbers.bytes, total)
        except UnreadableFile as error:
            ledger.refuse_file(name, error, _start(file))
            numbers.bytes = before + file_size(file)
    if progress:
        progress(numbers.bytes, total)


def _start(file: Path) -> bytes:
    with contextlib.suppress(UnreadableFile), open_file(file) as handle:
        return handle.read(8000)
    return b""


def _as_given(row: dict[str, Any]) -> dict[str, str]:
    return {key: row[key] for key in ("id", "title", "text", "url")}
