"""From the score tables to what the page shows: the headline, a row a category and a row a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.contracts import category_metric
from nightjar.statistics import too_few
from stages.report.drawings import Lane

# The system that saw the test tasks: a bound, so it is not what is marked as best.
BOUND = "supervised"
# The fine-tuned system without calls and evidence, to which the table of differences compares the bound.
CONTROL = "tk_instruct"
__all__ = [
    "BOUND",
    "CONTROL",
    "METRIC_NAMES",
    "TRACK_NAMES",
    "Results",
    "Row",
    "category_metric",
    "interval",
    "read",
    "signed",
]

METRIC_NAMES = {"rougeL": "ROUGE-L", "rouge1": "ROUGE-1", "exact_match": "exact match"}
TRACK_NAMES = {"default": "English track", "xlingual": "cross-lingual track"}


@dataclass(frozen=True)
class Row:
    """One line of a results table: what it is of, its metric, the instances behind it, a value a system."""

    name: str
    title: str
    metric: str
    n: int
    lanes: Mapping[str, Lane]

    def best(self) -> float:
        """The highest value that is shown, to one decimal; the bound's counts only where it stands alone."""
        shown = {system: round(lane.value, 1) for system, lane in self.lanes.items()}
        return max(
            (shown[system] for system in shown if system != BOUND), default=max(shown.values(), default=0.0)
        )


class Results:
    """The scores of one benchmark by track, level, name and metric; systems in their written order."""

    def __init__(self, scores: Sequence[Mapping[str, Any]], categories: Mapping[str, str]) -> None:
        self.benchmark = str(scores[0]["benchmark"]) if scores else ""
        self.systems = list(dict.fromkeys(row["system"] for row in scores))
        present = dict.fromkeys(row["track"] for row in scores)
        self.tracks = sorted(present)
        self._categories = categories
        self._cells: dict[tuple[str, str, str, str], dict[str, tuple[Lane, int]]] = {}
        for row in scores:
            cell = (Lane(row["value"], row["low"], row["high"]), row["n"])
            key = (row["track"], row["level"], row["name"], row["metric"])
            self._cells.setdefault(key, {})[row["system"]] = cell

    def row(self, track: str, level: str, name: str, metric: str) -> Row:
        """One line of a table; raises KeyError if the scores have no such cell."""
        cells = self._cells[track, level, name, metric]
        return Row(
            name, _title(name), metric, max(n for _, n in cells.values()), {s: c[0] for s, c in cells.items()}
        )

    def categories(self, track: str) -> list[Row]:
        """A row a category, each by the metric that is published for it."""
        return [
            self.row(track, "category", name, category_metric(name))
            for name in self._names(track, "category")
        ]

    def tasks(self, track: str) -> list[Row]:
        """A row a task, by its category's metric."""
        names = self._names(track, "task")
        return [self.row(track, "task", name, category_metric(self._categories[name])) for name in names]

    def _names(self, track: str, level: str) -> list[str]:
        return sorted({key[2] for key in self._cells if key[:2] == (track, level)})


def read(path: Path) -> Results:
    """The results at `path`, an artifact of the stage evaluate. Raises NightjarError if it is not there."""
    scores = tables.read_rows(path, contracts.SCORES)
    instances = tables.read(path, contracts.INSTANCE_SCORES, ["task_id", "category"])
    pairs = instances.group_by(["task_id", "category"], use_threads=False).aggregate([])
    return Results(
        scores, dict(zip(*(pairs[name].to_pylist() for name in ("task_id", "category")), strict=True))
    )


def signed(value: float) -> str:
    """A difference with its sign and one decimal."""
    return f"{value + 0.0:+.1f}".replace("-", "−")


def interval(cell: Mapping[str, Any], form: str = "{} to {}", decimals: int | None = None) -> str:
    """The ends `low` and `high` of a cell in `form`, as differences if `decimals` is None; where the cell has none,
    that its n is too small for an interval.
    """
    if cell["low"] is None:
        return too_few(cell["n"])
    ends = (cell["low"], cell["high"])
    return form.format(*(signed(end) if decimals is None else f"{end:.{decimals}f}" for end in ends))


def _title(name: str) -> str:
    return name if name.startswith("task") else name.replace("_", " ").capitalize()
