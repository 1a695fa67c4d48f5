"""The table of scores that commands, pages, the ledger and Prefect show: rows of contracts.SCORES, and their texts.

A row is one metric of a system on a track, a category or a task; the mean of tasks is a row too. Numbers are written
with the decimals of their metric. A benchmark whose package is not installed any more has one decimal, and names.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from nightjar.core import display
from nightjar.core.errors import NightjarError

if TYPE_CHECKING:
    from nightjar.benchmarks.benchmark import Benchmark

Row = Mapping[str, Any]
# The identity of a score of a whole benchmark.
NAMES = ("benchmark", "track", "system", "metric")
# Metrics of a track in a headline, at most.
HEADLINE = 2


@dataclass(frozen=True)
class ScoreTable:
    """Rows of contracts.SCORES of one benchmark or of several, the metrics of a track in the benchmark's order."""

    rows: Sequence[Row]

    def overall(self) -> ScoreTable:
        """Return the rows over all instances of a track, and the means of tasks."""
        return ScoreTable([row for row in self.rows if row["level"] == "overall"])

    def first_metrics(self, count: int = 1) -> ScoreTable:
        """Return the first `count` metrics of each system on each track; the main metric is the first."""
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row[name] for name in NAMES[:-1]), []).append(row)
        return ScoreTable([row for rows in groups.values() for row in rows[:count]])

    def lines(self, columns: Sequence[str] = NAMES, more: int = 1) -> list[dict[str, Any]]:
        """Return the rows as a console and Markdown print them: `columns`, n, and the score with its interval.

        Numbers have `more` decimals than the pages of the report.
        """
        return [
            {name: track_title(row) if name == "track" else row[name] for name in columns}
            | {"n": row["n"], "score": score_text(row, more)}
            for row in self.rows
        ]

    def by_system(self, earlier: Iterable[Row] = ()) -> dict[str, list[dict[str, str]]]:
        """Return a table for each benchmark: a row a track and metric, a column a system.

        A score has its change since the `earlier` rows: "59.3 [52.1, 65.8] n 144, +0.2".
        """
        before = {tuple(row[name] for name in NAMES): row["value"] for row in earlier}
        tables: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
        for row in self.rows:
            value = before.get(tuple(row[name] for name in NAMES))
            n = "" if row["low"] is None else f" n {row['n']}"
            change = "" if value is None else f", {number_text(row, row['value'] - value, signed=True)}"
            line = tables.setdefault(row["benchmark"], {}).setdefault((track_title(row), row["metric"]), {})
            line[row["system"]] = f"{score_text(row)}{n}{change}"
        return {benchmark: _filled(lines) for benchmark, lines in tables.items()}

    def entries(self) -> list[dict[str, Any]]:
        """Return one JSON object for each track and system: n, and each metric with the ends of its interval.

        A metric has its value under its name, and `<name>_low` and `<name>_high`, which are None where there is no
        interval.
        """
        entries = []
        for names, group in groupby(self.rows, itemgetter(*NAMES[:-1])):
            rows = list(group)
            entry = dict(zip(NAMES[:-1], names, strict=True)) | {"n": rows[0]["n"]}
            for row in rows:
                ends = {f"{row['metric']}_{name}": row[name] for name in ("low", "high")}
                entry |= {row["metric"]: row["value"]} | ends
            entries.append(entry)
        return entries

    def flat(self) -> dict[str, float]:
        """Return the numbers under one name each, as loggers of metrics take them.

        A score is `benchmark/track/system/metric`. The ends of its interval are `.../metric_low` and
        `.../metric_high`, where there is one, and `benchmark/track/system/n` is the number of instances.
        """
        return {
            "/".join((*(entry[name] for name in NAMES[:-1]), name)): value
            for entry in self.entries()
            for name, value in entry.items()
            if name not in NAMES and value is not None
        }

    def csv(self, columns: Sequence[str]) -> str:
        """Return the rows as CSV; numbers have the decimals that are stored."""
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()


def _filled(lines: Mapping[tuple[str, str], Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the rows of a table whose columns are the systems of all lines."""
    systems = dict.fromkeys(system for line in lines.values() for system in line)
    return [
        {"track": track, "metric": metric} | {system: line.get(system, "") for system in systems}
        for (track, metric), line in lines.items()
    ]


def score_text(row: Row, more: int = 0) -> str:
    """Return a score with its interval: "44.3 [38.1, 50.6]", or "44.3 n<20"."""
    return f"{number_text(row, row['value'], more)} {interval_text(row, more)}"


def difference_text(row: Row, more: int = 0) -> str:
    """Return a difference with its interval: "-2.1 [-5.0, +0.9]"; empty where there is none."""
    if row["value"] is None:
        return ""
    return f"{number_text(row, row['value'], more, signed=True)} {interval_text(row, more, signed=True)}"


def number_text(row: Row, value: float, more: int = 0, signed: bool = False) -> str:
    """Return a number of a row's metric with `more` decimals than the pages of the report."""
    return display.number(value, _decimals(row) + more, signed)


def interval_text(row: Row, more: int = 0, signed: bool = False) -> str:
    """Return the interval of a row, `[52.5, 65.0]`; where it has none, `n<20`."""
    return bracketed(row["low"], row["high"], row["n"], _decimals(row) + more, signed)


def bracketed(low: float | None, high: float | None, n: int, decimals: int = 1, signed: bool = False) -> str:
    """Return an interval over `n` instances, `[52.5, 65.0]`; where there is none, `n<20`."""
    if low is None or high is None:
        return _too_few(n)
    return f"[{display.number(low, decimals, signed)}, {display.number(high, decimals, signed)}]"


def p_text(row: Row) -> str:
    """Return the p of a row, `0.0312`; where it has none, `n<20`."""
    return _too_few(row["n"]) if row["p"] is None else display.p(row["p"])


def track_title(row: Row) -> str:
    """Return the title of a row's track by its benchmark; its name where there is no such benchmark."""
    benchmark = _benchmark(row)
    return benchmark.track_title(row["track"]) if benchmark else str(row["track"])


def _decimals(row: Row) -> int:
    benchmark = _benchmark(row)
    metrics = benchmark.metrics if benchmark else ()
    return next((metric.shown_decimals for metric in metrics if metric.name == row["metric"]), 1)


def _benchmark(row: Row) -> Benchmark | None:
    # Here, not above: NumPy takes long to load, and a repository without scores does without it.
    from nightjar.benchmarks import registry

    with contextlib.suppress(NightjarError):  # of a package that is not installed any more, or broken
        return registry.load_benchmark(row["benchmark"])
    return None


def _too_few(n: int) -> str:
    # Here, not above: NumPy takes long to load.
    from nightjar.statistics import too_few

    return too_few(n)
