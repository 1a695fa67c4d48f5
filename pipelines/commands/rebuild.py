"""The command rebuild."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from nightjar.core.display import counted_as, duration
from nightjar.core.errors import NightjarError
from pipelines.commands import show
from pipelines.commands.console import say
from pipelines.commands.options import CommandResult, as_json_option, jobs_option
from pipelines.commands.plan import lacking
from pipelines.graph import leftovers
from pipelines.graph import repository as graphs
from pipelines.graph.graph import Graph
from pipelines.process.lock import rebuild_lock
from pipelines.process.signals import stopped_by_signals
from pipelines.project.git import try_git
from pipelines.run import checks
from pipelines.run.report import report_stages
from pipelines.run.report import stale as stale_scores
from pipelines.run.results import GOOD, End, Result
from stages._runtime import history


@click.command()
@click.argument("stages", nargs=-1)
@jobs_option
@click.option(
    "--keep-going/--fail-fast",
    default=True,
    show_default=True,
    help="After a failure, continue with stages that do not depend on it, or stop.",
)
@click.option("--wait", is_flag=True, help="Wait for a rebuild that is running already.")
@click.option("--verbose", "-v", is_flag=True, help="Show every line that the stages write.")
@as_json_option
@stopped_by_signals()
def rebuild(
    stages: tuple[str, ...], jobs: int | None, keep_going: bool, wait: bool, verbose: bool, as_json: bool
) -> None:
    """Run the stages that changed: STAGES and the stages that they need, or all.

    Stages run in parallel as far as graph, memory and GPU allow (`meta` in dvc.yaml, `rebuild` in
    params.yaml). The rebuild is a Prefect flow with a task for each stage. The printed address shows it in
    the Prefect UI; later `nightjar ui` shows it. `dvc repro` makes the same files without Prefect, one
    stage after the other.

    \b
    Example:
      nightjar rebuild
      nightjar rebuild --jobs 4 evaluate@supernatinst
      nightjar rebuild --fail-fast
    """
    root, code = graphs.find_root(), 0
    with rebuild_lock(root, wait):
        full_graph = graphs.read(root)
        graph = full_graph.only(stages)
        leftover = leftovers.find(full_graph, graph)
        for remnant in leftover:
            say(str(remnant), err=as_json)
        if ahead := checks.affected(graph):
            # Here, not above: "Nothing to do" needs none of it, and it takes long to load.
            from pipelines.commands.flow_run import flow_run
            from pipelines.run import preflight

            preflight.check(graph)
            _reachable(full_graph, graph)
            if unchanged := len(graph.stages) - len(ahead):
                counts = f"{counted_as(unchanged, 'stage')} unchanged, {len(ahead)} to look at"
                say(f"{counts}{_about(root, ahead)}.", err=as_json)
            with show.Progress(root, ahead, verbose, as_json) as progress:

                def ended(run_end: End) -> None:
                    progress.close()
                    results = {it.stage: it for it in progress.results}
                    stale = stale_scores(full_graph, results.values())

                    def show_scores(facts: dict[str, Any]) -> None:
                        show.restoring(graph, progress.results)
                        good = [it for it in graph.stages if it not in results or results[it].state in GOOD]
                        _scores(graph, good, stale)

                    CommandResult(_facts(graph, results, stale, leftover), show_scores).say(as_json)
                    if run_end.state != "completed":
                        say(f"nightjar: rebuild: {progress.summary(run_end)}", err=True)
                    elif try_git(root, "cat-file", "-e", "HEAD:./dvc.lock") is None:
                        say(
                            "Commit dvc.lock, so that later versions can be compared with this one.", err=True
                        )

                with flow_run(root, "rebuild", progress.update, ended, full_graph, as_json) as terminal:
                    terminal.flow(targets=list(stages), jobs=jobs, keep_going=keep_going, return_state=True)
                code = terminal.status
        else:
            stale = stale_scores(full_graph, [])

            def show_nothing(facts: dict[str, Any]) -> None:
                say(f"Nothing to do: {counted_as(len(graph.stages), 'stage')} up to date.")
                _scores(graph, graph.stages, stale)

            CommandResult(_facts(graph, {}, stale, leftover), show_nothing).say(as_json)
    raise SystemExit(code)


def _reachable(full_graph: Graph, graph: Graph) -> None:
    """Raise NightjarError if a stage cannot run: hours later the report would be missing."""
    if not (what := graph.blocked()):
        return
    from pipelines.fetch.needs import fetches  # here, not above: it takes long to load

    absent = [one for one in lacking(full_graph, graph) if one.state == "missing"]
    get = fetches(absent) or (absent[0].fix if absent else "supply it")
    raise NightjarError(what, "rebuild", f"{get}; or name the stages to rebuild without it")


def _about(root: Path, ahead: Collection[str]) -> str:
    seconds_of_stage = history.expected(root)
    seconds = sum(seconds_of_stage.get(name, 0.0) for name in ahead)
    return f", about {duration(seconds)}" if seconds and seconds_of_stage.keys() >= set(ahead) else ""


def _facts(
    graph: Graph, results: Mapping[str, Result], stale: str, leftover: Sequence[leftovers.Leftover]
) -> dict[str, Any]:
    stages = [
        results[name].facts() if name in results else {"stage": name, "state": "unchanged"}
        for name in graph.stages
    ]
    return show.summary_of(graph.root, stages, stale, leftover)


def _scores(graph: Graph, good: Iterable[str], stale: str) -> None:
    """Print the scores of the report; if it is not among the stages, also those that the stages themselves have."""
    if not report_stages(graph):
        show.scores(graph.root, [graph.stages[name] for name in good])
    show.headline(graph.root, stale)
