"""The facts of a machine, from files of Linux and a torch of our own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nightjar.core import paths
from nightjar.core.config import read_yaml
from stages._runtime import machine
from stages._runtime import stage as harness
from tests.conftest import ROOT
from tests.in_process import captured


def test_the_processor_is_read_from_linux(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz: v2\nmodel name\t: Some CPU\n")
    assert machine.describe(file)["processor"] == "Some CPU @ 2 GHz: v2"
    file.write_text("processor: 0\n")
    assert machine.describe(file)["processor"]
    assert machine.describe(tmp_path / "none")["processor"]


def torch(*names: str) -> Any:
    cuda = SimpleNamespace(
        is_available=lambda: bool(names), device_count=lambda: len(names), get_device_name=names.__getitem__
    )
    return SimpleNamespace(cuda=cuda)


@pytest.mark.parametrize("names", [(), ("A",), ("A", "B")])
def test_gpus_are_those_that_torch_can_use(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch(*names))
    assert machine.describe()["gpus"] == list(names)
    monkeypatch.delitem(sys.modules, "torch")
    assert machine.describe()["gpus"] is None


@pytest.mark.parametrize("threads", [True, False])
def test_facts_of_stages_that_run_a_model_name_the_machine(
    threads: bool, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workdir / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    monkeypatch.setattr("sys.argv", ["made"])
    done = captured(lambda _: harness.main("made", lambda stage: None, threads=threads), [])
    assert done.returncode == 0, done.stderr
    assert ("machine" in json.loads(paths.metrics_file("made").read_text())) == threads


def test_no_stage_but_the_report_reads_facts_that_name_a_machine() -> None:
    """Else its results would be made again on another machine."""
    stages = read_yaml(ROOT / "dvc.yaml")["stages"]
    run_models = [
        name for name in stages if "threads=True" in (ROOT / "stages" / name / "__main__.py").read_text()
    ]
    assert {"train", "predict"} <= set(run_models)
    for name, stage in stages.items():
        if name != "report":
            text = json.dumps(stage.get("do", stage).get("deps", [])) + json.dumps(stage.get("foreach"))
            assert not [one for one in run_models if f"data/metrics/{one}" in text]
