"""Several processes learn what one does; the launchers' files are what accelerate takes them for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import launch_command_parser
from accelerate.state import AcceleratorState
from safetensors.torch import load_file

from nightjar.models.weights import write_checksums
from nightjar.params.profiles import names
from nightjar.params.train import Recipe, Train
from tests.conftest import ROOT
from tests.in_process import run_stage
from tests.pipelines import forked
from tests.stages.train.conftest import Maker
from tests.stages.train.test_checkpoint import project, published
from tests.tiny_models import language_model

Recipes = Callable[..., Recipe]
LAUNCHERS = [name for name in Train.model_fields["launcher"].annotation.__args__ if name != "none"]  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On the processor alone, and nothing of an earlier training in this process."""
    for name, value in {"PYTHONPATH": ROOT, "OMP_NUM_THREADS": 1, "ACCELERATE_USE_CPU": "true"}.items():
        monkeypatch.setenv(name, str(value))
    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="module")
def python() -> str:
    """The launches start seven processes that load torch."""
    return forked.interpreter()


@pytest.fixture()
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    language_model(folder)
    write_checksums(folder)
    return folder


def launch_by(folder: Path, launcher: str) -> None:
    values = json.loads((folder / "params.yaml").read_text())
    values["train"]["launcher"] = launcher
    (folder / "params.yaml").write_text(json.dumps(values))


def weights(folder: Path) -> dict[str, Any]:
    return load_file(folder / "models/train/tk_instruct/model.safetensors")


def test_two_processes_learn_what_one_does(
    tmp_path: Path, model: Path, encoded: Maker, recipe: Recipes, python: str
) -> None:
    # Small passes, so that a step has several, and at times an odd number of them.
    made = recipe(
        max_steps=5, batch_tokens=64, evaluate_every=2, checkpoint_every=2, learning_rate=0.001, warmup=0.01
    )
    one = project(tmp_path / "one", model, encoded, made)
    two = project(tmp_path / "two", model, encoded, made)
    assert run_stage("train", "tk_instruct", cwd=one).returncode == 0
    command = [
        *(python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
        *("-m", "stages.train.launch", "tk_instruct", "facts.json"),
    ]
    done = subprocess.run(command, cwd=two, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("step 1 of 5") == 1
    assert json.loads((two / "models/train/tk_instruct/recipe.json").read_text())["processes"] == 2
    steps, others = (
        [json.loads(line) for line in published(folder)["steps.jsonl"].splitlines()] for folder in (one, two)
    )
    for left, right in zip(steps, others, strict=True):
        assert left.pop("loss") == pytest.approx(right.pop("loss"), rel=1e-5)
        assert left == right
    dev, other = (published(folder)["dev.jsonl"].splitlines() for folder in (one, two))
    assert [json.loads(row)["loss"] for row in dev] == pytest.approx(
        [json.loads(row)["loss"] for row in other]
    )
    for name, value in weights(one).items():
        assert float((value - weights(two)[name]).abs().max()) < 2e-5, name
    start = load_file(model / "model.safetensors")
    assert any(float((value - start[name]).abs().max()) > 1e-3 for name, value in weights(one).items())


def test_a_launched_stage_is_the_stage(
    tmp_path: Path,
    model: Path,
    encoded: Maker,
    recipe: Recipes,
    python: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    made = recipe(max_steps=2)
    one = project(tmp_path / "one", model, encoded, made)
    two = project(tmp_path / "two", model, encoded, made)
    launch_by(two, "one_cpu")
    (two / "profiles").symlink_to(ROOT / "profiles")
    for folder in (one, two):
        assert run_stage("train", "tk_instruct", cwd=folder).returncode == 0
    assert published(one) == published(two)
    facts = [
        json.loads((folder / "data/metrics/train-tk_instruct.json").read_text()) for folder in (one, two)
    ]
    assert [told.pop("launcher") for told in facts] == ["none", "one_cpu"]
    assert facts[0] | {"versions": {}} == facts[1] | {"versions": {}}
    # What fails in the processes is told in a line, and nothing is published.
    (two / "data/encode/tk_instruct/tokens/tokens.arrow").write_bytes(b"")
    failed = run_stage("train", "tk_instruct", cwd=two)
    assert failed.returncode == 2
    assert "tokens.arrow: unreadable" in capfd.readouterr().err
    assert failed.stderr.splitlines()[-1].startswith(
        "nightjar: profiles/accelerate/one_cpu.yaml: the processes"
    )


@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_configurations_are_accelerates(name: str) -> None:
    file = ROOT / "profiles/accelerate" / f"{name}.yaml"
    made = load_config_from_file(str(file))
    kind = {"fsdp": "FSDP", "deepspeed_zero3": "DEEPSPEED"}.get(name, "NO")
    assert made.distributed_type.value == kind
    assert made.num_processes == (8 if kind != "NO" else 1)
    # Every key of the plug-ins' parts is an option that `accelerate launch` knows.
    options = {option for action in launch_command_parser()._actions for option in action.option_strings}
    assert {f"--{key}" for key in (*made.fsdp_config, *made.deepspeed_config)} <= options
    assert "mixed_precision" in yaml.safe_load(file.read_text())


def test_every_launcher_has_its_configuration() -> None:
    assert {path.stem for path in (ROOT / "profiles/accelerate").glob("*.yaml")} == set(LAUNCHERS)
    # They are no profiles of parameters.
    assert not set(LAUNCHERS) & set(names(ROOT))


def test_sharded_runs_cannot_be_resumed_and_say_so(
    tmp_path: Path, model: Path, encoded: Maker, recipe: Recipes
) -> None:
    folder = project(tmp_path / "project", model, encoded, recipe(checkpoint_every=5))
    launch_by(folder, "fsdp")
    done = run_stage("train", "tk_instruct", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("nightjar: params.yaml: train.tk_instruct.checkpoint_every: fsdp spreads")
    assert done.stderr.count("\n") == 1
