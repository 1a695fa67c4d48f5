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
    ({"train.launcher": "fsdp"}, ("train@combined",), "train.combined.checkpoint_every: fsdp spreads"),
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


def test_tools_and_their_settings_are_checked_by_the_tools(project: Path) -> None:
    for settings, told in (
        ({"tools.calculator.lenient": "yes"}, "tools.calculator.lenient = 'yes' is not allowed"),
        ({"tools.machine_translation.engine": "people"}, "tools.machine_translation.engine = 'people'"),
    ):
        with pytest.raises(NightjarError) as caught:
            preflight.check(graph(project, OWN, "would run", settings, "split"))
        assert told in str(caught.value) and "params.yaml" in str(caught.value)


def test_benchmarks_and_their_settings_are_checked_against_the_cards(project: Path) -> None:
    sample = read_yaml(ROOT / "params.yaml")["benchmarks"]
    (name, group) = next(iter(sample.items()))
    wrong = [
        ({"benchmarks.misspelt": group}, "'misspelt': no such benchmark; benchmarks are "),
        ({"benchmarks": {name: group | {"unknown": 1}}}, f"unknown key benchmarks.{name}.unknown"),
        ({"benchmarks": {}}, f"predict.systems has {name}-"),
    ]
    for settings, told in wrong:
        with pytest.raises(NightjarError) as caught:
            preflight.check(graph(project, OWN, "would run", settings, "split"))
        assert told in str(caught.value)
        preflight.check(graph(project, OWN, "up to date", settings, "split"))
