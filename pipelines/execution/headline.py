"""The scores of the last report, and whether they still hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from nightjar.core.errors import NightjarError
from pipelines.execution import checks
from pipelines.execution.results import Result
from pipelines.graph import graph as graphs
from pipelines.graph.graph import Graph

HEADLINE = Path("data/report/headline.txt")
REPORT = Path("data/report/index.html")


def stale(run: Graph, results: Iterable[Result]) -> str:
    """One line that says why the scores of the last report do not hold after the run `run` with its `results`, and
    which command renews them. Empty if they hold, or if there are none.

    The stage that makes the report decides: it ran or is unchanged in this run, or, where it is not among the stages
    of the run, it is up to date in the whole graph.
    """
    if not any((run.root / file).is_file() for file in (HEADLINE, REPORT)):
        return ""
    ended = {result.stage: result for result in results}
    if name := _maker(run):
        reason = _of_run(name, ended)
    else:
        if any(
            result.state == "stopped" for result in ended.values()
        ):  # its time is short: the graph is not read
            return "Whether the scores of the last report are stale is not known: the rebuild was stopped"
        try:
            whole = graphs.read(run.root)
        except NightjarError as error:
            return f"Whether the scores of the last report are stale is not known: {error}"
        name = _maker(whole)
        if not name:
            return f"Whether the scores of the last report are stale is not known: no stage makes {HEADLINE}"
        reason = _of_graph(name, whole)
    return (
        reason
        and f"The scores of the last report are stale: {reason}. Renew them with: nightjar rebuild {name}"
    )


def _of_run(name: str, ended: Mapping[str, Result]) -> str:
    """Why the scores of the stage `name` are stale, by the results of a run; empty if they are not."""
    result = ended.get(name)
    if result is None or result.state == "stopped":
        return f"the rebuild was stopped before {name} was done"
    if result.state == "skipped":
        cause = ended.get(result.error)
        return f"{result.error} {'was stopped' if cause and cause.state == 'stopped' else 'failed'}"
    return f"{name} failed" if result.state == "failed" else ""


def _of_graph(name: str, whole: Graph) -> str:
    """Why the scores of the stage `name` are stale, by the state of the graph; empty if they are not."""
    if whole.stages[name].state != "up to date":
        return f"{name} is not up to date"
    bad = checks.failing(whole.root, whole.only([name]))
    return f"{bad[0]} failed its checks" if bad else ""


def _maker(graph: Graph) -> str:
    """The stage whose output holds the headline; empty if there is none."""
    for name, stage in graph.stages.items():
        if any(HEADLINE.is_relative_to(out) for out in stage.outs):
            return name
    return ""
