"""The rerank stage on tiny models, against orders computed from plain passes over whole prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.core.config import read_yaml
from nightjar.core.contracts import DEV_QUESTIONS, QUESTIONS, RANKINGS, TRAIN_QUESTIONS
from nightjar.core.identity import contents
from nightjar.core.tables import ArtifactWriter
from nightjar.search.rankings import read_rankings
from stages.rerank import reranking
from tests.in_process import refused_stage, run_stage
from tests.killing import units_added
from tests.nightjar.search.test_reranker import plain
from tests.stages.rows import write_passages
from tests.tiny_models import language_model

ROOT = Path(__file__).parents[3]
NAME = "classification"
TABLES = {"train": TRAIN_QUESTIONS, "dev": DEV_QUESTIONS, "test": QUESTIONS}
PASSAGE_TEXTS = [
    "A warm film.",
    "The plot is thin.",
    "Moths fly.",
    "It rains.",
    "A warm film.",
    "What a night!",
]
SHOWN = [
    {"id": "d1", "text": "good fun", "label": "positive"},
    {"id": "d2", "text": "a bore", "label": "negative"},
]
RANKED = {
    ("train", "sst2", "a"): [1, 0, 2, 4],
    ("dev", "sst2", "b"): [5, 3],
    ("test", "sst2", "c"): [4, 0, 1, 2, 3, 5],
    ("test", "sst2", "d"): [],
    ("train", "subj", "a"): [3, 2],
    ("dev", "subj", "b"): [3, 5, 1],
    ("test", "subj", "c"): [2, 1, 0],
}


def question(side: str, task: str, id: str) -> Question:
    shared = {"demonstrations": SHOWN if task == "sst2" else []}
    parts = {"text": f"{side} asks the {task} of {id}"}
    return Question(NAME, task, id, parts, ("positive",), shared=shared)


def settings(project: Path, **changed: Any) -> None:
    values = read_yaml(ROOT / "params.yaml")
    values["rerank"] |= {"candidates": None, "keep": None, "precision": "float32"} | changed
    (project / "params.yaml").write_text(json.dumps(values))


@pytest.fixture()
def project(workdir: Path) -> Path:
    settings(workdir)
    language_model(workdir / "models/base/language_model")
    with ArtifactWriter(workdir / "data/questions" / NAME) as writer:
        for side, table in TABLES.items():
            for task in ("sst2", "subj"):
                own = [question(*key).row() for key in RANKED if key[:2] == (side, task)]
                writer.write(table, own, part=task)
    write_passages(workdir / "data/index", PASSAGE_TEXTS)
    with ArtifactWriter(workdir / "data/retrieve" / NAME) as writer:
        for (side, task, id), found in RANKED.items():
            row = {"split": side, "task_id": task, "id": id, "passages": found, "scores": [0.5] * len(found)}
            writer.write(RANKINGS, [row], part=f"{task}-{side}-{id}")
    return workdir


def expected(
    project: Path, side: str, task: str, id: str, most: int | None = None
) -> tuple[list[int], list[float]]:
    """Passages and scores by one pass for every whole prompt."""
    benchmark = registry.load_benchmark(NAME)
    one = question(side, task, id)
    numbers = RANKED[side, task, id][:most]
    asked = [one.parts["text"], *(PASSAGE_TEXTS[number] for number in numbers)]
    prefix = benchmark.reranking_prefixes(one)[0]
    vectors = plain(
        project / "models/base/language_model",
        [prefix + benchmark.reranking_prompt(task, text) for text in asked],
    )
    products = (vectors[1:] @ vectors[0]).round(6)
    order = np.argsort(-products, kind="stable")
    weights = np.exp(products[order])
    return [numbers[place] for place in order], (weights / weights.sum()).tolist()


def test_rankings_are_in_the_order_of_plain_passes(project: Path) -> None:
    done = run_stage("rerank", NAME)
    assert done.returncode == 0, done.stderr
    for side in ("train", "dev", "test"):
        found = read_rankings(project / "data/rerank" / NAME, side)  # type: ignore[arg-type]
        assert set(found) == {key[1:] for key in RANKED if key[0] == side}
        for (task, id), (numbers, scores) in found.items():
            passages, probabilities = expected(project, side, task, id)
            assert numbers.tolist() == passages
            assert np.allclose(scores, probabilities, atol=1e-5)
    facts = json.loads((project / f"data/metrics/rerank-{NAME}.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (7, 7, 0)
    # Passages 0 and 4 are one text.
    assert [facts["tasks"][task]["texts"] for task in ("sst2", "subj")] == [4 + 5, 3 + 5]
    assert facts["tasks"]["sst2"]["demonstrations_left_out"] == facts["tasks"]["sst2"]["texts_cut"] == 0
    assert facts["tasks"]["sst2"]["shared_tokens"] > facts["tasks"]["subj"]["shared_tokens"]


def test_candidates_and_those_that_are_kept(project: Path) -> None:
    settings(project, candidates=4, keep=2)
    assert run_stage("rerank", NAME).returncode == 0
    numbers, scores = read_rankings(project / "data/rerank" / NAME, "test")["sst2", "c"]
    passages, probabilities = expected(project, "test", "sst2", "c", 4)
    assert numbers.tolist() == passages[:2] and np.allclose(scores, probabilities[:2], atol=1e-5)


def test_demonstrations_are_left_out_where_most_texts_would_be_cut(project: Path) -> None:
    settings(project, max_tokens=220)
    done = run_stage("rerank", NAME)
    assert "rerank: sst2: 1 of 2 demonstrations are left out, most texts need their tokens" in done.stderr
    facts = json.loads((project / f"data/metrics/rerank-{NAME}.json").read_text())["tasks"]
    assert [facts[task]["demonstrations_left_out"] for task in ("sst2", "subj")] == [1, 0]


def test_one_long_passage_is_cut_and_counted(project: Path) -> None:
    write_passages(project / "data/index", [*PASSAGE_TEXTS[:5], "What a night of rain and moths! " * 100])
    done = run_stage("rerank", NAME)
    assert done.returncode == 0, done.stderr
    facts = json.loads((project / f"data/metrics/rerank-{NAME}.json").read_text())["tasks"]
    assert [facts[task]["demonstrations_left_out"] for task in ("sst2", "subj")] == [0, 0]
    assert [facts[task]["texts_cut"] for task in ("sst2", "subj")] == [1, 1]
    assert "rerank: sst2: texts cut to 512 tokens, with 2 demonstrations: 1 of 9" in done.stderr


def test_a_run_that_was_killed_resumes_with_the_same_bytes(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranking, "TEXTS_PER_UNIT", 3)
    assert run_stage("rerank", NAME).returncode == 0
    output = project / "data/rerank" / NAME
    whole = contents(output)
    (output / "rejected.parquet").unlink()
    with units_added(kill_after=4):
        run_stage("rerank", NAME)
    assert not (output / "rejected.parquet").exists()
    with units_added() as added:
        done = run_stage("rerank", NAME)
    assert done.returncode == 0, done.stderr
    assert "12 of 17 texts were done before" in done.stderr and added == [4, 5]
    assert contents(output) == whole


def test_a_question_without_a_ranking(project: Path) -> None:
    (project / "data/retrieve" / NAME / "rankings/subj-test-c.parquet").unlink()
    what = f"data/retrieve/{NAME}: no ranking of the question c of subj; run: nightjar rebuild retrieve"
    assert what in refused_stage("rerank", NAME)
