"""The paths of the library and those of dvc.yaml are the same, and dvc.yaml names code that exists."""

from __future__ import annotations

from pathlib import Path

from nightjar.core import paths
from nightjar.core.config import read_yaml
from tests.conftest import ROOT


def test_the_outputs_of_all_stages_have_a_name() -> None:
    known = {value.as_posix() for value in vars(paths).values() if isinstance(value, Path)}
    outputs = set()
    for stage in read_yaml(ROOT / "dvc.yaml")["stages"].values():
        for output in stage.get("do", stage)["outs"]:
            outputs.add(output.partition("/${")[0])
    assert outputs <= known


def test_the_code_that_stages_depend_on_exists() -> None:
    stages = read_yaml(ROOT / "dvc.yaml")["stages"].values()
    code = {
        path
        for stage in stages
        for path in stage.get("do", stage)["deps"]
        if not path.startswith(("$", "data", "models"))
    }
    assert len(code) > 30 and not [path for path in code if not (ROOT / path).exists()]
