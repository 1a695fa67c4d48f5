"""Follow a number of the report back: its row of the scores, the instance scores that it is made of, their predictions
and questions, and the source rows and raw lines of these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import by_track, group
from nightjar.benchmarks.average import main_metrics, mean_of_tasks, mean_score
from nightjar.benchmarks.benchmark import Average, Benchmark
from nightjar.benchmarks.scores import InstanceKey, Places, SystemScores, from_rows
from nightjar.core import contracts, paths, tables
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.statistics import estimate
from nightjar.statistics.metric import Metric
from pipelines.project.names import StageName
from pipelines.versions.trace import (
    check_in_workspace,
    lock_entries,
    raw_source,
    scored_benchmarks,
    setting_paths,
)

# Instances whose rows are shown in each table.
FIRST_INSTANCES = 3
# Names that a message lists.
LISTED_NAMES = 40
SOURCES = (contracts.TEST, contracts.INSTANCES, contracts.RECORDS)
# The columns of the first rows.
SCORE_COLUMNS = ["task_id", "id", "part", "unscaled"]
PREDICTION_COLUMNS = ["task_id", "id", "answers", "prompt_sha256", "model_sha256", "adapter_sha256"]
QUESTION_COLUMNS = ["task_id", "id", "references", "dataset", "file"]
SOURCE_COLUMNS = ["dataset", "file", "task_id", "id"]

Row = dict[str, Any]
# A metric with the instances that have it. The number of a mean of tasks has one for each task.
Measured = tuple[Metric, list[InstanceKey]]


def is_number(root: Path, name: str) -> bool:
    """True for a name that begins with a benchmark that has scores, and a slash."""
    benchmark, slash, _ = name.partition("/")
    if not benchmark or not slash:
        return False
    return benchmark in scored_benchmarks(root) or bool(lock_entries(root, [paths.SCORES / benchmark]))


def trace_number(root: Path, name: str) -> Row:
    """Trace a number, BENCHMARK/SYSTEM/METRIC of every track, or of the task, category or track after another slash.

    Returns {"number": name, "benchmark", "system", "metric", "numbers": one for each row of the table scores that has
    the name, "artifacts": {path: {"stage", "hash"}} of dvc.lock for everything on the way}. A number has the columns
    `track`, `level`, `name`, `n`, `value`, `low` and `high` of its row, the `statistic` and the `scale` of its metric,
    `recomputed` (the value, from the instance scores on disk) and `steps`: from the scores back to the source rows,
    each with its `table`, `artifact`, `stage`, the count of `rows` that the number comes from, and the `first` ones. An
    ingested row has its `raw` file, line and sha256. A baseline of the card has no predictions, as a `note` says.
    Raises NightjarError, with the names that exist, for a name that does not.
    """
    benchmark, _, others = name.partition("/")
    scored = paths.SCORES / benchmark
    check_in_workspace(root, scored)
    rows = score_rows = tables.read_rows(root / scored, contracts.SCORES)
    system, _, others = others.partition("/")
    rows = _named(rows, "system", system, name, benchmark)
    metrics = {row["metric"] for row in rows}
    # Names of metrics may have slashes.
    prefixes = (it for it in sorted(metrics, key=len, reverse=True) if f"{others}/".startswith(f"{it}/"))
    metric = next(prefixes, others)
    rows = _named(rows, "metric", metric, name, f"{benchmark}/{system}")
    rows = _of_group(rows, others.removeprefix(metric).removeprefix("/"), f"{benchmark}/{system}/{metric}")
    card = registry.load_benchmark(benchmark)
    pairs = ((row["track"], row["metric"]) for row in score_rows if row["level"] == "overall")
    mean = mean_of_tasks(card, main_metrics(card, pairs))
    params = read_yaml(root / PARAMS_FILE) if (root / PARAMS_FILE).is_file() else {}
    where = pc.field("system") == system
    (scores,) = from_rows(tables.read(root / scored, contracts.INSTANCE_SCORES, where=where).to_pylist())
    artifacts = dict[Path, None]()
    numbers = []
    for row in rows:
        mean_of_row = mean if mean and mean.name == row["track"] else None
        measured, recomputed = _measured(card, scores, row, mean_of_row)
        columns = ("track", "level", "name", "n", "value", "low", "high")
        number = {column: row[column] for column in columns}
        of = card.metric(metric)
        statistic = "mean of tasks" if mean_of_row else of.statistic.name
        number |= {"statistic": statistic, "scale": of.scale, "recomputed": recomputed}
        numbers.append(number | _Way(root, params, row, measured, artifacts).steps())
    entries = lock_entries(root, artifacts)
    for number in numbers:
        for step in number["steps"]:
            step["stage"] = entries[step["artifact"]]["stage"] if step["artifact"] in entries else None
    return {
        "number": name,
        "benchmark": benchmark,
        "system": system,
        "metric": metric,
        "numbers": numbers,
        "artifacts": entries,
    }


def _named(rows: Sequence[Row], column: str, value: str, name: str, parent: str) -> list[Row]:
    """The rows with this value. Raises NightjarError with the values that exist if there is none."""
    if chosen := [row for row in rows if row[column] == value]:
        return chosen
    what = f"no {column} {value} of {parent} has scores" if value else f"the number names no {column}"
    raise NightjarError(what, name, f"{column}s are: {_listed({row[column] for row in rows})}")


def _of_group(rows: Sequence[Row], name: str, number: str) -> list[Row]:
    """The overall rows, or those of a task, category or track. Raises NightjarError as `_named`."""
    overall = [row for row in rows if row["level"] == "overall"]
    if not name:
        return overall
    by_name = [row for row in rows if row["level"] != "overall" and row["name"] == name]
    if chosen := by_name or [row for row in overall if row["track"] == name]:
        return chosen
    names = {row["name"] for row in rows if row["level"] != "overall"} | {row["track"] for row in overall}
    raise NightjarError(
        f"{number} has no task, category or track {name}", f"{number}/{name}", f"it has: {_listed(names)}"
    )


def _listed(names: Collection[str]) -> str:
    listed = sorted(names)
    omitted = len(listed) - LISTED_NAMES
    return ", ".join(listed[:LISTED_NAMES]) + (f" and {omitted} more" if omitted > 0 else "")


def _measured(
    card: Benchmark, scores: SystemScores, row: Row, mean: Average | None
) -> tuple[list[Measured], float | None]:
    """The metrics and instances that a row of contracts.SCORES is made of, and its value from them.

    `mean` is what the row of a mean of tasks is the mean of, None for other rows.
    """
    tracks = by_track(scores)
    if mean:
        by_task = (
            next(
                ((it, members) for it in card.metrics if (members := _having(scores, it, tracks[track]))),
                None,
            )
            for track in mean.tracks
            if track in tracks
        )
        score = mean_score(card, mean, scores, tracks, None)
        return list(filter(None, by_task)), score["value"] if score else None
    metric = card.metric(row["metric"])
    groups = group(scores.keys, tracks.get(row["track"], ()), card.levels)
    places = groups.get((row["level"], row["name"]), ())
    values = scores.of(metric, places)
    return [(metric, _having(scores, metric, places))], estimate(metric, values) if len(values) else None


def _having(scores: SystemScores, metric: Metric, places: Places) -> list[InstanceKey]:
    """The instances at `places` that have the parts of the metric."""
    if any(part not in scores.parts for part in metric.parts):
        return []
    chosen = np.asarray(places, dtype=np.int64)
    lacking = np.isnan([scores.parts[part][chosen] for part in metric.parts]).any(axis=0)
    return [scores.keys[place] for place in chosen[~lacking]]


class _Way:
    """The tables on the way from a row of contracts.SCORES to its source rows; `artifacts` gets what is on the way."""

    def __init__(
        self, root: Path, params: Any, row: Row, measured: Sequence[Measured], artifacts: dict[Path, None]
    ) -> None:
        self.root, self.params, self.row, self.measured = root, params, row, measured
        self.artifacts = artifacts
        self.instances = dict.fromkeys(key.instance for _, members in measured for key in members)
        self.places = {key: place for place, key in enumerate(list(self.instances)[:FIRST_INSTANCES])}

    def steps(self) -> dict[str, Any]:
        """The steps, and a `note` for a system without predictions."""
        benchmark, system = self.row["benchmark"], self.row["system"]
        scored, question_folder = paths.SCORES / benchmark, paths.QUESTIONS / benchmark
        parts = {part for metric, _ in self.measured for part in metric.parts}
        count = sum(len(metric.parts) * len(members) for metric, members in self.measured)
        of_system = pc.field("system") == system
        scores = self._first(scored, contracts.INSTANCE_SCORES, SCORE_COLUMNS, of_system)
        steps = [
            self._step(scored, contracts.SCORES, 1, [self.row]),
            self._step(
                scored, contracts.INSTANCE_SCORES, count, [it for it in scores if it["part"] in parts]
            ),
        ]
        predicted, note = paths.PREDICTIONS / benchmark / system, {}
        check_in_workspace(self.root, predicted)
        if (self.root / predicted / contracts.PREDICTIONS.name).is_dir():
            steps.append(self._read(predicted, contracts.PREDICTIONS, PREDICTION_COLUMNS))
            setting = f"predict.systems.{StageName.predict(benchmark, system).item}"
            settings = (f"{setting}.{name}" for name in ("weights", "evidence", "index"))
            self.artifacts |= dict.fromkeys(setting_paths(self.params, *settings))
        else:
            note = {"note": f"{system} has no predictions: the stage evaluate makes the answers of baselines"}
        check_in_workspace(self.root, question_folder)
        questions = self._read(question_folder, contracts.QUESTIONS, QUESTION_COLUMNS)
        return note | {"steps": [*steps, questions, *self._sources(benchmark, questions["first"])]}

    def _sources(self, benchmark: str, questions: Sequence[Row]) -> Iterator[Row]:
        """The steps of source rows; the first ones have the raw file and line."""
        folders = setting_paths(
            self.params, *(f"benchmarks.{benchmark}.{name}" for name in ("split", "data"))
        )
        folders += [paths.INGESTED / question["dataset"] for question in questions if question["dataset"]]
        raw = {}
        for question in questions:
            raw[_key(question)], files = raw_source(self.root, self.params, question)
            self.artifacts |= dict.fromkeys(files)
        for artifact in dict.fromkeys(folders):
            check_in_workspace(self.root, artifact)
            for table in SOURCES:
                if (self.root / artifact / table.name).is_dir():
                    step = self._read(artifact, table, SOURCE_COLUMNS)
                    if artifact.parent == paths.INGESTED:
                        step["first"] = [row | {"raw": raw.get(_key(row))} for row in step["first"]]
                    yield step

    def _read(self, artifact: Path, table: contracts.Table, columns: list[str]) -> Row:
        tasks = tables.among(table, "task_id", (task for task, _ in self.instances))
        keys = tables.read(self.root / artifact, table, ["task_id", "id"], tasks).to_pylist()
        count = sum(_key(row) in self.instances for row in keys)
        return self._step(artifact, table, count, self._first(artifact, table, columns))

    def _first(
        self, artifact: Path, table: contracts.Table, columns: list[str], where: Any = None
    ) -> list[Row]:
        """The rows of the first instances, in their order."""
        first = tables.among(table, "id", (id for _, id in self.places))
        first = first if where is None else first & where
        rows = tables.read(self.root / artifact, table, columns, first).to_pylist()
        rows = [row for row in rows if _key(row) in self.places]
        return sorted(rows, key=lambda row: self.places[_key(row)])

    def _step(self, artifact: Path, table: contracts.Table, rows: int, first: list[Row]) -> Row:
        self.artifacts[artifact] = None
        step = {"table": table.name, "artifact": artifact.as_posix(), "stage": None}
        return step | {"rows": rows, "first": first}


def _key(row: Row) -> tuple[str, str]:
    return row["task_id"], row["id"]
