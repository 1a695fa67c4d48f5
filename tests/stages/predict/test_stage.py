"""The stage as DVC runs it: killed in the middle and started again, it ends with the bytes of an unbroken run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from stages._runtime.stage import StageRun
from tests.conftest import ROOT
from tests.in_process import finish_stage
from tests.killing import units_added
from tests.pipelines import forked
from tests.questions import question, write_questions
from tests.shard_project import instance

ITEM = "supernatinst-untuned"


def configure(folder: Path, seed: int = 0, **changes: Any) -> None:
    values = read_yaml(ROOT / "params.yaml")
    small = {"max_new_tokens": 24, "batch_size": 2, "temperature": 1.0, "top_p": 0.95}
    values["seed"] = seed
    values["predict"]["supernatinst"].update(small | changes)
    (folder / "params.yaml").write_text(json.dumps(values))


def project(folder: Path, model: Path, instances: int = 5, **changes: Any) -> Path:
    """Three tasks with that many instances each."""
    configure(folder, **changes)
    write_questions(
        folder / "data/questions/supernatinst",
        [question(instance(number, n)) for number in range(3) for n in range(instances)],
    )
    shutil.copytree(model, folder / "models/base/language_model")
    return folder


def finish(folder: Path, patch: pytest.MonkeyPatch, item: str = ITEM) -> StageRun:
    """Run the stage in this process, which saves the seconds of importing torch."""
    patch.chdir(folder)
    return finish_stage(f"predict@{item}")


# The stage as DVC starts it, which kills itself, as the machine would, once that many questions are in its checkpoint.
DYING = """
import os, runpy, signal, sys
from stages._runtime.checkpoint import Checkpoint

add, left = Checkpoint.add, [int(sys.argv.pop())]

def last(self, unit, value):
    add(self, unit, value)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoint.add = last
runpy.run_module("stages.predict", run_name="__main__")
"""


def kill_after(folder: Path, questions: int) -> None:
    """Run the stage in a process that is killed when that many questions are in its checkpoint."""
    command = [forked.interpreter(), "-c", DYING, ITEM, str(questions)]
    died = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert died.returncode == -signal.SIGKILL, died.stderr


def break_off_after(folder: Path, questions: int, item: str = ITEM) -> None:
    """The same in this process: nothing more is done after that question. Without the seconds of importing torch."""
    with pytest.MonkeyPatch.context() as patch, units_added(kill_after=questions):
        finish(folder, patch, item)


def ends_as_unbroken(whole: Path, killed: Path, item: str, questions: int) -> None:
    """Break a run of `item` off after so many questions, and run it again: it ends with the outputs of the other."""
    with pytest.MonkeyPatch.context() as patch:
        finish(whole, patch, item)
    break_off_after(killed, questions, item)
    with pytest.MonkeyPatch.context() as patch:
        finish(killed, patch, item)
    assert contents(killed / "data/predict") == contents(whole / "data/predict")


@pytest.mark.parametrize(("kind", "end"), [("tiny_model", kill_after), ("tiny_t5", break_off_after)])
def test_a_killed_run_goes_on_and_ends_as_an_unbroken_one(
    kind: str,
    end: Callable[..., None],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="nightjar")
    model = request.getfixturevalue(kind)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = project(tmp_path / "whole", model)
    killed = project(tmp_path / "killed", model)
    facts = finish(whole, monkeypatch)
    end(killed, questions=7)
    assert not (killed / "data/predict").exists()
    checkpoint = next((killed / ".nightjar/checkpoints").rglob("whole.jsonl"))
    assert checkpoint.read_bytes().count(b"\n") == 7
    with checkpoint.open("ab") as stream:
        stream.write(b'{"unit": 11, "value": [{"answers": ["to')
    assert "done before" not in caplog.text
    again = finish(killed, monkeypatch)
    assert "7 of 15 questions were done before" in caplog.text
    assert contents(killed / "data/predict") == contents(whole / "data/predict")
    assert again == facts
    # What the run kept for itself is gone, and the seconds of every row are there, those of before the end too.
    assert not list((killed / ".nightjar/checkpoints").iterdir())
    timings = tables.read_file(killed / f".nightjar/timings/predict-{ITEM}.parquet", contracts.TIMINGS)
    rows = tables.read_rows(killed / "data/predict/supernatinst/untuned", contracts.PREDICTIONS)
    assert [(row["task_id"], row["id"]) for row in timings.to_pylist()] == [
        (row["task_id"], row["id"]) for row in rows
    ]
    assert min(timings["seconds"].to_pylist()) > 0


@pytest.mark.parametrize(
    "change", [{"temperature": 0.9}, {"encoding": "def"}, {"seed": 1}, {"precision": "float32"}, {}]
)
def test_only_a_run_that_asks_the_same_goes_on(
    change: dict[str, Any],
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="nightjar")
    folder = project(tmp_path, tiny_model, instances=3)
    break_off_after(folder, questions=1)
    assert not (folder / "data/predict").exists()
    configure(folder, **change)
    finish(folder, monkeypatch)
    assert ("done before" in caplog.text) == (not change)


def write_recipe(folder: Path, evidence: int) -> None:
    trained = folder / "models/train/combined"
    trained.mkdir(parents=True)
    (trained / "recipe.json").write_text(json.dumps({"calls": True, "evidence": evidence}))


def refused(folder: Path, patch: pytest.MonkeyPatch, item: str, message: str, **system: str) -> None:
    """The stage fails in one line before any work, with this change of the system's settings."""
    values = read_yaml(folder / "params.yaml")
    values["predict"]["systems"][item] |= system
    (folder / "params.yaml").write_text(json.dumps(values))
    with pytest.raises(NightjarError, match=message):
        finish(folder, patch, item)
    assert not (folder / "data/predict").exists() and not (folder / ".nightjar/checkpoints").exists()


@pytest.mark.parametrize(
    ("item", "changes", "message"),
    [
        ("supernatinst-combined", {}, "calls tools, which an encoder-decoder cannot"),
        (ITEM, {"encoding": "def_pos3"}, "encoding = 'def_pos3' is not allowed"),
    ],
)
def test_what_an_encoder_decoder_cannot(
    item: str,
    changes: dict[str, Any],
    message: str,
    tiny_t5: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = project(tmp_path, tiny_t5, **changes)
    write_recipe(folder, evidence=0)
    refused(folder, monkeypatch, item, message)


@pytest.mark.parametrize(
    ("kind", "weights", "message"),
    [
        ("model", "elsewhere", "the kind model answers with a language model, an adapter or a model"),
        ("reader", "elsewhere", "the kind reader answers with readers, and this is none"),
        ("knn", "nowhere", "the kind knn answers with the vectors of an encoder"),
        ("extractive", "nowhere", "the kind extractive answers with passages that a language model reads"),
        ("file", "nowhere", "nowhere: no such file"),
        ("file", "elsewhere", "no such table"),
        ("model", "answers.jsonl", "the kind model answers with a language model"),
    ],
)
def test_weights_of_another_kind_are_one_line(
    kind: str, weights: str, message: str, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path, tiny_model)
    shutil.copytree(tiny_model, folder / "elsewhere")
    (folder / "answers.jsonl").write_text("{}")
    refused(folder, monkeypatch, ITEM, message, kind=kind, weights=weights)
