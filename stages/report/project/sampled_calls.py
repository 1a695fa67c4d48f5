"""The sampled tool calls of each tool: their gains, how many each threshold would keep, and some of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from nightjar.core import contracts, tables
from nightjar.params.augment import ToolParams
from nightjar.search.words import normal

THRESHOLDS = (0.0, 0.25, 0.5, 1.0, 2.0)
STATUSES = ("kept", "below_threshold", "no_result", "malformed")
EXAMPLES = 4
# Of the best and of the worst calls of all tools, as in table 10 of the paper.
EXTREMES = 20
_BEFORE, _AFTER = 110, 60


@dataclass(frozen=True)
class Example:
    """A call in its place: the text around it and the loss it saves, in nats.

    `fits`: whether its result occurs in the text after it. `is_kept`: whether the filter kept it.
    """

    tool: str
    where: str
    before: str
    call: str
    after: str
    gain: float
    is_kept: bool
    fits: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a table of calls."""
        return f"{self.gain:.2f}", self.before, self.call, self.after, self.where


@dataclass(frozen=True)
class SampledTool:
    """One tool's candidates. `thresholds` pairs a gain with how many calls save at least that much.

    `fitting` are kept calls whose result occurs in the text after them, `echoes` kept calls whose result does not;
    `echo_count` is the number of the latter. Both lists have those with the largest gains. `best` and `worst` are the
    calls with the largest and the smallest gains, kept or not.
    """

    name: str
    own_threshold: float
    gains: list[float]
    statuses: dict[str, int]
    thresholds: list[tuple[float, int]]
    fitting: list[Example]
    echoes: list[Example]
    echo_count: int
    best: list[Example]
    worst: list[Example]

    @property
    def kept_count(self) -> int:
        return self.statuses.get("kept", 0)


Candidate = Mapping[str, Any]
Texts = Mapping[tuple[str, str | None, str, int], str]


def summarise(name: str, tool_settings: ToolParams, rows: Sequence[Candidate], texts: Texts) -> SampledTool:
    """The summary of one tool from its rows of contracts.CANDIDATES and the texts of `read_texts`."""
    gains = [row["gain"] for row in rows if row["gain"] is not None]
    kept_rows = sorted(_kept_rows(rows, tool_settings), key=lambda row: (-row["gain"], row["id"]))
    counted = Counter(row["status"] for row in rows)
    counted["kept"], counted["below_threshold"] = len(kept_rows), len(gains) - len(kept_rows)
    steps = sorted({*THRESHOLDS, tool_settings.filter_threshold})
    fitting: list[Example] = []
    echoes: list[Example] = []
    for row in kept_rows:
        example = _example(row, texts.get(place(row), ""), tool_settings)
        (fitting if example.fits else echoes).append(example)
    best, worst = extremes(rows)
    return SampledTool(
        name,
        tool_settings.filter_threshold,
        gains,
        {status: counted[status] for status in STATUSES},
        [(step, sum(gain >= step for gain in gains)) for step in steps],
        fitting[:EXAMPLES],
        echoes[:EXAMPLES],
        len(echoes),
        [_example(row, texts.get(place(row), ""), tool_settings) for row in best],
        [_example(row, texts.get(place(row), ""), tool_settings) for row in worst],
    )


def _kept_rows(rows: Sequence[Candidate], tool_settings: ToolParams) -> list[Candidate]:
    return [row for row in rows if row["gain"] is not None and tool_settings.keeps(row["gain"])]


def extremes(rows: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """The calls with the largest gains, best first, and those with the smallest, worst first; at most `EXTREMES`."""
    measured = [row for row in rows if row["gain"] is not None]
    order = sorted(measured, key=lambda row: (-row["gain"], row["id"], row["call"]))
    return order[:EXTREMES], order[::-1][:EXTREMES]


def best_and_worst(tools: Sequence[SampledTool]) -> tuple[list[Example], list[Example]]:
    """Of all tools together: at most `EXTREMES` calls with the largest gains, and with the smallest."""
    best = sorted((one for tool in tools for one in tool.best), key=lambda one: -one.gain)
    worst = sorted((one for tool in tools for one in tool.worst), key=lambda one: one.gain)
    return best[:EXTREMES], worst[:EXTREMES]


def place(row: Candidate) -> tuple[str, str | None, str, int]:
    """Return the key of a candidate's text."""
    return row["source"], row["task_id"], row["id"], row["target"]


def read_texts(corpus: Path, split: Path, rows: Sequence[Candidate], tool_settings: ToolParams) -> Texts:
    """The texts of the kept calls and of those with the largest and smallest gains: documents and training targets.

    Each has the one blank before it that the offsets of candidates count.
    """
    best, worst = extremes(rows)
    shown_rows = [*_kept_rows(rows, tool_settings), *best, *worst]
    texts: dict[tuple[str, str | None, str, int], str] = {}
    if ids := sorted({row["id"] for row in shown_rows if row["source"] == "corpus"}):
        text_table = tables.read(
            corpus, contracts.DOCUMENTS, ["id", "text"], tables.among(contracts.DOCUMENTS, "id", ids)
        )
        for document in text_table.to_pylist():
            texts["corpus", None, document["id"], 0] = f" {document['text'].strip()}"
    if ids := sorted({row["id"] for row in shown_rows if row["source"] == "train"}):
        text_table = tables.read(
            split, contracts.TRAIN, ["task_id", "id", "outputs"], tables.among(contracts.TRAIN, "id", ids)
        )
        for instance in text_table.to_pylist():
            for target, output in enumerate(instance["outputs"]):
                texts["train", instance["task_id"], instance["id"], target] = f" {output.strip()}"
    return texts


def occurs(result: str, after: str) -> bool:
    """Tell whether a call's result occurs in the text after the call.

    A number has to occur as a number (27 is not in 270, 1,204 is 1204). Of a sentence, as the calendar
    gives, one name or number is enough.
    """
    after, result = _plain(normal(after)), normal(result)
    number = re.fullmatch(r"-?[\d,.]+", result)
    names = r"\d+|[\p{L}\p{M}]+"  # a vowel sign is a part of its word
    pieces = [_plain(result)] if number else regex.findall(names, result.removeprefix("Today is"))
    return any(
        regex.search(rf"(?<![\w.\-]){re.escape(piece)}(?!\w|[.]\d)", after, regex.IGNORECASE)
        for piece in pieces
        if piece
    )


def _plain(text: str) -> str:
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)


def _example(row: Candidate, text: str, tool_settings: ToolParams) -> Example:
    offset = row["offset"]
    before, after = text[max(0, offset - _BEFORE) : offset], text[offset : offset + _AFTER]
    where = f"{row['task_id']}, {row['id']}" if row["task_id"] else row["id"]
    return Example(
        row["tool"],
        where,
        ("… " if offset > _BEFORE else "") + " ".join(before.split()),
        f"{row['call'].removesuffix(']')} → {row['result']}]",
        " ".join(after.split()) + (" …" if len(text) > offset + _AFTER else ""),
        row["gain"],
        tool_settings.keeps(row["gain"]),
        occurs(row["result"] or "", text[offset:]),
    )
