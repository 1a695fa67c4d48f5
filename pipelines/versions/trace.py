"""Follow a prediction back: the evidence it saw, its question, the row that the question was made of, and the raw line
of that row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.core import contracts, tables
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import parse_at
from pipelines.project import places
from pipelines.project.stage_name import StageName
from pipelines.versions.rankings import CONSISTENCY, INDEX, RETRIEVE, Rows, ranked, rows

PREDICT, QUESTIONS = Path("data/predict"), Path("data/questions")
INGEST = Path("data/ingest")
CORPUS = "corpus"
MODEL = Path("models/base/language_model")
LOCK = Path("dvc.lock")
# The tables of datasets whose rows questions are made of.
SOURCES = (contracts.INSTANCES, contracts.RECORDS)


def trace(root: Path, name: str, system: str | None = None, benchmark: str | None = None) -> dict[str, Any]:
    """Where the prediction for the question `name` ("ID" or "TASK_ID:ID") came from.

    Returns {"benchmark", "task_id", "id", "predictions": one for each system, "evidence": ranked passages,
    "question": its row with `parts` as an object and without `shared`, "raw": {"path", "line", "sha256"}, "artifacts":
    {path: {"stage", "hash"}} of dvc.lock, for everything on the way that it knows: predictions, models, evidence,
    questions, datasets, raw files}. `line` counts from 1; it is None, with a `note`, if the id is not in the raw file
    or the file is gone. A passage has the `systems` whose prompts hold its text, and the `raw` file of its document
    with the line, where it is found; passages of rankings have more (`rankings.ranked`). A
    prediction's `prompt_intact` says whether its prompt has its hash; its `seconds` are None where it was not made on
    this machine. Raises NightjarError if nothing is predicted yet, or no prediction, or several benchmarks or tasks
    have that id.
    """
    params = read_yaml(root / PARAMS_FILE) if (root / PARAMS_FILE).is_file() else {}
    predictions = _predictions(root, name, system, benchmark)
    for things, column in (("benchmarks", "benchmark"), ("tasks", "task_id")):
        if len(found := sorted({row[column] for row in predictions})) > 1:
            fix = f"--benchmark {found[0]}" if column == "benchmark" else f"one as {found[0]}:{name}"
            raise NightjarError(f"{len(found)} {things} have that id", name, f"give {fix}")
    first = predictions[0]
    where = (pc.field("task_id") == first["task_id"]) & (pc.field("id") == first["id"])
    asked = QUESTIONS / first["benchmark"]
    _need(root, asked)
    question = _one(rows(root, asked, contracts.QUESTIONS, where), asked)
    question["parts"] = parse_at(question["parts"], asked, "run nightjar rebuild")
    del question["shared"]
    sources = _sources(root, params, question, where)
    names = [StageName.predict(row["benchmark"], row["system"]).item for row in predictions]
    settings = [_settings(params, "predict", "systems", name) for name in names]
    folders = [RETRIEVE / first["benchmark"], *(Path(it["evidence"]) for it in settings if "evidence" in it)]
    folders = [path for path in dict.fromkeys(folders) if (root / path / contracts.EVIDENCE.name).is_dir()]
    evidence = _evidence(root, folders, where)
    if through := ranked(root, first["benchmark"], where):
        evidence += through
        folders += [Path(name) for name in dict.fromkeys(row["artifact"] for row in through)]
        if (root / CONSISTENCY / first["benchmark"]).is_dir():
            folders.append(CONSISTENCY / first["benchmark"])
    raw, folder = _raw(root, params, question)
    walked = [Path(str(row["artifact"])) for row in predictions]
    walked += [MODEL, *(Path(it["weights"]) for it in settings if "weights" in it)]
    if evidence:
        walked += [*folders, INDEX, INGEST / CORPUS]
        walked += _evidence_sources(root, params, evidence, predictions)
    walked += [asked, *sources, *([folder] if folder else [])]
    return {
        "benchmark": first["benchmark"],
        "id": first["id"],
        "task_id": first["task_id"],
        "predictions": predictions,
        "evidence": evidence,
        "question": question,
        "raw": raw,
        "artifacts": _hashes(root, walked),
    }


def _predictions(root: Path, name: str, system: str | None, benchmark: str | None) -> Rows:
    found = (root / PREDICT).glob(f"*/*/{contracts.PREDICTIONS.name}")
    artifacts = sorted(path.parent for path in found if benchmark in (None, path.parts[-3]))
    if not artifacts:
        of = f" of the benchmark {benchmark}" if benchmark else ""
        raise NightjarError(f"no predictions{of} yet", PREDICT, "run nightjar rebuild")
    where = pc.field("id") == name
    # An id may hold a colon itself: try every way of reading TASK_ID:ID.
    for at, sign in enumerate(name):
        if sign == ":":
            where |= (pc.field("task_id") == name[:at]) & (pc.field("id") == name[at + 1 :])
    if system is not None:
        where &= pc.field("system") == system
    known = [path.relative_to(root) for path in artifacts]
    predictions = _with_artifact(root, known, contracts.PREDICTIONS, where)
    if not predictions:
        of = f" of the system {system}" if system else ""
        fix = "give an id, or task_id:id, of the table predictions"
        raise NightjarError(f"no prediction{of} has that id", name, fix)
    for row in predictions:
        row["seconds"] = _seconds(root, row)
        row["prompt_intact"] = hashlib.sha256(row["prompt"].encode()).hexdigest() == row["prompt_sha256"]
    return predictions


def _with_artifact(root: Path, artifacts: Iterable[Path], table: contracts.Table, where: Any) -> Rows:
    """The rows of the table of each artifact that has one, with a column that names it."""
    return [
        {"artifact": artifact.as_posix(), **row}
        for artifact in artifacts
        for row in rows(root, artifact, table, where)
    ]


def _settings(params: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The group of parameters under these keys; empty if there is none."""
    found: Any = params
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _sources(root: Path, params: Mapping[str, Any], question: Mapping[str, Any], where: Any) -> list[Path]:
    """The artifacts that the question was made of: those that params.yaml names, and its dataset.

    Raises NightjarError if the dataset does not have its row.
    """
    settings = _settings(params, "benchmarks", question["benchmark"])
    found = [Path(settings[key]) for key in ("split", "data") if isinstance(settings.get(key), str)]
    if not question["dataset"]:
        return list(dict.fromkeys(found))
    dataset = INGEST / question["dataset"]
    _need(root, dataset)
    for table in SOURCES:
        if (root / dataset / table.name).is_dir():
            _one(rows(root, dataset, table, where, ["id"]), dataset)
    return list(dict.fromkeys([*found, dataset]))


def _evidence(root: Path, folders: Iterable[Path], where: Any) -> Rows:
    """The passages that were found for the question, by rank."""
    found = _with_artifact(root, folders, contracts.EVIDENCE, where & (pc.field("split") == "test"))
    return sorted(found, key=lambda row: int(row["rank"]))


def _evidence_sources(root: Path, params: Mapping[str, Any], evidence: Rows, predictions: Rows) -> list[Path]:
    """Adds to the passages who saw them and where their documents came from; returns the folder of the corpus."""
    where = pc.field("id").isin([row["document_id"] for row in evidence])
    columns = ["dataset", "id", "file"]
    # A document may be an instance of the tasks, whose files are in another folder than the corpus.
    files = {
        document["id"]: folder / document["file"]
        for document in rows(root, INGEST / CORPUS, contracts.DOCUMENTS, where, columns)
        if (folder := _folder(params, document["dataset"])) is not None
    }
    raw = {path: _bytes(root / path) for path in set(files.values())}
    for row in evidence:
        text = row["text"].strip()
        row["systems"] = [it["system"] for it in predictions if text and text in it["prompt"]]
        path = files.get(row["document_id"])
        row["raw"] = path and _place(path, raw[path], row["document_id"], text)
    folder = _folder(params, CORPUS)
    return [folder] if folder is not None else []


def _bytes(path: Path) -> bytes | None:
    """The contents of a file; None if it is gone."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _place(path: Path, data: bytes | None, id: str, text: str = "") -> dict[str, Any]:
    """The file, the line in it of a JSON string `id` or else of `text`, and its hash; None for what is not there."""
    if data is None:
        return {"path": path.as_posix(), "line": None, "sha256": None}
    line = _line(data, id) or _line_of(data, text)
    return {"path": path.as_posix(), "line": line, "sha256": hashlib.sha256(data).hexdigest()}


def _line(data: bytes, id: str) -> int | None:
    """The line of a JSON string in a file, counted from 1; None if it is not there."""
    spellings = {json.dumps(id, ensure_ascii=ascii) for ascii in (True, False)}
    return min((line for it in spellings if (line := _line_of(data, it)) is not None), default=None)


def _line_of(data: bytes, text: str) -> int | None:
    at = data.find(text.encode()) if text else -1
    return data.count(b"\n", 0, at) + 1 if at >= 0 else None


def _folder(params: Mapping[str, Any], dataset: str) -> Path | None:
    """Where params.yaml says that a dataset's own files lie."""
    folder = _settings(params, "ingest", dataset).get("path")
    return Path(folder) if isinstance(folder, str) else None


def _seconds(root: Path, prediction: dict[str, Any]) -> float | None:
    """How long the answer took where it was made on this machine: its share of its batch; else None."""
    path = root / places.TIMINGS / f"predict-{prediction['benchmark']}-{prediction['system']}.parquet"
    if not path.is_file():
        return None
    same = [pc.field(name) == prediction[name] for name in contracts.TIMINGS.key]
    rows = tables.read_file(path, contracts.TIMINGS, where=same[0] & same[1] & same[2])
    return float(rows["seconds"][0].as_py()) if len(rows) else None


def _need(root: Path, artifact: Path) -> None:
    """Raise NightjarError for an artifact that dvc.lock knows and that is not in the workspace."""
    if not (root / artifact).exists() and _hashes(root, [artifact]):
        fix = f"get it with: dvc checkout {artifact} (dvc pull, if the local cache lacks it)"
        raise NightjarError("not in the workspace", artifact, fix)


def _one(found: Rows, artifact: Path) -> dict[str, Any]:
    if not found:
        raise NightjarError("no such row", artifact, "it is older than the prediction: nightjar rebuild")
    return found[0]


def _raw(
    root: Path, params: Mapping[str, Any], question: Mapping[str, Any]
) -> tuple[dict[str, Any], Path | None]:
    """The raw file, the line of the id in it, and its hash; and the folder of the dataset's files."""
    dataset = question["dataset"]
    if not dataset:
        return {"path": None, "line": None, "sha256": None, "note": "the question names no dataset"}, None
    folder = _folder(params, dataset)
    if folder is None:
        raise NightjarError(f"ingest.{dataset}.path is missing", PARAMS_FILE, "apply a profile: nightjar use")
    path = folder / question["file"]
    data = _bytes(root / path)
    result = _place(path, data, question["id"])
    if data is None:
        return result | {"note": "the file is gone"}, folder
    result["line"] = result["line"] or _numbered(data, question)
    return result if result["line"] else result | {"note": "the id is not in the file"}, folder


def _numbered(data: bytes, question: Mapping[str, Any]) -> int | None:
    """The line that an id of the form FILE:LINE names, if the file has it."""
    file, _, line = question["id"].rpartition(":")
    if file != question["file"] or not (line.isascii() and line.isdigit()):
        return None
    return int(line) if 1 <= int(line) <= data.count(b"\n") + 1 else None


def _hashes(root: Path, paths: list[Path]) -> dict[str, dict[str, str]]:
    """For each path, the hash that dvc.lock has of it and the stage that made or read it; those it knows."""
    if not (root / LOCK).is_file():
        return {}
    made: dict[str, dict[str, str]] = {}
    read: dict[str, dict[str, str]] = {}
    for stage, entry in (read_yaml(root / LOCK).get("stages") or {}).items():
        for known, key in ((made, "outs"), (read, "deps")):
            for item in entry.get(key) or ():
                hashed = str(item.get("md5") or item.get("hash") or "")
                known.setdefault(str(item.get("path")), {"stage": stage, "hash": hashed})
    whole = read | made
    return {name: whole[name] for name in (path.as_posix() for path in paths) if name in whole}
