"""The benchmark through the stages ingest, questions and evaluate, with ranked lists that no model made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.benchmarks.records import read_questions
from nightjar.core import contracts, tables
from tests.in_process import run_stage
from tests.nightjar.benchmarks.benchmark_project import configure, write_predictions
from tests.nightjar.benchmarks.protoqa.files import put, row
from tests.tiny_models import sentence_encoder

BENCHMARK = "protoqa"
ANSWERS = {"best": ["rain", "snow"], "second": ["snow", "hail"]}


@pytest.fixture()
def project(workdir: Path) -> Path:
    """The sample with the benchmark, 21 questions, two systems and a tiny sentence encoder."""
    configure(workdir, BENCHMARK, ANSWERS, encoder="encoder")
    (workdir / "source").mkdir()
    put(workdir / "source" / "dev.crowdsourced.jsonl", [*(row(f"q{number}") for number in range(21)), "{"])
    sentence_encoder(workdir / "encoder")
    return workdir


def test_from_files_to_scores(project: Path) -> None:
    for stage in ("ingest", "questions"):
        done = run_stage(stage, BENCHMARK)
        assert done.returncode == 0, done.stderr
    facts = json.loads(Path(f"data/metrics/ingest-{BENCHMARK}.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (22, 21, 1)
    asked = read_questions(Path("data/questions") / BENCHMARK)
    assert len(asked) == 21
    for system, answers in ANSWERS.items():
        write_predictions(system, asked, lambda _, answers=answers: answers)
    assert run_stage("systems").returncode == 0
    done = run_stage("evaluate", BENCHMARK)
    assert done.returncode == 0, done.stderr
    rows = tables.read_rows(Path("data/evaluate", BENCHMARK), contracts.SCORES)
    found = {(row["system"], row["metric"]): row for row in rows if row["level"] == "overall"}
    assert found["best", "wordnet/max_incorrect@3"]["value"] == 1.0
    assert found["second", "exact_match/max_answers@1"]["value"] == pytest.approx(40 / 60, abs=1e-12)
    assert found["second", "exact_match/max_incorrect@1"]["value"] == pytest.approx(0.4, abs=1e-12)
    assert found["second", "exact_match/max_answers@1"]["low"] is not None
    assert found["best", "encoder/unlimited"]["value"] == 1.0
    assert 0.4 <= found["second", "encoder/unlimited"]["value"] <= 1.0
    assert "encoder" in json.loads(Path(f"data/metrics/evaluate-{BENCHMARK}.json").read_text())["inputs"]
    matches = tables.read_rows(Path("data/evaluate", BENCHMARK), contracts.MATCHES)
    assert len(matches) == 21 * 2 * 2 * 5, "questions, systems, answers, similarities"
    of = {(row["system"], row["rank"]): (row["cluster"], row["closest"]) for row in matches
          if (row["id"], row["similarity"]) == ("q7", "exact_match")}  # fmt: skip
    rain, snow = ("q7.rain",) * 2, ("q7.snow",) * 2
    assert of == {("best", 1): rain, ("best", 2): snow, ("second", 1): snow, ("second", 2): (None, None)}
