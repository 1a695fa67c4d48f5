"""The benchmark of `nightjar score`: its pairs are of all tasks, and its plain bootstrap agrees with the command's."""

from __future__ import annotations

from pathlib import Path

from bench import score
from nightjar.benchmarks.score import score_files
from nightjar.core.json_text import parse

SAMPLE = Path(__file__).parents[2] / "data/sample/natural_instructions"


def test_pairs_and_intervals(tmp_path: Path) -> None:
    made = list(score.pairs(SAMPLE, 2000))
    assert made == list(score.pairs(SAMPLE, 2000)) and len({one["id"] for one, _ in made}) == 2000
    for name, rows in zip(("r", "p"), zip(*made, strict=True), strict=True):
        score.write(tmp_path / f"{name}.jsonl", list(rows))
    details = tmp_path / "details.jsonl"
    result = score_files("supernatinst", tmp_path / "p.jsonl", tmp_path / "r.jsonl", details)
    assert result["n"] == 2000 and 20 < result["metrics"]["exact_match"] < 80
    assert len(result["by_task"]) == len({one["task_id"] for one, _ in made}) > 20
    rows = [parse(line) for line in details.read_bytes().splitlines()]
    largest = score.largest_error(rows, result["intervals"])
    assert 0 < largest < 1, "with few instances an end jumps from value to value"
