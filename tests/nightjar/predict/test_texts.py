"""Texts among the questions of a benchmark: their likelihood beside answers, and systems whose calls are disabled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar import params
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.tool_use.metrics import score
from nightjar.models.engine.loading import load, prepare
from nightjar.models.engine.log_probabilities import text_loss
from nightjar.predict import model_predictor
from nightjar.predict.requests import write_prompts
from tests.nightjar.predict import stage_project
from tests.stages.predict.test_stage import finish

ITEM = "tool_use-untuned"
TEXTS = ["A short text.", "Today is a text that is longer than one window of tokens. " * 4]


def asked() -> list[Question]:
    statements = [
        Question(
            "tool_use", "lama_squad", str(n), {"text": f"The number {n} is"}, ("7",), "lama_squad", "facts"
        )
        for n in range(3)
    ]
    texts = [
        Question("tool_use", "wikitext", str(n), {"title": "T"}, (text,), "wikitext", "language modelling")
        for n, text in enumerate(TEXTS)
    ]
    return [*statements, *texts]


def project(folder: Path, model: Path, **systems: dict[str, Any]) -> Path:
    """The questions above, in windows of 16 tokens."""
    small = {"max_new_tokens": 4, "batch_size": 2, "precision": "float32"}
    return stage_project.project(folder, model, asked(), small, systems, encoding={"max_source_length": 16})


def test_the_answer_to_a_text_is_its_likelihood(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path, tiny_model)
    finish(folder, monkeypatch, ITEM)
    rows = stage_project.predictions(folder, "tool_use", "untuned")
    found = {(row["task_id"], row["id"]): row for row in rows}
    assert list(found) == [question.key for question in asked()]
    prepare(seed=42, threads=1)
    lm = load(tiny_model)
    for place, text in enumerate(TEXTS):
        row = found["wikitext", str(place)]
        ids = lm.tokenizer.encode(text)
        (answer,) = row["answers"]
        nll, tokens = answer.split()
        assert float(nll) == pytest.approx(text_loss(lm, ids, 16), rel=1e-5) and int(tokens) == len(ids) - 1
        assert (row["prompt"], row["prompt_tokens"], row["new_tokens"]) == (text, len(ids), 0)
        assert row["calls"] == [] and row["text"] == ""
    assert len(lm.tokenizer.encode(TEXTS[1])) > 32
    scores = score(asked(), [found[question.key]["answers"] for question in asked()])
    assert (scores["tokens"][3:] > 0).all()


def test_texts_have_no_line_among_the_prompts(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, tiny_model)
    monkeypatch.chdir(tmp_path)
    assert write_prompts(params.load(), "tool_use", Path("prompts.jsonl")) == 3
    assert {json.loads(line)["task"] for line in Path("prompts.jsonl").read_text().splitlines()} == {
        "lama_squad"
    }


def test_what_a_system_says_of_calls_comes_before_its_recipe(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The untuned weights, once as they are and once with calls disabled."""
    given: list[str] = []
    real = model_predictor.writer_for

    def noted(*arguments: Any) -> Any:
        given.extend(it for it in arguments if isinstance(it, str))
        return real(*arguments)

    monkeypatch.setattr(model_predictor, "writer_for", noted)
    folder = project(tmp_path, tiny_model, disabled={"calls": "disabled"}, steered={})
    for system in ("disabled", "steered"):
        finish(folder, monkeypatch, f"tool_use-{system}")
    assert given == ["disabled", "off"]
