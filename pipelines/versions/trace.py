"""Follow a prediction back: its evidence, its question, the row that the question was made of, and the raw line of that
row.
"""

from __future__ import annotations

import hashlib
import json
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.core import contracts, paths, tables
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import parse_at
from nightjar.params.groups import artifact
from pipelines.graph import lock_file
from pipelines.project.names import StageName

# The tables of datasets whose rows questions are made of.
SOURCES = (contracts.INSTANCES, contracts.RECORDS)
# Passages of a ranking that are shown; a ranking may have hundreds.
MOST = 16
# A file and a line of it.
LINE = re.compile("(.+):([0-9]{1,15})", re.DOTALL)

Row = dict[str, Any]


def trace(root: Path, name: str, system: str | None = None, benchmark: str | None = None) -> Row:
    """Trace the prediction for the question `name` ("ID" or "TASK_ID:ID") to its sources.

    Returns {"benchmark", "task_id", "id", "predictions": one for each system, "evidence": ranked passages,
    "question": its row with `parts` as an object and without `shared`, "raw": {"path", "line", "sha256"}, "artifacts":
    {path: {"stage", "hash"}} of dvc.lock, for everything on the way that it knows: predictions, models, evidence,
    questions, datasets, raw files}. `line` counts from 1; it is None, with a `note`, if the id is not in the raw file
    or the file is gone. A passage has the `systems` whose prompts hold its text, and the `raw` file of its document
    with the line, where it is found; passages of rankings have more (`_ranked`). A prediction's `prompt_intact` says
    whether its prompt has its hash; its `seconds` are None where it was not made on this machine. Raises NightjarError
    if nothing is predicted yet, or no prediction, or several benchmarks or tasks have that id.
    """
    params = read_yaml(root / PARAMS_FILE) if (root / PARAMS_FILE).is_file() else {}
    predictions = _predictions(root, name, system, benchmark)
    for kind, column in (("benchmarks", "benchmark"), ("tasks", "task_id")):
        if len(values := sorted({row[column] for row in predictions})) > 1:
            fix = f"--benchmark {values[0]}" if column == "benchmark" else f"one as {values[0]}:{name}"
            raise NightjarError(f"{len(values)} {kind} have that id", name, f"give {fix}")
    question_benchmark, task, id = (predictions[0][column] for column in ("benchmark", "task_id", "id"))
    where = (pc.field("task_id") == task) & (pc.field("id") == id)
    questions = paths.QUESTIONS / question_benchmark
    question = _first_row(root, questions, [contracts.QUESTIONS], where)
    question["parts"] = parse_at(question["parts"], questions, "run nightjar rebuild")
    del question["shared"]
    dataset = paths.INGESTED / question["dataset"]
    sources = setting_paths(
        params, f"benchmarks.{question_benchmark}.split", f"benchmarks.{question_benchmark}.data"
    )
    if question["dataset"]:
        sources.append(dataset)
        if not (root / dataset).exists() or any((root / dataset / it.name).is_dir() for it in SOURCES):
            _first_row(root, dataset, SOURCES, where)
    systems = [
        f"predict.systems.{StageName.predict(question_benchmark, row['system']).item}" for row in predictions
    ]
    folders = [
        paths.RETRIEVED / question_benchmark,
        *setting_paths(params, *(f"{it}.evidence" for it in systems)),
    ]
    evidence = _evidence(root, dict.fromkeys(folders), where) + _ranked(
        root, question_benchmark, where, question
    )
    corpus = next(iter(setting_paths(params, "index.corpus")), paths.CORPUS)
    _add_sources(root, params, corpus, evidence, predictions)
    raw, folder = raw_source(root, params, question)
    walked = [Path(str(row["artifact"])) for row in predictions]
    walked += [paths.LANGUAGE_MODEL, *setting_paths(params, *(f"{it}.weights" for it in systems))]
    if evidence:
        walked += [Path(row["artifact"]) for row in evidence]
        walked += [
            paths.CONSISTENCY / question_benchmark,
            paths.INDEX,
            corpus,
            *_files(params, corpus, paths.CORPUS.name),
        ]
    walked += [questions, *sources, *folder]
    return {
        "benchmark": question_benchmark,
        "id": id,
        "task_id": task,
        "predictions": predictions,
        "evidence": evidence,
        "question": question,
        "raw": raw,
        "artifacts": lock_entries(root, walked),
    }


def _rows(
    root: Path, artifact: Path, table: contracts.Table, where: Any, columns: list[str] | None = None
) -> list[Row]:
    """The rows of a table that `where` selects; none if the artifact lacks the table."""
    if not (root / artifact / table.name).is_dir():
        return []
    rows: list[Row] = tables.read(root / artifact, table, columns, where).to_pylist()
    return rows


def _first_row(root: Path, artifact: Path, contracts_in_order: Sequence[contracts.Table], where: Any) -> Row:
    """The first row of the tables that `where` selects.

    Raises NightjarError if there is none, and for an artifact that dvc.lock knows and that is not in the workspace.
    """
    for table in contracts_in_order:
        if rows := _rows(root, artifact, table, where):
            return rows[0]
    check_in_workspace(root, artifact)
    raise NightjarError("no such row", artifact, "it is older than the prediction: nightjar rebuild")


def check_in_workspace(root: Path, artifact: Path) -> None:
    """Raise NightjarError for an artifact that dvc.lock knows and that is not in the workspace."""
    if not (root / artifact).exists() and lock_entries(root, [artifact]):
        fix = f"get it with: dvc checkout {artifact} (dvc pull, if the local cache lacks it)"
        raise NightjarError("not in the workspace", artifact, fix)


def _predictions(root: Path, name: str, system: str | None, benchmark: str | None) -> list[Row]:
    folders = (root / paths.PREDICTIONS).glob(f"{benchmark or '*'}/*/{contracts.PREDICTIONS.name}")
    artifacts = sorted(path.parent.relative_to(root) for path in folders)
    if not artifacts:
        of = f" of the benchmark {benchmark}" if benchmark else ""
        raise NightjarError(f"no predictions{of} yet", paths.PREDICTIONS, "run nightjar rebuild")
    where = pc.field("id") == name
    # An id may hold a colon itself: try every way of reading TASK_ID:ID.
    for at, sign in enumerate(name):
        if sign == ":":
            where |= (pc.field("task_id") == name[:at]) & (pc.field("id") == name[at + 1 :])
    if system is not None:
        where &= pc.field("system") == system
    predictions = [
        {"artifact": artifact.as_posix(), **row}
        for artifact in artifacts
        for row in _rows(root, artifact, contracts.PREDICTIONS, where)
    ]
    if not predictions:
        of = f" of the system {system}" if system else ""
        fix = "give an id, or task_id:id, of the table predictions, or a number as BENCHMARK/SYSTEM/METRIC"
        if "/" in name and (scored := scored_benchmarks(root)):
            fix += f" of {', '.join(scored)}"
        raise NightjarError(f"no prediction{of} has that id", name, fix)
    for row in predictions:
        row["seconds"] = _seconds(root, row)
        row["prompt_intact"] = hashlib.sha256(row["prompt"].encode()).hexdigest() == row["prompt_sha256"]
    return predictions


def scored_benchmarks(root: Path) -> list[str]:
    """The benchmarks that have scores in the workspace, sorted."""
    folders = (root / paths.SCORES).glob(f"*/{contracts.SCORES.name}")
    return sorted(folder.parent.name for folder in folders)


def _seconds(root: Path, prediction: Row) -> float | None:
    """Return the seconds of an answer that was made on this machine, its share of its batch; else None."""
    path = root / paths.TIMINGS / f"predict-{prediction['benchmark']}-{prediction['system']}.parquet"
    if not path.is_file():
        return None
    same = (pc.field(name) == prediction[name] for name in contracts.TIMINGS.key)
    timings = tables.read_file(path, contracts.TIMINGS, where=reduce(operator.and_, same))
    return float(timings["seconds"][0].as_py()) if len(timings) else None


def setting_paths(params: Any, *keys: str) -> list[Path]:
    """The artifacts and folders that settings name, by their dotted keys; settings without one are left out."""
    artifacts = []
    for key in keys:
        value = params
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str) and (path := artifact(value)):
            artifacts.append(path)
    return artifacts


def _files(params: Mapping[str, Any], artifact: Path, dataset: str) -> list[Path]:
    """The folder with the files of a dataset in an artifact, if params.yaml names it.

    A corpus that a command ingested has the name of that of `ingest`, and its files lie elsewhere.
    """
    ingested_by_command = dataset == paths.CORPUS.name and artifact != paths.CORPUS
    return [] if ingested_by_command else setting_paths(params, f"ingest.{dataset}.path")


def _evidence(root: Path, folders: Iterable[Path], where: Any) -> list[Row]:
    evidence = [
        {"artifact": folder.as_posix(), **row}
        for folder in folders
        for row in _rows(root, folder, contracts.EVIDENCE, where & (pc.field("split") == "test"))
    ]
    return sorted(evidence, key=lambda row: int(row["rank"]))


def _ranked(root: Path, benchmark: str, where: Any, question: Row) -> list[Row]:
    """The first MOST passages of each ranking of a test question, as rows of contracts.EVIDENCE; best first.

    `where` selects the question in a table with task_id and id. Beside those columns a row has `artifact`, `before`
    (the rank and score of the first stage, for a passage that was reranked) and `label` (what a reader takes the
    passage for) with `consistent`, whether it is the question's own; each None where it is not known.
    """
    ranked, first = list[Row](), dict[int, Row]()
    for stage in (paths.RETRIEVED, paths.RERANKED):
        same = where & (pc.field("ranking") == stage.name)
        labels = {
            passage: label
            for row in _rows(root, paths.CONSISTENCY / benchmark, contracts.CONSISTENCY, same)
            for passage, label in zip(row["passages"], row["labels"], strict=True)
        }
        test = where & (pc.field("split") == "test")
        for row in _rows(root, stage / benchmark, contracts.RANKINGS, test):
            scores = enumerate(zip(row.pop("passages"), row.pop("scores"), strict=True), start=1)
            ranks = {passage: {"rank": rank, "score": score} for rank, (passage, score) in scores}
            for passage, place in list(ranks.items())[:MOST]:
                label = labels.get(passage)
                extras = {"before": first.get(passage), "label": label}
                extras["consistent"] = None if label is None else label == question["references"][0]
                ranked.append(
                    {"artifact": (stage / benchmark).as_posix(), **row, "passage": passage, **place, **extras}
                )
            first = first or ranks
    chosen = tables.among(contracts.PASSAGES, "passage", (row["passage"] for row in ranked))
    columns = ["passage", "document_id", "title", "text"]
    passages = _rows(root, paths.INDEX, contracts.PASSAGES, chosen, columns) if ranked else []
    texts = {row["passage"]: row for row in passages}
    return [row | texts.get(row["passage"], dict.fromkeys(columns[1:], "")) for row in ranked]


def _add_sources(
    root: Path, params: Mapping[str, Any], corpus: Path, evidence: list[Row], predictions: list[Row]
) -> None:
    """Add to the passages which systems have them in their prompts and where their documents came from."""
    where = tables.among(contracts.DOCUMENTS, "id", (row["document_id"] for row in evidence))
    columns = ["dataset", "id", "file"]
    # A document may be an instance of the tasks, whose files are in another folder than the corpus.
    files = {
        document["id"]: folder / document["file"]
        for document in (_rows(root, corpus, contracts.DOCUMENTS, where, columns) if evidence else ())
        for folder in _files(params, corpus, document["dataset"])
    }
    data = {path: _bytes(root / path) for path in set(files.values())}
    for row in evidence:
        text = row["text"].strip()
        row["systems"] = [it["system"] for it in predictions if text and text in it["prompt"]]
        path = files.get(row["document_id"])
        row["raw"] = path and _place(path, data[path], row["document_id"], text)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _place(path: Path, data: bytes | None, id: str, text: str = "") -> Row:
    """The file, the line in it of a JSON string `id` or else of `text`, and its hash; None for what is not there."""
    if data is None:
        return {"path": path.as_posix(), "line": None, "sha256": None}
    spelled = (json.dumps(id), json.dumps(id, ensure_ascii=False), text)
    positions = (data.find(it.encode()) for it in spelled if it)
    line = next((data.count(b"\n", 0, at) + 1 for at in positions if at >= 0), None)
    return {"path": path.as_posix(), "line": line, "sha256": hashlib.sha256(data).hexdigest()}


def raw_source(root: Path, params: Mapping[str, Any], question: Row) -> tuple[Row, list[Path]]:
    """The raw file, the line of the record in it, and its hash; and the folder of the dataset's files."""
    if not (dataset := question["dataset"]):
        return {"path": None, "line": None, "sha256": None, "note": "the question names no dataset"}, []
    folders = setting_paths(params, f"ingest.{dataset}.path")
    if not folders:
        raise NightjarError(f"ingest.{dataset}.path is missing", PARAMS_FILE, "apply a profile: nightjar use")
    path, line = _named_line(root, folders[0], question)
    data = _bytes(root / path)
    result = _place(path, data, question["id"])
    if data is None:
        return result | {"note": "the file is gone"}, folders
    lines = len(data.splitlines())
    if line is not None:
        if not 1 <= line <= lines:
            return result | {"line": None, "note": f"the file has {lines} lines, not {line}"}, folders
        return result | {"line": line}, folders
    id_line = LINE.fullmatch(question["id"])
    if (
        result["line"] is None
        and id_line
        and id_line[1] == question["file"]
        and 1 <= int(id_line[2]) <= lines
    ):
        result["line"] = int(id_line[2])
    return result if result["line"] else result | {"note": "the id is not in the file"}, folders


def _named_line(root: Path, folder: Path, question: Row) -> tuple[Path, int | None]:
    """The raw file of a question, and the line that its record names; None if it names none."""

    def within(name: str) -> Path:
        return folder if (root / folder).is_file() and folder.name == Path(name).name else folder / name

    path, named = within(question["file"]), LINE.fullmatch(question["file"])
    if named and not (root / path).exists():
        return within(named[1]), int(named[2])
    return path, None


def lock_entries(root: Path, paths: Iterable[Path]) -> dict[str, dict[str, str]]:
    """For each path, the hash that dvc.lock has of it and the stage that made or read it; those it knows."""
    entries: dict[str, dict[str, str]] = {}
    for key in ("outs", "deps"):
        for stage, entry in lock_file.entries(root).items():
            for item in entry.get(key) or ():
                hashed = str(item.get("md5") or item.get("hash") or "")
                entries.setdefault(str(item.get("path")), {"stage": stage, "hash": hashed})
    return {name: entries[name] for name in (path.as_posix() for path in paths) if name in entries}
