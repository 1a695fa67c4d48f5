"""The questions of a benchmark as texts: what is asked, and the references."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.core import tables
from nightjar.core.contracts import DEV_QUESTIONS, QUESTIONS, TRAIN_QUESTIONS, Table

HEAD = ("benchmark", "track", "category", "task_id", "id")


@dataclass(frozen=True)
class Asked:
    """A question: its columns HEAD, the text that evidence is searched by, all its texts, and its references."""

    head: dict[str, Any]
    query: str
    texts: list[str]
    references: list[str]


def questions(card: Card, folder: Path, n: int) -> list[Asked]:
    """The test questions of the card's artifact `folder`. Raises NightjarError if they are missing."""
    return [one for many in _read(card, folder, QUESTIONS, n) for one in many]


def training(card: Card, folder: Path, n: int) -> Iterator[list[Asked]]:
    """The questions that systems of this benchmark may train on, in batches; none if it has no such table."""
    for table in (TRAIN_QUESTIONS, DEV_QUESTIONS):
        if (folder / table.name).is_dir():
            yield from _read(card, folder, table, n)


def _read(card: Card, folder: Path, table: Table, n: int) -> Iterator[list[Asked]]:
    for batch in tables.batches(folder, table, [*HEAD, "parts", "references"]):
        yield [_asked(card, row, n) for row in batch.to_pylist()]


def _asked(card: Card, row: dict[str, Any], n: int) -> Asked:
    parts, references = json.loads(row.pop("parts")), row.pop("references")
    query = card.query(parts)
    return Asked(row, query, _texts(query, parts.values(), n), references)


def _texts(query: str, parts: Iterable[Any], n: int) -> list[str]:
    """The query, and the question's other texts of n words or more: shorter ones may be labels, or names of sources."""
    long = (part for part in parts if isinstance(part, str) and len(part.split()) >= n)
    return list({text.casefold(): text for text in (query, *long)}.values())
