"""Follow a prediction back: the evidence it saw, its instance, and the raw line that the instance came
from.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.core import contracts, tables
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError

PREDICT, RETRIEVE, SPLIT = Path("data/predict"), Path("data/retrieve"), Path("data/split")
INGEST, TIMINGS = Path("data/ingest"), Path(".nightjar/timings")
CORPUS, INDEX = "corpus", Path("data/index")
MODEL, TRAINED = Path("models/base/language_model"), Path("models/train")
LOCK = Path("dvc.lock")


def trace(root: Path, name: str, system: str | None = None) -> dict[str, Any]:
    """Where the prediction for the instance `name` ("ID" or "TASK_ID:ID") came from.

    Returns {"id", "task_id", "predictions": one for each system, "evidence": ranked passages, "instance",
    "raw": {"path", "line", "sha256"}, "artifacts": {path: {"stage", "hash"}} of dvc.lock, for everything on the
    way that it knows: predictions, models, evidence, instances, raw files}. `line` counts from 1; it is None, with
    a `note`, if the raw file is gone or has changed. A passage has the `systems` whose prompts hold its text, and
    the `raw` file of its document. A prediction's `prompt_intact` says whether its prompt has its hash; its
    `seconds` are None where it was not made on this machine. Raises NightjarError if nothing is predicted yet,
    or no prediction or several tasks have that id.
    """
    predictions = _predictions(root, name, system)
    tasks = sorted({row["task_id"] for row in predictions})
    if len(tasks) > 1:
        raise NightjarError(f"{len(tasks)} tasks have that id", name, f"give one as {tasks[0]}:{name}")
    task_id, id = tasks[0], predictions[0]["id"]
    where = (pc.field("task_id") == task_id) & (pc.field("id") == id)
    _need(root, SPLIT)
    instance = _one(tables.read(root / SPLIT, contracts.TEST, where=where), SPLIT)
    ingested = INGEST / instance["dataset"]
    _need(root, ingested)
    _one(tables.read(root / ingested, contracts.INSTANCES, ["id"], where=where), ingested)
    evidence: list[dict[str, Any]] = []
    if (root / RETRIEVE).is_dir():
        rows = tables.read(root / RETRIEVE, contracts.EVIDENCE, where=where & (pc.field("split") == "test"))
        evidence = sorted(rows.to_pylist(), key=lambda row: int(row["rank"]))
    raw, source = _raw(root, instance)
    walked = [Path(str(row["artifact"])) for row in predictions]
    walked += [MODEL, *(TRAINED / row["system"] for row in predictions if row["adapter_sha256"])]
    if evidence:
        walked += [RETRIEVE, INDEX, INGEST / CORPUS]
        walked += _evidence_sources(root, evidence, predictions)
    walked += [SPLIT, ingested, source]
    return {
        "id": id,
        "task_id": task_id,
        "predictions": predictions,
        "evidence": evidence,
        "instance": instance,
        "raw": raw,
        "artifacts": _hashes(root, walked),
    }


def _predictions(root: Path, name: str, system: str | None) -> list[dict[str, Any]]:
    artifacts = sorted(path.parent for path in (root / PREDICT).glob(f"*/{contracts.PREDICTIONS.name}"))
    if not artifacts:
        raise NightjarError("no predictions yet", PREDICT, "run nightjar rebuild")
    where = pc.field("id") == name
    # An id may hold a colon itself: try every way of reading TASK_ID:ID.
    for place, sign in enumerate(name):
        if sign == ":":
            where |= (pc.field("task_id") == name[:place]) & (pc.field("id") == name[place + 1 :])
    if system is not None:
        where &= pc.field("system") == system
    found = [
        {"artifact": artifact.relative_to(root).as_posix(), **row}
        for artifact in artifacts
        for row in tables.read(artifact, contracts.PREDICTIONS, where=where).to_pylist()
    ]
    if not found:
        of = f" of the system {system}" if system else ""
        fix = "give an id, or task_id:id, of the table predictions"
        raise NightjarError(f"no prediction{of} has that id", name, fix)
    for row in found:
        row["seconds"] = _seconds(root, row)
        row["prompt_intact"] = hashlib.sha256(row["prompt"].encode()).hexdigest() == row["prompt_sha256"]
    return found


def _evidence_sources(
    root: Path, evidence: list[dict[str, Any]], predictions: list[dict[str, Any]]
) -> list[Path]:
    """Writes into the passages who saw them and where their documents came from; returns the corpus' folder."""
    files: dict[str, Path] = {}
    if (root / INGEST / CORPUS).is_dir():
        where = pc.field("id").isin([row["document_id"] for row in evidence])
        documents = tables.read(root / INGEST / CORPUS, contracts.DOCUMENTS, ["dataset", "id", "file"], where)
        # A document may be an instance of the tasks, whose files lie elsewhere than the corpus.
        folders = {name: _folder(root, name) for name in documents["dataset"].unique().to_pylist()}
        for document in documents.to_pylist():
            if (source := folders[document["dataset"]]) is not None:
                files[document["id"]] = source / document["file"]
    folder = _folder(root, CORPUS)
    for row in evidence:
        row["systems"] = [it["system"] for it in predictions if row["text"].strip() in it["prompt"]]
        path = files.get(row["document_id"])
        row["raw"] = path and {"path": path.as_posix(), "sha256": _sha256(root / path)}
    return [folder] if folder is not None else []


def _sha256(path: Path) -> str | None:
    """The hash of a file; None if it is gone."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _folder(root: Path, dataset: str) -> Path | None:
    """Where params.yaml says that a dataset's own files lie."""
    settings = (read_yaml(root / PARAMS_FILE).get("ingest") or {}).get(dataset) or {}
    folder = settings.get("path") if isinstance(settings, dict) else None
    return Path(folder) if isinstance(folder, str) else None


def _seconds(root: Path, prediction: dict[str, Any]) -> float | None:
    """How long the answer took where it was made on this machine: its share of its batch; else None."""
    path = root / TIMINGS / f"predict-{Path(prediction['artifact']).name}.parquet"
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
        raise NightjarError("no such instance", artifact, "it is older than the prediction: nightjar rebuild")
    row: dict[str, Any] = table.slice(0, 1).to_pylist()[0]
    return row


def _raw(root: Path, instance: dict[str, Any]) -> tuple[dict[str, Any], Path]:
    """The raw file, the line of the id in it, and its hash; and the dataset's folder."""
    dataset = instance["dataset"]
    folder = _folder(root, dataset)
    if folder is None:
        raise NightjarError(f"ingest.{dataset}.path is missing", PARAMS_FILE, "apply a profile: nightjar use")
    path = folder / instance["file"]
    result: dict[str, Any] = {"path": path.as_posix(), "line": None, "sha256": None}
    try:
        data = (root / path).read_bytes()
    except OSError:
        result["note"] = "the file is gone"
        return result, folder
    result["sha256"] = hashlib.sha256(data).hexdigest()
    spellings = {json.dumps(instance["id"], ensure_ascii=ascii).encode() for ascii in (True, False)}
    places = [place for place in (data.find(spelling) for spelling in spellings) if place >= 0]
    if places:
        result["line"] = data.count(b"\n", 0, min(places)) + 1
    else:
        result["note"] = "the file no longer has that id"
    return result, folder


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
