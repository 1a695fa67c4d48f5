"""A rebuild: the stages of the DVC graph that changed, side by side where the graph allows it.

As a program it is a run of `nightjar serve`: see execution/served.py.
It computes nothing itself: DVC decides for each stage whether its command runs (see run_stage).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipelines.execution.conduct import Conduct
from pipelines.execution.headline import report_stages
from pipelines.execution.journal import Journal
from pipelines.execution.results import End, Listener, Result, listeners
from pipelines.execution.run_stage import dvc
from pipelines.execution.served import failed, serve
from pipelines.graph import dvc_adapter, dvc_run, lock_order
from pipelines.graph import graph as graphs
from pipelines.graph.graph import Graph
from pipelines.history import scores
from pipelines.process import lock
from pipelines.project import places
from pipelines.rebuild.artifacts import Artifacts

KIND = "rebuild"


def rebuild(
    whole: Graph,
    targets: Iterable[str],
    jobs: int | None,
    keep_going: bool,
    journal: Journal,
    stop: threading.Event,
    *shown: Listener,
) -> tuple[End, dict[str, Result]]:
    """Rebuild what `targets` need of the graph `whole`, under the rebuild lock; returns the end and the results.

    At most `jobs` stages run at once (by default rebuild.jobs of params.yaml), within the memory and the GPU that
    they need. A failure stops only what depends on it, or all unless `keep_going`. `stop` ends it in order. Raises
    NightjarError for a bad parameter, before any stage starts.
    """
    root, graph = whole.root, whole.only(targets)
    artifacts = Artifacts(whole, journal)
    listener = listeners(journal.tell, artifacts.tell, *shown)
    logs = root / places.LOGS / journal.name
    conduct = Conduct(graph, logs, listener, stop, jobs, keep_going)
    with dvc_adapter.opened(root) as project:
        dvc_run.remember(project, list(targets))
    journal.graph(graph)
    results = conduct.run()
    _bring_back(whole, results, logs, stop)
    if not stop.is_set():  # otherwise time is short, and the rebuild that resumes does both
        lock_order.forget(root)
        _keep_scores(graph, journal)
    artifacts.report(results)
    return End.of(results.values(), conduct.cancelled), results


def _bring_back(whole: Graph, results: Mapping[str, Result], logs: Path, stop: threading.Event) -> None:
    """Restore the last report if its stage failed: DVC has removed it before the stage ran."""
    for name in report_stages(whole):
        if name in results and results[name].state == "failed":
            dvc(["checkout", "--force", name], whole.root, logs / "checkout.log", stop)


def _keep_scores(graph: Graph, journal: Journal) -> None:
    try:
        scores.keep(graph.root, scores.present(graph.root, graph.stages.values()))
    except Exception as error:  # a broken table is an error of the checks
        journal.log(f"scores not kept: {error}", "warning")
    scores.show(journal)


def _serve(request: dict[str, Any], journal: Journal, stop: threading.Event) -> End:
    """What a run of a deployment asks for."""
    with lock.rebuild_lock(journal.root, request["wait"], stop, lock.WAIT_SERVED):
        whole, targets = graphs.read(journal.root), request["targets"] or ()
        end, _ = rebuild(whole, targets, request["jobs"], request["keep_going"], journal, stop)
    if end.state == "failed":
        failed(journal, end.message)
    return end


if __name__ == "__main__":
    serve(KIND, _serve)
