"""python -m stages.report: data/report, one page of scores, facts and tool calls, and the same as Markdown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from nightjar.core import contracts, harness
from nightjar.core.files import METRICS, replace, temporary_sibling
from nightjar.core.tables import read_rows
from stages.report import answers, calls, contamination, facts, gains, headline, page, results

OUT = Path("data/report")
SCORED = Path("data/evaluate/supernatinst")
AUGMENTED, PREDICTED = Path("data/augment"), Path("data/predict")
CORPUS, SPLIT, OVERLAPS = Path("data/ingest/corpus"), Path("data/split"), Path("data/contamination")
TOOLS = ("calculator", "calendar")


def run(stage: harness.Stage) -> None:
    stage.reads(METRICS, SCORED, *(AUGMENTED / tool for tool in TOOLS), CORPUS, SPLIT, OVERLAPS)
    scores = results.read(SCORED)
    nodes = facts.read(METRICS)
    wanted = ["evaluate@supernatinst", "contamination", *(f"augment@{tool}" for tool in TOOLS)]
    leading = facts.leading_to(wanted, facts.edges(nodes))
    nodes = [node for node in nodes if node.name in leading]
    tools = []
    for tool in TOOLS:
        rows = read_rows(AUGMENTED / tool, contracts.CANDIDATES)
        threshold = getattr(stage.params.augment, tool).filter_threshold
        tools.append(calls.summarise(tool, threshold, rows, calls.read_texts(CORPUS, SPLIT, rows)))
    entries = headline.of(scores)
    given = answers.read(PREDICTED, SCORED, SPLIT, stage.params.seed)
    stage.reads(*(PREDICTED / f"supernatinst-{system}" for system in given.counts))
    files = {
        **page.build(
            scores, nodes, tools, gains.read(SCORED), contamination.read(OVERLAPS), stage.params, given
        ),
        "headline.json": json.dumps(entries, indent=2) + "\n",
    }

    _publish(files)
    stage.count(len(entries), len(entries))
    stage.details["files"] = sorted(files)
    stage.writes(OUT)


def _publish(files: Mapping[str, str]) -> None:
    """Write all files or none."""
    temporary = temporary_sibling(OUT)
    temporary.mkdir()
    try:
        for name, text in files.items():
            (temporary / name).write_text(text, encoding="utf-8")
        replace(temporary, OUT)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


if __name__ == "__main__":
    harness.main("report", run, packages=("jinja2",))
