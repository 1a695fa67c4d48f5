"""The stage as a process, on artifacts small enough to score by hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.aggregate import pairs
from nightjar.core import contracts, tables
from nightjar.core.identity import contents
from tests.in_process import refused_stage, run_stage
from tests.questions import question, row_of, write_questions
from tests.stages.rows import instance

ROOT = Path(__file__).parents[3]
ASKED = Path("data/questions/supernatinst")
SYSTEMS = ("untuned", "tk_instruct", "combined", "supervised")


def task(demo: str | None) -> dict[str, Any]:
    examples = [] if demo is None else [{"input": "q", "output": demo, "explanation": None}]
    return {"definition": ["d"], "positive_examples": examples, "negative_examples": []}


def prediction(system: str, row: dict[str, Any], text: str) -> dict[str, Any]:
    names = {key: row[key] for key in ("track", "category", "task_id", "id")}
    calls = [{"tool": "Calculator", "input": "1+1", "result": "2"}] if system == "combined" else []
    return row_of(
        contracts.PREDICTIONS, benchmark="supernatinst", system=system, **names, answers=[text], calls=calls
    )


WORDS = {"track": "default", "category": "Word Analogy"}
ROWS = [
    instance("t1", "t1-0", "big is to small", "cold", **WORDS),
    instance("t1", "t1-1", "warm", "Warm", **WORDS),
    instance("t2", "t2-0", "你好", "hola", "你好", **WORDS | {"track": "xlingual"}),
]


@pytest.fixture()
def project(workdir: Path) -> Path:
    shutil.copy(ROOT / "params.yaml", workdir)
    tasks = {"t1": task("cold."), "t2": task(None)}
    write_questions(ASKED, [question(row, tasks[row["task_id"]]) for row in ROWS])
    file = Path("data/systems/supernatinst.json")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"systems": SYSTEMS}))
    for system in SYSTEMS:
        answered = ROWS[:2] if system == "untuned" else ROWS
        with tables.ArtifactWriter(Path(f"data/predict/supernatinst/{system}")) as writer:
            writer.write(contracts.PREDICTIONS, [prediction(system, row, "cold") for row in answered])
    return workdir


def run() -> subprocess.CompletedProcess[str]:
    return run_stage("evaluate", "supernatinst")


def test_scores_and_facts(project: Path) -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    out = Path("data/evaluate/supernatinst")
    rows = tables.read_rows(out, contracts.INSTANCE_SCORES)
    assert [row["system"] for row in rows[::9]] == ["copy_input", "copy_demo", *SYSTEMS]
    rouge = {(row["system"], row["id"]): row["unscaled"] for row in rows if row["part"] == "rougeL"}
    assert rouge["copy_input", "t1-1"] == rouge["copy_input", "t2-0"] == rouge["copy_demo", "t1-0"] == 1
    assert rouge["copy_demo", "t2-0"] == rouge["untuned", "t2-0"] == 0
    scores = tables.read_rows(out, contracts.SCORES)
    overall = {(row["system"], row["track"]): (row["n"], row["value"]) for row in scores
               if row["level"] == "overall" and row["metric"] == "exact_match"}  # fmt: skip
    assert overall["copy_input", "default"] == (2, 50.0) and overall["copy_input", "xlingual"] == (1, 100.0)
    facts = json.loads(Path("data/metrics/evaluate-supernatinst.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (18, 18, 0)
    assert facts["missing_predictions"] == {"untuned": 1, "tk_instruct": 0, "combined": 0, "supervised": 0}
    compared = {(line["system"], line["baseline"]) for line in facts["comparisons"]}
    assert compared == set(pairs(SYSTEMS, ("copy_input", "copy_demo"))) and len(compared) == 6 + 8
    assert {line["level"] for line in facts["comparisons"]} == {"overall"}
    few = [entry for entry in facts["correlation"] if entry["points"] == 6]
    assert few[-1]["r"] is not None and few[-1]["low"] is few[-1]["high"] is None
    by_level = [row["level"] for row in tables.read_rows(out, contracts.COMPARISONS)]
    assert by_level.count("overall") == by_level.count("category") == len(compared) * 2 * 3
    gains = {(row["system"], row["task_id"]): row for row in tables.read_rows(out, contracts.IMPROVEMENTS)}
    assert len(gains) == 8 and gains["untuned", "t2"]["value"] == -100  # copy_input is right there
    assert {gains["untuned", task]["heuristic"] for task in ("t1", "t2")} == {"copy_input"}


def test_without_any_reference_there_is_nothing_to_score(project: Path) -> None:
    """The stage ends well, so that a rebuild of all benchmarks does; the facts say what the report shows."""
    write_questions(ASKED, [question({**row, "outputs": []}) for row in ROWS])
    done = run()
    assert done.returncode == 0 and "warning: supernatinst: nothing to score: no question" in done.stderr
    facts = json.loads(Path("data/metrics/evaluate-supernatinst.json").read_text())
    assert facts["nothing_to_score"].startswith("supernatinst: nothing to score") and facts["scores"] == {}
    assert facts["missing_predictions"] == {"untuned": 1, "tk_instruct": 0, "combined": 0, "supervised": 0}


def test_a_random_demonstration(project: Path) -> None:
    text = Path("params.yaml").read_text()
    assert "copy_demo: first" in text
    Path("params.yaml").write_text(text.replace("copy_demo: first", "copy_demo: random"))
    assert run().returncode == 0
    rows = tables.read_rows(Path("data/evaluate/supernatinst"), contracts.INSTANCE_SCORES)
    rouge = [row["unscaled"] for row in rows if (row["system"], row["part"]) == ("copy_demo", "rougeL")]
    assert rouge == [1, 0, 0]


def test_same_input_same_bytes(project: Path) -> None:
    outputs = (Path("data/evaluate/supernatinst"), Path("data/metrics"))
    run()
    first = contents(*outputs)
    shutil.rmtree("data/evaluate")
    # Sets have another order in another process.
    subprocess.run([sys.executable, "-m", "stages.evaluate", "supernatinst"], check=True)
    assert contents(*outputs) == first


def test_predictions_of_another_split(project: Path) -> None:
    strange = prediction("combined", instance("t9", "t9-0", "", "", **WORDS), "x")
    with tables.ArtifactWriter(Path("data/predict/supernatinst/combined")) as writer:
        writer.write(contracts.PREDICTIONS, [strange])
    assert "belong to no question" in refused_stage("evaluate", "supernatinst")
    assert not Path("data/evaluate").exists()


def test_a_wrong_name_and_a_wrong_setting(project: Path) -> None:
    refused_stage("evaluate", "sonnets")
    text = Path("params.yaml").read_text()
    Path("params.yaml").write_text(text.replace("copy_demo: first", "copy_demo: last"))
    error = refused_stage("evaluate", "supernatinst")
    assert "benchmarks.supernatinst.copy_demo = 'last' is not allowed" in error
