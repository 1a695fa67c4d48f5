"""A run of another harness as an entry of the ledger, with verdicts and declines like those of a night.

Such entries are compared with one another alone: a task is a benchmark, a filter a track, and the model a system. The
nightly of the project passes them over (`ledger.is_harness`).
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import interval
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest
from nightjar.harness import HarnessRun
from nightjar.harness.evaluation_folders import NAME as EVALUATION
from nightjar.harness.harness_metrics import fractions, metrics_of
from nightjar.harness.run_reader import read_run
from nightjar.params.drivers import Nightly
from nightjar.statistics import Bootstrap, Metric, verdict
from pipelines.history import ledger as ledgers
from pipelines.nightly import nightly_text, verdicts
from pipelines.nightly.verdicts import Reference
from pipelines.process import lock
from pipelines.project.git import try_git
from pipelines.project.names import LOCK_FILE, new_name

Rows = list[dict[str, Any]]


def add(root: Path, source: Path, name: str | None, accept: bool, settings: Nightly) -> dict[str, Any]:
    """Add the run at `source` to the ledger of the project at `root`; returns the facts of the entry and its verdicts.

    `name` is its system in place of the model's name. Each task is compared with the last good entry that has a score
    of it by the same system. One run is added at a time. Raises NightjarError as `read_run` does, and for a run that is
    in the ledger already: one with the same scores, written at the same time.
    """
    run = read_run(source)
    ledger = root / settings.ledger
    ledgers.prepare(ledger)
    with lock.locked(root, paths.LEDGER_LOCK, "nightjar ledger add", wait=True):
        return _add(root, ledger, run, name, accept, settings)


def _add(
    root: Path, ledger: Path, run: HarnessRun, name: str | None, accept: bool, settings: Nightly
) -> dict[str, Any]:
    system = name or run.model
    instances = instance_rows(run, system)
    facts = _facts(root, run, instances) | {"accepted": accept, "against": None}
    cells = {(row["benchmark"], row["system"]) for row in instances}
    earlier = [it for it in _references(ledger, {task for task, _ in cells}) if _shares(it, cells)]
    for entry in filter(ledgers.is_harness, ledgers.entries(ledger)):
        same_scores = (
            entry["stages"][ledgers.HARNESS].get("sha256") == facts["stages"][ledgers.HARNESS]["sha256"]
        )
        if same_scores and entry["started"] == facts["started"]:
            raise NightjarError(f"the ledger has this run, as {entry['run']}", run.source, "add another run")
    reference = _last_of_each(earlier, cells)

    def measures(benchmark: str, parts: Collection[str]) -> Sequence[Metric]:
        if run.harness == EVALUATION and benchmark in registry.names():
            return verdicts.measures(benchmark, parts)
        values = ((row["metric"], row["value"]) for row in instances if row["benchmark"] == benchmark)
        return metrics_of(parts, fractions(values), run.higher_is_better)

    judged = verdicts.verdicts(settings, facts, instances, reference, earlier, measures)
    worse = any(row["verdict"] == "worse" for row in judged)
    facts |= {
        "state": "worse" if worse and not accept else "good",
        "message": ("accepted: " if accept else "")
        + nightly_text.message(judged, reference and reference.facts),
        "against": reference.facts["run"] if reference else None,
    }
    scores = _score_rows(verdict.cells(instances, measures))
    ledgers.check_rows(scores, instances)
    ledgers.append(ledger, facts, scores, instances, judged)
    return facts | {"verdicts": judged}


def instance_rows(run: HarnessRun, system: str) -> Rows:
    """Return rows of LEDGER_INSTANCES; the repeats of a document (epochs) are averaged."""
    if run.harness != EVALUATION:
        for task in sorted({subject.task for subject in run.samples}):
            if task in registry.names():
                what = f"the task {task} has the name of a benchmark of Nightjar"
                raise NightjarError(what, run.source, "rename the task of the harness")
    rows: Rows = []
    for subject, samples in run.samples.items():
        values: dict[tuple[str, str], list[float]] = {}
        contents: dict[str, set[str]] = {}
        for sample in samples:
            contents.setdefault(sample.id, set()).add(f"{sample.repeat} {sample.content}")
            for part, value in sample.values.items():
                values.setdefault((sample.id, part), []).append(value)
        digests = {id: digest({"parts": sorted(parts)})[:16] for id, parts in contents.items()}
        rows += [
            {
                "benchmark": subject.task,
                "system": system,
                "track": subject.filter,
                "metric": part,
                "task_id": subject.filter,
                "id": id,
                "content": digests[id],
                "value": float(np.mean(repeats)),
            }
            for (id, part), repeats in values.items()
        ]
    if not rows:
        raise NightjarError("the run has no number of a document", run.source, "add a run with scores")
    return rows


def _score_rows(cells: Mapping[verdict.Cell, verdict.Scored]) -> Rows:
    """Return rows of LEDGER_SCORES, each with its interval."""
    rows = []
    for cell, scored in cells.items():
        low, high = interval(scored.measure, scored.values, Bootstrap())
        names = {**cell._asdict(), "level": "overall", "name": "overall"}
        rows.append(names | {"n": len(scored.ids), "value": scored.value, "low": low, "high": high})
    return rows


def _references(ledger: Path, tasks: Collection[str]) -> Iterable[Reference]:
    """Yield the good entries of other harnesses that have one of the tasks, the latest first."""
    for facts in filter(ledgers.is_harness, ledgers.good(ledger)):
        if any(f"evaluate@{task}" in facts["stages"] for task in tasks):
            yield Reference(facts, ledgers.read(facts, "instances.parquet").to_pylist())


def _last_of_each(earlier: Sequence[Reference], cells: Collection[tuple[str, str]]) -> Reference | None:
    """Return the last scores of each task and system, with the facts of the last entry; None if there are none.

    An entry may have some tasks alone, so that those of a run may be in several.
    """
    if not earlier:
        return None
    instances: Rows = []
    stages: dict[str, Any] = {}
    missing = set(cells)
    for reference in earlier:
        rows = [row for row in reference.instances if (row["benchmark"], row["system"]) in missing]
        missing -= {(row["benchmark"], row["system"]) for row in rows}
        instances += rows
        stages = reference.facts["stages"] | stages
    return Reference({**earlier[0].facts, "stages": stages}, instances)


def _shares(reference: Reference, cells: Collection[tuple[str, str]]) -> bool:
    """Return true if an entry has a score of one of these tasks and systems."""
    return any((row["benchmark"], row["system"]) in cells for row in reference.instances)


def _facts(root: Path, run: HarnessRun, instances: Rows) -> dict[str, Any]:
    """Return the columns of LEDGER_RUN that are known before the verdicts; the machine of the run is not known."""
    lock = root / LOCK_FILE
    files = [it for it in run.source.rglob("*") if it.is_file()] if run.source.is_dir() else [run.source]
    written = datetime.fromtimestamp(int(max(it.stat().st_mtime for it in files)), UTC)
    tasks = sorted({subject.task for subject in run.samples})
    stages: dict[str, Any] = {
        ledgers.HARNESS: {
            "name": run.harness,
            "source": str(run.source),
            "sha256": digest({"instances": instances}),
        }
    }
    for task in tasks:
        stages[f"evaluate@{task}"] = {
            "params": {},
            "benchmarks": [task],
            "card": run.versions.get(task),
            "seconds": 0.0,
        }
    return {
        "run": new_name(),
        "started": written,
        "ended": written,
        "commit": (try_git(root, "rev-parse", "HEAD") or "").strip(),
        "changed": [],
        "lock_sha256": sha256(lock.read_bytes() if lock.is_file() else b"").hexdigest(),
        "parameters": {},
        "parameters_sha256": sha256(b"{}").hexdigest(),
        "seed": None,
        "versions": {"python": platform.python_version(), "nightjar": metadata.version("nightjar")},
        "hardware": {},
        "stages": stages,
    }
