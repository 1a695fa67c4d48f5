"""A folder of plain documents to Parquet: JSON Lines, Parquet and text files (stages.ingest.corpus_files)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from nightjar.core.contracts import DOCUMENTS
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import raw_text
from nightjar.core.tables import ArtifactWriter
from stages.ingest.accounts import Ledger, Progress, Refused, Statistics, UnreadableFile, open_file
from stages.ingest.corpus_files import DATASET, SUFFIXES, Row, Unit, rows
from stages.ingest.read_ahead import file_size
from stages.ingest.training_inputs import ROWS_PER_PART, ingest_training_inputs, is_split


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
    by `seed`. Raises NightjarError if the folder is not there, has no such file, nothing in it can be used, or a
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
        chosen = [(file, _rows(file, encodings, unit)) for file in files]
        documents, part = _documents(chosen, ledger, progress, total), 0
        while chunk := list(islice(documents, ROWS_PER_PART)):
            numbers.rows_out += writer.write(DOCUMENTS, chunk, part=f"part-{part:05d}")
            part += 1
        return ledger.close(path)


def _name(file: Path) -> str:
    return file.name.encode("utf-8", "backslashreplace").decode("utf-8")


def _rows(file: Path, encodings: Mapping[str, str], unit: Unit) -> Iterator[Row]:
    """The rows of a file in the encoding of the first pattern that matches it."""
    found = (encoding for pattern, encoding in encodings.items() if fnmatchcase(file.name, pattern))
    return rows(file, _name(file), next(found, "utf-8"), unit)


def _documents(
    files: list[tuple[Path, Iterator[Row]]], ledger: Ledger, progress: Progress | None, total: int
) -> Iterator[dict[str, Any]]:
    """The documents that are taken, in order; the ledger gets the others and the counts."""
    numbers = ledger.statistics
    seen: set[str] = set()
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
            numbers.bytes = before + file_size(file)
    if progress:
        progress(numbers.bytes, total)


def _start(file: Path) -> bytes:
    with contextlib.suppress(UnreadableFile), open_file(file) as handle:
        return handle.read(8000)
    return b""


def _as_given(row: dict[str, Any]) -> dict[str, str]:
    return {key: row[key] for key in ("id", "title", "text", "url")}
