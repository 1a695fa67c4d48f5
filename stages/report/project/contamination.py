"""The page Contamination: test questions that share words with training texts, and with their retrieved passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.core import contracts, tables
from stages.report.read.facts import Node

EXAMPLES = 12
_SIDES = {
    "train": "training instances",
    "dev": "dev instances",
    "questions": "training and dev questions of the benchmarks",
    "corpus": "corpus",
    "any": "any of these",
    "supervised": "instances of the supervised bound",
}


def read(path: Path) -> Mapping[str, Any] | None:
    """The tables of the artifact at `path`, all that the section shows of them; None if it is not there."""
    if not path.is_dir():
        return None
    by_task = tables.read_rows(path, contracts.TASK_OVERLAPS)
    wanted = [
        "benchmark",
        "task_id",
        "id",
        "part",
        "side",
        "kind",
        "ngrams",
        "matched",
        "text",
        "source_task_id",
        "source_id",
    ]
    overlaps = tables.read(path, contracts.OVERLAPS, wanted).to_pylist()
    evidence = tables.read_rows(path, contracts.EVIDENCE_OVERLAPS)
    return {"tasks": by_task, "overlaps": overlaps, "evidence": evidence}


def context(
    found: Mapping[str, Any] | None, nodes: Sequence[Node], cards: Sequence[Card]
) -> dict[str, Any] | None:
    """What the template shows; None if the stage did not run. `cards` are those of the report's benchmarks."""
    facts = next((node.details for node in nodes if node.name == "contamination"), None)
    if found is None or facts is None:
        return None
    shown = {card.name: card for card in cards}
    by_task = [
        row
        for row in found["tasks"]
        if row["side"] == "any" and row["overlapping"] and row["benchmark"] in shown
    ]
    # The largest shares first, and the overlaps that cover most of their text.
    by_task.sort(key=lambda row: (-row["share"], row["benchmark"], row["task_id"]))
    overlaps = [row for row in found["overlaps"] if row["side"] != "supervised" and row["kind"] != "short"]
    overlaps.sort(key=lambda row: (-_covered(row), row["task_id"], row["id"], row["part"], row["side"]))
    return {
        "ngram": facts["ngram"],
        "benchmarks": [
            {
                "title": shown[name].title,
                "questions": it["questions"],
                "sides": [_side(side, facts["texts"], it) for side in _SIDES],
                "evidence": None if it["evidence"] is None else _evidence(found, shown[name]),
            }
            for name in shown
            if (it := facts["benchmarks"].get(name))
        ],
        "tasks": [
            {
                **row,
                "track": shown[row["benchmark"]].track_title(row["track"]),
                "benchmark": shown[row["benchmark"]].title,
                "share": 100 * row["share"],
            }
            for row in by_task
        ],
        "examples": [_example(row) for row in overlaps[:EXAMPLES]],
        "more": max(0, len(overlaps) - EXAMPLES),
    }


def _side(name: str, texts: Mapping[str, int], it: Mapping[str, Any]) -> dict[str, Any]:
    counts = it["sides"][name]
    share = 100 * counts["overlapping"] / it["questions"] if it["questions"] else 0.0
    return {"name": _SIDES[name], "texts": texts.get(name), "share": share, **counts}


def _evidence(found: Mapping[str, Any], card: Card) -> list[dict[str, Any]]:
    """For each track the questions with passages, and in how many the first passage, or any, has what."""
    tracks: dict[str, list[Mapping[str, Any]]] = {}
    for row in found["evidence"]:
        if row["benchmark"] == card.name:
            tracks.setdefault(row["track"], []).append(row)
    told = []
    for track, rows in tracks.items():
        ranks = {part: [row[f"{part}_rank"] for row in rows] for part in ("question", "reference")}
        counts = {part: len(of) - of.count(None) for part, of in ranks.items()}
        first = {f"{part}_first": of.count(1) for part, of in ranks.items()}
        most = max(row["passages"] for row in rows)
        told.append({"track": card.track_title(track), "n": len(rows), "passages": most, **counts, **first})
    return told


def _covered(row: Mapping[str, Any]) -> float:
    return 1.0 if row["kind"] == "whole" else float(row["matched"] / row["ngrams"])


def _example(row: Mapping[str, Any]) -> dict[str, str]:
    home = f"{row['source_task_id']}:{row['source_id']}" if row["source_task_id"] else row["source_id"]
    return {
        "benchmark": row["benchmark"],
        "test": f"{row['task_id']}:{row['id']}",
        "part": row["part"],
        "covered": f"{100 * _covered(row):.0f}%",
        "text": row["text"],
        "source": f"{home} ({row['side']})",
    }
