"""The scores of a rebuild or a nightly, and how they changed.

A table `scores` (core/contracts.py) among a stage's outputs is an evaluation; a repository without one has no scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nightjar.core.display import number
from pipelines.graph.graph import Stage
from pipelines.project.text import decimals, interval, table, track_title

# The identity of a score.
NAMES = ("benchmark", "track", "system", "metric")

Rows = list[dict[str, Any]]


def present(root: Path, stages: Iterable[Stage]) -> Rows:
    """The scores over whole benchmarks in the stages' outputs."""
    folders = [path for stage in stages for out in stage.outs if (path := root / out / "scores").is_dir()]
    if not folders:
        return []
    # Here, not above: Arrow takes long to load, and a repository without tables does without it.
    from nightjar.core import contracts, tables

    return [row for it in folders for row in overall(tables.read_rows(it.parent, contracts.SCORES))]


def overall(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """The rows of contracts.SCORES or LEDGER_SCORES over whole benchmarks."""
    return [dict(row) for row in rows if row["level"] == "overall"]


def _names(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in NAMES)


def first_metrics(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first metric of each system on each track."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in rows:
        found.setdefault(_names(row)[:-1], row)
    return list(found.values())


def page(rows: Iterable[Mapping[str, Any]], earlier: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines of a table in Markdown for each benchmark: a row a track, a column a system, the first metric of each
    with its interval and its change since the `earlier` rows: "59.3 [52.1, 65.8] n 144, +0.2".
    """
    before = {_names(row): row["value"] for row in earlier}
    tables: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for row in first_metrics(rows):
        known = before.get(_names(row))
        change = "" if known is None else f", {number(row['value'] - known, decimals(row), signed=True)}"
        of_track = tables.setdefault(row["benchmark"], {}).setdefault((track_title(row), row["metric"]), {})
        of_track[row["system"]] = text(row) + change
    lines = []
    for benchmark, tracks in tables.items():
        systems = dict.fromkeys(system for cells in tracks.values() for system in cells)
        own = [
            {"track": track, "metric": metric} | {system: cells.get(system, "") for system in systems}
            for (track, metric), cells in tracks.items()
        ]
        lines += [f"### {benchmark}", "", *table(own), ""]
    return lines


def text(row: Mapping[str, Any]) -> str:
    """A score with its interval and its instances: "44.3 [38.1, 50.6] n 192"."""
    places = decimals(row)
    n = "" if row["low"] is None else f" n {row['n']}"
    return f"{number(row['value'], places)} {interval(row, places)}{n}"
