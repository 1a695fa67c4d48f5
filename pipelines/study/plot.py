"""The plot of a study, as PNG and SVG: scores with error bars over the value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.study.kinds import KINDS
from pipelines.study.results import Result, cell, metrics, track_title, tracks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The average of the tracks; they have the colours of matplotlib in its order.
OF_AVERAGE = "black"


def draw(result: Result, folder: Path) -> None:
    """Write plot.png and plot.svg into `folder`. If there is nothing to draw, remove those of an earlier run: without a
    scored point, and of encodings, whose results are a matrix.
    """
    import matplotlib

    files = {"plot.png": {"Software": None}, "plot.svg": {"Date": None}}
    for name in files:
        (folder / name).unlink(missing_ok=True)
    if tracks(result) and result["study"] != "encodings":
        # No clock and no random ids: the same scores give the same bytes.
        with matplotlib.rc_context({"svg.hashsalt": "nightjar", "font.size": 9}):
            drawn = figure(result)
            for name, metadata in files.items():
                drawn.savefig(folder / name, dpi=150, metadata=metadata)


def figure(result: Result) -> Figure:
    """The figure of a study that has a scored point: each track by its main metric, the first that it has, against the
    setting. Numbers are on a binary logarithm as in paper figure 5, names are evenly spaced.
    """
    from matplotlib.figure import Figure

    kind, average = KINDS[result["study"]], result.get("average")
    mains = {track: next(iter(metrics(result, track))) for track in tracks(result)}
    others = [track for track in mains if track != average]
    drawn = Figure(figsize=(6.75, 5.4), layout="constrained")
    axes = drawn.subplots()
    points, ticks = _placed(result)
    for track, metric in mains.items():
        rows = [(x, cell(point["scores"], track, metric)) for x, point in points]
        colour = OF_AVERAGE if track == average else f"C{others.index(track)}"
        xs, values, below, above = zip(*((x, *_ends(row)) for x, row in rows if row), strict=True)
        style: dict[str, Any] = {
            "marker": "o",
            "markersize": 4,
            "capsize": 3,
            "linewidth": 1.4,
            "elinewidth": 1,
        }
        axes.errorbar(xs, values, (below, above), color=colour, label=track_title(result, track), **style)
        # Of published systems the average alone, if the benchmark has one.
        if kind.numbers and track == (average or track):
            _published(axes, result, track, colour, ticks)
    if kind.numbers or result["study"] == "models":  # a logarithm has no place for 0
        axes.set_xscale("symlog" if 0 in ticks else "log", base=2)
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlabel(kind.title)
    axes.set_ylabel(_axis(result, mains))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    tested = f"{result['test_instances']['n']} test instances"
    drawn.suptitle(f"{result['recipe']}, {tested}; {100 * result['confidence']:g}% intervals", fontsize=10)
    return drawn


def _placed(result: Result) -> tuple[list[tuple[int, Result]], dict[int, str]]:
    """The scored points with their places on the axis, in ascending order, and the labels of these places.

    A model of unknown size is at 1.
    """
    models, numbers = result["study"] == "models", KINDS[result["study"]].numbers
    found = []
    for place, point in enumerate(it for it in result["points"] if it["scores"]):
        size = point.get("parameters") or 1
        found.append((size if models else int(point["value"]) if numbers else place, point))
    found.sort(key=itemgetter(0))
    names: dict[int, list[str]] = {}
    for x, point in found:
        names.setdefault(x, []).append(re.split("[/:]", point["value"].rstrip("/"))[-1])
    size = "\n{:.3g}M" if models else ""
    return found, {x: ", ".join(of) + size.format(x / 1e6) for x, of in names.items()}


def _published(axes: Any, result: Result, track: str, colour: str, ticks: dict[int, str]) -> None:
    """Draw the published systems; their values get ticks, but not so near to another that the labels would meet."""
    for one, line in zip(result.get("published", []), (":", "-.", "--"), strict=False):
        if values := {int(x): of[track] for x, of in one["points"].items() if track in of}:
            label = f"{one['system']}, published"
            axes.plot(
                list(values), list(values.values()), color=colour, linestyle=line, marker="x", label=label
            )
        for x in sorted(values, reverse=True):
            if all(abs(x - tick) > 0.1 * x for tick in ticks):
                ticks[x] = str(x)


def _ends(row: Result) -> tuple[float, float, float]:
    """A value, and how far its interval reaches below and above; 0 where there is none."""
    value, low, high = row["value"], row["low"], row["high"]
    return (value, 0, 0) if low is None else (value, max(0, value - low), max(0, high - value))


def _axis(result: Result, mains: Mapping[str, str]) -> str:
    """The title of the tracks' main metric with its unit, if it has one; of several, their unit if they share one."""
    shown = [it for it in result["metrics"] if it["name"] in mains.values()]
    title = shown[0]["title"] if len(shown) == 1 else "main metric of each track"
    units = {it["unit"] for it in shown}
    return f"{title} (%)" if units == {"%"} else title
