"""The plot of a study of one setting with numbers, as PNG and SVG: the main metric of each track with its interval."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

from pipelines.study.results import Result, by_track, flat, title


def draw(result: Result, folder: Path) -> None:
    """Write plot.png and plot.svg into `folder`, or remove those of an earlier run if there is nothing to draw."""
    files = {"plot.png": {"Software": None}, "plot.svg": {"Date": None}}
    for file in files:
        (folder / file).unlink(missing_ok=True)
    mains = {track: metrics[0] for track, metrics in by_track(result).items()}
    if not mains or [it["numeric"] for it in result["axes"]] != [True]:
        return
    import matplotlib
    from matplotlib.figure import Figure

    [axis] = result["axes"]
    rows = sorted((row for row in flat(result) if row["track"]), key=itemgetter(axis["name"]))
    ticks = list(dict.fromkeys(row[axis["name"]] for row in rows))
    # No clock and no random ids: the same scores give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "nightjar", "font.size": 9}):
        drawn = Figure(figsize=(6.75, 5.4), layout="constrained")
        axes = drawn.subplots()
        axes.set_prop_cycle(color=[matplotlib.colormaps["tab20"](n) for n in range(20)])
        for track, metric in mains.items():
            own = [row for row in rows if (row["track"], row["metric"]) == (track, metric)]
            ends = [
                [0 if row[end] is None else max(0, sign * (row[end] - row["value"])) for row in own]
                for end, sign in (("low", -1), ("high", 1))
            ]
            xs, values = ([row[name] for row in own] for name in (axis["name"], "value"))
            axes.errorbar(xs, values, ends, marker="o", capsize=3, label=title(result, track))
        axes.set_xscale("log" if ticks[0] > 0 else "symlog", base=2)
        axes.set_xticks(ticks, map(str, ticks))
        axes.minorticks_off()
        axes.set_xlabel(axis["key"])
        names = {result["metrics"].get(it, it) for it in mains.values()}
        axes.set_ylabel(names.pop() if len(names) == 1 else "main metric of each track")
        axes.grid(alpha=0.3)
        drawn.legend(loc="outside lower center", ncols=3, frameon=False)
        drawn.suptitle(f"{result['recipe']}; {100 * result['confidence']:g}% intervals", fontsize=10)
        for file, metadata in files.items():
            drawn.savefig(folder / file, dpi=150, metadata=metadata)
