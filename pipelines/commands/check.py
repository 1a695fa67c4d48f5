"""The command check: artifacts on disk, also for those who run the graph with plain DVC."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nightjar.core.artifact_rules import is_artifact
from nightjar.core.config import PARAMS_FILE
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError
from nightjar.core.files import kind
from nightjar.params.drivers import Checks
from pipelines.commands.console import bar, say
from pipelines.commands.options import CommandResult, printed
from pipelines.graph import repository
from pipelines.graph.graph import Stage
from pipelines.run.checks import Made

if TYPE_CHECKING:
    from nightjar.core.rules import BrokenRule


@click.command()
@click.argument("artifacts", nargs=-1, metavar="[ARTIFACT]...")
@printed()
def check(artifacts: tuple[str, ...]) -> CommandResult:
    """Check artifacts on disk: all outputs of the graph, or those that are an ARTIFACT (a folder) or below it.

    An ARTIFACT that is no output of the graph is checked alone; other folders are not searched. Artifacts
    are compared with their contracts (schema, nulls, keys, ranges) and with the facts of their stage (rows
    in, out, rejected, and on disk). They are compared with one another (train, dev and test are disjoint)
    and with the artifacts that their stage reads (ids exist). `nightjar rebuild` does this after every
    stage; after `dvc repro` run this command. Exit status: 0 all checks passed, 1 a check failed, 2 wrong
    input.

    \b
    Example:
      nightjar check
      nightjar check data/split --json
    """
    root, units, empty = _units(artifacts)
    if not units:
        raise NightjarError("no stage has made anything yet", root, "build it: nightjar rebuild")
    shared = Checks.load(root / PARAMS_FILE).shared_inputs
    rows: list[dict[str, Any]] = []
    all_findings: list[list[BrokenRule]] = []
    with bar("checking") as progress:
        for unit in units:
            if progress:
                progress(unit.name, len(rows), len(units))
            began = time.monotonic()
            findings = unit.check(root, shared)
            rows.append(
                {
                    "name": unit.name,
                    "artifacts": unit.artifacts,
                    "passed": not any(it.blocks for it in findings),
                    "seconds": round(time.monotonic() - began, 3),
                    "findings": [it.as_dict() for it in findings],
                }
            )
            all_findings.append(findings)
    failed = sum(it.blocks for findings in all_findings for it in findings)

    def show(value: dict[str, Any]) -> None:
        for row, findings in zip(rows, all_findings, strict=True):
            say(f"{row['name']}: {'ok' if row['passed'] else 'failed'}, {row['seconds']:.2f} s")
            for finding in findings:
                say(f"  {'failed' if finding.blocks else 'worth a look'}: {finding}")
                for example in finding.rows:
                    say(f"    {json.dumps(example, ensure_ascii=False)}")
        say(_looked(units, empty))
        if failed:
            say(f"nightjar: check: {failed} failed", err=True)

    value = {"passed": not failed, "stages": rows, "nothing_made": empty}
    return CommandResult(value, show, status=int(bool(failed)))


def _looked(units: Sequence[Made], empty: Sequence[str]) -> str:
    """Return the line that says what was looked at."""
    looked = f"looked at {counted_as(sum(len(unit.artifacts) for unit in units), 'artifact')}"
    if metrics := sum(len(unit.metrics) for unit in units):
        looked += f" and {counted_as(metrics, 'metrics file')} of {counted_as(len(units), 'stage')}"
    if empty:
        have = "has" if len(empty) == 1 else "have"
        looked += f"; {counted_as(len(empty), 'stage')} {have} made nothing to check"
    return looked


def _units(artifacts: tuple[str, ...]) -> tuple[Path, list[Made], list[str]]:
    """The root, what to check, by paths from there, and the stages that have made nothing to check.

    Raises NightjarError for a name in `artifacts` that leads to no artifact.
    """
    if "" in artifacts:
        raise NightjarError("an empty name", "check", "give the folder of an artifact, or none for all")
    root, stages = Path(), list[Stage]()
    try:
        root = Path(os.path.relpath(repository.find_root()))
    except NightjarError:
        if not artifacts:
            raise
    else:
        stages = list(repository.outline(root).stages.values())
    folders = {name: _real(Path(name)) for name in artifacts}
    units, empty, claimed = list[Made](), list[str](), set[str]()
    for stage in stages:
        chosen = list(stage.outs)
        if artifacts:
            around = {
                name: [it for it in artifacts if _real(root / name).is_relative_to(folders[it])]
                for name in chosen
            }
            chosen = [name for name in chosen if around[name]]
            claimed.update(it for names in around.values() for it in names)
        if not chosen:
            continue
        built = any(kind(root / name) for name in stage.outs)
        unit = Made.by(stage, root) if built else Made(stage.name, [])
        unit = replace(unit, artifacts=[name for name in unit.artifacts if name in chosen])
        if unit.artifacts or unit.metrics:
            units.append(unit)
        else:
            empty.append(stage.name)
    for argument in (it for it in folders if it not in claimed):
        if not kind(Path(argument)):
            raise NightjarError("no such file or folder", argument, "give the folder of an artifact")
        if not is_artifact(Path(argument)):
            fix = "give the folder of an artifact, such as data/split"
            raise NightjarError("it is neither an artifact nor an output of the graph", argument, fix)
        units.append(Made(argument, [os.path.relpath(argument, root)]))
    return root, units, empty


def _real(path: Path) -> Path:
    """The absolute path, without links but the last name's own: an output may be a link to DVC's cache."""
    # Not Path.resolve, which follows that link as well.
    absolute = Path(os.path.normpath(path.absolute()))
    return Path(os.path.realpath(absolute.parent), absolute.name)
