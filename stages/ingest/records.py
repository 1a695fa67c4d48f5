"""The dataset of a benchmark whose card reads its own files: rows of contracts.RECORDS, one part a task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightjar.benchmarks import card as cards
from nightjar.benchmarks.capabilities import FileEncodings
from nightjar.core.contracts import RECORDS
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from nightjar.core.tables import ArtifactWriter
from stages.ingest.accounts import Ledger, Progress, Refused, Statistics


def ingest_records(
    card: cards.Card,
    path: Path,
    output: Path,
    progress: Progress | None = None,
    encodings: Mapping[str, str] | None = None,
) -> Statistics:
    """Read the card's files in `path` into the artifact `output`; what `load` refuses is kept with the reason.

    `encodings`: pattern of a file's path in the folder to its encoding. Raises NightjarError if the folder is not
    there, nothing in it can be used, or the card takes no encodings.
    """
    if not path.is_dir():
        raise NightjarError("no such folder", path, f"give the folder of {card.title}")
    if card.load is None:
        raise NightjarError(f"{card.name} has no files of its own", path, "ingest the dataset it is made of")
    with_encodings = card.capability(FileEncodings)
    if encodings and not with_encodings:
        where = f"ingest.{card.name}.encodings"
        raise NightjarError(f"{card.name} reads its files in one encoding", where, "remove this key")
    tasks: dict[str, list[dict[str, Any]]] = {}
    seen: set[tuple[str, str]] = set()
    files: set[str] = set()
    remarks: Counter[str] = Counter()
    with ArtifactWriter(output) as writer:
        ledger = Ledger(card.name, writer)
        numbers = ledger.statistics
        for found in (
            with_encodings.load(path, encodings) if with_encodings and encodings else card.load(path)
        ):
            numbers.rows_in += 1
            files.add(found.file)
            if isinstance(found, cards.Refused):
                ledger.refuse(found.file, Refused(found.reason, found.raw, found.id))
            elif (found.task_id, found.id) in seen:
                raw = json.dumps(found.parts, ensure_ascii=False)
                ledger.refuse(found.file, Refused("the same id twice", raw, found.id))
            else:
                seen.add((found.task_id, found.id))
                remarks.update(found.remarks)
                tasks.setdefault(found.task_id, []).append(_row(card.name, found))
        for task, rows in sorted(tasks.items()):
            numbers.rows_out += writer.write(RECORDS, rows, part=safe_name(task))
        numbers.tasks, numbers.files = len(tasks), len(files)
        numbers.remarks = dict(sorted(remarks.items())) or None
        numbers.bytes = sum((path / name).stat().st_size for name in files if (path / name).is_file())
        if progress:
            progress(numbers.bytes, numbers.bytes)
        return ledger.close(path)


def _row(dataset: str, record: cards.Record) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "file": record.file,
        "task_id": record.task_id,
        "category": record.category,
        "id": record.id,
        "parts": json.dumps(record.parts, ensure_ascii=False),
        "references": list(record.references),
        "day": record.day,
    }
