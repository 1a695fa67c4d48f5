"""Checks of artifacts as they are on disk: somebody may have edited, cut off or restored one since it was written.

A contract is enforced while a table is written; they hold the finished artifact against its contracts, the
facts of its stage, and the artifacts that its stage read. They only read, and never raise for what they find.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nightjar.core.arguments import AnyPath, as_path
from nightjar.core.checks.artifact import (
    UNREADABLE,
    check_facts,
    check_kinds,
    check_tables,
    first_line,
    inventory,
    is_artifact,
)
from nightjar.core.checks.finding import MOST_ROWS, Finding
from nightjar.core.checks.relations import check_relations

__all__ = ["MOST_ROWS", "Finding", "check", "check_facts", "check_stage", "inventory", "is_artifact"]
# A table with one of these cannot be held against others: the relations of its artifact wait until it is mended.
_FIRST = frozenset({"readable", "schema", "nulls"})


def check(path: AnyPath, near: Iterable[Path] = (), shared_inputs: int = 0) -> list[Finding]:
    """Everything that is wrong with the artifact at `path`, its facts aside.

    `near` are artifacts that its stage reads; `shared_inputs` is how many training and dev instances may have an input
    that is in the test set.
    """
    path = as_path(path)
    if not is_artifact(path):
        what = "there is no such artifact" if not path.exists() else "no table of the contracts is in it"
        return [Finding("present", path.as_posix(), "", what, "build it: nightjar rebuild")]
    if odd := check_kinds(path):
        return odd
    found = check_tables(path)
    if not _FIRST & {it.check for it in found}:
        homes = [home for home in near if is_artifact(home)]
        try:
            if odd := [it for home in homes for it in check_kinds(home)]:
                raise OSError(f"{odd[0].where}/{odd[0].what}")
            found += check_relations(path, homes, shared_inputs)
        except (*UNREADABLE, KeyError) as error:  # KeyError: a table near by lacks a column
            told = f"what it refers to cannot be read ({first_line(error)})"
            found.append(Finding("references", path.as_posix(), "", told, "check what its stage reads"))
    return found


def check_stage(
    outputs: Iterable[Path | str],
    inputs: Iterable[Path | str],
    facts: Mapping[str, Any] | None = None,
    shared_inputs: int = 0,
    root: Path = Path(),
) -> list[Finding]:
    """Everything that is wrong with what a stage made: its facts, and those of its `outputs` that are artifacts, or
    that the facts say are. Paths are from the project's `root`, as they are in the facts."""
    counted = (facts or {}).get("tables") or {}
    names = [Path(output).as_posix() for output in outputs]
    made = {name: root / name for name in names if is_artifact(root / name) or name in counted}
    whole = {name: path for name, path in made.items() if not check_kinds(path)}
    found = check_facts(facts, whole) if facts else []
    for path in made.values():
        found += check(path, [root / name for name in inputs], shared_inputs)
    return found
