"""The scores of the last report, and whether they still hold."""

from __future__ import annotations

from collections.abc import Iterable

from nightjar.core import paths
from pipelines.graph.graph import Graph
from pipelines.run import checks
from pipelines.run.results import GOOD, Result

HEADLINE = paths.REPORT / "headline.txt"
REPORT = paths.REPORT / "index.html"


def report_stages(graph: Graph) -> list[str]:
    """The stage that makes the report; a graph may have none."""
    return [stage.name for stage in graph.stages.values() if any(map(HEADLINE.is_relative_to, stage.outs))]


def stale(whole: Graph, results: Iterable[Result]) -> str:
    """One line that says why the scores of the last report may not hold after a run with these `results`, and which
    command renews them. Empty if they hold, or if there are none.

    `whole` is the graph before the run. The scores hold if the stage that makes the report and those before it ended
    well in the run, or were up to date before it.
    """
    if not any((whole.root / file).is_file() for file in (HEADLINE, REPORT)):
        return ""
    if not (made := report_stages(whole)):
        return f"Whether the scores of the last report are stale is not known: no stage makes {HEADLINE}"
    ended = {result.stage: result for result in results}
    before = whole.only(made)
    failing = checks.failing(whole.root, before)
    for name, stage in before.stages.items():
        reason = ""
        if name in ended:
            state = ended[name].state
            reason = "" if state in GOOD else f"{name} {'failed' if state == 'failed' else f'was {state}'}"
        elif stage.state != "up to date":
            reason = f"{name} was not up to date"
        elif name in failing:
            reason = f"{name} failed its checks"
        if reason:
            renew = f"Renew them with: nightjar rebuild {made[0]}"
            return f"The scores of the last report may be stale: {reason}. {renew}"
    return ""
