"""What a rebuild shows in the Prefect UI beside its states: artifacts, each with a key that keeps its history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nightjar.core.json_text import recorded
from pipelines.graph.graph import Graph
from pipelines.graph.keys import CHECK
from pipelines.run.headline import HEADLINE, REPORT, stale
from pipelines.run.results import GOOD, Result

if TYPE_CHECKING:
    from pipelines.flows import Shown

# Where the project's server serves the report (see server_app).
REPORT_PATH = "/report/"
COUNTS = {"rows_in": "rows in", "rows_out": "rows out", "rows_rejected": "rejected"}


class Artifacts:
    """Adds the artifacts of a rebuild to its flow run; `graph` is the whole graph before it."""

    def __init__(self, graph: Graph, shown: Shown) -> None:
        self._graph, self._shown = graph, shown

    def tell(self, result: Result) -> None:
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
        self._shown.artifact("table", stage.key, table, "\n\n".join(lines))
        if result.findings:
            from nightjar.core.checks import MOST_ROWS  # here, not above: Arrow takes long to load

            about = f"What the checks of **{stage.name}** found, with up to {MOST_ROWS} rows each"
            self._shown.artifact("table", CHECK + stage.key, list(result.findings), about)

    def report(self, results: Mapping[str, Result]) -> None:
        """Add those of the run: the state of every stage, the headline of the report if it holds, and a link to it."""
        root, shown = self._graph.root, self._shown
        lines = [f"| {name} | {result.state} | {result.seconds:.1f} |" for name, result in results.items()]
        table = "\n".join(["| stage | state | seconds |", "| --- | --- | ---: |", *lines])
        headline = ""
        if reason := stale(self._graph, results.values()):
            headline = f"{reason}\n\n"
        elif (root / HEADLINE).is_file():
            text = (root / HEADLINE).read_text(encoding="utf-8", errors="replace").strip()
            headline = f"```\n{text}\n```\n\n"
        if (root / REPORT).is_file():
            link = f"{self._shown.url}{REPORT_PATH}{REPORT.name}"
            page = f"[The report]({link})"
            headline += f"{page}: `{REPORT.as_posix()}`\n\n"
            about = f"`{REPORT.as_posix()}`, served while the project's server runs"
            shown.artifact("markdown", "report-page", page, about)
        markdown = f"## Rebuild\n\n{headline}{table}\n"
        shown.artifact("markdown", "rebuild", markdown, "The state of every stage")
