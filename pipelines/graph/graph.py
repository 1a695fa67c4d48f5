"""The DVC graph: its stages in order, which of them would run or be restored, and why. Knows nothing of DVC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError, did_you_mean
from pipelines.graph.changes import Reason, State
from pipelines.project.names import StageName

# How many reasons of a kind a stage names.
SHOWN = 3


def some(texts: Sequence[str], between: str, most: int = SHOWN) -> str:
    """The first of several texts, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more


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
        own = [str(reason) for reason in self.reasons if reason.kind != "upstream"]
        before = [reason.what for reason in self.reasons if reason.kind == "upstream"]
        needs = f"needs {some(before, ', ')}" if before else ""
        return "; ".join(filter(None, [some(own, "; "), needs]))

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
        lost = "; ".join(f"{it.name} cannot run ({it.lacks})" for it in failing[:SHOWN])
        more = f" and {len(failing) - SHOWN} more" if len(failing) > SHOWN else ""
        if not skipped:
            return lost + more
        needed = skipped[0] if len(skipped) == 1 else f"{len(skipped)} stages"
        verb = "needs" if len(skipped) == 1 else "need"
        return f"{lost}{more}, and {needed} {verb} {'it' if len(failing) == 1 else 'them'}"

    def only(self, targets: Iterable[str]) -> Graph:
        """The part of the graph that `targets` need, themselves included; all of it if there are none.

        A target is a stage's name, or a name before the @ for all its items. Raises NightjarError for any
        other.
        """
        selected: set[str] = set()
        for target in targets:
            named = {name for name in self.stages if target in (name, StageName.of(name).group)}
            if not named:
                known = f"there are: {', '.join(self.stages)}" if self.stages else "see dvc.yaml"
                raise NightjarError("no such stage", target, did_you_mean(target, self.stages, known))
            selected |= named
        if not selected:
            return self
        for name in reversed(list(self.stages)):
            if name in selected:
                selected |= set(self.stages[name].upstream)
        return Graph(self.root, {name: stage for name, stage in self.stages.items() if name in selected})
