"""The task of one stage in the flow `rebuild`: run it by DVC, check what it made, show what became of it.

Import this module only where Prefect is installed and told which server to use (see server.use).
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prefect import get_run_logger
from prefect.futures import PrefectFuture
from prefect.states import Cancelled, Completed, Failed, State

from nightjar.core.driver_params import Rebuild, Shards
from nightjar.core.errors import NightjarError
from nightjar.core.files import safe_name
from pipelines.execution import checks as verify
from pipelines.execution import resources, shards
from pipelines.execution.attempts import run_attempts
from pipelines.execution.lease import Gpu
from pipelines.execution.results import Listener, Result
from pipelines.execution.run_stage import Outcome, Stages
from pipelines.graph import graph as graphs
from pipelines.prefect_view import artifacts


@dataclass
class Run:
    """One rebuild on its way; the threads of the tasks share it."""

    graph: graphs.Graph
    logs: Path
    listen: Listener
    settings: Rebuild
    shards: Shards
    gpu: Gpu
    stages: Stages
    # Set to end the stages that run and start no others; `failed_fast` names the stage whose failure did.
    stop: threading.Event = field(default_factory=threading.Event)
    failed_fast: str = ""
    # Why stages changed that were up to date when the graph was read; empty for those that DVC leaves as they are.
    found: dict[str, str] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    futures: dict[str, PrefectFuture[Any]] = field(default_factory=dict)
    states: dict[str, State[Any]] = field(default_factory=dict)
    finished: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)

    @property
    def ended(self) -> str:
        """Why no more stages start."""
        return f"stopped because {self.failed_fast} failed" if self.failed_fast else "the rebuild was stopped"

    def blocker(self, stage: graphs.Stage) -> str | None:
        """The stage that failed, or was stopped, before this one."""
        for name in stage.upstream:
            result = self.results.get(name)
            if result is not None and result.state in ("failed", "stopped"):
                return name
            if result is not None and result.state == "skipped":
                return result.error
        return None


def body(run: Run, stage: graphs.Stage, blocker: str | None) -> State[Any]:
    """The body of a stage's task: run it, keep its facts, and say with the state how it went."""
    logger = get_run_logger()
    if blocker is not None:
        result = Result(stage.name, "skipped", why=f"needs {blocker}", error=blocker)
        run.results[stage.name] = result
        artifacts.outcome(run.graph.root, stage, result)
        return Cancelled(name="Skipped", message=f"not run: {blocker} before it did not succeed")
    if run.stop.is_set():
        run.results[stage.name] = Result(stage.name, "stopped", error=run.ended)
        return Cancelled(name="Stopped", message=run.ended)
    why = why_now(run, stage) or run.found.get(stage.name, "looked at again")
    if not why:
        result = Result(stage.name, "cached", why="nothing changed")
        logger.info("nothing changed")
    else:
        logger.info("%s\n%s", why, stage.command)
        run.listen(Result(stage.name, "running", why=why))
        result = _run(run, stage, why, logger)
    if result.state in ("ran", "cached"):
        result = _verified(run, stage, result)
    run.results[stage.name] = result
    artifacts.outcome(run.graph.root, stage, result)
    if result.state == "failed":
        return Failed(message=result.error)
    if result.state == "stopped":
        return Cancelled(name="Stopped", message=result.error)
    return Completed(name="Cached" if result.state == "cached" else "Ran", message=result.why)


def _run(run: Run, stage: graphs.Stage, why: str, logger: Any) -> Result:
    def tell(lines: list[str]) -> None:
        logger.info("%s", "\n".join(lines))
        progress.hear(lines)
        run.listen(Result(stage.name, "running", why=lines[-1]))

    def once(log: Path) -> Outcome:
        return run.stages.run(stage.name, log, tell, run.stop, run.gpu.descriptor(stage.name), shared)

    def again(message: str) -> None:
        logger.warning("%s", message)
        run.listen(Result(stage.name, "running", why=message))

    log = run.logs / f"{safe_name(stage.name)}.log"
    attempts = resources.needs(run.graph, run.settings)[stage.name].attempts
    with artifacts.progress(run.graph.root, stage) as progress:
        began = time.monotonic()
        fault = shards.before(run.graph, stage, run.shards, log, tell, run.stop)
        shared = time.monotonic() - began
        if fault is not None:
            told = fault.log.relative_to(run.graph.root).as_posix() if fault.log else ""
            return Result(stage.name, "failed", shared, why, fault.error, told)
        outcome, tried = run_attempts(once, log, attempts, run.settings.backoff_seconds, run.stop, again)
        progress.ended, progress.whole = outcome.state, outcome.state in ("ran", "restored", "unchanged")
    return Result.of(outcome, why, run.graph.root, tried)


def _verified(run: Run, stage: graphs.Stage, result: Result) -> Result:
    """The result once what the stage made was checked: failed if a check that blocks finds anything."""
    logger = get_run_logger()
    try:
        verdict = verify.verify(run.graph.root, stage)
    except NightjarError as error:
        return replace(result, state="failed", error=str(error), moved=False)
    for finding in verdict.findings:
        logger.log(logging.ERROR if finding.blocks else logging.WARNING, "%s", finding)
    if verdict.artifacts and not verdict.known:
        logger.info("checked %d artifacts in %.2f s", verdict.artifacts, verdict.seconds)
    if verdict.findings or verdict.failed_before:
        artifacts.checks(stage, verdict)
    if verdict.error:
        return replace(result, state="failed", error=verdict.error, moved=False)
    return result


def why_now(run: Run, stage: graphs.Stage) -> str:
    """Why the stage has to be looked at; empty if nothing changed and nothing before it ran."""
    reasons = [str(reason) for reason in stage.reasons if reason.kind != "upstream"]
    moved = [run.results[name] for name in stage.upstream if name in run.results and run.results[name].moved]
    told = [f"{it.stage} {'ran' if it.state == 'ran' else 'was restored'}" for it in moved[: graphs.SHOWN]]
    more = [f"{len(moved) - graphs.SHOWN} more before it"] if len(moved) > graphs.SHOWN else []
    return "; ".join([*reasons, *told, *more])
