"""What is expected of stages, on a made graph and a made history."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightjar.core import history
from nightjar.core.config import read_yaml
from nightjar.core.files import metrics_file
from pipelines.execution.estimate import FAR_SPREAD, SPREAD, Expected, estimates
from pipelines.graph.changes import Reason, State
from pipelines.graph.graph import Graph, Stage
from tests.conftest import ROOT

QUESTIONS = "questions@supernatinst"
PREDICT, TRAIN, SPLIT = "predict@supernatinst-untuned", "train@combined", "split"
INGEST = "ingest@natural_instructions"


def stage(name: str, *reasons: Reason, state: State = "would run", upstream: tuple[str, ...] = ()) -> Stage:
    metrics = (metrics_file(name).as_posix(),)
    return Stage(name, "", "", (), (), metrics, {}, upstream, reasons, state=state)


def graph(root: Path, **changed: Stage) -> Graph:
    """The four stages, those before the model up to date unless they are `changed`."""
    stages = {
        INGEST: stage(INGEST, state="up to date"),
        SPLIT: stage(SPLIT, state="up to date", upstream=(INGEST,)),
        TRAIN: stage(TRAIN, upstream=(SPLIT,)),
        QUESTIONS: stage(QUESTIONS, state="up to date", upstream=(SPLIT,)),
        PREDICT: stage(PREDICT, upstream=(QUESTIONS,)),
    }
    return Graph(root, stages | {it.name: it for it in changed.values()})


def split_into(root: Path, train: int, test: int) -> None:
    sides = {"train": {"rows": train}, "dev": {"rows": 0}, "test": {"rows": test}}
    for name, tables in ((SPLIT, sides), (QUESTIONS, {"questions": {"rows": test}})):
        file = root / metrics_file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"rows_in": 1, "tables": {"data/made": tables}}))


def set_params(root: Path, **changes: Any) -> None:
    params = read_yaml(ROOT / "params.yaml")
    for key, value in changes.items():
        *groups, last = key.split("__")
        found = params
        for group in groups:
            found = found[group]
        found[last] = value
    (root / "params.yaml").write_text(json.dumps(params))


@pytest.fixture()
def measured(tmp_path: Path) -> Path:
    """A project in which a training took 110 s for 100 rows, and a prediction 60 s for 50: 10 s are the start."""
    set_params(tmp_path)
    split_into(tmp_path, 100, 50)
    history.append(tmp_path, TRAIN, 110.0, "done")
    history.append(tmp_path, PREDICT, 60.0, "done")
    return tmp_path


def test_seconds_grow_with_the_rows(measured: Path) -> None:
    split_into(measured, 300, 100)
    found = estimates(graph(measured))
    assert found[TRAIN] == Expected(310.0, 310.0 / SPREAD, 310.0 * SPREAD, 300.0)
    assert found[PREDICT].seconds == 110.0


def test_epochs_multiply_the_rows(measured: Path) -> None:
    set_params(measured, train__combined__epochs=3.0)
    assert estimates(graph(measured))[TRAIN].seconds == 310.0


def test_the_range_holds_what_was_seen_and_is_wide_far_from_it(measured: Path) -> None:
    split_into(measured, 200, 50)
    history.append(measured, TRAIN, 410.0, "done")  # twice as long for each row
    found = estimates(graph(measured))[TRAIN]
    assert (found.low, found.seconds, found.high) == (210.0 / SPREAD, 310.0, 410.0 * SPREAD)
    split_into(measured, 5000, 50)
    far = estimates(graph(measured))[TRAIN]
    assert (far.low, far.high) == (5010.0 / FAR_SPREAD, 10010.0 * FAR_SPREAD)


@pytest.mark.parametrize(
    ("key", "value", "unknown"),
    [
        ("models__language_model__source", "other", {TRAIN, PREDICT}),
        ("predict__supernatinst__max_new_tokens", 128, {PREDICT}),
        ("train__combined__precision", "float32", {TRAIN}),
        ("ingest__natural_instructions__path", "data/real", {TRAIN, PREDICT}),
        ("train__combined__learning_rate", 0.5, set()),
        ("predict__supernatinst__temperature", 1.0, set()),
    ],
)
def test_nothing_is_known_of_rows_that_cost_something_else(
    measured: Path, key: str, value: Any, unknown: set[str]
) -> None:
    set_params(measured, **{key: value})
    found = estimates(graph(measured))
    assert {name for name in (TRAIN, PREDICT) if found[name].unknown} == unknown
    for name in unknown:
        assert found[name].unknown == f"no run with this {key.replace('__', '.')}"


def test_rows_are_unknown_until_the_stage_that_makes_them_has_run(measured: Path) -> None:
    split = stage(SPLIT, Reason("parameter", "split.test_tasks", 3, 4))
    questions = stage(QUESTIONS, Reason("upstream", SPLIT), upstream=(SPLIT,), state="follows")
    found = estimates(graph(measured, split=split, questions=questions))
    assert (found[TRAIN].unknown, found[PREDICT].unknown) == ("known after split", f"known after {QUESTIONS}")


def test_runs_without_their_rows_say_nothing(tmp_path: Path) -> None:
    set_params(tmp_path)
    file = tmp_path / history.HISTORY
    file.parent.mkdir()
    file.write_text(json.dumps({"stage": PREDICT, "seconds": 60.0, "status": "done"}))
    split_into(tmp_path, 100, 50)
    found = estimates(graph(tmp_path))
    assert found[PREDICT].unknown == "run before the number of rows was recorded"
    assert found[TRAIN].unknown == "not run here before"


def test_a_stage_of_another_project_takes_what_it_took_before(tmp_path: Path) -> None:
    for seconds in (2.0, 4.0, 9.0):
        history.append(tmp_path, "train", seconds, "done")
    found = estimates(Graph(tmp_path, {"train": replace(stage("train"), metrics=())}))["train"]
    assert found == Expected(4.0, 2.0 / SPREAD, 9.0 * SPREAD)
