"""The benchmark through the stages ingest, questions and evaluate, with ranked lists that no model made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.files import read_questions
from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from tests.in_process import run_stage
from tests.nightjar.benchmarks.protoqa.files import put, row
from tests.tiny_models import sentence_encoder

ROOT = Path(__file__).parents[4]
BENCHMARK = "protoqa"
ANSWERS = {"best": ["rain", "snow"], "second": ["snow", "hail"]}


@pytest.fixture()
def project(workdir: Path) -> Path:
    """The sample profile with the benchmark, 21 questions, two systems and a tiny sentence encoder."""
    values = read_yaml(ROOT / "params.yaml")
    code = f"nightjar/benchmarks/{BENCHMARK}"
    values["ingest"][BENCHMARK] = {"path": "source", "code": code, "encodings": {}}
    values["benchmarks"][BENCHMARK] = {"code": code, "data": f"data/ingest/{BENCHMARK}", "split": "data/none"}
    values["benchmarks"][BENCHMARK]["encoder"] = "encoder"
    values["predict"][BENCHMARK] = dict(values["predict"]["tool_use"], stop=["\n"])
    systems = values["predict"]["systems"]
    for name in [name for name in systems if name.startswith(f"{BENCHMARK}-")]:
        del systems[name]
    for name in ANSWERS:
        own = {
            "benchmark": BENCHMARK,
            "system": name,
            "kind": "model",
            "weights": "models/base/language_model",
        }
        own |= dict.fromkeys(("evidence", "tools"), "data/none")
        systems[f"{BENCHMARK}-{name}"] = own
    (workdir / "params.yaml").write_text(json.dumps(values))
    (workdir / "source").mkdir()
    put(workdir / "source" / "dev.crowdsourced.jsonl", [*(row(f"q{number}") for number in range(21)), "{"])
    shutil.copytree(ROOT / code, workdir / code)
    sentence_encoder(workdir / "encoder")
    return workdir


def prediction(system: str, question: Question) -> dict[str, Any]:
    names = ("track", "category", "task_id", "id")
    told = {"prompt": "p", "prompt_sha256": "0", "prompt_tokens": 1, "new_tokens": 1, "model_sha256": "0"}
    told |= {"answers": ANSWERS[system], "text": "", "calls": [], "adapter_sha256": None}
    return {
        "benchmark": BENCHMARK,
        "system": system,
        **{name: getattr(question, name) for name in names},
        **told,
    }


def test_from_files_to_scores(project: Path) -> None:
    for stage in ("ingest", "questions"):
        done = run_stage(stage, BENCHMARK)
        assert done.returncode == 0, done.stderr
    facts = json.loads(Path(f"data/metrics/ingest-{BENCHMARK}.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (22, 21, 1)
    asked = read_questions(Path("data/questions") / BENCHMARK)
    assert len(asked) == 21
    for system in ANSWERS:
        with tables.ArtifactWriter(Path("data/predict", BENCHMARK, system)) as writer:
            writer.write(contracts.PREDICTIONS, [prediction(system, one) for one in asked])
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
