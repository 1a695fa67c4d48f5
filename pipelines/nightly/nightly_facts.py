"""The facts of a night in the ledger, beside its verdicts: commit, machine, parameters, and every score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from nightjar.benchmarks.evaluation_folder import ledger_rows
from nightjar.core import contracts, tables
from nightjar.core.config import PARAMS_FILE, read_optional
from nightjar.core.json_text import parse_at, recorded
from pipelines.graph import lock_file
from pipelines.graph.graph import Stage
from pipelines.project.git import Baseline
from pipelines.project.names import LOCK_FILE
from pipelines.run.results import Result
from stages._runtime import machine

# What identifies a question.
KEY = ("benchmark", "task_id", "id")

Rows = list[dict[str, Any]]


def at_start(work: Path, start: Baseline) -> dict[str, Any]:
    """The facts that are known before anything runs, from the workspace at `work`: columns of LEDGER_RUN."""
    text = parameters(work / PARAMS_FILE)
    values = json.loads(text)
    lock, described = work / LOCK_FILE, machine.describe()
    names = {"processor": "cpu", "architecture": "machine"}
    return {
        "commit": start.commit,
        "changed": list(start.changed),
        "lock_sha256": sha256(lock.read_bytes() if lock.is_file() else b"").hexdigest(),
        "parameters": values,
        "parameters_sha256": sha256(text.encode()).hexdigest(),
        "seed": values["seed"] if isinstance(values.get("seed"), int) else None,
        "versions": {"python": described.pop("python")}
        | {it.name: it.version for it in map(metadata.distribution, ("nightjar", "dvc"))},
        "hardware": {names.get(name, name): value for name, value in described.items()},
    }


def parameters(file: Path) -> str:
    """The parameters of a project as JSON, the same text for the same values. Raises NightjarError as read_optional."""
    # The first pass makes texts of all keys: numbers and texts cannot be sorted together.
    plain = json.loads(json.dumps(read_optional(file), default=str))
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)


def of_stages(work: Path, stages: Iterable[Stage]) -> tuple[dict[str, str], list[str]]:
    """The versions of packages, and the GPUs, that the stages recorded."""
    versions: dict[str, str] = {}
    gpus: set[str] = set()
    for facts in (recorded(work / metric) for stage in stages for metric in stage.metrics):
        if isinstance(recorded_value := facts.get("versions"), Mapping):
            versions |= {str(name): str(version) for name, version in recorded_value.items()}
        if isinstance(recorded_value := facts.get("machine"), Mapping) and isinstance(
            recorded_value.get("gpus"), list
        ):
            gpus |= set(map(str, recorded_value["gpus"]))
    return versions, sorted(gpus)


def scores(work: Path, stages: Sequence[Stage]) -> tuple[Rows, Rows, dict[str, list[str]]]:
    """Rows of LEDGER_SCORES and LEDGER_INSTANCES of what the stages made, and the benchmarks that each scored.

    An artifact with tables `scores` and `instance_scores` is an evaluation; others are skipped.
    """
    contents = _contents(work, stages)
    means: Rows = []
    instances: Rows = []
    benchmarks: dict[str, list[str]] = {}
    for stage in stages:
        for out in (work / path for path in stage.outs):
            if not (out / contracts.INSTANCE_SCORES.name).is_dir():
                continue
            means += tables.read_rows(out, contracts.SCORES)
            rows = ledger_rows(out)
            benchmarks[stage.name] = sorted({row["benchmark"] for row in rows})
            instances += [row | {"content": contents.get(question(row))} for row in rows]
    return means, instances, benchmarks


def question(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def has_questions(artifact: Path) -> bool:
    return any((artifact / contracts.QUESTIONS.name).glob("*.parquet"))


def _contents(work: Path, stages: Sequence[Stage]) -> dict[tuple[str, ...], str]:
    """For every question that the stages read a digest of its parts and references, by KEY."""
    digests = {}
    for path in sorted({work / dep for stage in stages for dep in stage.deps}):
        if has_questions(path):
            for row in tables.read_rows(path, contracts.QUESTIONS, [*KEY, "parts", "references"]):
                parts = parse_at(
                    row["parts"], path / contracts.QUESTIONS.name, "write parts as a JSON object"
                )
                digests[question(row)] = content(parts, row["references"])
    return digests


def content(parts: Any, references: Sequence[str]) -> str:
    """A digest of a question. Parts that are an input alone have the digest that earlier versions wrote of it."""
    text_parts = parts["input"] if isinstance(parts, Mapping) and parts.keys() == {"input"} else parts
    text = json.dumps([text_parts, list(references)], ensure_ascii=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def stage_facts(
    work: Path,
    stages: Sequence[Stage],
    benchmarks: Mapping[str, list[str]],
    results: Mapping[str, Result],
    sample: Mapping[str, Mapping[str, int]],
) -> dict[str, dict[str, Any]]:
    """For every stage that ran: its parameters as DVC recorded them, the benchmarks that it scored, the version of the
    benchmark's card (None if its facts name none), its seconds, and the facts of the sample that it read.
    """
    lock = lock_file.entries(work)
    facts_by_stage = {}
    for stage in stages:
        params = lock.get(stage.name, {}).get("params") or {}
        cards = [recorded(work / metric).get("card") for metric in stage.metrics]
        facts_by_stage[stage.name] = {
            "params": {key: value for file in params.values() for key, value in _leaves("", file)},
            "benchmarks": benchmarks.get(stage.name, []),
            "card": next((card.get("version") for card in cards if isinstance(card, Mapping)), None),
            "seconds": round(results[stage.name].seconds, 3),
            **sample.get(stage.name, {}),
        }
    return facts_by_stage


def _leaves(path: str, value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    else:
        yield path, value
