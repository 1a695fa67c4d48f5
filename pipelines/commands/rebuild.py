"""The command rebuild."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import click

from nightjar.core.numbers import counted_as
from pipelines.commands.console import say
from pipelines.commands.options import jobs_option
from pipelines.execution import checks as verify
from pipelines.execution.headline import report_stages
from pipelines.execution.headline import stale as stale_scores
from pipelines.execution.results import GOOD
from pipelines.graph import graph as graphs
from pipelines.graph import leftovers
from pipelines.graph.graph import Graph
from pipelines.process.signals import at_signals, stopped_by_signals


@click.command()
@click.argument("stages", nargs=-1)
@jobs_option
@click.option(
    "--keep-going/--fail-fast",
    default=True,
    show_default=True,
    help="After a failure, go on with what does not depend on it, or end all.",
)
@click.option("--wait", is_flag=True, help="Wait for a rebuild that is running already.")
@click.option("--verbose", "-v", is_flag=True, help="Show every line that the stages write.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON, the progress as errors.")
@stopped_by_signals()
def rebuild(
    stages: tuple[str, ...], jobs: int | None, keep_going: bool, wait: bool, verbose: bool, as_json: bool
) -> None:
    """Rebuild what changed: STAGES and what they need, or everything.

    Stages run side by side as the graph, the memory that they need and the GPU allow (`meta` in dvc.yaml, `rebuild`
    in params.yaml). While it runs, its address shows it in the Prefect UI; afterwards `nightjar ui` does. Without
    Prefect it is not shown. `dvc repro` makes the same files, one stage after the other.

    \b
    Example:
      nightjar rebuild
      nightjar rebuild --jobs 4 evaluate@supernatinst
      nightjar rebuild --fail-fast
    """
    from pipelines.commands import show
    from pipelines.graph import lock_order
    from pipelines.process.lock import rebuild_lock

    root, code = graphs.find_root(), 0
    with rebuild_lock(root, wait):
        whole = graphs.read(root)
        graph = whole.only(stages)
        left = leftovers.find(whole, graph)
        for it in left:
            say(str(it), err=as_json)
        if graph.changed() or verify.failing(root, graph):
            # Here, not above: "Nothing to do" needs none of it, and it takes long to load.
            from pipelines.commands.watched import STATUS, watched
            from pipelines.execution import preflight
            from pipelines.execution.journal import Journal
            from pipelines.rebuild import run

            preflight.check(graph)
            stop = threading.Event()
            parameters = {"targets": list(stages), "jobs": jobs, "wait": False, "keep_going": keep_going}
            journal = Journal(root, run.KIND, parameters)
            with at_signals(stop.set), watched(journal, stop, as_json):
                with show.Progress(graph, graph.changed(), verbose, as_json) as progress:
                    end, results = run.rebuild(whole, stages, jobs, keep_going, journal, stop, progress.tell)
                journal.end(end)
                stale = stale_scores(whole, results.values())
                if as_json:
                    show.as_json(root, [result.facts() for result in results.values()], stale, left)
                else:
                    show.summary(graph, list(results.values()))
                    _scores(graph, [name for name, it in results.items() if it.state in GOOD], stale)
            if end.state != "completed":
                say(f"nightjar: rebuild: {end.message}", err=True)
            code = STATUS[end.state]
        else:
            lock_order.forget(root)
            stale = stale_scores(whole, [])
            if as_json:
                show.as_json(
                    root, [{"stage": name, "state": "unchanged"} for name in graph.stages], stale, left
                )
            else:
                say(f"Nothing to do: {counted_as(len(graph.stages), 'stage')} up to date.")
                _scores(graph, graph.stages, stale)
    raise SystemExit(code)


def _scores(graph: Graph, good: Iterable[str], stale: str) -> None:
    """Print the scores of the report; if it is not among the stages, also those that the stages themselves have."""
    from pipelines.commands import show

    if not report_stages(graph):
        show.scores(graph.root, [graph.stages[name] for name in good])
    show.headline(graph.root, stale)
