"""The few numbers to look at first, as data and as a plain table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nightjar.core.display import counted_as
from stages.report import numbers
from stages.report.leaderboard import Column
from stages.report.plots.curves import shortened
from stages.report.read.results import Results

# Columns of the text, and of a system's name in it, at most.
_WIDTH, _SYSTEM = 100, 24


def entries(results: Results) -> list[dict[str, Any]]:
    """One entry a track and system: its instances and each headline metric with the ends of its interval.

    Keys: benchmark, track, system, n, and for each metric its name with the value in the metric's unit, `<name>_low`
    and `<name>_high`, which are None for too few instances. A metric that the system lacks is left out.
    """
    found = []
    for track in results.tracks:
        rows = results.headline(track)
        for system in results.systems:
            if not any(system in row.lanes for row in rows):
                continue
            entry = {"benchmark": results.card.name, "track": track, "system": system, "n": rows[0].n}
            for row in rows:
                if lane := row.lanes.get(system):
                    name = row.metric.name
                    entry |= {name: lane.value, f"{name}_low": lane.low, f"{name}_high": lane.high}
            found.append(entry)
    return found


def text(columns: Sequence[Column], unscored: Sequence[str] = ()) -> str:
    """The leaderboard, at most 100 characters wide: a row a system, a column a benchmark; in blocks where needed.

    `unscored` says of each benchmark without scores why it has none; these lines are not cut.
    """
    systems = list(dict.fromkeys(system for column in columns for system in column.row.lanes))
    first = 2 + min(_SYSTEM, max(map(len, ["system", *systems])))
    blocks: list[list[Column]] = []
    for it in columns:
        if not blocks or first + sum(map(_width, [*blocks[-1], it])) > _WIDTH:
            blocks.append([])
        blocks[-1].append(it)
    signs = "+ and -: significantly better and worse than the system it is compared with."
    notes = [signs] if any(it.differences for it in columns) else []
    notes += [shortened(_note(it), _WIDTH) for it in columns]
    tables = [_block(block, systems, first) for block in blocks]
    return "\n\n".join([*tables, "\n".join([*notes, *unscored])]) + "\n"


def _note(column: Column) -> str:
    n = column.row.n
    compared = f"; compared with {column.reference}" if column.differences else ""
    return f"{column.card.name}: {column.title}, {counted_as(n, 'instance')}{compared}"


def _width(column: Column) -> int:
    return max(10, 2 + len(column.card.name))


def _block(columns: Sequence[Column], systems: Sequence[str], first: int) -> str:
    lines = [f"{'system':<{first}}" + "".join(f"{it.card.name:>{_width(it) - 2}}  " for it in columns)]
    for system in systems:
        if any(system in it.row.lanes for it in columns):
            cells = "".join(f"{_cell(it, system):>{_width(it)}}" for it in columns)
            lines.append(f"{shortened(system, _SYSTEM):<{first}}{cells}")
    return "\n".join(line.rstrip() for line in lines)


def _cell(column: Column, system: str) -> str:
    lane, paired = column.row.lanes.get(system), column.differences.get(system)
    if lane is None:
        return ""
    better = paired is not None and (paired["value"] > 0) == column.row.metric.higher_is_better
    sign = " " if paired is None or not paired["significant"] else "+" if better else "-"
    return f"{numbers.value(column.row.metric, lane.value, 1)} {sign}"
