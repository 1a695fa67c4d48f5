"""The command rebuild."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import click

from pipelines.commands.console import say
from pipelines.commands.options import jobs_option
from pipelines.execution import checks as verify
from pipelines.execution.headline import stale as stale_scores
from pipelines.graph import graph as graphs
from pipelines.graph import leftovers
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
    from pipelines.process.lock import rebuild_lock

    root = graphs.find_root()
    with rebuild_lock(root, wait):
        code = _rebuild(root, stages, jobs, keep_going, verbose, as_json)
    raise SystemExit(code)


def _rebuild(
    root: Path, stages: tuple[str, ...], jobs: int | None, keep_going: bool, verbose: bool, as_json: bool
) -> int:
    """Rebuild under the rebuild lock; returns the exit status."""
    from pipelines.commands import show
    from pipelines.graph import lock_order

    whole = graphs.read(root)
    graph = whole.only(stages)
    left = leftovers.find(whole, graph)
    for it in left:
        say(str(it), err=as_json)
    if not graph.changed() and not verify.failing(root, graph):
        lock_order.forget(root)
        stale = stale_scores(whole, [])
        if as_json:
            show.as_json(root, [{"stage": name, "state": "unchanged"} for name in graph.stages], stale, left)
            return 0
        say(f"Nothing to do: {len(graph.stages)} stages are up to date.")
        show.headline(root, stale)
        return 0
    from pipelines.execution import preflight

    preflight.check(graph)
    return _run(whole, stages, jobs, keep_going, verbose, as_json, left)


def _run(
    whole: graphs.Graph,
    stages: tuple[str, ...],
    jobs: int | None,
    keep_going: bool,
    verbose: bool,
    as_json: bool,
    left: Sequence[leftovers.Leftover],
) -> int:
    """Run the stages and show them; returns the exit status."""
    from pipelines.commands import show
    from pipelines.commands.watched import STATUS, watched
    from pipelines.execution.journal import Journal
    from pipelines.rebuild import run

    root, graph, stop = whole.root, whole.only(stages), threading.Event()
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
            show.summary(list(results.values()))
            show.headline(root, stale)
    if end.state != "completed":
        say(f"nightjar: rebuild: {end.message}", err=True)
    return STATUS[end.state]
