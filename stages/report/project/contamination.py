"""The section Contamination: test instances that share runs of words with training texts, by side and by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from stages.report.read.facts import Node

EXAMPLES = 12
_SIDES = {
    "train": "training instances",
    "dev": "dev instances",
    "corpus": "corpus",
    "any": "any of these three",
    "supervised": "instances of the supervised bound",
}


def read(path: Path) -> Mapping[str, Any] | None:
    """The tables of the artifact at `path`, all that the section shows of them; None if it is not there."""
    if not path.is_dir():
        return None
    by_task = tables.read_rows(path, contracts.TASK_OVERLAPS)
    wanted = [
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
    return {"tasks": by_task, "overlaps": overlaps}


def context(
    found: Mapping[str, Any] | None, nodes: Sequence[Node], track_title: Callable[[str], str]
) -> dict[str, Any] | None:
    """What the template shows; None if the stage did not run. `track_title` names a track."""
    facts = next((node.details for node in nodes if node.name == "contamination"), None)
    if found is None or facts is None:
        return None
    by_task = [row for row in found["tasks"] if row["side"] == "any" and row["overlapping"]]
    # The largest shares first, and the overlaps that cover most of their text.
    by_task.sort(key=lambda row: (-row["share"], row["task_id"]))
    overlaps = [row for row in found["overlaps"] if row["side"] != "supervised" and _counts(row)]
    overlaps.sort(key=lambda row: (-_covered(row), row["task_id"], row["id"], row["part"], row["side"]))
    return {
        "ngram": facts["ngram"],
        "instances": facts["instances"],
        "sides": [_side(name, facts) for name in _SIDES],
        "tasks": [
            {**row, "track": track_title(row["track"]), "share": 100 * row["share"]} for row in by_task
        ],
        "examples": [_example(row) for row in overlaps[:EXAMPLES]],
        "more": max(0, len(overlaps) - EXAMPLES),
    }


def _side(name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    counts = facts["sides"][name]
    share = 100 * counts["overlapping"] / facts["instances"] if facts["instances"] else 0.0
    return {"name": _SIDES[name], "texts": facts["texts"].get(name), "share": share, **counts}


def _counts(row: Mapping[str, Any]) -> bool:
    """Whether a row counts as an overlap: a short reference that occurs elsewhere too is most often a label."""
    return bool(row["kind"] == "ngram" or row["part"] == "input")


def _covered(row: Mapping[str, Any]) -> float:
    return 1.0 if row["kind"] == "whole" else float(row["matched"] / row["ngrams"])


def _example(row: Mapping[str, Any]) -> dict[str, str]:
    home = f"{row['source_task_id']}:{row['source_id']}" if row["source_task_id"] else row["source_id"]
    return {
        "test": f"{row['task_id']}:{row['id']}",
        "part": row["part"],
        "covered": f"{100 * _covered(row):.0f}%",
        "text": row["text"],
        "source": f"{home} ({row['side']})",
    }
