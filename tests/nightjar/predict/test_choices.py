"""The stage on a benchmark whose tasks have choices, against transformers on every whole text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.classification.scoring import BENCHMARK
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_set import Choice, Task
from nightjar.core import contracts, tables
from nightjar.params.profile_values import read_yaml
from tests.nightjar.models.engine.test_log_probabilities import plain
from tests.nightjar.predict import stage_project
from tests.stages.predict.test_stage import finish
from tests.tiny_models import encoder_decoder, sentence_encoder

ITEM = "classification-icl"
DEMONSTRATIONS = [
    {"id": f"d{n}", "text": f"the {word} of the day", "label": label}
    for n, (word, label) in enumerate([("best", "positive"), ("worst", "negative")] * 2)
]


def asked() -> list[Question]:
    tasks = {"sst2": ("negative", "positive"), "cola": ("unacceptable", "acceptable")}
    return [
        Question(
            "classification",
            task,
            f"{task}-{n}",
            {"text": f"number {n} is a " + "very " * n + "fine text", "choices": list(labels)},
            (labels[n % 2],),
            track=task,
            shared={"demonstrations": DEMONSTRATIONS if task == "sst2" else []},
        )
        for task, labels in tasks.items()
        for n in range(4)
    ]


def project(folder: Path, model: Path) -> Path:
    stage_project.project(folder, model, asked(), {"precision": "float32"})
    with tables.ArtifactWriter(folder / "data/questions/classification") as writer:
        writer.write(contracts.QUESTIONS, [one.row() for one in asked()])
        writer.write(contracts.TRAIN_QUESTIONS, [one._replace(id=f"t{one.id}").row() for one in asked()])
    return folder


def predictions(folder: Path, system: str) -> list[dict[str, Any]]:
    return stage_project.predictions(folder, "classification", system)


def test_the_answer_is_the_likeliest_choice(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path, tiny_model)
    stage = finish(folder, monkeypatch, ITEM)
    assert (stage.rows_in, stage.rows_out, stage.details["new_tokens"]) == (8, 8, 0)
    rows = predictions(folder, "icl")
    for question, row in zip(asked(), rows, strict=True):
        sums = {
            choice.answer: plain(tiny_model, row["prompt"], choice.text)
            for choice in BENCHMARK.task(question.task_id).choices
        }
        assert row["answers"] == [max(sums, key=sums.__getitem__)]
        assert (row["text"], row["calls"], row["new_tokens"]) == ("", [], 0)
    assert len({row["answers"][0] for row in rows}) > 1


@pytest.mark.parametrize(
    ("encoder", "weights"),
    [(sentence_encoder, "models/base/sentence_encoder"), (encoder_decoder, "models/t5-base")],
)
def test_neighbours_answer_with_labels_of_training_questions(
    encoder: Callable[[Path], Path],
    weights: str,
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = project(tmp_path, tiny_model)
    encoder(folder / weights)
    values = read_yaml(folder / "params.yaml")
    values["predict"]["systems"]["classification-knn"]["weights"] = weights
    values["predict"]["classification"]["neighbours"] = 1
    (folder / "params.yaml").write_text(json.dumps(values))
    finish(folder, monkeypatch, "classification-knn")
    rows = predictions(folder, "knn")
    # Each question has a training question of the same text.
    assert [row["answers"] for row in rows] == [list(question.references) for question in asked()]
    assert {row["prompt"] for row in rows} == {question.parts["text"] for question in asked()}


def test_the_first_of_equally_likely_choices(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(kind="choose", choices=(Choice("one", " same"), Choice("two", " same")))
    monkeypatch.setitem(BENCHMARK.tasks, "sst2", task)
    folder = project(tmp_path, tiny_model)
    finish(folder, monkeypatch, ITEM)
    assert {row["answers"][0] for row in predictions(folder, "icl")[:4]} == {"one"}
