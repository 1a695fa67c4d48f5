"""The benchmark through the stages ingest, questions and evaluate, with predictions that were not made by a model."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from nightjar.benchmarks.classification.published import EIGHT
from nightjar.benchmarks.classification.tasks import names
from nightjar.benchmarks.files import read_questions
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from tests.in_process import run_stage
from tests.nightjar.benchmarks.benchmark_project import ROOT, configure, write_predictions

# The tasks of the sample: all but the pairs.
SAMPLED = (*EIGHT, "fever")

BENCHMARK = "classification"
SYSTEMS = ("first", "right")


@pytest.fixture()
def project(workdir: Path) -> Path:
    """The sample with the benchmark and two systems; `first` always gives the task's first label."""
    configure(workdir, BENCHMARK, SYSTEMS, f"data/sample/{BENCHMARK}", questions_per_task=21)
    shutil.copytree(ROOT / "data/sample" / BENCHMARK, workdir / "data/sample" / BENCHMARK)
    return workdir


def test_from_files_to_scores(project: Path) -> None:
    for stage in ("ingest", "questions"):
        done = run_stage(stage, BENCHMARK)
        assert done.returncode == 0, done.stderr
    facts = json.loads(Path(f"data/metrics/ingest-{BENCHMARK}.json").read_text())
    assert facts["rows_in"] == facts["rows_out"] == 8 * 80 + 81 and facts["rows_rejected"] == 0
    asked = read_questions(Path("data/questions") / BENCHMARK)
    assert len(asked) == 9 * 21
    write_predictions("first", asked, lambda one: [names(one.task_id)[0]])
    write_predictions("right", asked, lambda one: [one.references[0]])
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
