"""The sampled tool calls: how many each threshold would keep, and examples of kept ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.core import contracts, tables

THRESHOLDS = (0.0, 0.25, 0.5, 1.0, 2.0)
STATUSES = ("kept", "below_threshold", "no_result", "malformed")
EXAMPLES = 4
_BEFORE, _AFTER = 110, 60


@dataclass(frozen=True)
class Example:
    """A kept call in its place: the text around it and the loss it saves, in nats."""

    where: str
    before: str
    call: str
    after: str
    gain: float


@dataclass(frozen=True)
class Tool:
    """One tool's candidates. `thresholds` pairs a gain with how many calls save at least that much.

    `fitting` are kept calls whose result occurs in the text after them, `echoes` kept calls whose result does not;
    `echo_count` is the number of the latter. Both lists have those with the largest gains.
    """

    name: str
    own_threshold: float
    gains: list[float]
    statuses: dict[str, int]
    sources: dict[str, int]
    thresholds: list[tuple[float, int]]
    fitting: list[Example]
    echoes: list[Example]
    echo_count: int

    @property
    def candidates(self) -> int:
        return sum(self.statuses.values())

    @property
    def kept(self) -> int:
        return self.statuses.get("kept", 0)


Texts = Mapping[tuple[str, str | None, str, int], str]


def summarise(name: str, own_threshold: float, rows: Sequence[Mapping[str, Any]], texts: Texts) -> Tool:
    """The summary of one tool from its rows of contracts.CANDIDATES and the texts of the kept ones."""
    gains = [row["gain"] for row in rows if row["gain"] is not None]
    kept = sorted((row for row in rows if row["status"] == "kept"), key=lambda row: (-row["gain"], row["id"]))
    counted = Counter(row["status"] for row in rows)
    steps = sorted({*THRESHOLDS, own_threshold})
    fitting: list[Example] = []
    echoes: list[Example] = []
    for row in kept:
        text = texts.get(place(row), "")
        matches = occurs(row["result"] or "", text[row["offset"] :])
        (fitting if matches else echoes).append(_example(row, text))
    return Tool(
        name,
        own_threshold,
        gains,
        {status: counted[status] for status in STATUSES},
        dict(Counter(row["source"] for row in kept)),
        [(step, sum(gain >= step for gain in gains)) for step in steps],
        fitting[:EXAMPLES],
        echoes[:EXAMPLES],
        len(echoes),
    )


def place(row: Mapping[str, Any]) -> tuple[str, str | None, str, int]:
    """What identifies the text of a candidate."""
    return row["source"], row["task_id"], row["id"], row["target"]


def read_texts(corpus: Path, split: Path, rows: Sequence[Mapping[str, Any]]) -> Texts:
    """The texts that the kept calls are in, documents and training targets, with the one blank before them that the
    offsets of candidates count."""
    kept = [row for row in rows if row["status"] == "kept"]
    texts: dict[tuple[str, str | None, str, int], str] = {}
    if ids := sorted({row["id"] for row in kept if row["source"] == "corpus"}):
        found = tables.read(corpus, contracts.DOCUMENTS, ["id", "text"], pc.field("id").isin(ids))
        for document in found.to_pylist():
            texts["corpus", None, document["id"], 0] = f" {document['text'].strip()}"
    if ids := sorted({row["id"] for row in kept if row["source"] == "train"}):
        found = tables.read(split, contracts.TRAIN, ["task_id", "id", "outputs"], pc.field("id").isin(ids))
        for instance in found.to_pylist():
            for target, output in enumerate(instance["outputs"]):
                texts["train", instance["task_id"], instance["id"], target] = f" {output.strip()}"
    return texts


def occurs(result: str, after: str) -> bool:
    """Whether a call's result occurs in the text after the call.

    A number has to occur as a number (27 is not in 270, 1,204 is 1204). Of a sentence, as the calendar
    gives, one name or number is enough.
    """
    after = _plain(after)
    number = re.fullmatch(r"-?[\d,.]+", result)
    pieces = [_plain(result)] if number else re.findall(r"\d+|[^\W\d_]+", result.removeprefix("Today is"))
    return any(
        re.search(rf"(?<![\w.\-]){re.escape(piece)}(?!\w|[.]\d)", after, re.IGNORECASE)
        for piece in pieces
        if piece
    )


def _plain(text: str) -> str:
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)


def _example(row: Mapping[str, Any], text: str) -> Example:
    offset = row["offset"]
    before, after = text[max(0, offset - _BEFORE) : offset], text[offset : offset + _AFTER]
    where = f"{row['task_id']}, {row['id']}" if row["task_id"] else row["id"]
    return Example(
        where,
        ("… " if offset > _BEFORE else "") + " ".join(before.split()),
        f"{row['call'].removesuffix(']')} → {row['result']}]",
        " ".join(after.split()) + (" …" if len(text) > offset + _AFTER else ""),
        row["gain"],
    )
