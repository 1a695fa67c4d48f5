"""Readers from questions to predictions: they learn, resume, and refuse what does not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.models.directory.weights import write_checksums
from tests import tiny_models
from tests.conftest import ROOT
from tests.in_process import finish_stage
from tests.killing import units_added
from tests.made_benchmark import BENCHMARK, NAME, changed
from tests.stages.rows import write_passages

TASKS = {"sums": ("odd", "even"), "words": ("short", "rather long")}
SIDES = {
    "train": (contracts.TRAIN_QUESTIONS, 12),
    "dev": (contracts.DEV_QUESTIONS, 6),
    "test": (contracts.QUESTIONS, 8),
}


def inputs(question: Question, passages: Any, form: str) -> list[str]:
    asked = f"{question.parts['question']} is <extra_id_0>"
    return [f"{passage} {asked}" for passage in passages] or [asked]


def demonstrated(question: Question, examples: Any, form: str, words: int | None) -> str:
    shown = [f"{' '.join(it.parts['question'].split()[:words])} is {it.references[0]}" for it in examples]
    return " ".join([*inputs(question, (), form), *shown])


def targets(task: str) -> dict[str, str]:
    return {name: f"<extra_id_0> {name} <extra_id_1>" for name in TASKS[task]}


def asked(task: str, side: str, number: int) -> Question:
    answer = TASKS[task][number % 2]
    letter = "ax"[number % 2] * 6
    return Question(NAME, task, f"{side}-{number}", {"question": f"{letter} {number}"}, (answer,), track=task)


@pytest.fixture()
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks whose answers follow from a letter, three passages for each question, and a tiny base model."""
    card = changed(
        BENCHMARK,
        reader_forms=("plain",),
        reader_inputs=inputs,
        demonstrated_input=demonstrated,
        reader_targets=targets,
        training_questions=lambda sources, settings, seed: iter(()),
    )
    monkeypatch.setattr(registry, "load_benchmark", lambda name: {NAME: card}[name])
    # Its code is in no package that the graph would have to watch.
    monkeypatch.setattr(registry, "names", lambda: [NAME])
    monkeypatch.setattr(registry, "OWN", registry.OWN | {NAME: "tests.made_benchmark"})
    with tables.ArtifactWriter(tmp_path / f"data/questions/{NAME}") as writer:
        for side, (contract, count) in SIDES.items():
            rows = [asked(task, side, n).row() for task in TASKS for n in range(count)]
            writer.write(contract, rows)
    with tables.ArtifactWriter(tmp_path / f"data/retrieve/{NAME}") as writer:
        writer.write(contracts.RANKINGS, rankings())
    write_passages(tmp_path / "data/index", [f"p{n}" for n in range(5)])
    write_checksums(tiny_models.sentence_encoder(tmp_path / "models/base/sentence_encoder"))
    configure(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rankings() -> list[dict[str, Any]]:
    generator = np.random.default_rng(0)
    keys = [(side, task, n) for side, (_, count) in SIDES.items() for task in TASKS for n in range(count)]
    rows = [{"split": side, "task_id": task, "id": f"{side}-{n}"} for side, task, n in keys]
    scores = {"scores": [0.9, 0.5, 0.3, 0.1]}
    return [row | scores | {"passages": generator.permutation(5)[:4].tolist()} for row in rows]


def configure(folder: Path, evidence: bool = False, **changes: Any) -> None:
    """One recipe `own` and its system."""
    values = read_yaml(ROOT / "params.yaml")
    passages = f"data/retrieve/{NAME}" if evidence else "data/none"
    index = "data/index" if evidence else "data/none"
    own = {"form": "plain", "text_maxlength": 40, "max_steps": 60, "evaluate_every": 20}
    own |= {"learning_rate": 0.001, "precision": "float32"} | changes
    recipe = {"benchmark": NAME, "base": "models/base/sentence_encoder"}
    recipe |= {"evidence": passages, "index": index}
    values["readers"] = {"defaults": values["readers"]["defaults"], "recipes": {"own": recipe}, "own": own}
    system = {"benchmark": NAME, "system": "own", "kind": "reader", "weights": "models/readers/own"}
    system |= {"evidence": passages, "tools": "none", "index": index}
    values["predict"]["systems"] = {f"{NAME}-own": system}
    values["predict"][NAME] = values["predict"]["supernatinst"]
    group = {"code": "tests", "data": "data", "split": "data/none", "encoder": "data/none"}
    values["benchmarks"] = {NAME: group}
    values["train"]["recipes"] = {}
    (folder / "params.yaml").write_text(json.dumps(values))


FEW: dict[str, Any] = {"max_steps": 10, "evaluate_every": 5}


def predicted() -> list[dict[str, Any]]:
    return tables.read_rows(Path("data/predict") / NAME / "own", contracts.PREDICTIONS)


def right() -> float:
    references = {
        (task, f"test-{n}"): asked(task, "test", n).references[0] for task in TASKS for n in range(8)
    }
    return float(np.mean([row["answers"] == [references[row["task_id"], row["id"]]] for row in predicted()]))


VARIANTS: list[dict[str, Any]] = [
    {},
    {"trains": "all"},
    {"shots_per_label": 4, "text_maxlength": 120},
    {"evidence": True, "passages": 3},
    {"evidence": True, "passages": 3, "fusion": "rag_sequence"},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=["decoder", "all", "demonstrations", "fid", "rag"])
def test_readers_learn_and_answer(project: Path, changes: dict[str, Any]) -> None:
    configure(project, **changes)
    stage = finish_stage("train_reader@own")
    assert (stage.rows_in, stage.rows_out) == (36, 36)
    assert stage.outputs == ["models/readers/own"]
    record = json.loads(Path("models/readers/own/reader.json").read_text())
    assert set(record["tasks"]) == set(TASKS)
    losses = [facts["first_loss"] - facts["last_loss"] for facts in record["tasks"].values()]
    assert min(losses) > 0.1
    stage = finish_stage(f"predict@{NAME}-own")
    assert stage.rows_out == 16
    rows = predicted()
    assert right() >= 0.75
    assert {row["model_sha256"] for row in rows} == {record["base_sha256"]}
    digests = {task: facts["sha256"] for task, facts in record["tasks"].items()}
    assert all(row["adapter_sha256"] == digests[row["task_id"]] for row in rows)
    assert all(row["calls"] == [] and row["new_tokens"] == 0 and row["prompt_tokens"] > 3 for row in rows)
    lines = rows[0]["prompt"].split("\n")
    assert len(lines) == (3 if "passages" in changes else 1)
    assert not Path(".nightjar/readers/own").exists() or not any(Path(".nightjar/readers/own").iterdir())


def test_few_shots_choose_the_weights_too(project: Path) -> None:
    configure(project, shots_per_label=2, text_maxlength=120, **FEW)
    finish_stage("train_reader@own")
    tasks = json.loads(Path("models/readers/own/reader.json").read_text())["tasks"]
    sizes = [(facts["train_questions"], facts["dev_questions"]) for facts in tasks.values()]
    assert sizes == [(4, 4), (4, 4)]


def test_a_task_has_rates_of_its_own(project: Path) -> None:
    def trained(**changes: Any) -> list[dict[str, bytes]]:
        configure(project, **FEW | changes)
        finish_stage("train_reader@own")
        return [contents(Path("models/readers/own") / task) for task in TASKS]

    plain, slow = trained(batch_size=4), trained(batch_size=2, learning_rate=0.0001)
    mixed = trained(batch_size=4, by_task=[{"task": "words", "batch_size": 2, "learning_rate": 0.0001}])
    assert mixed == [plain[0], slow[1]]
    with pytest.raises(NightjarError, match="by_task has 'verbs', which is no task; tasks are sums, words"):
        trained(by_task=[{"task": "verbs"}])


def test_a_killed_run_resumes_with_the_same_bytes(project: Path) -> None:
    configure(project, **FEW)
    finish_stage("train_reader@own")
    wanted = contents(Path("models/readers/own"))
    shutil.rmtree("models/readers")
    with units_added(kill_after=1) as added:
        finish_stage("train_reader@own")
    assert added == [0] and not Path("models/readers/own").exists()
    with units_added() as added:
        finish_stage("train_reader@own")
    assert added == [1]
    assert contents(Path("models/readers/own")) == wanted


def test_another_seed_gives_another_reader(project: Path) -> None:
    configure(project, **FEW)
    finish_stage("train_reader@own")
    first = contents(Path("models/readers/own/sums"))
    configure(project, seed=1, **FEW)
    finish_stage("train_reader@own")
    assert contents(Path("models/readers/own/sums")) != first


def test_an_answer_without_training_questions(project: Path) -> None:
    with tables.ArtifactWriter(Path(f"data/questions/{NAME}")) as writer:
        rows = [asked(task, "train", n).row() for task in TASKS for n in range(0, 12, 2)]
        writer.write(contracts.TRAIN_QUESTIONS, rows)
        writer.write(contracts.DEV_QUESTIONS, [asked("sums", "dev", 0).row()])
    with pytest.raises(NightjarError, match="no training question has the answer even"):
        finish_stage("train_reader@own")


@pytest.mark.parametrize("side", ["train", "dev"])
def test_an_answer_that_the_task_does_not_have(project: Path, side: str) -> None:
    odd = asked("sums", side, 99)._replace(references=("neither",)).row()
    with tables.ArtifactWriter(Path(f"data/questions/{NAME}")) as writer:
        for own, (contract, count) in list(SIDES.items())[:2]:
            rows = [asked(task, own, n).row() for task in TASKS for n in range(count)]
            writer.write(contract, [*rows, odd] if own == side else rows)
    with pytest.raises(NightjarError, match=r"question .*-99 is 'neither'.*answers are odd, even"):
        finish_stage("train_reader@own")


def test_a_question_without_a_ranking_and_an_unknown_form(project: Path) -> None:
    configure(project, evidence=True, passages=2)
    with tables.ArtifactWriter(Path(f"data/retrieve/{NAME}")) as writer:
        writer.write(contracts.RANKINGS, rankings()[1:])
    with pytest.raises(NightjarError, match="no ranking for the question train-0 of sums"):
        finish_stage("train_reader@own")
    configure(project, form="intended")
    with pytest.raises(NightjarError, match=r"no form 'intended'.*forms are plain"):
        finish_stage("train_reader@own")


def test_predictions_need_what_the_readers_were_trained_with(project: Path) -> None:
    configure(project, **FEW)
    finish_stage("train_reader@own")
    configure(project, evidence=True, **FEW)
    with pytest.raises(NightjarError, match="trained with data/none"):
        finish_stage(f"predict@{NAME}-own")
    configure(project, **FEW)
    file = Path("models/readers/own/reader.json")
    record = json.loads(file.read_text())
    del record["tasks"]["words"]
    file.write_text(json.dumps(record))
    with pytest.raises(NightjarError, match="has no reader of the task words"):
        finish_stage(f"predict@{NAME}-own")
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"tasks": {"sums": {}, "words": {}}, "base_sha256": "0"})
    )
    with pytest.raises(NightjarError, match="another base model"):
        finish_stage(f"predict@{NAME}-own")
