"""The few numbers to look at first, as data and as a plain table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stages.report import numbers
from stages.report.curves import shortened
from stages.report.results import Results, Row

# Letters of a system's name and of a metric's title in the text table, at most: its lines have under 100 columns.
_SYSTEM, _METRIC = 26, 32


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


def text_table(every: Sequence[Results]) -> str:
    """A table of under 100 columns, a block a benchmark and track; intervals in brackets."""
    return "\n".join(_block(results, track) for results in every for track in results.tracks)


def _block(results: Results, track: str) -> str:
    rows = results.headline(track)
    systems = [system for system in results.systems if any(system in row.lanes for row in rows)]
    width = max(20, *(min(len(system), _SYSTEM) for system in systems))
    titles = [shortened(numbers.heading(row.metric), _METRIC) for row in rows]
    column = max(26, *(len(title) + 2 for title in titles))
    lines = [
        shortened(f"{results.card.title}, {results.card.track_title(track)}, {rows[0].n:,} instances", 99),
        f"  {'system':<{width}}" + "".join(f"{title:>{column}}" for title in titles),
    ]
    for system in systems:
        cells = "".join(f"{_cell(row, system):>{column}}" for row in rows)
        lines.append(f"  {shortened(system, _SYSTEM):<{width}}{cells}")
    return "\n".join([*lines, ""])


def _cell(row: Row, system: str) -> str:
    lane = row.lanes.get(system)
    if lane is None:
        return "–"
    ends = numbers.interval(row.metric, lane.low, lane.high)
    return f"{numbers.value(row.metric, lane.value, 1)} {ends:>14}"
