"""What a rebuild shows in the Prefect UI beside its states: artifacts, each with a key that keeps its history.

None of them may fail what was computed: where the server does not take one, the log says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.runtime import flow_run

from pipelines import verify, watch
from pipelines.graph import Stage
from pipelines.show import HEADLINE, REPORT
from stages.checks import MOST_ROWS

if TYPE_CHECKING:
    from pipelines.results import Result


def artifact_key(stage: str) -> str:
    """The key of a stage's artifact: lowercase letters, digits and dashes, e.g. ingest-natural-
    instructions.
    """
    return re.sub(r"[^a-z0-9]+", "-", stage.lower()).strip("-") or "stage"


def facts(root: Path, stage: Stage) -> dict[str, Any]:
    """What a stage's metrics files say of its rows; what they do not say is missing."""
    found: dict[str, Any] = {}
    for path in stage.metrics:
        try:
            values = json.loads((root / path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(values, dict):
            found.update(
                {key: values[key] for key in ("rows_in", "rows_out", "rows_rejected") if key in values}
            )
    return found


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
    _table(artifact_key(stage.name), table, "\n\n".join(lines))


def checks(stage: Stage, verdict: verify.Verdict) -> None:
    """The artifact of the checks of what a stage made: each finding with some of its rows."""
    told = f"What the checks of **{stage.name}** found, with up to {MOST_ROWS} rows each"
    _table(f"check-{artifact_key(stage.name)}", verify.table(stage.name, verdict), told)


def report(root: Path, results: Mapping[str, Result]) -> None:
    """The flow's own artifact: the headline of the report, where it lies, and what became of every stage."""
    lines = [f"| {name} | {result.state} | {result.seconds:.1f} |" for name, result in results.items()]
    table = "\n".join(["| stage | state | seconds |", "| --- | --- | ---: |", *lines])
    headline = ""
    if (root / HEADLINE).is_file():
        text = (root / HEADLINE).read_text(encoding="utf-8", errors="replace").strip()
        headline = f"```\n{text}\n```\n\nThe report: `{REPORT.as_posix()}`\n\n"
    _tell(
        create_markdown_artifact,
        key="rebuild",
        markdown=f"## Rebuild {flow_run.name}\n\n{headline}{table}\n",
    )


def _table(key: str, table: list[dict[str, Any]], description: str) -> None:
    _tell(create_table_artifact, key=key, table=table, description=description)


def _tell(create: Callable[..., Any], **artifact: Any) -> None:
    """Make the artifact; where the server is away no stage waits for it."""
    if watch.away():
        get_run_logger().warning("no artifact %s: the server is away", artifact["key"])
        return
    try:
        create(**artifact)
    except Exception as error:
        get_run_logger().warning("no artifact %s: %s", artifact["key"], error)
