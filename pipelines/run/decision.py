"""The verdict on a stage whose turn it is, as DVC sees it, before it gets room on the machine."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass

from nightjar.core.display import first_few
from pipelines.graph.graph import Stage
from pipelines.run.results import Result
from pipelines.run.run_stage import Stages


@dataclass(frozen=True)
class Verdict:
    """The work to be done on a stage, and `why`: its command `runs`, or its outputs are restored.

    Of a stage with nothing to be done, the verdict is its `result`.
    """

    why: str
    runs: bool = False
    result: Result | None = None


def decide(
    stage: Stage, before: Collection[Result], stages: Stages, stop: threading.Event, force: bool
) -> Verdict:
    """Return the verdict on a stage, given the results of the stages `before` it. With `force` it runs in any case."""
    if force:
        return Verdict("force", runs=True)
    why = _first_reasons(stage, [result for result in before if result.changed])
    if stage.state == "would run" and not any(reason.kind == "upstream" for reason in stage.reasons):
        # Nothing before it changed since the graph was read, so its state is still true.
        return Verdict(why, runs=True)
    status = stages.status(stage.name, stop)
    match status["state"]:
        case "failed" | "stopped" as state:
            return Verdict(why, result=Result(stage.name, state, why=why, error=status["error"]))
        case "would fail":  # DVC would fail with an exception of Python
            return Verdict(why, result=Result(stage.name, "failed", why=why, error=status["why"]))
        case "up to date":
            why = f"no difference in what it needs ({why})" if why else "nothing changed"
            return Verdict(why, result=Result(stage.name, "unchanged", why=why))
    return Verdict(why or status["why"], runs=status["state"] == "would run")


def _first_reasons(stage: Stage, changed: Collection[Result]) -> str:
    """Say in a few words why a stage may have changed, as far as is known without DVC: the first of its own reasons, or
    of the stages before it that `changed`.
    """
    reasons = [str(reason) for reason in stage.reasons if reason.kind != "upstream"]
    reasons = reasons or [f"{it.stage} {'ran' if it.state == 'ran' else 'was restored'}" for it in changed]
    return first_few(reasons, "; ", 1)
