"""The paths of the library and those of dvc.yaml are the same."""

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
