"""A rebuild: the stages of the DVC graph that changed, side by side where the graph allows it.

It computes nothing itself: DVC decides for each stage whether its command runs (see run_stage).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nightjar.core import paths
from pipelines.graph.graph import Graph
from pipelines.history import scores
from pipelines.process import lock
from pipelines.project.names import new_name
from pipelines.run import checks
from pipelines.run.report import Artifacts, report_stages
from pipelines.run.results import End, Result, listeners
from pipelines.run.run import Run
from pipelines.run.run_stage import Stages, dvc

if TYPE_CHECKING:
    from pipelines.flows import Shown

# The longest reason in the name of a run, in characters.
REASON = 60

# Runs the stages of a run, each as a task, and returns their results.
Execute = Callable[[Run], dict[str, Result]]


def rebuild(
    shown: Shown,
    execute: Execute,
    targets: Collection[str] | None,
    jobs: int | None,
    wait: bool,
    keep_going: bool,
) -> End:
    """Rebuild what `targets` need, under the rebuild lock: see flows.rebuild. A command that holds the lock gives the
    graph that it read, and the worker, as `prepared`.

    Raises NightjarError for a bad parameter, before any stage starts.
    """
    with contextlib.ExitStack() as held:
        if shown.prepared is not None:
            whole, stages = shown.prepared
        else:
            held.enter_context(lock.rebuild_lock(shown.root, wait, shown.stop, lock.WAIT_SERVED))
            stages = held.enter_context(Stages(shown.root))
            whole = stages.graph(shown.stop)
        try:
            return _rebuild(shown, execute, whole, stages, targets or (), jobs, keep_going)
        finally:
            stages.close()  # Prefect may need some seconds more


def _rebuild(
    shown: Shown,
    execute: Execute,
    whole: Graph,
    stages: Stages,
    targets: Collection[str],
    jobs: int | None,
    keep_going: bool,
) -> End:
    root, graph, artifacts = whole.root, whole.only(targets), Artifacts(whole, shown)
    logs = root / paths.LOGS / new_name()
    run = Run(graph, stages, logs, listeners(shown.told, artifacts.tell), shown.stop, jobs, keep_going)
    shown.name(name(graph))
    results = execute(run)
    _bring_back(whole, results, logs, shown.stop)
    if not shown.stop.is_set():  # otherwise time is short, and the rebuild that resumes does both
        _keep_scores(graph, shown)
    artifacts.report(results)
    return End.of(results.values(), run.cancelled)


def name(graph: Graph) -> str:
    """A telling name of the run: how many stages it is about, and the first reason, with both values."""
    found = checks.affected(graph)
    reasons = [
        str(it)
        for name in found
        for it in graph.stages[name].reasons
        if it.kind not in ("upstream", "always")
    ]
    why = dict.fromkeys(reason.removeprefix("params.yaml:") for reason in reasons)
    first = next(iter(why), "checks that failed")
    more = f" and {len(why) - 1} more" if len(why) > 1 else ""
    first = first if len(first) <= REASON else f"{first[:REASON]}…"
    return f"{len(found)} stage{'s' * (len(found) != 1)}: {first}{more}"


def _bring_back(whole: Graph, results: Mapping[str, Result], logs: Path, stop: threading.Event) -> None:
    """Restore the last report if its stage failed: DVC has removed it before the stage ran."""
    for name in report_stages(whole):
        if name in results and results[name].state == "failed":
            dvc(["checkout", "--force", name], whole.root, logs / "checkout.log", stop)


def _keep_scores(graph: Graph, shown: Shown) -> None:
    try:
        scores.keep(graph.root, scores.present(graph.root, graph.stages.values()))
    except Exception as error:  # a broken table is an error of the checks
        shown.log(f"scores not kept: {error}", "warning")
    scores.show(shown)
