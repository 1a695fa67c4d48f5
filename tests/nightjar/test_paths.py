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
        for output in (*stage.get("do", stage)["outs"], *stage.get("metrics", ())):
            if not paths.is_facts_file(Path(output)):
                outputs.add(output.partition("/${")[0])
    assert outputs <= known


def test_each_stage_but_that_of_the_code_writes_its_facts_and_only_the_report_writes_metrics() -> None:
    stages = read_yaml(ROOT / "dvc.yaml")["stages"]
    for name, stage in stages.items():
        facts = [output for output in stage.get("do", stage)["outs"] if paths.is_facts_file(Path(output))]
        item = f"{name}@${{key}}" if "foreach" in stage else name
        assert facts == ([] if name == "code" else [paths.metrics_file(item).as_posix()])
    assert [name for name, stage in stages.items() if "metrics" in stage.get("do", stage)] == ["report"]
