"""From the score tables of a benchmark to rows: the headline, a row a category and a row a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.sections import Interval, initial
from nightjar.core import contracts, tables
from stages.report import numbers
from stages.report.plots.svg import table

# The system that is trained on other instances of the test tasks: an upper bound, so it is not marked as the best.
BOUND = "supervised"
# The system that is fine-tuned without calls and evidence.
CONTROL = "tk_instruct"
# Metrics in the headline, at most.
HEADLINE = 2

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One line of a results table: what it is of, its metric, the number of instances, a value a system."""

    name: str
    title: str
    metric: Metric
    n: int
    lanes: Mapping[str, Interval]

    @property
    def highest(self) -> float:
        """The largest value or end of an interval."""
        return max(lane.highest for lane in self.lanes.values())

    def shown(self, system: str) -> float:
        """The value of the system as it is shown."""
        return float(numbers.value(self.metric, self.lanes[system].value))

    def above(self, system: str, other: str) -> bool:
        """Whether `system` is better than `other` by the values as they are shown."""
        better, worse = self.shown(system), self.shown(other)
        return better > worse if self.metric.higher_is_better else better < worse

    def is_best(self, system: str) -> bool:
        """Whether no other system is better, and some other is worse. The bound does not count."""
        others = [other for other in self.lanes if other != BOUND]
        if system not in others or any(self.above(other, system) for other in others):
            return False
        return any(self.above(system, other) for other in others)


class Results:
    """The scores of one benchmark by track, level, name and metric; systems in their written order."""

    def __init__(self, card: Card, scores: Rows, categories: Mapping[str, str]) -> None:
        self.card = card
        self.systems = list(dict.fromkeys(row["system"] for row in scores))
        listed = list(card.tracks)
        present = {row["track"] for row in scores}
        self.tracks = [track for track in listed if track in present] + sorted(present - set(listed))
        self._categories = categories
        self._cells: dict[tuple[str, str, str, str], dict[str, tuple[Interval, int]]] = {}
        for row in scores:
            cell = (Interval(row["value"], row["low"], row["high"]), row["n"])
            key = (row["track"], row["level"], row["name"], row["metric"])
            self._cells.setdefault(key, {})[row["system"]] = cell

    def row(self, track: str, level: str, name: str, metric: Metric) -> Row:
        """One line of a table. Raises KeyError if the scores have no such cell."""
        cells = self._cells[track, level, name, metric.name]
        n = max(count for _, count in cells.values())
        lanes = {system: lane for system, (lane, _) in cells.items()}
        return Row(name, self._title(level, name), metric, n, lanes)

    def n(self, track: str, system: str, metrics: Sequence[str]) -> list[int]:
        """The numbers of instances that a system's overall values of these metrics are of, those that it has."""
        cells = (self._cells.get((track, "overall", "overall", name), {}) for name in metrics)
        return [cell[system][1] for cell in cells if system in cell]

    def overall(self, track: str) -> list[Row]:
        """A row for each metric that the track has, the main one first."""
        metrics = self._metrics(track, "overall", "overall")
        return [self.row(track, "overall", "overall", metric) for metric in metrics]

    def headline(self, track: str) -> list[Row]:
        """The first HEADLINE of `overall`."""
        return self.overall(track)[:HEADLINE]

    def categories(self, track: str) -> list[Row]:
        """A row a category, each by the metric that is published for it."""
        return [self._published(track, "category", name, name) for name in self._names(track, "category")]

    def tasks(self, track: str) -> list[Row]:
        """A row a task, each by the metric of its category."""
        return [
            self._published(track, "task", name, self._categories.get(name, ""))
            for name in self._names(track, "task")
        ]

    def csv(self) -> str:
        """All scores: a row for each track, level, name, metric and system."""
        columns = ("track", "level", "name", "metric", "system", "n", "value", "low", "high")
        rows = [
            (*key, system, n, lane.value, lane.low, lane.high)
            for key, cells in self._cells.items()
            for system, (lane, n) in cells.items()
        ]
        return table(columns, rows)

    def _published(self, track: str, level: str, name: str, category: str) -> Row:
        main, present = self.card.main_metric(category), self._metrics(track, level, name)
        return self.row(track, level, name, main if main in present else present[0])

    def _metrics(self, track: str, level: str, name: str) -> list[Metric]:
        return [metric for metric in self.card.metrics if (track, level, name, metric.name) in self._cells]

    def _names(self, track: str, level: str) -> list[str]:
        return sorted({key[2] for key in self._cells if key[:2] == (track, level)})

    def _title(self, level: str, name: str) -> str:
        return self.card.task(name).title or name if level == "task" else category_title(name)


def read(card: Card, path: Path) -> Results:
    """The results at `path`, an artifact of the stage evaluate. Raises NightjarError if it is not there."""
    scores = tables.read_rows(path, contracts.SCORES)
    instances = tables.read(path, contracts.INSTANCE_SCORES, ["task_id", "category"])
    pairs = instances.group_by(["task_id", "category"], use_threads=False).aggregate([])
    columns = (pairs[name].to_pylist() for name in ("task_id", "category"))
    return Results(card, scores, dict(zip(*columns, strict=True)))


def category_title(name: str) -> str:
    """The title of a category from its published name."""
    return initial(name.replace("_", " "))
