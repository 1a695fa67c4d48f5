"""Answers of a benchmark's systems with calls, and which answers are right."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightjar.benchmarks.card import Card
from nightjar.core import contracts, tables
from stages.report.read.results import Rows

# An instance is identified by its task and id.
Key = tuple[str, str]


@dataclass(frozen=True)
class Answers:
    """By system the predictions with a call, in an order that the seed draws, and the number of all.

    `right` says of the scored instances of a system which it answered right, where the card says what is right.
    """

    called: Mapping[str, Rows]
    counts: Mapping[str, int]
    right: Mapping[str, Mapping[Key, bool]]


def read(card: Card, systems: Sequence[str], predicted: Path, scored: Path, seed: int) -> Answers:
    """The answers of `systems`, whose predictions are folders in `predicted`.

    `scored` is an artifact of the stage evaluate. Raises NightjarError if a table is missing.
    """
    called, counts = {}, {}
    for system in systems:
        found = tables.read_rows(
            predicted / system, contracts.PREDICTIONS, ["task_id", "id", "answers", "calls"]
        )
        called[system] = sorted((row for row in found if row["calls"]), key=lambda row: _order(row, seed))
        counts[system] = len(found)
    right: dict[str, dict[Key, bool]] = {system: {} for system in systems}
    for row in tables.read_rows(scored, contracts.INSTANCE_SCORES) if card.right else ():
        if row["metric"] == card.right and row["system"] in right:
            right[row["system"]][row["task_id"], row["id"]] = row["value"] == 1
    return Answers(called, counts, right)


def is_right(card: Card, parts: Mapping[str, float]) -> str:
    """`right` or `wrong` by the scores of an answer; empty where the card does not say."""
    if card.right not in parts:
        return ""
    return "right" if parts[card.right] == 1 else "wrong"


def first(answers: Sequence[str]) -> str:
    """The answer that is shown; empty if there is none."""
    return answers[0] if answers else ""


def _order(row: Mapping[str, str], seed: int) -> str:
    return hashlib.sha256("\x1f".join((str(seed), row["task_id"], row["id"])).encode()).hexdigest()
