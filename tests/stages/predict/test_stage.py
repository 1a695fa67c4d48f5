"""The stage as DVC runs it: killed in the middle and started again, it ends with the bytes of an unbroken run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from stages import contracts, tables
from tests.conftest import ROOT

ITEM = "supernatinst-untuned"


def instance(task: int, number: int) -> dict[str, Any]:
    return {
        "track": "default",
        "category": "c",
        "dataset": "natural_instructions",
        "file": f"task{task}.json",
        "task_id": f"task{task}",
        "id": f"task{task}-{number}",
        "index": number,
        "input": f"number {number} " + "and more " * (number % 5),
        "outputs": ["yes"],
    }


def task(number: int) -> dict[str, Any]:
    lists = {name: [] for name in contracts.TASKS.schema.names}
    texts = {"dataset": "natural_instructions", "file": f"task{number}.json", "task_id": f"task{number}"}
    return {**lists, **texts, "definition": [f"Say what task {number} says"]}


def project(folder: Path, model: Path, **changes: Any) -> Path:
    values = YAML(typ="safe").load((ROOT / "profiles/sample.yaml").read_text())
    small = {"max_new_tokens": 24, "batch_size": 2, "temperature": 1.0, "top_p": 0.95}
    values["predict"]["supernatinst"].update(small | changes)
    with (folder / "params.yaml").open("w") as stream:
        YAML().dump(values, stream)
    with tables.ArtifactWriter(folder / "data/ingest/natural_instructions") as writer:
        writer.write(contracts.TASKS, [task(number) for number in range(3)])
    with tables.ArtifactWriter(folder / "data/split") as writer:
        writer.write(contracts.TEST, [instance(task, number) for task in range(3) for number in range(16)])
    shutil.copytree(model, folder / "models/base/language_model")
    return folder


def start(folder: Path, item: str = ITEM) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "stages.predict", item],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, item: str = ITEM) -> str:
    process = start(folder, item)
    log = process.communicate(timeout=120)[1]
    assert process.returncode == 0, log
    return log


def kill_after(folder: Path, batches: int) -> int:
    """Start the stage and kill it when that many batches are in its journal; returns how many there are."""
    process = start(folder)
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        journals = list((folder / ".nightjar/predict").glob("*/answers.jsonl"))
        if journals and journals[0].read_bytes().count(b"\n") >= batches:
            break
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    return journals[0].read_bytes().count(b"\n")


def outputs(folder: Path) -> dict[str, bytes]:
    found = [*(folder / "data/predict").rglob("*"), *(folder / "data/metrics").rglob("*")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found if path.is_file()}


@pytest.mark.parametrize("kind", ["tiny_model", "tiny_t5"])
def test_a_killed_run_goes_on_and_ends_as_an_unbroken_one(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model = request.getfixturevalue(kind)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = project(tmp_path / "whole", model)
    killed = project(tmp_path / "killed", model)
    assert "answered before" not in finish(whole)
    done = kill_after(killed, batches=3)
    assert 3 <= done < 24 and not (killed / "data/predict").exists()
    journal = next((killed / ".nightjar/predict").glob("*/answers.jsonl"))
    with journal.open("ab") as stream:
        stream.write(b'{"batch": 20, "rows": [{"prediction": "to')
    log = finish(killed)
    assert f"{2 * done} of 48 instances were answered before" in log
    assert outputs(killed) == outputs(whole)
    # What the run kept for itself is gone, and the seconds of every row are there, those of before the end too.
    assert not list((killed / ".nightjar/predict").iterdir())
    timings = tables.read_file(killed / f".nightjar/timings/predict-{ITEM}.parquet", contracts.TIMINGS)
    rows = tables.read_rows(killed / "data/predict" / ITEM, contracts.PREDICTIONS)
    assert [(row["task_id"], row["id"]) for row in timings.to_pylist()] == [
        (row["task_id"], row["id"]) for row in rows
    ]
    assert min(timings["seconds"].to_pylist()) > 0


def test_other_settings_do_not_go_on_from_these(tiny_model: Path, tmp_path: Path) -> None:
    folder = project(tmp_path, tiny_model)
    kill_after(folder, batches=3)
    shutil.rmtree(folder / "data")
    shutil.rmtree(folder / "models")
    project(folder, tiny_model, temperature=0.0, encoding="def")
    assert "answered before" not in finish(folder)
    rows = tables.read_rows(folder / "data/predict" / ITEM, contracts.PREDICTIONS)
    assert all(row["prompt"].startswith("Definition: Say what task") for row in rows)


@pytest.mark.parametrize(
    ("item", "changes", "message"),
    [
        ("supernatinst-combined", {}, "calls tools, which an encoder-decoder cannot"),
        (ITEM, {"encoding": "def_pos3"}, "no such encoding"),
    ],
)
def test_what_cannot_be_is_told_in_one_line_before_any_work(
    item: str, changes: dict[str, Any], message: str, tiny_t5: Path, tmp_path: Path
) -> None:
    folder = project(tmp_path, tiny_t5, **changes)
    trained = folder / "models/train/combined"
    trained.mkdir(parents=True)
    (trained / "recipe.json").write_text(json.dumps({"calls": True, "evidence": 0}))
    process = start(folder, item)
    log = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert message in log and len(log.strip().splitlines()) == 1
    assert not (folder / "data/predict").exists() and not (folder / ".nightjar/predict").exists()
