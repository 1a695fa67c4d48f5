"""`nightjar score`, `compare`, `references` and `prompts` as a user runs them, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli import main
from tests.stages.predict.test_stage import project


def nightjar(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints; it must succeed."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert (ended.value.code, err) == (0, "")
    return out


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_prompts_are_answered_elsewhere_and_the_answers_scored(
    tiny_model: Path, workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(workdir, tiny_model, instances=3)
    same = ("--benchmark", "supernatinst")
    told = json.loads(nightjar(capsys, "prompts", *same, "--output", "prompts.jsonl", "--json"))
    assert told == {"output": "prompts.jsonl", "n": 9}
    assert nightjar(capsys, "references", "--output", "references.jsonl").endswith("9 instances\n")
    asked = lines(workdir / "prompts.jsonl")
    assert [row["id"] for row in asked] == [row["id"] for row in lines(workdir / "references.jsonl")]
    # A stub in the place of a model: right wherever the prompt has the instance number 1. Other keys are its own.
    answers = [
        {**row, "prediction": " Yes.\n" if "Input: number 1 " in row["prompt"] else "no"} for row in asked
    ]
    predictions = write(workdir / "mine.jsonl", answers)
    for references in ((), ("--references", "references.jsonl")):
        given = ("--predictions", predictions, *references, "--samples", "0", "--json")
        result = json.loads(nightjar(capsys, "score", *same, *given))
        assert (result["n"], result["missing"]) == (9, 0)
        assert result["metrics"] == {"exact_match": 33.3333, "rouge1": 33.3333, "rougeL": 33.3333}
