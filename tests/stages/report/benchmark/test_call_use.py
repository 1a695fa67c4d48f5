"""The calls that were made at test time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.core import contracts, tables
from tests.stages.report.building import MODELS, NAME, SCORED
from tests.stages.report.test_stage import parsed, run, text

PREDICTED = Path("data/predict", NAME)


def scores() -> list[dict[str, Any]]:
    """A row an instance and system: 1 for a right answer."""
    rows = tables.read_rows(SCORED, contracts.INSTANCE_SCORES)
    return [row for row in rows if row["part"] == "exact_match"]


def test_calls_at_test_time_are_counted_and_shown(reported: Path) -> None:
    made = [row for row in tables.read_rows(PREDICTED / "combined", contracts.PREDICTIONS) if row["calls"]]
    right = {row["id"] for row in scores() if row["system"] == "combined" and row["unscaled"]}
    rows = [[cell.strip() for cell in row] for row in parsed(f"{NAME}.html").rows]
    (line,) = [row for row in rows if row[0] == "combined" and row[1] == "yes"]
    with_result = sum(row["calls"][0]["result"] is not None for row in made)
    called = sum(row["id"] in right for row in made)
    assert line[2:7] == [str(number) for number in (208, len(made), len(made), with_result, called)]
    assert 0 < with_result < len(made) and 0 < called < len(made)
    assert [row[3] for row in rows if row[0] in ("untuned", "supervised") and row[1] == "no"] == ["none"] * 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"tool": "Calendar", "input": "2023, <b>", "result": None}, "No call gave a result"),
        (None, "No system called a tool"),
    ],
)
def test_calls_that_are_missing_or_have_no_result(
    project: Path, call: dict[str, Any] | None, words: str
) -> None:
    for system in MODELS:
        rows = tables.read_rows(PREDICTED / system, contracts.PREDICTIONS)
        with tables.ArtifactWriter(PREDICTED / system) as writer:
            made = [row | {"calls": [call] if call and row["calls"] else []} for row in rows]
            writer.write(contracts.PREDICTIONS, made)
    run()
    page = text(f"{NAME}.html")
    assert words in page
