"""The plot of a study: scores with error bars over the value and a line for the untuned model, or a map of encodings.
PNG and SVG.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.files import replace, temporary_sibling
from pipelines.project.intervals import interval
from pipelines.study.kinds import KINDS
from pipelines.study.results import cell, matrix_names, metrics, panels, tracks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The average of the tracks; they have the colours of matplotlib in its order.
OF_AVERAGE = "black"


def draw(result: Mapping[str, Any], folder: Path) -> None:
    """Write plot.png and plot.svg into `folder`; without a scored point, remove those of an earlier run."""
    for name in ("plot.png", "plot.svg"):
        (folder / name).unlink(missing_ok=True)
    if not tracks(result):
        return
    import matplotlib

    # No clock and no random ids: the same scores give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "nightjar", "font.size": 9}):
        drawn = figure(result)
        for name, metadata in (("plot.png", {"Software": None}), ("plot.svg", {"Date": None})):
            temporary = temporary_sibling(folder / name)
            drawn.savefig(temporary, format=name[-3:], dpi=150, metadata=metadata)
            replace(temporary, folder / name)


def figure(result: Mapping[str, Any]) -> Figure:
    """The figure of a study that has a scored point: a plot for each metric, and one legend below both."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = panels(result)
    mixed = len(set(shown[0].values())) > 1
    width, height = (6.75, 5.4) if result["study"] == "encodings" or mixed else (5.0, 4.2)
    drawn = Figure(figsize=(width * len(shown), height), layout="constrained")
    FigureCanvasAgg(drawn)
    plots = drawn.subplots(1, len(shown), squeeze=False)[0]
    for axes, panel in zip(plots, shown, strict=True):
        if result["study"] == "encodings":
            track, metric = next(iter(panel.items()))
            _map(axes, drawn, result, track, metric, metrics(result)[metric])
        else:
            _curve(axes, result, panel)
    handles: dict[str, Any] = {}
    for axes in plots:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if len(handles) > 1:
        columns = min(len(handles), 3 if mixed else 2 * len(shown))
        drawn.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False
        )
    drawn.suptitle(f"{result['recipe']}, {_n(result)}", fontsize=10)
    return drawn


def _n(result: Mapping[str, Any]) -> str:
    counts = []
    for track in (one for one in tracks(result) if one != result.get("average")):
        main = next(iter(metrics(result, track)))
        found = [row for point in result["points"] if (row := cell(point["scores"], track, main))]
        counts.append((found[0]["n"], track))
    if len(counts) > 2:
        numbers = sorted({n for n, _ in counts})
        some = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
        return f"{some} instances of each of {len(counts)} tracks; {100 * result['confidence']:g}% intervals"
    told = [f"{n} instances of track {track}" for n, track in counts]
    return f"{', '.join(told)}; {100 * result['confidence']:g}% intervals"


def _curve(axes: Any, result: Mapping[str, Any], panel: Mapping[str, str]) -> None:
    """Value against the setting, on a binary logarithm as in paper figure 5; `panel`: the metric of each track."""
    kind = result["study"]
    points = [point for point in result["points"] if point["scores"]]
    sizes = {point["value"]: _x(kind, point, place) for place, point in enumerate(points)}
    others, lows_of_all, colours = set[int](), [0.0], _colours(result, panel)
    for track, metric in panel.items():
        colour = colours[track]
        drawn = sorted(
            (sizes[point["value"]], *_ends(row))
            for point in points
            if (row := cell(point["scores"], track, metric))
        )
        if not drawn:
            continue
        xs, values, lows, highs = zip(*drawn, strict=True)
        lows_of_all += lows
        errors = [
            [max(0.0, value - low) for value, low in zip(values, lows, strict=True)],
            [max(0.0, high - value) for value, high in zip(values, highs, strict=True)],
        ]
        thick = 2.6 if track == result.get("average") else 1.4
        style = {"marker": "o", "markersize": 4, "capsize": 3, "linewidth": thick, "elinewidth": 1}
        axes.errorbar(xs, values, errors, color=colour, label=_label(result, track, panel), **style)
        if row := cell(result.get("untuned", []), track, metric):
            value, low, high = _ends(row)
            label = f"untuned model{f', track {track}' if len(panel) > 1 else ''}"
            axes.axhspan(low, high, color=colour, alpha=0.12, linewidth=0)
            axes.axhline(value, color=colour, label=label, linestyle="--", linewidth=1.2)
        others |= _published(axes, result, track, colour)
    if not _has_names(kind):  # a logarithm has no place for 0
        axes.set_xscale("symlog" if 0 in sizes.values() else "log", base=2)
    _set_ticks(axes, kind, sizes, others)
    axes.set_ylim(1.05 * min(lows_of_all), max(1.0, axes.get_ylim()[1]))
    axes.set_xlabel(KINDS[kind].title)
    axes.set_ylabel(_axis(result, panel))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _set_ticks(axes: Any, kind: str, sizes: Mapping[str, int], others: set[int]) -> None:
    """Ticks at the values of the points, and at `others` that are not nearly equal to one of them."""
    ticks = sorted(set(sizes.values()))
    for x in sorted(others, reverse=True):
        if all(abs(x - tick) > 0.1 * x for tick in ticks):
            ticks.append(x)
    told = [str(tick) for tick in ticks]
    if _has_names(kind):
        told = [_short(value) for value in sizes]
    if kind == "models":
        names = [[_short(value) for value, size in sizes.items() if size == tick] for tick in ticks]
        told = [f"{', '.join(of)}\n{_millions(tick)}" for of, tick in zip(names, ticks, strict=True)]
    axes.set_xticks(ticks, told)
    axes.minorticks_off()


def _has_names(kind: str) -> bool:
    """Whether the values are names, which are evenly spaced in the order given."""
    return KINDS[kind].least is None and kind != "models"


def _x(kind: str, point: Mapping[str, Any], place: int) -> int:
    """Where a point is on the axis; a model of unknown size is at 1."""
    if _has_names(kind):
        return place
    return (point.get("parameters") or 1) if kind == "models" else int(point["value"])


def _ends(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Value, low and high; the value three times where there is no interval."""
    value = row["value"]
    return (value, value, value) if row["low"] is None else (value, row["low"], row["high"])


def _colours(result: Mapping[str, Any], panel: Mapping[str, str]) -> dict[str, str]:
    others = [track for track in panel if track != result.get("average")]
    found = {track: f"C{number}" for number, track in enumerate(others)}
    return {track: found.get(track, OF_AVERAGE) for track in panel}


def _published(axes: Any, result: Mapping[str, Any], track: str, colour: str) -> set[int]:
    """Draw the published systems, of the average alone if the benchmark has one; returns the values on the axis.

    None are drawn for a study whose values are no numbers.
    """
    drawn: set[int] = set()
    if track != (result.get("average") or track) or KINDS[result["study"]].least is None:
        return drawn
    for one, line in zip(result.get("published", []), (":", "-.", "--"), strict=False):
        if pairs := sorted((int(at), of[track]) for at, of in one["points"].items() if track in of):
            label = f"{one['system']}, published"
            xs, values = zip(*pairs, strict=True)
            axes.plot(xs, values, color=colour, linestyle=line, marker="x", linewidth=1.2, label=label)
            drawn.update(xs)
    return drawn


def _axis(result: Mapping[str, Any], panel: Mapping[str, str]) -> str:
    """The title of the metric; of several, their unit if they share one."""
    names = dict.fromkeys(panel.values())
    if len(names) == 1:
        (name,) = names
        return _unit(result, name, metrics(result)[name])
    units = {it["unit"] for it in result["metrics"] if it["name"] in names}
    return f"main metric of each track ({units.pop()})" if units == {"%"} else "main metric of each track"


def _label(result: Mapping[str, Any], track: str, panel: Mapping[str, str]) -> str:
    if len(set(panel.values())) > 1:
        return track  # many; the title has the recipe
    return f"{result['recipe']}, track {track}" if len(tracks(result)) > 1 else str(result["recipe"])


def _short(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]


def _millions(count: int) -> str:
    return f"{count / 1e6:.3g}M" if count >= 1e5 else f"{count:,}"


def _map(axes: Any, figure: Any, result: Mapping[str, Any], track: str, metric: str, title: str) -> None:
    """Trained with (down) × evaluated with (across), as paper table 4."""
    trained, tested = matrix_names(result)
    cells = {tuple(point["axes"]): cell(point["scores"], track, metric) for point in result["points"]}
    values = [
        [row["value"] if (row := cells.get((one, two))) else float("nan") for two in tested]
        for one in trained
    ]
    image = axes.imshow(values, cmap="Blues", aspect="auto")
    middle = sum(image.get_clim()) / 2
    for down, one in enumerate(trained):
        for across, two in enumerate(tested):
            if row := cells.get((one, two)):
                text = f"{row['value']:.1f}\n{interval(row)}"
                colour = "white" if row["value"] > middle else "black"
                axes.text(across, down, text, ha="center", va="center", color=colour, fontsize=7)
    axes.set_xticks(range(len(tested)), tested, rotation=30, ha="right")
    axes.set_yticks(range(len(trained)), trained)
    axes.set_xlabel("evaluated with")
    axes.set_ylabel("trained with")
    axes.set_title(f"{_unit(result, metric, title)}, track {track}", fontsize=10)


def _unit(result: Mapping[str, Any], metric: str, title: str) -> str:
    """The title of a metric with its unit, if it has one."""
    units = {it["name"]: it["unit"] for it in result["metrics"]}
    return f"{title} ({units[metric]})" if units[metric] else title
