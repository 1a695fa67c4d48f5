"""A folder of plain documents to Parquet: JSON Lines files and text files (facts 3: the corpus of
Toolformer).

A line of a .jsonl file is {"id", "title", "text", "url"}; without an id it gets FILE#LINE. A .txt file gives
a document a paragraph (paragraphs are separated by blank lines) with the id FILE#N. The date is the first valid
one in the URL, as /2023/01/30/ or 2023-01-30: the calendar tool's "today" of a document (facts 3).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from nightjar.core.contracts import DOCUMENTS
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import NotJson, doubled_key, exact, is_text, not_text, raw_text
from nightjar.core.tables import ArtifactWriter
from stages.ingest.accounts import Ledger, Progress, Refused, Statistics, UnreadableFile, open_file
from stages.ingest.read_ahead import file_size
from stages.ingest.training_inputs import ROWS_PER_PART, ingest_training_inputs, is_split

DATASET = "corpus"
_YEAR = r"((?:19|20)\d\d)"
_DATE = re.compile(rf"/{_YEAR}/(\d{{1,2}})/(\d{{1,2}})(?!\d)|(?<!\d){_YEAR}-(\d{{2}})-(\d{{2}})(?!\d)")
_PARAGRAPHS = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


def url_date(url: str) -> date | None:
    """The first valid date in a URL (/2023/01/30/ or 2023-01-30, years 1900 to 2099), or None."""
    for found in _DATE.finditer(url):
        year, month, day = (int(part) for part in found.groups() if part is not None)
        try:
            return date(year, month, day)
        except ValueError:
            continue
    return None


def ingest_corpus(
    path: Path,
    output: Path,
    progress: Progress | None = None,
    max_inputs: int | None = None,
    seed: int = 0,
) -> Statistics:
    """Ingest the documents of `path`/*.jsonl and `path`/*.txt into the artifact `output`.

    Where `path` is an artifact of the stage split, its training inputs are the documents: at most `max_inputs`, drawn
    by `seed`. Raises NightjarError if the folder is not there, has no such file, or nothing in it can be used.
    """
    if is_split(path):
        return ingest_training_inputs(path, output, max_inputs, seed, progress)
    if not path.is_dir():
        what = "not a folder" if path.exists() else "no such folder"
        raise NightjarError(what, path, "set ingest.corpus.path or give another --input")
    files = sorted(file for file in path.iterdir() if file.suffix in (".jsonl", ".txt"))
    if not files:
        raise NightjarError("no documents (*.jsonl, *.txt) in it", path, "give the folder that holds them")
    total = sum(map(file_size, files))
    with ArtifactWriter(output) as writer:
        ledger = Ledger(DATASET, writer)
        numbers = ledger.statistics
        numbers.source = "files"
        rows: list[dict[str, Any]] = []
        parts = 0
        for result in _documents(files, ledger, progress, total):
            rows.append(result)
            if len(rows) == ROWS_PER_PART:
                numbers.rows_out += writer.write(DOCUMENTS, rows, part=f"part-{parts:05d}")
                rows, parts = [], parts + 1
        if rows:
            numbers.rows_out += writer.write(DOCUMENTS, rows, part=f"part-{parts:05d}")
        return ledger.close(path)


def _documents(
    files: list[Path], ledger: Ledger, progress: Progress | None, total: int
) -> Iterator[dict[str, Any]]:
    """The documents that are taken, in order; the ledger gets the others and the counts."""
    numbers = ledger.statistics
    seen: set[str] = set()
    for file in files:
        name = file.name.encode("utf-8", "backslashreplace").decode("utf-8")
        numbers.files += 1
        try:
            for size, result in _lines(file, name) if file.suffix == ".jsonl" else _paragraphs(file, name):
                numbers.bytes += size
                if result is None:
                    continue
                numbers.rows_in += 1
                if isinstance(result, dict) and result["id"] in seen:
                    result = Refused("the same id twice", raw_text(_as_given(result)), result["id"])
                if isinstance(result, Refused):
                    ledger.refuse(name, result)
                else:
                    seen.add(result["id"])
                    yield result
                if progress and numbers.rows_in % 1000 == 0:
                    progress(numbers.bytes, total)
        except UnreadableFile as error:
            ledger.refuse_file(name, error, _start(file))
            numbers.bytes += file_size(file)
    if progress:
        progress(numbers.bytes, total)


def _start(file: Path) -> bytes:
    with contextlib.suppress(UnreadableFile), open_file(file) as handle:
        return handle.read(8000)
    return b""


def _lines(file: Path, name: str) -> Iterator[tuple[int, dict[str, Any] | Refused | None]]:
    """Every line of a JSON Lines file: its bytes, and a document, a refusal, or None for a blank line.

    Raises UnreadableFile if the file cannot be opened.
    """
    with open_file(file) as handle:
        for number, line in enumerate(handle, 1):
            yield len(line), _line(line, name, f"{name}#{number}") if line.strip() else None


def _line(line: bytes, name: str, default_id: str) -> dict[str, Any] | Refused:
    try:
        value = exact(line)
    except NotJson as error:
        return Refused(
            error.reason, line.decode("utf-8", "backslashreplace").rstrip("\n"), detail=error.detail
        )
    return _check(value, name, default_id)


def _check(value: Any, file: str, default_id: str) -> dict[str, Any] | Refused:
    if not isinstance(value, dict):
        return Refused("not an object", raw_text(value))
    id = value.get("id")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if id is None or id == "":
        id = default_id
    known = id if is_text(id) else None

    def refuse(reason: str, detail: str = "") -> Refused:
        return Refused(reason, raw_text(value), known, detail)

    key = doubled_key(value)
    if key is not None:
        return refuse("a key stands twice", raw_text(key))
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


def _paragraphs(file: Path, name: str) -> Iterator[tuple[int, dict[str, Any] | Refused | None]]:
    """Every paragraph of a text file as a document; the file's bytes are counted with the first.

    Raises UnreadableFile if the file cannot be opened, is not UTF-8 or has no text.
    """
    with open_file(file) as handle:
        data = handle.read()
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableFile("not UTF-8", f"at byte {error.start}") from None
    paragraphs = [part.strip() for part in _PARAGRAPHS.split(text)]
    paragraphs = [part for part in paragraphs if part]
    if not paragraphs:
        raise UnreadableFile("text is blank")
    for number, part in enumerate(paragraphs, 1):
        row = {
            "id": f"{name}#{number}",
            "title": name.removesuffix(".txt"),
            "text": part,
            "url": "",
            "date": None,
        }
        yield (len(data) if number == 1 else 0), {"dataset": DATASET, "file": name, **row}


def _as_given(row: dict[str, Any]) -> dict[str, str]:
    return {key: row[key] for key in ("id", "title", "text", "url")}
