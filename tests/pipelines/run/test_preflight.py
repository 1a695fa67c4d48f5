"""Settings that are certain to fail are refused before a stage starts, and only then."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from pipelines.graph.graph import Graph, Stage, State
from pipelines.run import preflight
from tests.conftest import ROOT


@pytest.fixture()
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    return tmp_path


def graph(root: Path, command: str, state: State, settings: dict[str, Any], *names: str) -> Graph:
    """A graph of stages in one state, in a project whose parameters are the sample's with `settings`."""
    values = copy.deepcopy(read_yaml(ROOT / "params.yaml"))
    for key, value in settings.items():
        *groups, last = key.split(".")
        group = values
        for name in groups:
            group = group[name]
        group[last] = value
    (root / "params.yaml").write_text(json.dumps(values))
    stages = {name: Stage(name, command, "", (), (), (), {}, (), (), state=state) for name in names}
    return Graph(root, stages)


OWN = "python -m stages.x"
BAD: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    ({"predict.supernatinst.encoding": "nope"}, ("predict@x",), "predict.supernatinst.encoding = 'nope'"),
    ({"nightly.cron": "x"}, ("split",), "nightly.cron = 'x'"),
    ({"unknown": 1}, ("split",), "unknown key unknown"),
    (
        {"tools.all.calculator.lenient": "yes"},
        ("split",),
        "tools.all.calculator.lenient = 'yes' is not allowed",
    ),
    ({"benchmarks.protoqa.unknown": 1}, ("split",), "unknown key benchmarks.protoqa.unknown"),
    ({"benchmarks": {}}, ("split",), "predict.systems has "),
    (
        {"train.launcher": "deepspeed_zero3"},
        ("train@combined",),
        "train.combined.checkpoint_every: deepspeed_zero3 keeps",
    ),
    (
        {"split.supervised_instances_per_task": 0},
        ("encode@supervised",),
        "split.supervised_instances_per_task = 0 leaves encode@supervised nothing",
    ),
]


@pytest.mark.parametrize(("settings", "names", "told"), BAD)
def test_refused_before_a_stage_starts(
    project: Path, settings: dict[str, Any], names: tuple[str, ...], told: str
) -> None:
    for state in ("would run", "follows"):
        with pytest.raises(NightjarError) as caught:
            preflight.check(graph(project, OWN, state, settings, *names))  # type: ignore[arg-type]
        assert told in str(caught.value) and "params.yaml" in str(caught.value)
    preflight.check(graph(project, OWN, "up to date", settings, *names))
    preflight.check(graph(project, "python other.py", "would run", settings, *names))


def test_what_some_stages_need_is_asked_for_them_alone(project: Path) -> None:
    (project / "profiles/accelerate/one_cpu.yaml").unlink()
    settings = {"train.launcher": "one_cpu", "split.supervised_instances_per_task": 0}
    preflight.check(graph(project, OWN, "would run", settings, "split", "encode@combined", "evaluate@x"))
    with pytest.raises(NightjarError, match=r"one_cpu\.yaml: train\.launcher = one_cpu has no configuration"):
        preflight.check(graph(project, OWN, "would run", settings, "train@combined"))


def test_a_benchmark_that_nobody_provides_is_refused(project: Path) -> None:
    settings = {"benchmarks.misspelt": read_yaml(ROOT / "params.yaml")["benchmarks"]["protoqa"]}
    with pytest.raises(
        NightjarError, match=r"params\.yaml: benchmarks\.misspelt: no such benchmark; benchmarks are "
    ):
        preflight.check(graph(project, OWN, "would run", settings, "split"))
