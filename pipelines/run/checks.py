"""The checks of what a stage made, as a rebuild runs them: after the stage, and again where something changed since.

What was found is kept in .nightjar/checks, a file a stage. One that failed is checked again until it passes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import paths
from nightjar.core.display import counted_as
from nightjar.core.files import FILE, kind, write_text
from nightjar.core.identity import safe_name
from nightjar.core.json_text import exact, parse, quote_short, recorded
from nightjar.core.paths import PARAMS_FILE
from pipelines.graph.graph import Graph, Stage
from pipelines.run.results import Result

if TYPE_CHECKING:
    from nightjar.core.rules import BrokenRule


@dataclass(frozen=True)
class Made:
    """The `artifacts` of a stage, or of a folder, that are checked, and those `near` that they were made from.

    `facts` are the stage's where they are known, and `faults` what is wrong with its metrics files, by name. Paths are
    from the root of the repository.
    """

    name: str
    artifacts: list[str]
    near: list[str] = field(default_factory=list)
    metrics: tuple[str, ...] = ()
    facts: dict[str, Any] | None = None
    faults: dict[str, str] = field(default_factory=dict)

    @classmethod
    def by(cls, stage: Stage, root: Path) -> Made:
        """Return what `stage` has made; `root` leads to the root of the repository."""
        facts, faults = read_facts(root, stage.metrics)
        counted = (facts or {}).get("tables") or {}
        if not any(name in counted or (root / name).is_dir() for name in stage.outs):
            return cls(stage.name, [], [], stage.metrics, facts, faults)
        # Here, not above: a stage without tables needs no Arrow, which takes long to load.
        from nightjar.core.artifact_rules import is_artifact

        artifacts = [name for name in stage.outs if name in counted or is_artifact(root / name)]
        near = [name for name in stage.deps if is_artifact(root / name)]
        return cls(stage.name, artifacts, near, stage.metrics, facts, faults)

    def check(self, root: Path, shared_inputs: int) -> list[BrokenRule]:
        """Everything that is wrong with it."""
        from nightjar.core.rules import BrokenRule
        from pipelines.run.artifact_checks import check_stage

        fix = "rebuild it: nightjar rebuild"
        faults = [BrokenRule("facts", "", what, fix, artifact=name) for name, what in self.faults.items()]
        return faults + check_stage(self.artifacts, self.near, self.facts, shared_inputs, root)


def checked(root: Path, stage: Stage, result: Result) -> Result:
    """The `result` of a stage of the repository at `root` once its outputs were checked: failed if a finding blocks.

    Paths in the findings are from the current folder. Raises NightjarError for a bad group `checks` in params.yaml.
    """
    relative_root = Path(os.path.relpath(root))
    outputs, failed_before = Made.by(stage, relative_root), _before(root, stage.name).get("passed") is False
    if not (outputs.artifacts or outputs.faults or failed_before):
        return result
    from nightjar.params.drivers import Checks  # here, not above: pydantic takes long to load

    began = time.monotonic()
    findings = outputs.check(relative_root, Checks.load(relative_root / PARAMS_FILE).shared_inputs)
    lines = [str(it) for it in findings]
    if outputs.artifacts:
        lines.append(
            f"checked {counted_as(len(outputs.artifacts), 'artifact')} in {time.monotonic() - began:.2f} s"
        )
    blocking = [it for it in findings if it.blocks]
    verdict = {"stage": stage.name, "passed": not blocking, "findings": [it.as_dict() for it in findings]}
    write_text(_file(root, stage.name), json.dumps(verdict, ensure_ascii=False, indent=1) + "\n")
    findings_table = (
        tuple(_table(stage.name, findings, len(outputs.artifacts))) if findings or failed_before else ()
    )
    result = replace(result, lines=tuple(lines), findings=findings_table or result.findings)
    if blocking:
        more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
        result = replace(result, state="failed", error=f"check failed: {blocking[0]}{more}")
    return result


def failing(root: Path, graph: Graph) -> list[str]:
    """Stages of `graph` whose last verdict was bad: nothing may have changed, and yet not all is well."""
    return [name for name in graph.stages if _before(root, name).get("passed") is False]


def affected(graph: Graph, checked: bool = True) -> list[str]:
    """The stages that are not up to date, or may not be once those before them have run, in the order of the graph;
    where they are `checked`, also those that failed their checks.
    """
    names = {*graph.changed(), *(failing(graph.root, graph) if checked else ())}
    return [name for name in graph.stages if name in names]


def read_facts(root: Path, metrics: Iterable[str]) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """The facts of a stage, from the first of its `metrics` files that has any, and what is wrong with those files, by
    name. A file outside of data/metrics may be of any other kind: it must only hold a JSON object, if it is JSON.
    """
    facts, faults = None, {}
    for name in metrics:
        try:
            values = _facts(root / name, name)
        except (OSError, ValueError) as error:
            faults[name] = " ".join(str(error).split())
        else:
            facts = facts or values
    return facts, faults


def _facts(file: Path, name: str) -> dict[str, Any] | None:
    """The facts in a metrics file, None for metrics of another kind. Raises ValueError for what is no such file."""
    if (file_kind := kind(file)) != FILE:
        raise ValueError(f"is {file_kind}" if file_kind else "is missing")
    has_facts = Path(name).parent == paths.METRICS
    if file.suffix != ".json" and not has_facts:
        return None
    from stages._runtime.stage_facts import ROWS, fault  # here, not above: Arrow takes long to load

    data = file.read_bytes()
    values = exact(data)
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    if not has_facts and not values.keys() >= set(ROWS):
        return None
    facts: dict[str, Any] = parse(data, constants=True)
    if wrong := fault(facts, (*ROWS, "stage") if has_facts else ROWS):
        raise ValueError(wrong)
    if has_facts and paths.metrics_file(facts["stage"]).name != file.name:
        raise ValueError(f"these are the facts of {quote_short(facts['stage'], quoted=False)}")
    return facts


def _table(stage: str, findings: Iterable[BrokenRule], artifacts: int) -> Iterator[dict[str, Any]]:
    """The rows of the table that shows what was found: a line a finding, and one for each offending row below it."""
    for finding in findings:
        head = {
            "check": finding.check,
            "where": finding.where,
            "what": finding.what,
            "rows": finding.count,
            "to do": finding.fix,
        }
        yield {**head, "verdict": "failed" if finding.blocks else "worth a look", "example": ""}
        for row in finding.rows:
            yield {**dict.fromkeys([*head, "verdict"], ""), "example": json.dumps(row, ensure_ascii=False)}
    if not findings:
        where = f"{counted_as(artifacts, 'artifact')} of {stage}"
        yield {"check": "all", "where": where, "what": "nothing found", "verdict": "passed"}


def _file(root: Path, stage: str) -> Path:
    return root / paths.CHECKS / f"{safe_name(stage)}.json"


def _before(root: Path, stage: str) -> dict[str, Any]:
    values = recorded(_file(root, stage))
    return values if values.get("stage") == stage else {}
