"""The DVC graph: its stages in order, which of them would run or be restored, and why: what changed, and from which
value to which. Knows nothing of DVC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from nightjar.core.display import counted_as, first_few
from nightjar.core.errors import NightjarError, did_you_mean
from pipelines.project.names import StageName

MISSING = object()
# Of a value that has none to compare with, in characters.
LONGEST = 60

# `missing`: a dependency or a parameter that the stage cannot run without.
Kind = Literal["new", "command", "parameter", "dependency", "output", "upstream", "always", "missing"]
# `follows`: it depends on a stage that runs, and DVC decides afterwards. `would be recorded`: DVC records in dvc.lock
# the files that exist, of a frozen stage or of data that were added by hand. `would be skipped`: it depends on a stage
# that would fail.
State = Literal[
    "up to date",
    "would run",
    "would be restored",
    "would be recorded",
    "would fail",
    "would be skipped",
    "follows",
]
# States of stages whose outputs will not be made, and of those whose future outputs are unknown.
NEVER: frozenset[State] = frozenset({"would fail", "would be skipped"})
OPEN: frozenset[State] = NEVER | {"would run", "follows"}


@dataclass(frozen=True)
class Reason:
    """Why a stage would not stay as it is: the kind of change, what changed, and both values where DVC has the old.

    The value of a path is DVC's `hash` with its `size` in bytes and the number of `files` of a folder, where known.
    """

    kind: Kind
    what: str
    old: Any = MISSING
    new: Any = MISSING

    def __str__(self) -> str:
        if self.old is MISSING and self.new is MISSING:
            return self.what
        texts = (
            isinstance(self.old, str) and isinstance(self.new, str) and self.old.split() != self.new.split()
        )
        show = _version_text if self.kind in ("dependency", "output") else _show
        old, new = (str(it) if texts and it else show(it) for it in (self.old, self.new))
        if MISSING in (self.old, self.new):  # a whole group may have been added or removed
            old, new = (_begun(it) for it in (old, new))
        return f"{self.what}: {old} → {new}"

    def as_json(self) -> dict[str, Any]:
        values = {name: value for name in ("old", "new") if (value := getattr(self, name)) is not MISSING}
        return {"kind": self.kind, "what": self.what, **values}


def differences(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The leaves in which two values differ; a value that does not exist is MISSING."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(f"{path}.{key}", old.get(key, MISSING), new.get(key, MISSING))
    elif old is MISSING or new is MISSING or old != new:
        yield path, old, new


def _version_text(value: Any) -> str:
    if value is MISSING:
        return _show(value)
    size = value.get("size")
    return value["hash"][:8] + ("" if size is None else f" ({counted_as(size, 'byte')})")


def _begun(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _show(value: Any) -> str:
    if value is MISSING:
        return "(nothing)"
    if isinstance(value, date):
        return str(value)
    return json.dumps(value, default=str, ensure_ascii=False)


@dataclass(frozen=True)
class Stage:
    """One stage as dvc.yaml has it. Paths are relative to the repository's root, with forward slashes."""

    name: str
    command: str
    description: str
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    metrics: tuple[str, ...]
    params: Mapping[str, tuple[str, ...]]
    upstream: tuple[str, ...]
    reasons: tuple[Reason, ...]
    # What dvc.yaml has under `meta`. DVC does not use it.
    meta: Mapping[str, Any] = field(default_factory=dict)
    # Where its command runs.
    folder: str = "."
    state: State = "up to date"

    @property
    def why(self) -> str:
        """The first reasons in one line; empty if the stage is up to date."""
        changes = [str(reason) for reason in self.reasons if reason.kind != "upstream"]
        before = [reason.what for reason in self.reasons if reason.kind == "upstream"]
        needs = f"needs {first_few(before)}" if before else ""
        return "; ".join(filter(None, [first_few(changes, "; "), needs]))

    @property
    def lacks(self) -> str:
        """Why the stage cannot run, in one line; for one that can, why it would."""
        return "; ".join(reason.what for reason in self.reasons if reason.kind == "missing") or self.why


@dataclass(frozen=True)
class Graph:
    """The stages of a repository, each after those it needs."""

    root: Path
    stages: Mapping[str, Stage]

    def changed(self) -> list[str]:
        """Stages that are not up to date, or may not be once those before them have run."""
        return [name for name, stage in self.stages.items() if stage.state != "up to date"]

    def blocked(self) -> str:
        """Which stages cannot run, why, and which are skipped therefore, in one line; empty if all can run."""
        failing = [stage for stage in self.stages.values() if stage.state == "would fail"]
        if not failing:
            return ""
        skipped = [name for name, stage in self.stages.items() if stage.state == "would be skipped"]
        lost = first_few([f"{it.name} cannot run ({it.lacks})" for it in failing], "; ")
        if not skipped:
            return lost
        needed = skipped[0] if len(skipped) == 1 else f"{len(skipped)} stages"
        verb = "needs" if len(skipped) == 1 else "need"
        return f"{lost}, and {needed} {verb} {'it' if len(failing) == 1 else 'them'}"

    def only(self, targets: Iterable[str]) -> Graph:
        """The part of the graph that `targets` need, themselves included; all of it if there are none.

        A target is a stage's name, or a name before the @ for all its items. Raises NightjarError for any
        other.
        """
        selected: set[str] = set()
        for target in targets:
            named = {name for name in self.stages if target in (name, StageName.of(name).group)}
            if not named:
                groups = list(dict.fromkeys(StageName.of(name).group for name in self.stages))
                listed = f"there are: {', '.join(groups)}" if groups else "see dvc.yaml"
                near = did_you_mean(target, [*groups, *self.stages], listed)
                raise NightjarError("no such stage", target, near)
            selected |= named
        if not selected:
            return self
        for name in reversed(list(self.stages)):
            if name in selected:
                selected |= set(self.stages[name].upstream)
        return Graph(self.root, {name: stage for name, stage in self.stages.items() if name in selected})
