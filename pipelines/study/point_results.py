"""The scores of a study's points, of what their experiments have in the DVC cache, and its files in data/studies."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.file_scoring import compare_files, difference_rows, score_files, score_rows
from nightjar.benchmarks.records import read_questions
from nightjar.benchmarks.score_table import difference_text, p_text, score_text
from nightjar.core import contracts, paths, tables
from nightjar.core.display import counted_as, number
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_text
from nightjar.statistics import Bootstrap
from pipelines.study.settings import text
from pipelines.versions.revision_files import provided

if TYPE_CHECKING:
    from pipelines.study.study_points import Study

SPLIT = paths.SPLIT.as_posix()
FILES = ("study.json", "study.csv", "plot.png", "plot.svg")
SCORE = ("track", "metric", "n", "value", "low", "high")
# The difference from the first point, of a row of `difference_rows`.
DIFFERENCE = {"difference": "difference", "difference_low": "low", "difference_high": "high", "p": "p"}
# Metrics that a table shows of a track, the main one first.
SHOWN = 2

Result = Mapping[str, Any]
Row = Mapping[str, Any]


def is_there(root: Path, commit: str, study: Study) -> bool:
    """Return whether the cache still has the scored artifacts of the experiment `commit`."""
    try:
        with provided(root, commit, _artifacts(study)):
            return True
    except (NightjarError, OSError):
        return False


def _artifacts(study: Study) -> list[str]:
    names = [f"{paths.QUESTIONS}/{study.benchmark}", f"{paths.PREDICTIONS}/{study.benchmark}/{study.recipe}"]
    return [*names, SPLIT] if any(axis.key.startswith("split.") for axis in study.axes) else names


def collect(
    root: Path,
    study: Study,
    commits: Mapping[str, str],
    failed: Mapping[str, str],
    provide: Callable[[Path, str, Sequence[str]], AbstractContextManager[Path]] = provided,
) -> dict[str, Any]:
    """The content of study.json. Points without an experiment are marked as failed or missing; `provide` gives the
    folder with the artifacts of a commit.

    Raises NightjarError if two points were tested on different instances.
    """
    card, bootstrap, artifacts = registry.load_benchmark(study.benchmark), Bootstrap(), _artifacts(study)
    points, tests = [], dict[str, str]()
    with ExitStack() as opened:
        folders = {
            it.label: opened.enter_context(provide(root, commits[it.name], artifacts))
            for it in study.points
            if it.name in commits
        }
        first = folders.get(study.points[0].label)
        for point in study.points:
            entry: dict[str, Any] = {
                "value": point.label,
                "values": dict(point.values),
                "settings": dict(point.settings),
                "experiment": point.name,
                "commit": commits.get(point.name),
                "state": "failed" if point.label in failed else "missing",
                "error": failed.get(point.label),
                "scores": [],
            }
            points.append(entry)
            if folder := folders.get(point.label):
                questions, predicted, *split = (folder / name for name in artifacts)
                tests[point.label] = _digest(questions)
                if tests[point.label] != next(iter(tests.values())):
                    what = f"{point.label} was tested on other instances than the points before it"
                    raise NightjarError(what, study.name, "compare only points that share a test set")
                before = first / artifacts[1] if first and first != folder else None
                entry |= {"state": "done", **_scored(study.benchmark, questions, predicted, before)}
                if split:
                    rows = tables.part_rows(split[0], contracts.TRAIN)
                    tasks, instances = sum(map(bool, rows.values())), sum(rows.values())
                    entry["training side"] = (
                        f"{counted_as(tasks, 'task')}, {counted_as(instances, 'instance')}"
                    )
    varied = [it for it in study.axes if len(it.values) > 1]
    curves = [it for it in card.papers.curves if [it.study] == [axis.name for axis in varied]]
    return {
        "study": study.name,
        "axes": [{"name": it.name, "key": it.key, "numeric": it.numeric} for it in varied],
        "benchmark": card.name,
        "recipe": study.recipe,
        "commit": study.start.commit,
        "changed_files": list(study.start.changed),
        "metrics": {it.name: f"{it.title} (%)" if it.scale == 100 else it.title for it in card.metrics},
        "tracks": dict(card.tracks) | {track: card.track_title(track) for track in _tracks(points)},
        "confidence": bootstrap.confidence,
        "bootstrap_samples": bootstrap.samples,
        "test_sha256": next(iter(tests.values()), None),
        "published": [{"system": it.system, "source": it.source, "points": it.points} for it in curves],
        "points": points,
    }


def _tracks(points: Iterable[Result]) -> list[str]:
    """Return the tracks that have scores, with the mean of tasks, in the order in which they come."""
    return list(dict.fromkeys(row["track"] for point in points for row in point["scores"]))


def _scored(benchmark: str, questions: Path, predicted: Path, first: Path | None) -> dict[str, Any]:
    """The scores of predictions by track and metric, with the difference from those of the first point."""
    result = score_files(benchmark, predicted, questions)
    compared = difference_rows(compare_files(benchmark, predicted, first, questions)) if first else []
    by_metric = {(it["track"], it["metric"]): it for it in compared if it["level"] == "overall"}
    rows = []
    for row in score_rows(result):
        if row["level"] == "overall":
            difference_row = by_metric.get((row["track"], row["metric"]), {})
            difference = {column: difference_row.get(name) for column, name in DIFFERENCE.items()}
            rows.append({name: row[name] for name in SCORE} | difference)
    return {"n": result["n"], "missing_predictions": result["missing"], "scores": rows}


def _digest(folder: Path) -> str:
    rows = [[it.track, *it.key, dict(it.parts), list(it.references)] for it in read_questions(folder)]
    return sha256(json.dumps(sorted(rows), sort_keys=True).encode()).hexdigest()


def flat(result: Result) -> list[dict[str, Any]]:
    """A row for each point, track and metric; one for a point without scores."""
    none = dict.fromkeys((*SCORE, *DIFFERENCE))
    return [
        {**point["values"], "experiment": point["experiment"], "state": point["state"], **row}
        for point in result["points"]
        for row in point["scores"] or [none]
    ]


def by_track(result: Result) -> dict[str, list[str]]:
    """Return the first metrics of each track that was tested, in the order of `tracks`; the mean comes last."""
    metrics: dict[str, dict[str, None]] = {}
    for row in (row for point in result["points"] for row in point["scores"]):
        metrics.setdefault(row["track"], {})[row["metric"]] = None
    tracks = [track for track in result["tracks"] if track in metrics]
    tracks += sorted(metrics.keys() - set(tracks))
    return {track: list(metrics[track])[:SHOWN] for track in tracks}


def title(result: Result, track: str) -> str:
    return str(result["tracks"].get(track, track))


def table(result: Result, track: str, metrics: Sequence[str]) -> list[dict[str, str]]:
    """A row for each point: its values, the training side of its split if that varies, n, the metrics, and their
    differences from the first point.
    """
    rows = []
    sides = any("training side" in point for point in result["points"])
    for point in result["points"]:
        row = {name: text(value) for name, value in point["values"].items()}
        row |= {"training side": point.get("training side", "–")} if sides else {}
        cells = {it["metric"]: it for it in point["scores"] if it["track"] == track}
        row["n"] = str(cells[metrics[0]]["n"]) if metrics[0] in cells else point["state"]
        for kind in ("", ", difference"):
            for name in metrics:
                text_of = _difference if kind else _score
                row[f"{result['metrics'].get(name, name)}{kind}"] = text_of(
                    result["benchmark"], cells.get(name)
                )
        rows.append(row)
    return rows


def _score(benchmark: str, row: Row | None) -> str:
    """Return a score with its interval."""
    return "–" if row is None else score_text({**row, "benchmark": benchmark})


def _difference(benchmark: str, row: Row | None) -> str:
    """Return the difference from the first point with its interval and p."""
    if row is None or row["difference"] is None:
        return "–"
    values = {name: row[column] for column, name in zip(DIFFERENCE, ("value", "low", "high"), strict=False)}
    p = "" if row["p"] is None else f", p {p_text(row)}"
    return difference_text({**row, **values, "benchmark": benchmark}) + p


def published(result: Result) -> list[str]:
    """A line for each published system with its values for a track, or for what a paper gives instead."""
    lines = []
    for system_row in result["published"]:
        for of in dict.fromkeys(name for values in system_row["points"].values() for name in values):
            listed = [f"{at}: {number(it[of], 1)}" for at, it in system_row["points"].items() if of in it]
            lines.append(
                f"{system_row['system']} ({system_row['source']}), {title(result, of)}: {', '.join(listed)}"
            )
    return lines


def check_folder(root: Path, name: str) -> None:
    """Raise NightjarError, before the experiments, if a file of the study `name` must not be written."""
    for file in FILES:
        check_output(root / paths.STUDIES / name / file)


def write(root: Path, name: str, result: Result) -> Path:
    """Write the files of the study, the plot where there is something to draw; returns the folder."""
    folder, rows, stream = root / paths.STUDIES / name, flat(result), io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(folder / FILES[0], json.dumps(result, indent=2, ensure_ascii=False, default=str) + "\n")
    write_text(folder / FILES[1], stream.getvalue())
    draw(result, folder)
    return folder


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
            track_rows = [row for row in rows if (row["track"], row["metric"]) == (track, metric)]
            ends = [
                [
                    0 if row[bound] is None else max(0, sign * (row[bound] - row["value"]))
                    for row in track_rows
                ]
                for bound, sign in (("low", -1), ("high", 1))
            ]
            xs, values = ([row[name] for row in track_rows] for name in (axis["name"], "value"))
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
