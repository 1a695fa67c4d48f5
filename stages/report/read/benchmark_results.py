"""From the score tables of a benchmark to rows: the headline, a row a category and a row a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.average import main_metrics, mean_of_tasks, mean_title
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.score_table import HEADLINE, ScoreTable
from nightjar.benchmarks.sections import Interval, initial
from nightjar.core import contracts, tables
from nightjar.statistics import MINIMUM
from nightjar.statistics.metric import Metric

# The system that is trained on other instances of the test tasks: an upper bound, so it is not marked as the best.
BOUND = "supervised"
# The system that is fine-tuned without calls and evidence.
CONTROL = "tk_instruct"

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

    def ranked(self, roles: Mapping[str, str]) -> list[str]:
        """The systems that compete, the best first: not people, and not the upper bound."""
        competing = [system for system in self.lanes if roles.get(system) not in ("human", "bound")]
        sign = -1 if self.metric.higher_is_better else 1
        return sorted(competing, key=lambda system: sign * self.lanes[system].value)


def turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same difference the other way round."""
    low, high = (None if row[bound] is None else -row[bound] for bound in ("high", "low"))
    ends = {
        "system": row["baseline"],
        "baseline": row["system"],
        "value": -row["value"],
        "low": low,
        "high": high,
    }
    return {**row, **ends, "better": row["worse"], "worse": row["better"]}


class Results:
    """The scores of one benchmark by track, level, name and metric; systems in their written order.

    `mean` is the track of the mean of tasks, "" if there is none; it comes last.
    """

    def __init__(
        self,
        card: Benchmark,
        scores: Rows,
        categories: Mapping[str, str],
        comparisons: Rows = (),
        roles: Mapping[str, str] | None = None,
    ) -> None:
        self.card, self.roles = card, roles or {}
        self._compared: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = {}
        for row in comparisons:
            self._compared.setdefault((row["track"], row["level"], row["name"], row["metric"]), []).append(
                row
            )
        self.systems = list(dict.fromkeys(row["system"] for row in scores))
        present = {row["track"] for row in scores}
        self.mean = next(filter(card.is_mean, sorted(present)), "")
        listed = [track for track in card.tracks if track in present and track != self.mean]
        means = [self.mean] if self.mean else []
        self.tracks = [*listed, *sorted(present - {*listed, *means}), *means]
        self._categories = categories
        self._cells: dict[tuple[str, str, str, str], dict[str, Mapping[str, Any]]] = {}
        for row in scores:
            key = (row["track"], row["level"], row["name"], row["metric"])
            self._cells.setdefault(key, {})[row["system"]] = row

    def row(self, track: str, level: str, name: str, metric: Metric) -> Row:
        """One line of a table. Raises KeyError if the scores have no such cell."""
        cells = self._cells[track, level, name, metric.name]
        n = max(row["n"] for row in cells.values())
        lanes = {system: Interval(row["value"], row["low"], row["high"]) for system, row in cells.items()}
        return Row(name, self._title(level, name), metric, n, lanes)

    def difference(
        self, track: str, level: str, row: Row, system: str, baseline: str
    ) -> dict[str, Any] | None:
        """The row of contracts.COMPARISONS of system - baseline in this row of a table; None if there is none."""
        for compared_row in self._compared.get((track, level, row.name, row.metric.name), ()):
            if (compared_row["system"], compared_row["baseline"]) == (system, baseline):
                return dict(compared_row)
            if (compared_row["system"], compared_row["baseline"]) == (baseline, system):
                return turned(compared_row)
        return None

    def best(self, track: str, level: str, row: Row) -> str:
        """The system that is significantly better than every other that competes; "" for none or too few instances."""
        ranked = row.ranked(self.roles)
        if row.n < MINIMUM or len(ranked) < 2:
            return ""
        differences = [
            self.difference(track, level, row, ranked[0], lower_system) for lower_system in ranked[1:]
        ]
        return ranked[0] if all(it and it["significant"] for it in differences) else ""

    def n(self, track: str, system: str, metrics: Sequence[str]) -> list[int]:
        """The numbers of instances that a system's overall values of these metrics are of, those that it has."""
        cells = (self._cells.get((track, "overall", "overall", name), {}) for name in metrics)
        return [cell[system]["n"] for cell in cells if system in cell]

    def overall(self, track: str) -> list[Row]:
        """A row for each metric that the track has, the main one first."""
        metrics = self._metrics(track, "overall", "overall")
        return [self.row(track, "overall", "overall", metric) for metric in metrics]

    def headline(self, track: str) -> list[Row]:
        """The first HEADLINE of `overall`."""
        return self.overall(track)[:HEADLINE]

    def headline_table(self) -> ScoreTable:
        """Return the scores of the headline, by track and system."""
        rows = []
        for track in self.tracks:
            columns = [
                self._cells[track, "overall", "overall", row.metric.name] for row in self.headline(track)
            ]
            rows += [cells[system] for system in self.systems for cells in columns if system in cells]
        return ScoreTable(rows)

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
        return ScoreTable([row for cells in self._cells.values() for row in cells.values()]).csv(columns)

    def _published(self, track: str, level: str, name: str, category: str) -> Row:
        main, present = self.card.main_metric(category), self._metrics(track, level, name)
        return self.row(track, level, name, main if main in present else present[0])

    def _metrics(self, track: str, level: str, name: str) -> list[Metric]:
        return [metric for metric in self.card.metrics if (track, level, name, metric.name) in self._cells]

    def _names(self, track: str, level: str) -> list[str]:
        return sorted({key[2] for key in self._cells if key[:2] == (track, level)})

    def _title(self, level: str, name: str) -> str:
        return self.card.task(name).title or name if level == "task" else category_title(name)

    def mean_title(self) -> str:
        """Return the title of the mean of tasks, with the tasks that have another metric; "" if there is none."""
        main = main_metrics(self.card, {(track, metric) for track, _, _, metric in self._cells})
        mean = mean_of_tasks(self.card, main)
        return mean_title(self.card, main, mean) if mean else ""


def read(card: Benchmark, path: Path, roles: Mapping[str, str] | None = None) -> Results:
    """The results at `path`, an artifact of the stage evaluate. Raises NightjarError if it is not there."""
    scores = tables.read_rows(path, contracts.SCORES)
    instances = tables.read(path, contracts.INSTANCE_SCORES, ["task_id", "category"])
    pairs = instances.group_by(["task_id", "category"], use_threads=False).aggregate([])
    columns = (pairs[name].to_pylist() for name in ("task_id", "category"))
    comparisons = tables.read_rows(path, contracts.COMPARISONS)
    return Results(card, scores, dict(zip(*columns, strict=True)), comparisons, roles)


def category_title(name: str) -> str:
    """The title of a category from its published name."""
    return initial(name.replace("_", " "))
