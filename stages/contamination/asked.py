"""The questions of a benchmark as texts: what is asked, and the references."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.core import tables
from nightjar.core.contracts import DEV_QUESTIONS, QUESTIONS, TRAIN_QUESTIONS, Table
from nightjar.core.errors import NightjarError
from stages.contamination.held import SHORTEST

HEAD = ("benchmark", "track", "category", "task_id", "id")


@dataclass(frozen=True)
class Asked:
    """A question: its columns HEAD, the text that evidence is searched by, all its texts, and its references."""

    head: dict[str, Any]
    query: str
    texts: list[str]
    references: list[str]


def questions(card: Card, folder: Path) -> list[Asked]:
    """The test questions of the card's artifact `folder`. Raises NightjarError if they are missing."""
    return [one for many in _read(card, folder, QUESTIONS) for one in many]


def training(card: Card, folder: Path) -> Iterator[list[Asked]]:
    """The questions that systems of this benchmark may train on, in batches; none if it has no such table."""
    for table in (TRAIN_QUESTIONS, DEV_QUESTIONS):
        if (folder / table.name).is_dir():
            yield from _read(card, folder, table)


def _read(card: Card, folder: Path, table: Table) -> Iterator[list[Asked]]:
    for batch in tables.batches(folder, table, [*HEAD, "parts", "references"]):
        yield [_asked(card, row) for row in batch.to_pylist()]


def _asked(card: Card, row: dict[str, Any]) -> Asked:
    parts, references = json.loads(row.pop("parts")), row.pop("references")
    query = _query(card, parts)
    return Asked(row, query, _texts(query, parts.values()), references)


def _query(card: Card, parts: Mapping[str, Any]) -> str:
    try:
        return card.query(parts)
    except (KeyError, NightjarError):  # a card need not say by what evidence is searched where none is
        return ""


def _texts(query: str, parts: Iterable[Any]) -> list[str]:
    """The query, and the question's other texts of SHORTEST words or more: less may be a label, or a source's name."""
    long = (part for part in parts if isinstance(part, str) and len(part.split()) >= SHORTEST)
    return list({text.casefold(): text for text in (query, *long)}.values())
