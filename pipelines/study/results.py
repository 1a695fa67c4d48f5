"""The files of a study in data/studies/<name>: study.json, study.md with its tables, and the plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core.files import check_output, write_text
from nightjar.core.numbers import counted_as, number
from pipelines.project.intervals import chance, interval
from pipelines.project.markdown import table as markdown_table

FOLDER = Path("data/studies")
FILES = ("study.json", "study.md", "plot.png", "plot.svg")
# Metrics that a table and a plot show of a track, the main one first.
SHOWN = 2

Result = Mapping[str, Any]


def tracks(result: Result) -> list[str]:
    """The tracks that were tested, the English one first."""
    found = {row["track"] for point in result["points"] for row in point["scores"]}
    return sorted(found, key=lambda track: (track != "default", track))


def track_title(result: Result, track: str) -> str:
    """The title of a track, as the report has it; its name if it has none."""
    return str(result.get("tracks", {}).get(track, track))


def metrics(result: Result, track: str | None = None) -> dict[str, str]:
    """The titles of the metrics that are shown, by name: the first that a track, or any, has values of."""
    rows = [row for point in result["points"] for row in point["scores"]]
    found = {row["metric"] for row in rows if track in (None, row["track"])}
    return dict([(it["name"], it["title"]) for it in result["metrics"] if it["name"] in found][:SHOWN])


def cell(rows: Sequence[Result], track: str, metric: str) -> Result | None:
    """The one row of a track and metric."""
    return next((row for row in rows if (row["track"], row["metric"]) == (track, metric)), None)


def table(result: Result, track: str) -> list[dict[str, str]]:
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
        tasks, instances = point.get("train_tasks"), point.get("train_instances")
        row[about] = (
            f"{counted_as(tasks, 'task')}, {counted_as(instances, 'instance')}" if tasks else point["state"]
        )
        first = cell(point["scores"], track, next(iter(shown), ""))
        row["n"] = str(first["n"]) if first else "–"
        for metric, title in shown.items():
            row[title] = _shown(cell(point["scores"], track, metric))
        for metric, title in shown.items():
            row[f"{title}, difference"] = _shown(cell(point["differences"], track, metric), True)
        if result["study"] == "calls":  # the columns of Toolformer's table 9
            calls: Result = next((row for row in point["calls"] if row["track"] == track), {})
            for title, name in (("with a call", "with_call"), ("without a call", "without_call")):
                row[title] = _number(calls.get(name))
            row["calling (%)"] = _number(calls.get("share"))
        rows.append(row)
    return rows


def _number(value: float | None) -> str:
    return "–" if value is None else number(value, 1)


def _shown(row: Result | None, signed: bool = False) -> str:
    if row is None:
        return "–"
    told = f", p {chance(row)}" if row.get("p") is not None else ""
    return f"{number(row['value'], 1, signed)} {interval(row, 1, signed)}{told}"


def matrices(result: Result, track: str) -> dict[str, list[dict[str, str]]]:
    """A study of encodings as paper table 4, a table for each metric that is shown, by the metric's title: a row a
    training, a column an evaluation.
    """
    scores = {tuple(point["axes"]): point["scores"] for point in result["points"]}
    trained, tested = (list(dict.fromkeys(names)) for names in zip(*scores, strict=True))
    return {
        title: [
            {"trained with": row}
            | {column: _shown(cell(scores.get((row, column), ()), track, metric)) for column in tested}
            for row in trained
        ]
        for metric, title in metrics(result, track).items()
    }


def markdown(result: Result) -> str:
    """The study for docs: what was done, a table a track."""
    kind, points = result["study"], result["points"]
    changed = f" with {len(result['changed_files'])} changed files" if result["changed_files"] else ""
    percent = [it["title"] for it in result["metrics"] if it["unit"] == "%"]
    units = "Values" if len(percent) == len(result["metrics"]) else ", ".join(percent) or "No values"
    against = "the training's own encoding (or the first)" if kind == "encodings" else "the first value"
    blocks = [
        [f"# Study: {kind}, recipe {result['recipe']}, benchmark {result['benchmark']}"],
        [
            f"Commit {result['commit'][:10]}{changed}; {len(points)} DVC experiments, whose names are in study.json. "
            f"{units} in percent, with {100 * result['confidence']:g}% intervals from {result['bootstrap_samples']} "
            f"bootstrap samples. Differences are paired, on the same test instances, from {against}."
        ],
    ]
    for track in tracks(result):
        title = track_title(result, track)
        blocks.append([f"## {title[:1].upper()}{title[1:]}"])
        if kind == "encodings":
            for title, rows in matrices(result, track).items():
                blocks += [[f"{title}; columns: evaluated with"], markdown_table(rows)]
        blocks.append(markdown_table(table(result, track)))
        blocks.append(_published(result, track, ""))
    given = {name for one in result.get("published", []) for of in one["points"].values() for name in of}
    others = sorted(given - {*tracks(result), *result.get("tracks", {}), result.get("average")})
    blocks += [_published(result, name, f", {name}") for name in others]
    lost = [point for point in points if point["state"] != "done"]
    blocks.append([f"- {it['value']}: {it['state']}. {it.get('error') or ''}".rstrip() for it in lost])
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _published(result: Result, name: str, of_what: str) -> list[str]:
    """A line for each published system with its values for a track, or for what a paper gives instead."""
    lines = []
    for one in result.get("published", []):
        values = [f"{at}: {number(of[name], 1)}" for at, of in one["points"].items() if name in of]
        if values:
            lines.append(f"- Published for {one['system']} ({one['source']}){of_what}: {', '.join(values)}")
    return lines


def check_folder(root: Path, name: str) -> None:
    """Raise NightjarError, before the experiments, if a file of the study `name` must not be written."""
    for file in FILES:
        check_output(root / FOLDER / name / file)


def write(root: Path, name: str, result: Result) -> Path:
    """Write study.json, study.md and, where there is something to draw, the plots; returns the folder."""
    from pipelines.study.plot import draw

    folder = root / FOLDER / name
    write_text(folder / "study.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    write_text(folder / "study.md", markdown(result))
    draw(result, folder)
    return folder
