"""A number is followed to its rows: their counts and the value against sums over the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate
from nightjar.benchmarks.scores import InstanceKey, SystemScores
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter
from nightjar.statistics import Bootstrap
from pipelines.versions.number import is_number, trace_number
from pipelines.versions.trace import trace
from tests.in_process import nightjar
from tests.questions import question, row_of, write_questions

NAME = "supernatinst"
# Instances of each task, the first two of them of one track and category.
TASKS = {"task1": 4, "task2": 1, "task3": 2}
TRACKS = {"task3": "xlingual"}
RIGHT = {"task1": [1.0, 0.5, 0.0, 1.0], "task2": [0.25], "task3": [1.0, 1.0]}


def keys() -> Iterable[tuple[InstanceKey, dict[str, Any]]]:
    for task, count in TASKS.items():
        for at in range(count):
            row = {"dataset": "tasks", "file": f"{task}.jsonl", "task_id": task, "id": f"{task}-{at}"}
            yield InstanceKey(TRACKS.get(task, "default"), "Question Answering", task, row["id"]), row


def scored(system: str) -> SystemScores:
    names = dict.fromkeys(part for metric in registry.load_benchmark(NAME).metrics for part in metric.parts)
    values = np.array([value for task in TASKS for value in RIGHT[task]])
    return SystemScores(system, [key for key, _ in keys()], {name: values for name in names})


@pytest.fixture()
def project(workdir: Path) -> Path:
    card, scores = registry.load_benchmark(NAME), [scored("copy_input"), scored("mine")]
    with ArtifactWriter(Path("data/evaluate", NAME)) as writer:
        writer.write(contracts.SCORES, aggregate(card, scores, Bootstrap()))
        writer.write(contracts.INSTANCE_SCORES, [row for it in scores for row in it.rows(NAME)])
    rows = [row for _, row in keys()]
    Path("raw").mkdir()
    for task in TASKS:
        lines = [json.dumps({"id": row["id"]}) for row in rows if row["task_id"] == task]
        Path("raw", f"{task}.jsonl").write_text("\n".join(lines))
    with ArtifactWriter(Path("data/ingest/tasks")) as writer:
        for task in TASKS:
            instances = [row_of(contracts.INSTANCES, **row) for row in rows if row["task_id"] == task]
            # One that is not asked.
            instances.append(row_of(contracts.INSTANCES, task_id=task, id="other"))
            writer.write(contracts.INSTANCES, instances, part=task)
    asked = (question(row | {"input": "?", "outputs": ["yes"]}, benchmark=NAME) for row in rows)
    write_questions(Path("data/questions", NAME), asked)
    with ArtifactWriter(Path("data/predict", NAME, "mine")) as writer:
        # One question has no prediction.
        predictions = [
            row_of(contracts.PREDICTIONS, benchmark=NAME, system="mine", answers=["yes"])
            | {"task_id": row["task_id"], "id": row["id"]}
            for row in rows[1:]
        ]
        writer.write(contracts.PREDICTIONS, predictions)
    settings = {
        "ingest": {"tasks": {"path": "raw"}},
        "benchmarks": {NAME: {"data": "data/ingest/tasks", "split": "data/none"}},
        "predict": {"systems": {f"{NAME}-mine": {"weights": "models/mine"}}},
    }
    Path("params.yaml").write_text(json.dumps(settings))
    outs = ("models/mine", f"data/evaluate/{NAME}", "data/ingest/tasks")
    stages = {f"s{n}": {"outs": [{"path": path, "md5": f"{n}.dir"}]} for n, path in enumerate(outs)}
    Path("dvc.lock").write_text(json.dumps({"stages": stages}))
    return workdir


def counts(number: dict[str, Any]) -> dict[str, int]:
    return {step["table"]: step["rows"] for step in number["steps"]}


def test_from_the_number_of_each_track_to_its_rows(project: Path) -> None:
    found = trace_number(Path(), f"{NAME}/mine/rougeL")
    assert [(it["track"], it["n"]) for it in found["numbers"]] == [("default", 5), ("xlingual", 2)]
    default, xlingual = found["numbers"]
    values = RIGHT["task1"] + RIGHT["task2"]
    assert default["value"] == default["recomputed"] == pytest.approx(100 * sum(values) / 5)
    assert (default["statistic"], default["scale"]) == ("mean", 100.0)
    assert counts(default) == {
        "scores": 1, "instance_scores": 5, "predictions": 4, "questions": 5, "instances": 5}  # fmt: skip
    assert counts(xlingual) == dict.fromkeys(counts(default), 2) | {"scores": 1}
    steps = {step["table"]: step for step in default["steps"]}
    assert [row["unscaled"] for row in steps["instance_scores"]["first"]] == values[:3]
    assert [row["id"] for row in steps["predictions"]["first"]] == ["task1-1", "task1-2"]
    lines = [(row["raw"]["path"], row["raw"]["line"]) for row in steps["instances"]["first"]]
    assert lines == [("raw/task1.jsonl", number) for number in (1, 2, 3)]
    assert steps["scores"]["stage"] == "s1" and steps["questions"]["stage"] is None
    assert found["artifacts"].keys() == {"models/mine", f"data/evaluate/{NAME}", "data/ingest/tasks"}
    json.dumps(found)


@pytest.mark.parametrize(
    ("name", "rows"), [("task2", [0.25]), ("xlingual", [1.0, 1.0]), ("question_answering", None)]
)
def test_a_task_a_category_or_a_track(project: Path, name: str, rows: list[float] | None) -> None:
    numbers = trace_number(Path(), f"{NAME}/mine/exact_match/{name}")["numbers"]
    if rows is None:
        # The category has a number in each track.
        assert [(it["track"], it["n"]) for it in numbers] == [("default", 5), ("xlingual", 2)]
        return
    (number,) = numbers
    assert number["value"] == number["recomputed"] == pytest.approx(100 * sum(rows) / len(rows))
    assert number["n"] == counts(number)["questions"] == len(rows)


def test_rows_that_give_another_number_are_said(project: Path) -> None:
    other = scored("mine")
    other.parts["rougeL"][:] = 0.0
    scores = aggregate(registry.load_benchmark(NAME), [scored("mine")], Bootstrap())
    with ArtifactWriter(Path("data/evaluate", NAME)) as writer:
        writer.write(contracts.SCORES, scores)
        writer.write(contracts.INSTANCE_SCORES, list(other.rows(NAME)))
    assert "but its rows give 0.0" in nightjar("trace", f"{NAME}/mine/rougeL")


def test_a_baseline_has_no_predictions(project: Path) -> None:
    (number,) = trace_number(Path(), f"{NAME}/copy_input/rougeL/default")["numbers"]
    assert "predictions" not in counts(number) and number["note"].startswith("copy_input has no predictions")


def test_a_mean_of_tasks_has_the_rows_of_all(workdir: Path) -> None:
    card = registry.load_benchmark("zeroscrolls")
    assert card.average
    instances = [
        InstanceKey(track, "", track, f"{track}-{at}") for track in card.average.tracks for at in range(2)
    ]
    parts: dict[str, np.ndarray] = {
        part: np.full(len(instances), np.nan)
        for metric in card.metrics
        if metric.name != card.average.name
        for part in metric.parts
    }
    (first, *_) = (it for it in card.metrics if it.name in parts)
    parts[first.name][:] = np.arange(len(instances)) % 2
    scores = SystemScores("mine", instances, parts)
    with ArtifactWriter(Path("data/evaluate/zeroscrolls")) as writer:
        writer.write(contracts.SCORES, aggregate(card, [scores], Bootstrap()))
        writer.write(contracts.INSTANCE_SCORES, list(scores.rows("zeroscrolls")))
    write_questions(
        Path("data/questions/zeroscrolls"),
        [
            question(
                {"task_id": key.task_id, "id": key.id, "input": "?", "outputs": []}, benchmark="zeroscrolls"
            )
            for key in instances
        ],
    )
    (number,) = trace_number(Path(), f"zeroscrolls/mine/{card.average.name}")["numbers"]
    assert number["value"] == number["recomputed"] == 50.0 and number["statistic"] == "mean of tasks"
    assert counts(number)["instance_scores"] == number["n"] == 2 * len(card.average.tracks)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{NAME}/other/rougeL", "no system other of supernatinst has scores; systems are: copy_input, mine"),
        (f"{NAME}/mine/x", "no metric x of supernatinst/mine has scores; metrics are: exact_match, rouge1, rougeL"),
        (f"{NAME}/mine", "the number names no metric; metrics are: exact_match"),
        (f"{NAME}/", "the number names no system; systems are: copy_input, mine"),
        (f"{NAME}/mine/rougeL/task9", "no task, category or track task9; it has: default, question_answering, task1"),
        ("other/mine/rougeL", "no prediction has that id; .* BENCHMARK/SYSTEM/METRIC of supernatinst"),
    ],
)  # fmt: skip
def test_a_wrong_name_gets_those_that_exist(project: Path, name: str, message: str) -> None:
    with pytest.raises(NightjarError, match=message):
        (trace_number if is_number(Path(), name) else trace)(Path(), name)


def test_the_command_prints_tables_counts_and_rows(project: Path) -> None:
    out = nightjar("trace", f"{NAME}/mine/rougeL")
    for text in (
        "default: 55, mean of 5 instances x 100",
        f"instance_scores of data/evaluate/{NAME}, s1: 5 rows",
        f"predictions of data/predict/{NAME}/mine: 4 rows",
        "task1:task1-1  'yes'",
        "raw/task1.jsonl:2, sha256 ",
    ):
        assert text in out
    assert json.loads(nightjar("trace", f"{NAME}/mine/rougeL", "--json"))["metric"] == "rougeL"


def test_scores_that_were_not_checked_out_are_named_with_the_command(workdir: Path) -> None:
    stages = {"evaluate@b": {"outs": [{"path": "data/evaluate/b", "md5": "1.dir"}]}}
    Path("dvc.lock").write_text(json.dumps({"stages": stages}))
    assert is_number(Path(), "b/mine/m")
    with pytest.raises(NightjarError, match="dvc checkout data/evaluate/b"):
        trace_number(Path(), "b/mine/m")
