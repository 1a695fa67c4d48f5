"""What the ledger keeps of a night beside its verdicts: where, with what, by which parameters, and every score."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from nightjar.core import contracts, machine, tables
from nightjar.core.config import PARAMS_FILE, read_optional, read_yaml
from nightjar.core.json_text import parse_at, recorded
from pipelines.clone.baseline import Baseline
from pipelines.graph.graph import Stage

LOCK_FILE = Path("dvc.lock")
# What identifies a question.
KEY = ("benchmark", "task_id", "id")

Rows = list[dict[str, Any]]


def at_start(work: Path, start: Baseline) -> dict[str, Any]:
    """The facts that are known before anything runs, from the workspace at `work`: columns of LEDGER_RUN."""
    text = parameters(work / PARAMS_FILE)
    values = json.loads(text)
    seed = values.get("seed")
    lock = work / LOCK_FILE
    return {
        "commit": start.commit,
        "changed": list(start.changed),
        "lock_sha256": sha256(lock.read_bytes() if lock.is_file() else b"").hexdigest(),
        "parameters": values,
        "parameters_sha256": sha256(text.encode()).hexdigest(),
        "seed": seed if isinstance(seed, int) else None,
        "versions": versions(),
        "hardware": hardware(),
    }


def parameters(file: Path) -> str:
    """The parameters of a project as JSON, the same text for the same values. Raises NightjarError as read_optional."""
    # Twice: numbers and texts cannot be sorted together as keys, and the first pass makes texts of them all.
    plain = json.loads(json.dumps(read_optional(file), default=str))
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)


def versions() -> dict[str, str]:
    """Python and the orchestrating packages; a stage's own come from its facts."""
    found = {"python": platform.python_version()}
    for name in ("nightjar", "dvc", "prefect"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """The processor's model, the cores this process may use, memory in bytes, and the names of the GPUs."""
    known = machine.describe()
    return {
        "cpu": known["processor"],
        "machine": known["architecture"],
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "gpus": _gpus(),
    }


def _gpus() -> list[str]:
    """Names and drivers of the GPUs; asked of NVIDIA's own program, for torch takes long to load."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if not done.returncode else []


def stage_versions(work: Path, stages: Iterable[Stage]) -> dict[str, str]:
    """The versions of packages that the stages wrote among their facts."""
    found: dict[str, str] = {}
    for path in (work / metric for stage in stages for metric in stage.metrics):
        told = recorded(path).get("versions")
        if isinstance(told, Mapping):
            found |= {str(name): str(version) for name, version in told.items()}
    return found


def scores(work: Path, stages: Sequence[Stage]) -> tuple[Rows, Rows, dict[str, list[str]]]:
    """Rows of LEDGER_SCORES and LEDGER_INSTANCES of what the stages made, and which benchmarks each scored.

    An artifact with tables `scores` and `instance_scores` is an evaluation; others are passed over.
    """
    contents = _contents(work, stages)
    columns = [name for name in contracts.LEDGER_INSTANCES.schema.names if name != "content"]
    means: Rows = []
    instances: Rows = []
    benchmarks: dict[str, list[str]] = {}
    for stage in stages:
        for out in (work / path for path in stage.outs):
            if not (out / contracts.INSTANCE_SCORES.name).is_dir():
                continue
            means += tables.read_rows(out, contracts.SCORES)
            rows = tables.read_rows(out, contracts.INSTANCE_SCORES, columns)
            benchmarks[stage.name] = sorted({row["benchmark"] for row in rows})
            instances += [row | {"content": contents.get(tuple(row[name] for name in KEY))} for row in rows]
    return means, instances, benchmarks


def _contents(work: Path, stages: Sequence[Stage]) -> dict[tuple[str, ...], str]:
    """For every question that the stages read a digest of its parts and references, by KEY.

    A question under an old id whose text changed is recognised by it.
    """
    found = {}
    for path in sorted({work / dep for stage in stages for dep in stage.deps}):
        if any((path / contracts.QUESTIONS.name).glob("*.parquet")):
            for row in tables.read_rows(path, contracts.QUESTIONS, [*KEY, "parts", "references"]):
                parts = parse_at(
                    row["parts"], path / contracts.QUESTIONS.name, "write parts as a JSON object"
                )
                found[tuple(row[name] for name in KEY)] = content(parts, row["references"])
    return found


def content(parts: Any, references: Sequence[str]) -> str:
    """A digest of a question. Parts that are an input alone have the digest that earlier versions wrote of it."""
    asked = parts["input"] if isinstance(parts, Mapping) and parts.keys() == {"input"} else parts
    text = json.dumps([asked, list(references)], ensure_ascii=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def stage_facts(
    work: Path, stages: Sequence[Stage], benchmarks: Mapping[str, list[str]]
) -> dict[str, dict[str, Any]]:
    """For every stage that ran: its parameters as DVC recorded them, one key a value, the benchmarks that it scored,
    and the version of the benchmark's card, None if its facts name none.
    """
    lock = read_yaml(work / LOCK_FILE).get("stages") or {}
    found = {}
    for stage in stages:
        params = (lock.get(stage.name) or {}).get("params") or {}
        flat = {key: value for file in params.values() for key, value in _leaves("", file)}
        cards = [recorded(work / metric).get("card") for metric in stage.metrics]
        version = next((card.get("version") for card in cards if isinstance(card, Mapping)), None)
        found[stage.name] = {"params": flat, "benchmarks": benchmarks.get(stage.name, []), "card": version}
    return found


def _leaves(path: str, value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    else:
        yield path, value
