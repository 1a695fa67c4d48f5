"""The scores that a rebuild or a nightly made, as a page of Markdown.

A table `scores` (core/contracts.py) among a stage's outputs is an evaluation; a repository without one has no scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nightjar.benchmarks.score_table import Row, ScoreTable
from pipelines.graph.graph import Stage
from pipelines.project.text import table


def read_scores(root: Path, stages: Iterable[Stage]) -> ScoreTable:
    """Return the scores over whole benchmarks in the stages' outputs."""
    folders = [path for stage in stages for out in stage.outs if (path := root / out / "scores").is_dir()]
    rows: list[dict[str, Any]] = []
    for folder in folders:
        # Here, not above: Arrow takes long to load, and a repository without tables does without it.
        from nightjar.core import contracts, tables

        rows += tables.read_rows(folder.parent, contracts.SCORES)
    return ScoreTable(rows).overall()


def page(scores: ScoreTable, earlier: Iterable[Row]) -> list[str]:
    """Return a table in Markdown for each benchmark: the main metrics, with their change since `earlier`."""
    lines = []
    for benchmark, rows in scores.first_metrics().by_system(earlier).items():
        lines += [f"### {benchmark}", "", *table(rows), ""]
    return lines
