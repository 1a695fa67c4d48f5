"""The command check: artifacts as they stand on disk, for those who run the graph with plain DVC too."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from pipelines.printing import say, say_json
from stages.errors import NightjarError


@dataclass
class _Unit:
    """Artifacts that one stage made, with its facts where they are known."""

    name: str
    outputs: list[str]
    inputs: list[str] = field(default_factory=list)
    facts: dict[str, Any] | None = None


@click.command()
@click.argument("artifacts", nargs=-1, metavar="[ARTIFACT]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(artifacts: tuple[str, ...], as_json: bool) -> int:
    """Check artifacts as they stand on disk: all, or the ARTIFACTs (folders) and those below them.

    Held against their contracts (schema, nulls, keys, ranges), the facts of the stage that made them (rows in, out,
    rejected, and on disk), one another (train, dev and test are disjoint), and the artifacts that their stage reads
    (ids exist). `nightjar rebuild` does this after every stage; after `dvc repro` run it yourself. Exit status: 0 if
    all is well, 1 if a check failed, 2 wrong input.

    \b
    Example:
      nightjar check
      nightjar check data/split --json
    """
    from stages import checks
    from stages.driver_params import load_checks

    shared = load_checks().shared_inputs
    units = _units(artifacts)
    if not units:
        raise NightjarError("there is no artifact", Path.cwd(), "build some: nightjar rebuild")
    told, failed = [], 0
    for unit in units:
        began = time.monotonic()
        found = checks.check_stage(unit.outputs, unit.inputs, unit.facts, shared)
        seconds = time.monotonic() - began
        bad = sum(it.blocks for it in found)
        failed += bad
        if as_json:
            told.append(
                {
                    "name": unit.name,
                    "artifacts": unit.outputs,
                    "passed": not bad,
                    "seconds": round(seconds, 3),
                    "findings": [it.as_dict() for it in found],
                }
            )
            continue
        say(f"{unit.name}: {'failed' if bad else 'ok'}, {seconds:.2f} s")
        for it in found:
            say(f"  {'failed' if it.blocks else 'worth a look'}: {it}")
            for row in it.rows:
                say(f"    {json.dumps(row, ensure_ascii=False)}")
    if as_json:
        say_json({"passed": not failed, "stages": told})
    elif failed:
        say(f"nightjar: check: {failed} failed", err=True)
    return 1 if failed else 0


def _units(wanted: tuple[str, ...]) -> list[_Unit]:
    """What to check: the stages' facts tell which artifacts there are; other artifacts have no facts."""
    from pipelines.verify import read_facts
    from stages import checks
    from stages.harness import METRICS

    units = []
    for file in sorted(METRICS.glob("*.json")):
        facts = read_facts([file])
        if facts is not None and isinstance(facts.get("outputs"), list):
            counted = facts.get("tables") or {}
            made = [name for name in facts["outputs"] if name in counted or checks.is_artifact(Path(name))]
            if made:
                units.append(
                    _Unit(str(facts.get("stage", file.stem)), made, list(facts.get("inputs") or ()), facts)
                )
    known = {name for unit in units for name in unit.outputs}
    below = [Path(os.path.relpath(place)) for place in wanted] if wanted else [Path()]
    for place, given in zip(below, wanted or (".",), strict=True):
        if not place.exists() and place.as_posix() not in known:
            raise NightjarError("no such file or folder", given, "give the folder of an artifact")
        names = [path.as_posix() for path in _artifacts(place)]
        units += [_Unit(name, [name]) for name in names if name not in known]
        known.update(names)
        if wanted and not names and place.as_posix() not in known:
            raise NightjarError(
                "no artifact is there", given, "give the folder of an artifact, such as data/split"
            )
    if not wanted:
        return units
    chosen = []
    for unit in units:
        named = [name for name in unit.outputs if any(Path(name).is_relative_to(place) for place in below)]
        if named:
            chosen.append(_Unit(unit.name, named, unit.inputs, unit.facts))
    return chosen


def _artifacts(place: Path) -> Iterator[Path]:
    """The artifacts at `place` and below, hidden folders left out."""
    from stages.tables import REJECTED_FILE

    for folder, folders, files in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if REJECTED_FILE in files:
            folders.clear()
            yield Path(folder)
