"""The report of a project in a run: whether its scores hold, and what a run shows in the Prefect UI."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nightjar.benchmarks.score_table import ScoreTable
from nightjar.core import paths
from nightjar.core.json_text import recorded
from pipelines.graph.graph import Graph, Stage
from pipelines.history import score_tables
from pipelines.project.text import table
from pipelines.run import checks
from pipelines.run.context import RunContext
from pipelines.run.results import GOOD, Result

HEADLINE = paths.REPORT / "headline.txt"
REPORT = paths.REPORT / "index.html"


def report_stages(graph: Graph) -> list[str]:
    """The stage that makes the report; a graph may have none."""
    return [stage.name for stage in graph.stages.values() if any(map(HEADLINE.is_relative_to, stage.outs))]


def stale(graph: Graph, results: Iterable[Result]) -> str:
    """One line that says why the scores of the last report may not hold after a run with these `results`, and which
    command renews them. Empty if they hold, or if there are none.

    `graph` is the graph before the run. The scores hold if the stage that makes the report and those before it ended
    well in the run, or were up to date before it.
    """
    if not any((graph.root / file).is_file() for file in (HEADLINE, REPORT)):
        return ""
    if not (stages := report_stages(graph)):
        return f"Whether the scores of the last report are stale is not known: no stage makes {HEADLINE}"
    ended = {result.stage: result for result in results}
    before = graph.only(stages)
    failing = checks.failing(graph.root, before)
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
            renew = f"Renew them with: nightjar rebuild {stages[0]}"
            return f"The scores of the last report may be stale: {reason}. {renew}"
    return ""


# Where the project's server serves the report (see server_app).
REPORT_PATH = "/report/"
COUNTS = {"rows_in": "rows in", "rows_out": "rows out", "rows_rejected": "rejected"}


def scores_page(context: RunContext, table: ScoreTable, earlier: ScoreTable) -> list[str]:
    """Return what the page of a run begins with: the link to the report, and the scores with their change."""
    lines = []
    if (context.root / REPORT).is_file():
        lines += [f"[The report]({context.url}{REPORT_PATH}{REPORT.name}): `{REPORT.as_posix()}`", ""]
    return [*lines, *score_tables.page(table, earlier.rows)]


class Artifacts:
    """Adds the artifacts of a rebuild to its flow run; `graph` is the whole graph before it."""

    def __init__(self, graph: Graph, context: RunContext) -> None:
        self._graph, self._context = graph, context
        self._earlier = self._scores(graph.stages.values())

    def add(self, result: Result) -> None:
        """Add what the checks of a stage that ended found, if they found something."""
        if result.ended and result.findings:
            from nightjar.core.rules import MOST_ROWS  # here, not above: Arrow takes long to load

            about = f"What the checks of **{result.stage}** found, with up to {MOST_ROWS} rows each"
            key = re.sub(r"[^a-z0-9]+", "-", f"check-{result.stage.lower()}").strip("-")
            self._context.artifact("table", key, list(result.findings), about)

    def report(self, graph: Graph, results: Mapping[str, Result]) -> None:
        """Add the page of the run: the scores of the stages of `graph` that are good, and the state of every stage."""
        good = [it for name, it in graph.stages.items() if name not in results or results[name].state in GOOD]
        # After a stop time is short, and the rebuild that resumes shows them.
        score_table = ScoreTable([]) if self._context.stop.is_set() else self._scores(good)
        reason = stale(self._graph, results.values())
        lines = [*scores_page(self._context, score_table, self._earlier), reason, "", "### Stages", ""]
        lines += table([self._row(result) for result in results.values()])
        about = "The scores after the rebuild, their change, and the state of every stage"
        self._context.artifact("markdown", "rebuild", "\n".join(lines) + "\n", about)

    def _scores(self, stages: Iterable[Stage]) -> ScoreTable:
        try:
            return score_tables.read_scores(self._graph.root, stages)
        except Exception as error:  # a broken table is an error of the checks
            self._context.log(f"no scores: {error}", "warning")
            return ScoreTable([])

    def _row(self, result: Result) -> dict[str, str]:
        facts: dict[str, Any] = {}
        for path in self._graph.stages[result.stage].metrics if result.state in GOOD else ():
            facts |= recorded(self._graph.root / path)
        counts = {column: str(facts.get(name, "")) for name, column in COUNTS.items()}
        row = {"stage": result.stage, "state": result.state, "seconds": f"{result.seconds:.1f}", **counts}
        return row | {"why": result.error or result.why, "log": result.log and f"`{result.log}`"}
