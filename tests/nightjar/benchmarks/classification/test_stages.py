"""The benchmark through the stages ingest, questions and evaluate, with predictions that were not made by a model."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.classification.published import EIGHT
from nightjar.benchmarks.classification.tasks import names
from nightjar.benchmarks.files import read_questions
from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from tests.in_process import run_stage

# The tasks of the sample: all but the pairs.
SAMPLED = (*EIGHT, "fever")

ROOT = Path(__file__).parents[4]
BENCHMARK = "classification"
SYSTEMS = ("first", "right")


@pytest.fixture()
def project(workdir: Path) -> Path:
    """The sample profile with the benchmark and two systems; `first` always gives the task's first label."""
    values = read_yaml(ROOT / "params.yaml")
    values["benchmarks"][BENCHMARK] = {
        "code": f"nightjar/benchmarks/{BENCHMARK}",
        "data": f"data/ingest/{BENCHMARK}",
        "split": "data/none",
        "encoder": "data/none",
        "questions_per_task": 21,
    }
    values["predict"][BENCHMARK] = dict(values["predict"]["tool_use"], stop=["\n\n"])
    for name in values["predict"]["systems"].copy():
        if name.startswith(f"{BENCHMARK}-"):
            del values["predict"]["systems"][name]
    for name in SYSTEMS:
        own = {
            "benchmark": BENCHMARK,
            "system": name,
            "kind": "model",
            "weights": "models/base/language_model",
        }
        own |= dict.fromkeys(("evidence", "tools"), "data/none")
        values["predict"]["systems"][f"{BENCHMARK}-{name}"] = own
    (workdir / "params.yaml").write_text(json.dumps(values))
    shutil.copytree(ROOT / "data/sample" / BENCHMARK, workdir / "data/sample" / BENCHMARK)
    shutil.copytree(ROOT / "nightjar/benchmarks" / BENCHMARK, workdir / "nightjar/benchmarks" / BENCHMARK)
    return workdir


def prediction(system: str, question: Question) -> dict[str, Any]:
    answer = question.references[0] if system == "right" else names(question.task_id)[0]
    return {
        "benchmark": BENCHMARK,
        "system": system,
        "track": question.track,
        "category": question.category,
        "task_id": question.task_id,
        "id": question.id,
        "answers": [answer],
        "text": answer,
        "calls": [],
        "prompt": "p",
        "prompt_sha256": "0",
        "prompt_tokens": 1,
        "new_tokens": 1,
        "model_sha256": "0",
        "adapter_sha256": None,
    }


def test_from_files_to_scores(project: Path) -> None:
    for stage in ("ingest", "questions"):
        done = run_stage(stage, BENCHMARK)
        assert done.returncode == 0, done.stderr
    facts = json.loads(Path(f"data/metrics/ingest-{BENCHMARK}.json").read_text())
    assert facts["rows_in"] == facts["rows_out"] == 8 * 80 + 81 and facts["rows_rejected"] == 0
    asked = read_questions(Path("data/questions") / BENCHMARK)
    assert len(asked) == 9 * 21
    for system in SYSTEMS:
        with tables.ArtifactWriter(Path("data/predict", BENCHMARK, system)) as writer:
            writer.write(contracts.PREDICTIONS, [prediction(system, one) for one in asked])
    done = run_stage("evaluate", BENCHMARK)
    assert done.returncode == 0, done.stderr
    rows = tables.read_rows(Path("data/evaluate", BENCHMARK), contracts.SCORES)
    found = {(row["system"], row["track"], row["metric"]): row for row in rows}
    assert {key[1] for key in found} == set(SAMPLED)
    for task in SAMPLED:
        gold = [one.references[0] for one in asked if one.task_id == task]
        row = found["first", task, "accuracy"]
        assert (
            row["value"] == pytest.approx(100 * gold.count(names(task)[0]) / 21, abs=1e-4)
            and row["low"] is not None
        )
        assert found["right", task, "accuracy"]["value"] == 100
    matthews = {key[:2]: row["value"] for key, row in found.items() if key[2] == "matthews"}
    assert matthews == {("first", "cola"): 0, ("right", "cola"): 100}
    facts = json.loads(Path(f"data/metrics/evaluate-{BENCHMARK}.json").read_text())
    assert facts["scores"]["cola/right"] == {"matthews": 100, "n": 21}
    assert facts["scores"]["sst2/right"] == {"accuracy": 100, "n": 21}
    compared = {(row["track"], row["metric"]): row for row in facts["comparisons"]}
    assert compared["cola", "matthews"]["value"] == 100 and compared["cola", "matthews"]["p"] < 0.01


def test_encodings_come_from_the_parameters(project: Path) -> None:
    path = project / "params.yaml"
    values = read_yaml(path)
    values["ingest"][BENCHMARK]["encodings"] = {"subj.*": "utf-8"}
    path.write_text(json.dumps(values))
    done = run_stage("ingest", BENCHMARK)
    assert done.returncode == 2
    told = r"subj\.subjective:\d+: not utf-8 \(byte \d+ of the line, 0x\w\w\); set ingest.classification.encodings to "
    assert re.search(told + r'\{"subj\.subjective": latin-1\}', done.stderr), done.stderr
