"""A rebuild: the stages of the DVC graph that changed, side by side where the graph allows it.

    python -P -m pipelines.rebuild.run REQUEST     as a run of `nightjar serve` starts it; REQUEST is JSON

It computes nothing itself: DVC decides for each stage whether its command runs (see run_stage).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nightjar.core import display, json_text
from pipelines.execution.conduct import Conduct
from pipelines.execution.journal import Journal
from pipelines.execution.results import End, Listener, Result, ending, listeners
from pipelines.graph import graph as graphs
from pipelines.graph import lock_order
from pipelines.graph.graph import Graph
from pipelines.history import scores
from pipelines.process import lock
from pipelines.process.signals import at_signals
from pipelines.project import places
from pipelines.project.notify import notify
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
    lock_order.remember(graph, targets)
    journal.graph(graph)
    results = conduct.run()
    if not stop.is_set():  # otherwise time is short, and the rebuild that resumes does both
        lock_order.forget(root)
        _keep_scores(graph, journal)
    artifacts.report(results)
    return End.of(results.values(), conduct.cancelled), results


def _keep_scores(graph: Graph, journal: Journal) -> None:
    try:
        scores.keep(graph.root, scores.present(graph.root, graph.stages.values()))
    except Exception as error:  # a broken table is an error of the checks
        journal.log(f"scores not kept: {error}", "warning")
    scores.show(journal)


def serve(request: dict[str, Any]) -> None:
    """Run what a run of a deployment asks for, until its end or SIGTERM."""
    root, targets = Path.cwd(), request["targets"] or ()
    journal = Journal(root, KIND, request, request["name"])
    stop = threading.Event()

    def failed(message: str) -> None:
        notify(root, {"kind": "rebuild failed", "run": journal.name, "message": message})

    def run() -> End:
        with lock.rebuild_lock(root, request["wait"], stop, lock.WAIT_SERVED):
            whole = graphs.read(root)
            end, _ = rebuild(whole, targets, request["jobs"], request["keep_going"], journal, stop)
        if end.state == "failed":
            failed(end.message)
        return end

    with at_signals(stop.set):
        journal.end(ending(run, failed))


if __name__ == "__main__":
    display.protect()
    serve(json_text.parse(sys.argv[1]))
