"""Answers that are looked up: those of a file against an artifact, k-NN against one comparison at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nightjar.benchmarks.evaluation_folder import replace_by_subset, tasks_of
from nightjar.benchmarks.file_scoring import score_files
from nightjar.benchmarks.question import Question, QuestionSelection
from nightjar.benchmarks.records import read_questions
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.predict.lookup import nearest_labels
from tests.conftest import ROOT
from tests.in_process import run_stage
from tests.made_benchmark import BENCHMARK, changed

NAME = "protoqa"
FILE = "others.jsonl"
ITEM = f"{NAME}-others"


@pytest.fixture()
def project(workdir: Path) -> Path:
    """The sample's questions, and a system whose answers come from a file."""
    values = read_yaml(ROOT / "params.yaml")
    for group in (values["ingest"][NAME], values["benchmarks"][NAME]):
        group["code"] = str(ROOT / group["code"])
    values["ingest"][NAME]["path"] = str(ROOT / values["ingest"][NAME]["path"])
    values["benchmarks"][NAME]["encoder"] = "data/none"
    system = {"benchmark": NAME, "system": "others", "kind": "file", "weights": FILE}
    system |= {"evidence": "data/none", "tools": "none", "index": "data/none"}
    values["predict"]["systems"] = {ITEM: system}
    Path("params.yaml").write_text(json.dumps(values))
    for stage in ("ingest", "questions"):
        done = run_stage(stage, NAME)
        assert done.returncode == 0, done.stderr
    return workdir


def put(lines: list[Any]) -> None:
    Path(FILE).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def test_answers_of_a_file_are_scored_as_the_command_scores_them(project: Path) -> None:
    asked = read_questions(Path("data/questions", NAME))
    # The best list of some questions, an empty list of one, and nothing for the last five.
    put([{one.id: [] if place == 3 else list(one.references)} for place, one in enumerate(asked[:-5])])
    for stage, *items in (("predict", ITEM), ("systems",), ("evaluate", NAME)):
        done = run_stage(stage, *items)
        assert done.returncode == 0, done.stderr
    output = Path("data/predict", NAME, "others")
    rows = tables.read_rows(output, contracts.PREDICTIONS)
    assert [row["id"] for row in rows] == [one.id for one in asked[:-5]]
    assert rows[0]["answers"] == list(asked[0].references) and rows[3]["answers"] == []
    assert {row["model_sha256"] for row in rows} == {hashlib.sha256(Path(FILE).read_bytes()).hexdigest()}
    refused = tables.read_rejected(output).to_pylist()
    assert [(row["id"], row["reason"]) for row in refused] == [(it.id, "no prediction") for it in asked[-5:]]
    facts = json.loads(Path(f"data/metrics/predict-{ITEM}.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (30, 25, 5)
    scores = tables.read_rows(Path("data/evaluate", NAME), contracts.SCORES)
    found = {row["metric"]: (row["value"], row["n"]) for row in scores if row["system"] == "others"}
    wanted = score_files(NAME, Path(FILE), Path("data/questions", NAME), samples=0)
    assert wanted["missing"] == 5 and set(found) == set(wanted["metrics"])
    for name, (value, n) in found.items():
        assert value == pytest.approx(wanted["metrics"][name], abs=1e-12) and n == 25
    # Left out of the mean: 24 of 25 have the best list.
    assert np.isclose(found["exact_match/max_answers@1"][0], 24 / 25)
    told = json.loads(Path(f"data/metrics/evaluate-{NAME}.json").read_text())
    assert told["missing_predictions"] == {"others": 5}


def test_the_file_may_answer_questions_that_are_not_in_a_sample(project: Path) -> None:
    source = Path("data/questions", NAME)
    whole = read_questions(source)
    put([{one.id: list(one.references)} for one in whole[:-1]])
    replace_by_subset(source, QuestionSelection(tasks_of(whole), 12, 0))
    asked = read_questions(source)
    assert len(asked) == 12 and {one.key for one in asked} < {one.key for one in whole}
    done = run_stage("predict", ITEM)
    assert done.returncode == 0, done.stderr
    rows = tables.read_rows(Path("data/predict", NAME, "others"), contracts.PREDICTIONS)
    expected = {one.id: list(one.references) for one in asked if one.id != whole[-1].id}
    assert {row["id"]: row["answers"] for row in rows} == expected


def test_a_missing_file_is_one_line(project: Path) -> None:
    done = run_stage("predict", ITEM)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"{FILE}: no such file" in done.stderr
    assert not Path("data/predict", NAME, "others").exists()


LABELS = ("red", "green", "blue")
TEXTS_BENCHMARK = changed(BENCHMARK, query=lambda parts: str(parts["text"]))


class Letters:
    """Vectors on a line: the number of a text, so that all distances are known."""

    identity: Mapping[str, Any] = MappingProxyType({"sha256": "s"})
    dimension = 2

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = np.array([float(text) for text in texts]) / 100
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def question(task: str, number: int, text: str, label: str) -> Question:
    return Question("made", task, f"{task}-{number}", {"text": text}, (label,))


def plain(asked: Question, train: Sequence[Question], neighbours: int) -> str:
    """Sorted by distance; votes counted one by one."""
    known = [one for one in train if one.task_id == asked.task_id]
    here = float(asked.parts["text"])
    near = sorted(known, key=lambda one: abs(float(one.parts["text"]) - here))[:neighbours]
    labels = [one.references[0] for one in near]
    most = max(labels.count(label) for label in labels)
    return next(label for label in labels if labels.count(label) == most)


points = st.lists(
    st.tuples(st.integers(0, 150), st.sampled_from(LABELS)),
    min_size=1,
    max_size=12,
    unique_by=lambda it: it[0],
)


@given(points, points, st.integers(0, 20).map(lambda n: n + 0.37), st.integers(1, 15))
def test_the_majority_of_the_nearest(
    first: list[tuple[int, str]], second: list[tuple[int, str]], at: float, neighbours: int
) -> None:
    train = [
        question(task, number, str(place), label)
        for task, some in (("a", first), ("b", second))
        for number, (place, label) in enumerate(some)
    ]
    asked = [question("b", 100, str(at), ""), question("a", 101, str(at), "")]
    found = nearest_labels(TEXTS_BENCHMARK, Letters(), asked, train, neighbours)
    assert found == [plain(one, train, neighbours) for one in asked]


def test_a_task_without_training_questions_is_one_line() -> None:
    with pytest.raises(NightjarError, match="made b: no training questions"):
        nearest_labels(
            TEXTS_BENCHMARK, Letters(), [question("b", 0, "1", "")], [question("a", 0, "1", "red")], 1
        )
