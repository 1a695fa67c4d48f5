"""Several processes learn what one does; the launchers' files are what accelerate takes them for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import launch_command_parser
from accelerate.state import AcceleratorState
from safetensors.torch import load_file

from nightjar.models.directory.weights import write_checksums
from nightjar.params.profile_values import names
from nightjar.params.train import Train
from tests.conftest import ROOT
from tests.in_process import refused_stage, run_stage
from tests.pipelines import forked
from tests.stages.train.conftest import Maker, recipe
from tests.stages.train.test_training_state import project, published
from tests.tiny_models import language_model

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
    folder = language_model(tmp_path / "model")
    write_checksums(folder)
    return folder


def launch_by(folder: Path, launcher: str) -> None:
    values = json.loads((folder / "params.yaml").read_text())
    values["train"]["launcher"] = launcher
    (folder / "params.yaml").write_text(json.dumps(values))


def weights(folder: Path) -> dict[str, Any]:
    (file,) = (folder / "models/train/tk_instruct").glob("*model.safetensors")
    return load_file(file)


# The worker of a launch by DDP or FSDP. accelerate offers FSDP on GPUs alone, so the state is set here that
# profiles/accelerate/fsdp.yaml leads to there. The first process is killed before the step of the last argument.
WORKER = """
import os, signal, sys
from pathlib import Path
from accelerate import Accelerator, PartialState
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from stages.train import launch, loop

def step(trainer, number, inner=loop.Trainer._step):
    assert (trainer.accelerator.num_processes, trainer.sharded) == (2, launcher == "fsdp")
    if number == int(last) and trainer.accelerator.is_main_process:
        os.kill(os.getpid(), signal.SIGKILL)
    return inner(trainer, number)

launcher, name, facts, last = sys.argv[1:]
loop.Trainer._step = step
if launcher == "fsdp":
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap", reshard_after_forward=True,
        state_dict_type="FULL_STATE_DICT", cpu_ram_efficient_loading=False,
    )
    state = Accelerator(cpu=True).state
    PartialState().distributed_type = state.distributed_type = DistributedType.FSDP
    state.fsdp_plugin = plugin
sys.exit(launch.worker(name, Path(facts)))
"""


def losses(folder: Path, file: str) -> list[float]:
    return [json.loads(line)["loss"] for line in published(folder)[file].splitlines()]


@pytest.mark.parametrize(("launcher", "method"), [("one_cpu", "lora"), ("fsdp", "full")], ids=str)
def test_two_processes_learn_what_one_does(
    tmp_path: Path, model: Path, encoded: Maker, python: str, launcher: str, method: str
) -> None:
    """By DDP, and by FSDP, which spreads the model over them and is killed; both on the processor, by gloo."""
    # Small passes, so that a step has several, and at times an odd number of them.
    made = recipe(
        method=method,
        max_steps=6,
        batch_tokens=64,
        evaluate_every=2,
        checkpoint_every=2,
        learning_rate=0.001,
        warmup=0.01,
    )
    one = project(tmp_path / "one", model, encoded, made)
    two = project(tmp_path / "two", model, encoded, made)
    assert run_stage("train", "tk_instruct", cwd=one).returncode == 0
    launch_by(two, launcher)
    (two / "worker.py").write_text(WORKER)
    processes = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    worker = [*processes, "--module", "worker", launcher, "tk_instruct", "facts.json"]
    if launcher == "fsdp":
        died = subprocess.run([*worker, "5"], cwd=two, capture_output=True, text=True)
        assert died.returncode != 0
        assert not (two / "models/train/tk_instruct").exists()
        assert [path.name for path in two.glob(".nightjar/checkpoints/*/step-*")] == ["step-000000004"], (
            died.stderr
        )
    done = subprocess.run([*worker, "0"], cwd=two, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    # A resumed run takes the last two steps alone, and one process says so.
    said = [done.stderr.count(f"step {number} of 6, loss") for number in (1, 6)]
    assert said == [int(launcher != "fsdp"), 1]
    assert json.loads((two / "models/train/tk_instruct/recipe.json").read_text())["processes"] == 2
    for file in ("steps.jsonl", "dev.jsonl"):
        assert losses(two, file) == pytest.approx(losses(one, file), rel=1e-5)
        mine, others = (
            [json.loads(line) | {"loss": None} for line in published(it)[file].splitlines()]
            for it in (one, two)
        )
        assert mine == others
    theirs = weights(two)
    for name, value in weights(one).items():
        assert float((value - theirs.pop(name)).abs().max()) < 2e-5, name
    assert not theirs
    if method == "full":
        start = load_file(model / "model.safetensors")
        assert any(float((value - start[name]).abs().max()) > 1e-3 for name, value in weights(two).items())
    # What is published can be loaded and has learnt: its loss is that of the steps.
    assert losses(two, "steps.jsonl")[-1] < losses(two, "steps.jsonl")[0] - 0.1


def test_a_launched_stage_is_the_stage(
    tmp_path: Path,
    model: Path,
    encoded: Maker,
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


def test_deepspeed_runs_cannot_be_resumed_and_say_so(tmp_path: Path, model: Path, encoded: Maker) -> None:
    folder = project(tmp_path / "project", model, encoded, recipe(checkpoint_every=5))
    launch_by(folder, "deepspeed_zero3")
    what = "params.yaml: train.tk_instruct.checkpoint_every: deepspeed_zero3 "
    assert what in refused_stage("train", "tk_instruct", cwd=folder)
