"""Scores of recipes that were repeated with other seeds: their means, and paired tests between recipes.

    .venv/bin/python -m bench.seeds --benchmark classification --against pgra [--metric NAME]

Repetitions of a system are named like it with _2, _3, ...: pgra, pgra_2, pgra_3. The score of a recipe is the mean of
its repetitions' scores, in the unit of the metric, each track's first one if none is named. Intervals resample the
instances, and the paired test swaps the answers of all repetitions of an instance at once: both say what other
instances would give, not what other seeds would. A system without repetitions is compared as it is, with as many copies
of itself. Prints a Markdown table; its last column is p after Holm's correction over the tasks, for each system on its
own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from bench.harness import options
from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read
from nightjar.statistics import Bootstrap, holm, permutation_p
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats, Statistic, enough, too_few

EVALUATED = Path("data/evaluate")


@dataclass(frozen=True)
class SeedsRow:
    """A row of the table: its first cells, and p before any correction, if there is one; else a `remark`."""

    system: str
    cells: str
    p: float | None
    remark: str = ""


def of_seeds(metric: Metric, count: int) -> Statistic:
    """The mean over `count` repetitions of a metric's statistic: (draws, n, repetitions x parts) to (draws,)."""
    single = metric.statistic

    def summed(values: Floats) -> Floats:
        draws, n, _ = values.shape
        draw_values = values.reshape(draws, n, count, -1).swapaxes(1, 2).reshape(draws * count, n, -1)
        return single.summed(draw_values).reshape(draws, count, n, -1).swapaxes(1, 2).reshape(draws, n, -1)

    def value(sums: Floats, n: int) -> Floats:
        mean_values: Floats = np.mean(
            [single.value(part, n) for part in np.split(sums, count, axis=1)], axis=0
        )
        return mean_values

    return Statistic("mean over seeds", None, summed, value)


def repetitions(systems: Sequence[str]) -> dict[str, list[str]]:
    """The systems that repeat a recipe, by its name."""
    recipe_systems: dict[str, list[str]] = {}
    for name in systems:
        stem = re.sub(r"_\d+$", "", name)
        recipe_systems.setdefault(stem if stem in systems else name, []).append(name)
    return recipe_systems


def columns(card: Benchmark, benchmark: str, name: str | None) -> dict[str, tuple[Metric, dict[str, Floats]]]:
    """By track: the metric called `name`, or its first one, and for each system the parts of the instances, (n, parts),
    in one order. A track without the metric is left out. Raises NightjarError if no track has it.
    """
    table = read(
        EVALUATED / benchmark,
        contracts.INSTANCE_SCORES,
        ["system", "track", "task_id", "id", "part", "unscaled"],
    )
    track_columns: dict[str, tuple[Metric, dict[str, Floats]]] = {}
    for track in sorted(pc.unique(table["track"]).to_pylist()):
        track_rows = table.filter(pc.equal(table["track"], track)).to_pandas()
        parts = set(track_rows["part"])
        scored = [one for one in card.metrics if parts.issuperset(one.parts) and name in (None, one.name)]
        if not scored:
            continue
        metric = scored[0]
        wide = track_rows.pivot_table(
            index=["task_id", "id"], columns=["system", "part"], values="unscaled"
        ).sort_index()
        systems = {
            name: wide[name][list(metric.parts)].to_numpy() for name in sorted(set(track_rows["system"]))
        }
        track_columns[track] = metric, systems
    if not track_columns:
        raise NightjarError(f"no scores of {name}", EVALUATED / benchmark, "give a metric of the benchmark")
    return track_columns


def lines(card: Benchmark, benchmark: str, against: str, name: str | None, bootstrap: Bootstrap) -> list[str]:
    """Lines of a Markdown table: a row for each track and recipe."""
    rows = list[SeedsRow]()
    for track, (metric, systems) in columns(card, benchmark, name).items():
        groups = repetitions(list(systems))
        if against not in groups:
            raise NightjarError(f"no system {against}", EVALUATED / benchmark, "give one that was evaluated")
        rows += _rows(card.track_title(track), metric, systems, groups, against, bootstrap)
    return [
        f"| task | n | system | seeds | score | {against} - system | p | p (Holm) |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
        *_with_corrected_p(rows),
    ]


def _with_corrected_p(rows: Sequence[SeedsRow]) -> list[str]:
    """The lines of the rows, with p as it is and corrected over the tasks of a system."""
    corrected = dict[SeedsRow, float]()
    for system in {row.system for row in rows}:
        tested = {row: row.p for row in rows if row.system == system and row.p is not None}
        corrected |= zip(tested, holm(list(tested.values())), strict=True)
    return [
        f"| {row.cells} | {row.remark} | |"
        if row.p is None
        else f"| {row.cells} | {row.p:.4f} | {corrected[row]:.4f} |"
        for row in rows
    ]


def _rows(
    title: str,
    metric: Metric,
    systems: Mapping[str, Floats],
    groups: Mapping[str, Sequence[str]],
    against: str,
    bootstrap: Bootstrap,
) -> list[SeedsRow]:
    seed_count = max(map(len, groups.values()))
    statistic = of_seeds(metric, seed_count)

    def joined(name: str) -> Floats:
        seed_parts = [systems[seed_name] for seed_name in groups[name]]
        if seed_count % len(seed_parts):
            seed_parts = seed_parts[:1]
        return np.concatenate([seed_parts[place % len(seed_parts)] for place in range(seed_count)], axis=1)

    digits = 1 if metric.scale > 1 else 3
    first, rows = joined(against), list[SeedsRow]()

    def interval(ends: tuple[float, float], sign: str = "") -> str:
        low, high = (f"{metric.scale * bound:{sign}.{digits}f}" for bound in ends)
        return f"[{low}, {high}]"

    n = len(first)
    for name in groups:
        parts = joined(name)
        value = f"{metric.scale * float(statistic(parts[None])[0]):.{digits}f}"
        ends = interval(bootstrap.interval(parts, statistic)) if enough(n) else too_few(n)
        difference, p, remark = "", None, ""
        if name != against:
            gain = metric.scale * float((statistic(first[None]) - statistic(parts[None]))[0])
            gain_ends = remark = too_few(n)
            if enough(n):
                gain_ends = interval(bootstrap.interval_of_difference(first, parts, statistic), "+")
                p = permutation_p(statistic, first, parts, bootstrap.stream())
            difference = f"{gain:+.{digits}f} {gain_ends}"
        first_cells = f"{title} | {n} | {name} | {len(groups[name])} | {value} {ends} | {difference}"
        rows.append(SeedsRow(name, first_cells, p, remark))
    return rows


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--against", required=True, metavar="SYSTEM")
    parser.add_argument("--metric", metavar="NAME")
    arguments = parser.parse_args()
    try:
        card = registry.load_benchmark(arguments.benchmark)
        print("\n".join(lines(card, arguments.benchmark, arguments.against, arguments.metric, Bootstrap())))
    except NightjarError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
