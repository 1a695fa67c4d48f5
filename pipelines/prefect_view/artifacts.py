"""What a run shows in the Prefect UI beside its states: artifacts, each with a key that keeps its history.

None of them may fail what was computed: where the server does not take one, the log says so.
"""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect import get_run_logger
from prefect.artifacts import (
    create_image_artifact,
    create_link_artifact,
    create_markdown_artifact,
    create_table_artifact,
)
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from nightjar.core import history
from nightjar.core.json_text import recorded
from pipelines.execution import checks as verify
from pipelines.execution.headline import HEADLINE, REPORT, stale
from pipelines.graph import describe
from pipelines.graph.graph import Graph, Stage
from pipelines.graph.keys import CHECK, PROGRESS
from pipelines.history import scores
from pipelines.prefect_view import watch
from pipelines.prefect_view.progress import Progress, shown

if TYPE_CHECKING:
    from pipelines.execution.results import Result

# Where the project's server hands the report out (see server_app).
REPORT_PATH = "/report/"


def facts(root: Path, stage: Stage) -> dict[str, Any]:
    """What a stage's metrics files say of its rows; what they do not say is missing."""
    found: dict[str, Any] = {}
    for path in stage.metrics:
        values = recorded(root / path)
        found.update({key: values[key] for key in ("rows_in", "rows_out", "rows_rejected") if key in values})
    return found


def progress(root: Path, stage: Stage) -> contextlib.AbstractContextManager[Progress]:
    """While the block lasts, the progress of a stage that runs; its lines are told to what the block is given."""
    expected = history.expected(root).get(stage.name)
    return shown(PROGRESS + stage.key, stage.name, expected)


def outcome(root: Path, stage: Stage, result: Result) -> None:
    """The artifact of a stage: what became of it, its rows, its outputs and its log."""
    known = facts(root, stage) if result.state in ("ran", "cached") else {}
    row = {
        "state": result.state,
        "rows in": known.get("rows_in", ""),
        "rows out": known.get("rows_out", ""),
        "rejected": known.get("rows_rejected", ""),
        "seconds": round(result.seconds, 1),
        "why": result.why,
        "error": result.error,
    }
    lines = [f"**{stage.name}** {stage.description}"]
    lines += [f"- output: `{path}`" for path in stage.outs]
    lines += [f"- log: `{result.log}`"] if result.log else []
    table = [{name: value for name, value in row.items() if value != ""}]
    _send(create_table_artifact, stage.key, table=table, description="\n\n".join(lines))


def checks(stage: Stage, verdict: verify.Verdict) -> None:
    """The artifact of the checks of what a stage made: each finding with some of its rows."""
    from nightjar.core.checks import MOST_ROWS  # here, not above: Arrow takes long to load

    told = f"What the checks of **{stage.name}** found, with up to {MOST_ROWS} rows each"
    _send(create_table_artifact, CHECK + stage.key, table=verify.table(stage.name, verdict), description=told)


def report(graph: Graph, results: Mapping[str, Result]) -> None:
    """The flow's own artifacts: the result of every stage, the headline of the report if it holds, and a link to it."""
    root = graph.root
    lines = [f"| {name} | {result.state} | {result.seconds:.1f} |" for name, result in results.items()]
    table = "\n".join(["| stage | state | seconds |", "| --- | --- | ---: |", *lines])
    headline = ""
    if told := stale(graph, results.values()):
        headline = f"{told}\n\n"
    elif (root / HEADLINE).is_file():
        text = (root / HEADLINE).read_text(encoding="utf-8", errors="replace").strip()
        headline = f"```\n{text}\n```\n\n"
    if link := _report_link(root):
        headline += f"[The report]({link}): `{REPORT.as_posix()}`\n\n"
        about = f"`{REPORT.as_posix()}`, handed out while the project's server runs"
        _send(create_link_artifact, "report-page", link=link, link_text="The report", description=about)
    _send(
        create_markdown_artifact,
        "rebuild",
        markdown=f"## Rebuild {flow_run.name}\n\n{headline}{table}\n",
        description="What became of every stage",
    )


def keep_scores(root: Path, stages: Iterable[Stage]) -> None:
    """Add the scores of this rebuild to their history, and show that."""
    try:
        scores.keep(root, scores.present(root, stages))
    except Exception as error:  # a broken table is for the checks to tell
        get_run_logger().warning("scores not kept: %s", error)
    score_history(root)


def _report_link(root: Path) -> str:
    """Where a browser finds the report; empty if there is none."""
    api = os.environ.get("PREFECT_API_URL", "")
    if not api or not (root / REPORT).is_file():
        return ""
    return api.removesuffix("/api") + REPORT_PATH + REPORT.name


def score_history(root: Path) -> None:
    """The scores of the last rebuilds and nightlies, as a table and as a plot; nothing where there are none."""
    try:
        runs = scores.history(root)
        if not runs:
            return
        from pipelines.prefect_view.score_plot import png

        image = "data:image/png;base64," + base64.b64encode(png(runs)).decode()
    except Exception as error:  # what was computed stands, whatever ails its picture
        get_run_logger().warning("no history of scores: %s", error)
        return
    told = "The scores of the last rebuilds and nightlies, with intervals"
    table = scores.table(runs)
    _send(create_table_artifact, "scores-history", table=table, description=f"{told}, the latest first")
    _send(create_image_artifact, "scores-plot", image_url=image, description=told)


def tag_run(root: Path) -> None:
    """Mark the flow run of this process with the project, the commit and the profile."""
    if watch.away():
        return
    try:
        with get_client(sync_client=True) as client:
            known = client.read_flow_run(flow_run.id).tags
            client.update_flow_run(flow_run.id, tags=list(dict.fromkeys([*known, *describe.tags(root)])))
    except Exception as error:
        get_run_logger().warning("no tags: %s", error)


def _send(create: Callable[..., Any], key: str, **what: Any) -> None:
    """Make the artifact; where the server is away no stage waits for it."""
    if watch.away():
        get_run_logger().warning("no artifact %s: the server is away", key)
        return
    try:
        create(key=key, **what)
    except Exception as error:
        get_run_logger().warning("no artifact %s: %s", key, error)
