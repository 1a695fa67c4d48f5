"""From a study's experiments to its table: study.json, study.md and the plots in data/studies/<name>."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_text
from pipelines.project.intervals import interval
from pipelines.project.markdown import table as markdown_table
from pipelines.study.kinds import KINDS
from pipelines.study.scores import Rows, Scoring, read, untuned

if TYPE_CHECKING:
    from nightjar.benchmarks.scores import SystemScores
    from pipelines.study.study import Point, Study

FOLDER = Path("data/studies")
FILES = ("study.json", "study.md", "plot.png", "plot.svg")
# The untuned model is the same for all values of these studies.
TUNED = ("tasks", "instances")
# Metrics that a table and a plot show of a track, the main one first.
SHOWN = 2


def collect(
    root: Path, study: Study, commits: Mapping[str, str], failed: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that the table shows, for study.json. Points without an experiment are marked as failed or missing.

    Raises NightjarError if two points were tested on different instances.
    """
    scoring = Scoring.of(study)
    points: Rows = []
    first: tuple[int, str] | None = None
    base: SystemScores | None = None
    for point in study.points:
        entry = _entry(point)
        points.append(entry)
        if point.name not in commits:
            entry["state"] = "failed" if point.label in failed else "missing"
            entry["error"] = failed.get(point.label)
            continue
        made = read(root, commits[point.name], study, size=study.kind == "models")
        if first and first[1] != made.instances:
            what = f"{point.label} was tested on other instances than the points before it"
            raise NightjarError(what, f"study {study.kind}", "compare only what shares a test set")
        first = first or (len(made.questions), made.instances)
        scores = scoring.score(point.label, made)
        if point.against is None:
            base = scores
        compared = base is not None and point.against == base.system
        entry |= {
            "commit": commits[point.name],
            "train_tasks": made.train_tasks,
            "train_instances": made.train_instances,
            "parameters": made.parameters,
            "missing_predictions": made.missing,
            "scores": scoring.overall(scores),
            "calls": scoring.by_call(scores, made),
            "differences": scoring.differences(scores, base) if base and compared else [],
        }
    return {
        "study": study.kind,
        "recipe": study.recipe,
        "target": study.target,
        "commit": study.start.commit,
        "changed_files": list(study.start.changed),
        **scoring.facts(),
        "test_instances": {"n": first[0], "sha256": first[1]} if first else None,
        "published": scoring.published(study.kind),
        "untuned": untuned(root, study, first[1], scoring) if study.kind in TUNED and first else [],
        "points": points,
    }


def _entry(point: Point) -> dict[str, Any]:
    return {
        "value": point.label,
        "axes": list(point.axes),
        "settings": dict(point.settings),
        "experiment": point.name,
        "against": point.against,
        "state": "done",
        "error": None,
        "scores": [],
        "calls": [],
        "differences": [],
    }


def tracks(result: Mapping[str, Any]) -> list[str]:
    """The tracks that were tested, the English one first."""
    found = {row["track"] for point in result["points"] for row in point["scores"]}
    return sorted(found, key=lambda track: (track != "default", track))


def metrics(result: Mapping[str, Any], track: str | None = None) -> dict[str, str]:
    """The titles of the metrics that are shown, by name: the first that a track, or any, has values of."""
    rows = [row for point in result["points"] for row in point["scores"]]
    found = {row["metric"] for row in rows if track in (None, row["track"])}
    return dict([(it["name"], it["title"]) for it in result["metrics"] if it["name"] in found][:SHOWN])


def panels(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """What each plot shows, as {track: metric}: the same metric of all tracks that have it.

    One plot shows each track by its own main metric if the tracks have more than SHOWN main metrics.
    """
    shown = tracks(result)
    mains = {track: next(iter(metrics(result, track))) for track in shown}
    if len(set(mains.values())) > SHOWN:
        return [mains]
    return [dict.fromkeys(shown, metric) for metric in metrics(result)]


def cell(rows: Sequence[Mapping[str, Any]], track: str, metric: str) -> Mapping[str, Any] | None:
    """The one row of a track and metric."""
    return next((row for row in rows if (row["track"], row["metric"]) == (track, metric)), None)


def _shown(row: Mapping[str, Any] | None, sign: str = "") -> str:
    if row is None:
        return "–"
    chance = f", p {row['p']:.2g}" if "p" in row else ""
    return f"{row['value']:{sign}.1f} {interval(row, f'{sign}.1f')}{chance}"


def table(result: Mapping[str, Any], track: str) -> list[dict[str, str]]:
    """One row a point: what it was trained on, n, the metrics, and the difference from what it is compared with."""
    shown = metrics(result, track)
    names = ("trained with", "evaluated with") if result["study"] == "encodings" else (result["study"],)
    # A reader has no such counts.
    about = "trained on" if any(point.get("train_tasks") for point in result["points"]) else "state"
    rows = []
    for point in result["points"]:
        row = dict(zip(names, point["axes"], strict=True))
        if result["study"] == "models":
            row["parameters"] = f"{point['parameters']:,}" if point.get("parameters") else "–"
        counts = [point.get(name) for name in ("train_tasks", "train_instances")]
        row[about] = f"{counts[0]} tasks, {counts[1]} instances" if counts[0] else point["state"]
        first = cell(point["scores"], track, next(iter(shown), ""))
        row["n"] = str(first["n"]) if first else "–"
        for metric, title in shown.items():
            row[title] = _shown(cell(point["scores"], track, metric))
        for metric, title in shown.items():
            row[f"{title}, difference"] = _shown(cell(point["differences"], track, metric), "+")
        if result["study"] == "calls":
            row |= _by_call(point, track)
        rows.append(row)
    return rows


def _by_call(point: Mapping[str, Any], track: str) -> dict[str, str]:
    """The columns of Toolformer's table 9: scores with and without a call, and the share of answers with one."""
    found = next((row for row in point["calls"] if row["track"] == track), None)
    names = {"with a call": "with_call", "without a call": "without_call", "calling (%)": "share"}
    values = {title: found[name] if found else None for title, name in names.items()}
    return {title: "–" if value is None else f"{value:.1f}" for title, value in values.items()}


def matrix(result: Mapping[str, Any], track: str, metric: str) -> list[dict[str, str]]:
    """A study of encodings as paper table 4: a row a training, a column an evaluation."""
    cells = {tuple(point["axes"]): cell(point["scores"], track, metric) for point in result["points"]}
    trained, tested = matrix_names(result)
    return [
        {"trained with": row} | {column: _shown(cells.get((row, column))) for column in tested}
        for row in trained
    ]


def matrix_names(result: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What was trained with and evaluated with, each in the order given, shared names at the same places."""
    trained = list(dict.fromkeys(point["axes"][0] for point in result["points"]))
    tested = {point["axes"][1] for point in result["points"]}
    return trained, [*(name for name in trained if name in tested), *sorted(tested - set(trained))]


def markdown(result: Mapping[str, Any]) -> str:
    """The study for docs: what was done, a table a track."""
    kind, points = result["study"], result["points"]
    changed = f" with {len(result['changed_files'])} changed files" if result["changed_files"] else ""
    percent = [it["title"] for it in result["metrics"] if it["unit"] == "%"]
    units = "Values" if len(percent) == len(result["metrics"]) else ", ".join(percent) or "No values"
    against = "the training's own encoding (or the first)" if kind == "encodings" else "the first value"
    lines = [
        f"# Study: {kind}, recipe {result['recipe']}, benchmark {result['benchmark']}",
        "",
        f"Commit {result['commit'][:10]}{changed}; {len(points)} DVC experiments, whose names are in study.json. "
        f"{units} in percent, with {100 * result['confidence']:g}% intervals from {result['bootstrap_samples']} "
        f"bootstrap samples. Differences are paired, on the same test instances, from {against}.",
    ]
    for track in tracks(result):
        lines += ["", f"## Track {track}"]
        if kind == "encodings":
            for metric, title in metrics(result, track).items():
                lines += ["", f"{title}; columns: evaluated with", "", *_rows(matrix(result, track, metric))]
        lines += ["", *_rows(table(result, track))]
        base = result.get("untuned", [])
        shown = [(title, cell(base, track, metric)) for metric, title in metrics(result, track).items()]
        if any(row for _, row in shown):
            told = ", ".join(f"{title} {_shown(row)}" for title, row in shown)
            lines += ["", f"The untuned model on the same instances: {told}."]
        if given := _published(result, track):
            lines += ["", *given]
    if lost := [point for point in points if point["state"] != "done"]:
        lines += ["", *(f"- {it['value']}: {it['state']}. {it.get('error') or ''}".rstrip() for it in lost)]
    return "\n".join(lines) + "\n"


def _published(result: Mapping[str, Any], track: str) -> list[str]:
    """A line for each published system with values of the track."""
    values = [
        (one, ", ".join(f"{at}: {of[track]:.1f}" for at, of in one["points"].items() if track in of))
        for one in result.get("published", [])
    ]
    return [f"- Published for {one['system']} ({one['source']}): {told}" for one, told in values if told]


def _rows(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The lines of a table, numbers to the right."""
    names = {"trained with", "evaluated with", "trained on", "state"}
    names |= {kind for kind, it in KINDS.items() if it.least is None}
    return markdown_table(rows, right=rows[0].keys() - names if rows else ())


def check_folder(root: Path, name: str) -> None:
    """Raise NightjarError, before the experiments, if a file of the study `name` must not be written."""
    for file in FILES:
        check_output(root / FOLDER / name / file)


def write(root: Path, name: str, result: Mapping[str, Any]) -> Path:
    """Write study.json, study.md and, where there is something to draw, the plots; returns the folder."""
    from pipelines.study import plot as study_plot

    folder = root / FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    write_text(folder / "study.json", told)
    write_text(folder / "study.md", markdown(result))
    study_plot.draw(result, folder)
    return folder
