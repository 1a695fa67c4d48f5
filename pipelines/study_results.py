"""From a study's experiments to its table: reads their artifacts out of the DVC cache, has them scored, writes
study.json, study.md and the plots into data/studies/<name>.
"""

from __future__ import annotations

import contextlib
import json
import math
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_text
from nightjar.core.json_text import parse_at

if TYPE_CHECKING:
    from pipelines.study import Point, Study

FOLDER = Path("data/studies")
FILES = ("study.json", "study.md", "plot.png", "plot.svg")
SPLIT, MODEL = "data/split", "models/base/language_model"
# The untuned model is the same for all values of these studies.
TUNED = ("tasks", "instances")
UNTUNED, UNTUNED_ANSWERS = "predict@supernatinst-untuned", "data/predict/supernatinst-untuned"
NEEDED = ("task_id", "id", "prediction", "calls")
METRICS = {"rougeL": "ROUGE-L", "exact_match": "exact match"}

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Scoring:
    """The evaluation's own functions.

    `score` (system, test, predictions) gives rows of contracts.INSTANCE_SCORES and how many predictions were
    missing; `aggregate` rows of contracts.SCORES; `compare` (rows, [(system, baseline)]) paired differences.
    """

    score: Callable[[str, Rows, Rows], tuple[Rows, int]]
    aggregate: Callable[[Rows], Rows]
    compare: Callable[[Rows, Sequence[tuple[str, str]]], Rows]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Artifacts:
    """What an experiment made: test instances, answers, how much it trained on, the base model's size."""

    test: Rows
    predictions: Rows
    train_tasks: int
    train_instances: int
    parameters: int | None

    @property
    def instances(self) -> str:
        """A digest of the test instances with their references, to tell whether two points had the same."""
        told = sorted([row["track"], row["task_id"], row["id"], row["outputs"]] for row in self.test)
        return sha256(json.dumps(told).encode()).hexdigest()


@contextlib.contextmanager
def _files(root: Path, commit: str) -> Iterator[Any]:
    """The files of an experiment as DVC sees them, tracked by Git or kept in the cache."""
    from dvc.repo import Repo

    with Repo(str(root), rev=commit) as repo:
        yield repo.dvcfs


def is_there(root: Path, commit: str, recipe: str) -> bool:
    """Whether the experiment's split and predictions are still in the cache."""
    try:
        read(root, commit, recipe)
    except (NightjarError, OSError):
        return False
    return True


def read(root: Path, commit: str, recipe: str, size: bool = False) -> Artifacts:
    """The artifacts of the experiment `commit`; with `size` the number of the base model's parameters.

    Raises NightjarError or OSError for what is not in the cache.
    """
    predictions = f"data/predict/supernatinst-{recipe}"
    with tempfile.TemporaryDirectory() as folder, _files(root, commit) as files:
        for name in (SPLIT, predictions):
            files.get(f"/{name}", str(Path(folder, name)), recursive=True)
        trained = tables.part_rows(Path(folder, SPLIT), contracts.TRAIN)
        return Artifacts(
            tables.read_rows(Path(folder, SPLIT), contracts.TEST),
            tables.read_rows(Path(folder, predictions), contracts.PREDICTIONS, list(NEEDED)),
            sum(rows > 0 for rows in trained.values()),
            sum(trained.values()),
            _parameters(files) if size else None,
        )


def _parameters(files: Any) -> int | None:
    """The base model's parameters by the headers of its safetensors files; tied weights count once."""
    names = [name for name in files.find(f"/{MODEL}") if name.endswith(".safetensors")]
    count = 0
    for name in names:
        with files.open(name, "rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header = parse_at(stream.read(length), name, "make the model again")
        count += sum(math.prod(it["shape"]) for key, it in header.items() if key != "__metadata__")
    return count or None


def collect(
    root: Path, study: Study, commits: Mapping[str, str], failed: Mapping[str, str], scoring: Scoring
) -> dict[str, Any]:
    """Everything the table says, for study.json. Points without an experiment are told as failed or missing.

    Raises NightjarError if two points were tested on different instances.
    """
    points: Rows = []
    seen: tuple[int, str] | None = None
    base: tuple[str, Rows] = ("", [])
    for point in study.points:
        entry = _entry(point)
        points.append(entry)
        if point.name not in commits:
            entry["state"] = "failed" if point.label in failed else "missing"
            entry["error"] = failed.get(point.label)
            continue
        made = read(root, commits[point.name], study.recipe, size=study.kind == "models")
        if seen and seen[1] != made.instances:
            what = f"{point.label} was tested on other instances than the points before it"
            raise NightjarError(what, f"study {study.kind}", "compare only what shares a test set")
        seen = seen or (len(made.test), made.instances)
        rows, missing = scoring.score(point.label, made.test, made.predictions)
        if point.against is None:
            base = (point.label, rows)
        pairs = [(point.label, point.against)] if point.against and point.against == base[0] else []
        entry |= {
            "commit": commits[point.name],
            "train_tasks": made.train_tasks,
            "train_instances": made.train_instances,
            "parameters": made.parameters,
            "missing_predictions": missing,
            "scores": [_told(row) for row in scoring.aggregate(rows) if row["level"] == "overall"],
            "differences": [_told(row) for row in scoring.compare(base[1] + rows, pairs)] if pairs else [],
        }
    compared = study.kind in TUNED and seen is not None
    return {
        "study": study.kind,
        "recipe": study.recipe,
        "target": study.target,
        "commit": study.start.commit,
        "changed_files": list(study.start.changed),
        **scoring.facts,
        "test_instances": {"n": seen[0], "sha256": seen[1]} if seen else None,
        "untuned": untuned(root, seen[1], scoring) if compared and seen else [],
        "points": points,
    }


def untuned(root: Path, instances: str, scoring: Scoring) -> Rows:
    """The overall scores of the untuned model in the workspace of `root`. None of them if its predictions are not
    there or not up to date, or are for other test instances than those with the digest `instances`.
    """
    from pipelines import graph as graphs

    try:
        if graphs.read(root).only([UNTUNED]).changed():
            return []
        test = tables.read_rows(root / SPLIT, contracts.TEST)
        answers = tables.read_rows(root / UNTUNED_ANSWERS, contracts.PREDICTIONS, list(NEEDED))
    except (NightjarError, OSError):
        return []
    if Artifacts(test, answers, 0, 0, None).instances != instances:
        return []
    rows, missing = scoring.score("untuned", test, answers)
    return [] if missing else [_told(row) for row in scoring.aggregate(rows) if row["level"] == "overall"]


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
        "differences": [],
    }


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "track",
        "metric",
        "baseline",
        "n",
        "value",
        "low",
        "high",
        "moved",
        "p",
        "better",
        "worse",
        "equal",
    )
    return {name: row[name] for name in names if name in row}


def tracks(result: Mapping[str, Any]) -> list[str]:
    """The tracks that were tested, the English one first."""
    found = {row["track"] for point in result["points"] for row in point["scores"]}
    return sorted(found, key=lambda track: (track != "default", track))


def cell(rows: Sequence[Mapping[str, Any]], track: str, metric: str) -> Mapping[str, Any] | None:
    """The one row of a track and metric."""
    return next((row for row in rows if (row["track"], row["metric"]) == (track, metric)), None)


def _shown(row: Mapping[str, Any] | None, sign: str = "") -> str:
    if row is None:
        return "–"
    chance = f", p {row['p']:.2g}" if "p" in row else ""
    return f"{row['value']:{sign}.1f} {between(row, sign)}{chance}"


def between(row: Mapping[str, Any], sign: str = "") -> str:
    """The interval of a score; where it has none, that its n is too small for one."""
    if row["low"] is None:
        # Here, not above: NumPy takes long to load.
        from nightjar.statistics import too_few

        return f"({too_few(row['n'])})"
    return f"[{row['low']:{sign}.1f}, {row['high']:{sign}.1f}]"


def table(result: Mapping[str, Any], track: str) -> list[dict[str, str]]:
    """One row a point: what it was trained on, n, both metrics, and the difference from what it is compared
    with.
    """
    names = ("trained with", "evaluated with") if result["study"] == "encodings" else (result["study"],)
    rows = []
    for point in result["points"]:
        row = dict(zip(names, point["axes"], strict=True))
        if result["study"] == "models":
            row["parameters"] = f"{point['parameters']:,}" if point.get("parameters") else "–"
        counts = [point.get(name) for name in ("train_tasks", "train_instances")]
        row["trained on"] = f"{counts[0]} tasks, {counts[1]} instances" if counts[0] else point["state"]
        first = cell(point["scores"], track, "rougeL")
        row["n"] = str(first["n"]) if first else "–"
        for metric, title in METRICS.items():
            row[title] = _shown(cell(point["scores"], track, metric))
        for metric, title in METRICS.items():
            row[f"{title}, difference"] = _shown(cell(point["differences"], track, metric), "+")
        rows.append(row)
    return rows


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
    against = "the training's own encoding (or the first)" if kind == "encodings" else "the first value"
    lines = [
        f"# Study: {kind}, recipe {result['recipe']}",
        "",
        f"Commit {result['commit'][:10]}{changed}; {len(points)} DVC experiments, whose names are in study.json. "
        f"Values with {100 * result['confidence']:g}% intervals from {result['bootstrap_samples']} bootstrap "
        f"samples. Differences are paired, on the same test instances, from {against}.",
    ]
    for track in tracks(result):
        lines += ["", f"## Track {track}"]
        if kind == "encodings":
            for metric, title in METRICS.items():
                lines += ["", f"{title}; columns: evaluated with", "", *_rows(matrix(result, track, metric))]
        lines += ["", *_rows(table(result, track))]
        shown = [(title, cell(result.get("untuned", []), track, metric)) for metric, title in METRICS.items()]
        if any(row for _, row in shown):
            told = ", ".join(f"{title} {_shown(row)}" for title, row in shown)
            lines += ["", f"The untuned model on the same instances: {told}."]
    if lost := [point for point in points if point["state"] != "done"]:
        lines += ["", *(f"- {it['value']}: {it['state']}. {it.get('error') or ''}".rstrip() for it in lost)]
    return "\n".join(lines) + "\n"


def _rows(rows: Sequence[Mapping[str, str]]) -> list[str]:
    if not rows:
        return []
    numbers = [name not in ("trained with", "evaluated with", "models", "trained on") for name in rows[0]]
    return [
        f"| {' | '.join(rows[0])} |",
        f"|{'|'.join('---:' if number else '---' for number in numbers)}|",
        *(f"| {' | '.join(row.values())} |" for row in rows),
    ]


def check_folder(root: Path, name: str) -> None:
    """Raise NightjarError, before the experiments, if a file of the study `name` must not be written."""
    for file in FILES:
        check_output(root / FOLDER / name / file)


def write(root: Path, name: str, result: Mapping[str, Any]) -> Path:
    """Write study.json, study.md and, where there is something to draw, the plots; returns the folder."""
    from pipelines import study_plot

    folder = root / FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    write_text(folder / "study.json", told)
    write_text(folder / "study.md", markdown(result))
    study_plot.draw(result, folder)
    return folder
