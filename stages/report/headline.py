"""The few numbers to look at first, as data and as a plain table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stages.report import results

METRICS = ("rougeL", "exact_match")


def headline(path: Path = Path("data/evaluate/supernatinst")) -> list[dict[str, Any]]:
    """One entry a track and system: its instances and, in percent, each metric with the ends of its interval.

    Keys: benchmark, track, system, n, and for rougeL and exact_match the value, `<metric>_low`,
    `<metric>_high`, which are None where there is no interval. Raises NightjarError if the evaluation is not there.
    """
    return of(results.read(path))


def of(scores: results.Results) -> list[dict[str, Any]]:
    """The same from scores in hand."""
    entries = []
    for track in scores.tracks:
        rows = {metric: scores.row(track, "overall", "overall", metric) for metric in METRICS}
        for system in scores.systems:
            if system not in rows["rougeL"].lanes:
                continue
            entry = {"benchmark": scores.benchmark, "track": track, "system": system, "n": rows["rougeL"].n}
            for metric, row in rows.items():
                lane = row.lanes[system]
                entry |= {metric: lane.value, f"{metric}_low": lane.low, f"{metric}_high": lane.high}
            entries.append(entry)
    return entries


def text_table(entries: Sequence[Mapping[str, Any]]) -> str:
    """A table of under 100 columns, a block a track; intervals in brackets."""
    lines = []
    for track in dict.fromkeys(entry["track"] for entry in entries):
        chosen = [entry for entry in entries if entry["track"] == track]
        name = results.TRACK_NAMES.get(track, track)
        lines.append(f"{chosen[0]['benchmark']}, {name}, {chosen[0]['n']:,} instances")
        lines.append(
            f"  {'system':<20}" + "".join(f"{results.METRIC_NAMES[metric]:>26}" for metric in METRICS)
        )
        for entry in chosen:
            cells = "".join(f"{_cell(entry, metric):>26}" for metric in METRICS)
            lines.append(f"  {entry['system']:<20}{cells}")
        lines.append("")
    return "\n".join(lines)


def _cell(entry: Mapping[str, Any], metric: str) -> str:
    cell = {"n": entry["n"], "low": entry[f"{metric}_low"], "high": entry[f"{metric}_high"]}
    return f"{entry[metric]:6.2f} {results.interval(cell, '[{}, {}]', 1):>14}"
