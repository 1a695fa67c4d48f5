"""The report of a project in a run: whether its scores hold, and what a run shows in the Prefect UI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nightjar.core import paths
from nightjar.core.json_text import recorded
from pipelines.graph.graph import Graph
from pipelines.project.names import CHECK
from pipelines.run import checks
from pipelines.run.results import GOOD, Result

if TYPE_CHECKING:
    from pipelines.serving.session import Session

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


# Where the project's server serves the report (see server_app).
REPORT_PATH = "/report/"
COUNTS = {"rows_in": "rows in", "rows_out": "rows out", "rows_rejected": "rejected"}


class Artifacts:
    """Adds the artifacts of a rebuild to its flow run; `graph` is the whole graph before it."""

    def __init__(self, graph: Graph, session: Session) -> None:
        self._graph, self._session = graph, session

    def add(self, result: Result) -> None:
        """Add those of a stage that ended: its state, rows, outputs and log, and what its checks found."""
        if not result.ended:
            return
        stage = self._graph.stages[result.stage]
        row: dict[str, Any] = {"state": result.state}
        if result.state in GOOD:
            for path in stage.metrics:
                facts = recorded(self._graph.root / path)
                row |= {column: facts[name] for name, column in COUNTS.items() if name in facts}
        row |= {"seconds": round(result.seconds, 1), "why": result.why, "error": result.error}
        lines = [f"**{stage.name}** {stage.description}", *(f"- output: `{path}`" for path in stage.outs)]
        lines += [f"- log: `{result.log}`"] if result.log else []
        table = [{name: value for name, value in row.items() if value != ""}]
        self._session.artifact("table", stage.key, table, "\n\n".join(lines))
        if result.findings:
            from nightjar.core.rules import MOST_ROWS  # here, not above: Arrow takes long to load

            about = f"What the checks of **{stage.name}** found, with up to {MOST_ROWS} rows each"
            self._session.artifact("table", CHECK + stage.key, list(result.findings), about)

    def report(self, results: Mapping[str, Result]) -> None:
        """Add those of the run: the state of every stage, the headline of the report if it holds, and a link to it."""
        root, session = self._graph.root, self._session
        lines = [f"| {name} | {result.state} | {result.seconds:.1f} |" for name, result in results.items()]
        table = "\n".join(["| stage | state | seconds |", "| --- | --- | ---: |", *lines])
        headline = ""
        if reason := stale(self._graph, results.values()):
            headline = f"{reason}\n\n"
        elif (root / HEADLINE).is_file():
            text = (root / HEADLINE).read_text(encoding="utf-8", errors="replace").strip()
            headline = f"```\n{text}\n```\n\n"
        if (root / REPORT).is_file():
            link = f"{self._session.url}{REPORT_PATH}{REPORT.name}"
            page = f"[The report]({link})"
            headline += f"{page}: `{REPORT.as_posix()}`\n\n"
            about = f"`{REPORT.as_posix()}`, served while the project's server runs"
            session.artifact("markdown", "report-page", page, about)
        markdown = f"## Rebuild\n\n{headline}{table}\n"
        session.artifact("markdown", "rebuild", markdown, "The state of every stage")
