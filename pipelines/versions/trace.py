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
from pipelines.versions.rankings import CONSISTENCY, INDEX, RETRIEVE, ranked

PREDICT, QUESTIONS = Path("data/predict"), Path("data/questions")
INGEST, TIMINGS = Path("data/ingest"), places.TIMINGS
CORPUS = "corpus"
MODEL = Path("models/base/language_model")
LOCK = Path("dvc.lock")
# The tables of datasets whose rows questions are made of.
SOURCES = (contracts.INSTANCES, contracts.RECORDS)

Rows = list[dict[str, Any]]


def trace(root: Path, name: str, system: str | None = None, benchmark: str | None = None) -> dict[str, Any]:
    """Where the prediction for the question `name` ("ID" or "TASK_ID:ID") came from.

    Returns {"benchmark", "task_id", "id", "predictions": one for each system, "evidence": ranked passages,
    "question": its row with `parts` as an object and without `shared`, "raw": {"path", "line", "sha256"}, "artifacts":
    {path: {"stage", "hash"}} of dvc.lock, for everything on the way that it knows: predictions, models, evidence,
    questions, datasets, raw files}. `line` counts from 1; it is None, with a `note`, if the id is not in the raw file
    or the file is gone. A passage has the `systems` whose prompts hold its text, and the `raw` file of its document
    with the line, where it is found; passages of rankings have more (`trace_rankings.ranked`). A
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
    question = _one(tables.read(root / asked, contracts.QUESTIONS, where=where), asked)
    question["parts"] = parse_at(question["parts"], asked, "run nightjar rebuild")
    del question["shared"]
    sources = _sources(root, params, question, where)
    settings = [
        _settings(params, "predict", "systems", f"{row['benchmark']}-{row['system']}") for row in predictions
    ]
    places = [RETRIEVE / first["benchmark"], *(Path(it["evidence"]) for it in settings if "evidence" in it)]
    places = [path for path in dict.fromkeys(places) if (root / path / contracts.EVIDENCE.name).is_dir()]
    evidence = _evidence(root, places, where)
    if through := ranked(root, first["benchmark"], where):
        evidence += through
        places += [Path(name) for name in dict.fromkeys(row["artifact"] for row in through)]
        if (root / CONSISTENCY / first["benchmark"]).is_dir():
            places.append(CONSISTENCY / first["benchmark"])
    raw, folder = _raw(root, params, question)
    walked = [Path(str(row["artifact"])) for row in predictions]
    walked += [MODEL, *(Path(it["weights"]) for it in settings if "weights" in it)]
    if evidence:
        walked += [*places, INDEX, INGEST / CORPUS]
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
    for place, sign in enumerate(name):
        if sign == ":":
            where |= (pc.field("task_id") == name[:place]) & (pc.field("id") == name[place + 1 :])
    if system is not None:
        where &= pc.field("system") == system
    rows = [
        {"artifact": artifact.relative_to(root).as_posix(), **row}
        for artifact in artifacts
        for row in tables.read(artifact, contracts.PREDICTIONS, where=where).to_pylist()
    ]
    if not rows:
        of = f" of the system {system}" if system else ""
        fix = "give an id, or task_id:id, of the table predictions"
        raise NightjarError(f"no prediction{of} has that id", name, fix)
    for row in rows:
        row["seconds"] = _seconds(root, row)
        row["prompt_intact"] = hashlib.sha256(row["prompt"].encode()).hexdigest() == row["prompt_sha256"]
    return rows


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
            _one(tables.read(root / dataset, table, ["id"], where), dataset)
    return list(dict.fromkeys([*found, dataset]))


def _evidence(root: Path, places: Iterable[Path], where: Any) -> Rows:
    """The passages that were found for the question, by rank."""
    rows = [
        {"artifact": place.as_posix(), **row}
        for place in places
        for row in tables.read(
            root / place, contracts.EVIDENCE, where=where & (pc.field("split") == "test")
        ).to_pylist()
    ]
    return sorted(rows, key=lambda row: int(row["rank"]))


def _evidence_sources(root: Path, params: Mapping[str, Any], evidence: Rows, predictions: Rows) -> list[Path]:
    """Adds to the passages who saw them and where their documents came from; returns the folder of the corpus."""
    files: dict[str, Path] = {}
    if (root / INGEST / CORPUS).is_dir():
        where = pc.field("id").isin([row["document_id"] for row in evidence])
        documents = tables.read(root / INGEST / CORPUS, contracts.DOCUMENTS, ["dataset", "id", "file"], where)
        # A document may be an instance of the tasks, whose files lie elsewhere than the corpus.
        folders = {name: _folder(params, name) for name in documents["dataset"].unique().to_pylist()}
        for document in documents.to_pylist():
            if (source := folders[document["dataset"]]) is not None:
                files[document["id"]] = source / document["file"]
    folder = _folder(params, CORPUS)
    raw = {path: _bytes(root / path) for path in set(files.values())}
    for row in evidence:
        text = row["text"].strip()
        row["systems"] = [it["system"] for it in predictions if text and text in it["prompt"]]
        path = files.get(row["document_id"])
        row["raw"] = path and {"path": path.as_posix(), **_place(raw[path], row["document_id"], text)}
    return [folder] if folder is not None else []


def _bytes(path: Path) -> bytes | None:
    """The contents of a file; None if it is gone."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _place(data: bytes | None, id: str, text: str) -> dict[str, Any]:
    """The line of a document's id in its file, or of a passage's text; the hash of the file."""
    if data is None:
        return {"line": None, "sha256": None}
    return {"line": _line(data, id) or _line_of(data, text), "sha256": hashlib.sha256(data).hexdigest()}


def _line(data: bytes, id: str) -> int | None:
    """The line of a JSON string in a file, counted from 1; None if it is not there."""
    spellings = {json.dumps(id, ensure_ascii=ascii).encode() for ascii in (True, False)}
    places = [place for place in (data.find(spelling) for spelling in spellings) if place >= 0]
    return data.count(b"\n", 0, min(places)) + 1 if places else None


def _line_of(data: bytes, text: str) -> int | None:
    place = data.find(text.encode()) if text else -1
    return data.count(b"\n", 0, place) + 1 if place >= 0 else None


def _folder(params: Mapping[str, Any], dataset: str) -> Path | None:
    """Where params.yaml says that a dataset's own files lie."""
    folder = _settings(params, "ingest", dataset).get("path")
    return Path(folder) if isinstance(folder, str) else None


def _seconds(root: Path, prediction: dict[str, Any]) -> float | None:
    """How long the answer took where it was made on this machine: its share of its batch; else None."""
    path = root / TIMINGS / f"predict-{prediction['benchmark']}-{prediction['system']}.parquet"
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


def _one(table: Any, artifact: Path) -> dict[str, Any]:
    if not len(table):
        raise NightjarError("no such row", artifact, "it is older than the prediction: nightjar rebuild")
    row: dict[str, Any] = table.slice(0, 1).to_pylist()[0]
    return row


def _raw(
    root: Path, params: Mapping[str, Any], question: Mapping[str, Any]
) -> tuple[dict[str, Any], Path | None]:
    """The raw file, the line of the id in it, and its hash; and the folder of the dataset's files."""
    result: dict[str, Any] = {"path": None, "line": None, "sha256": None}
    dataset = question["dataset"]
    if not dataset:
        result["note"] = "the question names no dataset"
        return result, None
    folder = _folder(params, dataset)
    if folder is None:
        raise NightjarError(f"ingest.{dataset}.path is missing", PARAMS_FILE, "apply a profile: nightjar use")
    path = folder / question["file"]
    result["path"] = path.as_posix()
    try:
        data = (root / path).read_bytes()
    except OSError:
        result["note"] = "the file is gone"
        return result, folder
    result["sha256"] = hashlib.sha256(data).hexdigest()
    result["line"] = _line(data, question["id"]) or _numbered(data, question)
    if result["line"] is None:
        result["note"] = "the id is not in the file"
    return result, folder


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
    found = {}
    for path in paths:
        name = path.as_posix()
        if entry := made.get(name) or read.get(name):
            found[name] = entry
    return found
