"""A rebuild: the stages of the DVC graph that changed, side by side where the graph allows it.

It computes nothing itself: DVC decides for each stage whether its command runs (see run_stage).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from nightjar.core import paths
from nightjar.core.display import counted_as
from pipelines.graph import repository as graphs
from pipelines.graph.graph import Graph
from pipelines.process import lock
from pipelines.project.names import new_name
from pipelines.run import checks
from pipelines.run.context import RunContext
from pipelines.run.report import Artifacts, report_stages
from pipelines.run.results import End, Result, listeners
from pipelines.run.run import Run
from pipelines.run.run_stage import Stages, dvc

# The longest reason in the name of a run, in characters.
REASON = 60


@contextlib.contextmanager
def begun(
    context: RunContext, targets: Collection[str], jobs: int | None, wait: bool, keep_going: bool
) -> Iterator[Run]:
    """A rebuild of what `targets` need, under the rebuild lock: the block runs its stages. Sets the end of `context`.

    A command that holds the lock gives the graph that it read as `prepared`. Raises NightjarError for a bad parameter,
    before any stage starts.
    """
    root, stop = context.root, context.stop
    with contextlib.ExitStack() as held:
        if context.prepared is None:
            held.enter_context(lock.rebuild_lock(root, wait, stop, lock.WAIT_SERVED))
        project_graph = context.prepared or graphs.read(root)
        stages = held.enter_context(Stages(root))
        graph, artifacts = project_graph.only(targets), Artifacts(project_graph, context)
        logs = root / paths.LOGS / new_name()
        listen = listeners(context.listen, artifacts.add)
        run = Run(graph, stages, logs, listen, stop, jobs, keep_going)
        context.name(name(graph))
        if what := graph.blocked():  # a rebuild on the terminal was refused before
            context.log(what, "warning")
        yield run
        _bring_back(project_graph, run.results, logs, stop)
        artifacts.report(graph, run.results)
        context.run_end = End.of(run.results.values(), run.cancelled)


def name(graph: Graph) -> str:
    """Return a telling name of the run: how many stages it is about, and the first reason, with both values."""
    stages = checks.affected(graph)
    if not stages:
        return "nothing to do"
    kinds = ("upstream", "always")
    reasons = dict.fromkeys(
        str(reason).removeprefix("params.yaml:")
        for stage in stages
        for reason in graph.stages[stage].reasons
        if reason.kind not in kinds
    )
    first = next(iter(reasons), "checks that failed")
    more = f" and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    first = first if len(first) <= REASON else f"{first[:REASON]}…"
    return f"{counted_as(len(stages), 'stage')}: {first}{more}"


def _bring_back(graph: Graph, results: Mapping[str, Result], logs: Path, stop: threading.Event) -> None:
    """Restore the last report if its stage failed: DVC has removed it before the stage ran."""
    for name in report_stages(graph):
        if name in results and results[name].state == "failed":
            dvc(["checkout", "--force", name], graph.root, logs / "checkout.log", stop)
