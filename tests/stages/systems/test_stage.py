"""The names of the systems of each benchmark, which change only with the systems of that benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.config import read_yaml
from nightjar.params import load
from tests.conftest import ROOT
from tests.in_process import run_stage


def systems_of(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    (folder / "params.yaml").write_text(json.dumps(values))
    assert run_stage("systems").returncode == 0
    return {file.stem: json.loads(file.read_text())["systems"] for file in Path("data/systems").iterdir()}


@pytest.fixture()
def values() -> dict[str, Any]:
    return read_yaml(ROOT / "params.yaml")


def test_the_systems_of_every_benchmark_in_their_order(workdir: Path, values: dict[str, Any]) -> None:
    written = systems_of(workdir, values)
    params = load(ROOT / "params.yaml")
    assert written == {name: params.predict.of(name) for name in params.benchmarks}
    facts = json.loads(Path("data/metrics/systems.json").read_text())
    assert facts["rows_in"] == facts["rows_out"] == len(params.predict.systems)


def test_a_system_changes_the_file_of_its_benchmark_alone(workdir: Path, values: dict[str, Any]) -> None:
    before = systems_of(workdir, values)
    systems = values["predict"]["systems"]
    systems["protoqa-mine"] = {**systems["protoqa-untuned"], "system": "mine"}
    after = systems_of(workdir, values)
    assert {name for name in after if after[name] != before[name]} == {"protoqa"}
    assert after["protoqa"] == [*before["protoqa"], "mine"]
