"""A run that is killed, wherever, and started again publishes the very bytes of an unbroken one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import write_checksums
from nightjar.models.engine.loading import load
from nightjar.params.train import Recipe, Training
from stages.train.training_state import Checkpoints
from tests.conftest import ROOT
from tests.pipelines import forked
from tests.stages.train.conftest import Maker, recipe
from tests.stages.train.test_loop import instances
from tests.tiny_models import encoder_decoder, language_model

Drive = Callable[..., list[int]]

# Children of one process that has imported and read all that the stage does: each is the stage from its start, and
# kills itself, as the machine would, at the given call of a function: before it, so that all that follows is missing.
DRIVER = """
import gc, json, os, signal, sys
from pathlib import Path
import dvc.repo, dvclive, peft.utils.transformers_weight_conversion
import transformers.models.llama.modeling_llama, transformers.models.t5.modeling_t5
from transformers.conversion_mapping import get_checkpoint_conversion_mapping
import stages.train.__main__, stages.train.recipe_training, stages.train.launch
from nightjar import params
from nightjar.core import files
from stages._runtime import stage as harness
from stages.train import training_state, loop

get_checkpoint_conversion_mapping("llama")  # transformers compiles all its patterns once
gc.collect()
gc.freeze()  # a child that looked for garbage in all this would copy it

def child(name, call, function, log):
    module = {"flush": training_state, "_publish": training_state.Checkpoints, "_step": loop.Trainer,
              "replace": files, "_evaluate": loop.Trainer}[function] if function else None
    if module:
        inner, seen = getattr(module, function), [0]
        def dying(*arguments, **named):
            seen[0] += 1
            if seen[0] == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return inner(*arguments, **named)
        setattr(module, function, dying)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.argv = ["train", name]
    harness.main("train", stages.train.__main__.run, packages=("torch",), threads=True)

for folder, name, function, call in map(json.loads, sys.stdin):
    params.load(Path(folder, "params.yaml"))
    pid = os.fork()
    if not pid:
        os.chdir(folder)
        try:
            child(name, call, function, "log.txt")
        except BaseException as error:
            if not isinstance(error, SystemExit):
                import traceback
                traceback.print_exc()
                os._exit(3)
            os._exit(error.code or 0)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    print(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), flush=True)
"""


def project(folder: Path, model: Path, encoded: Maker, recipe: Recipe) -> Path:
    folder.mkdir()
    values = read_yaml(ROOT / "params.yaml")
    values["train"]["tk_instruct"] = recipe.model_dump(include=set(Training.model_fields))
    (folder / "params.yaml").write_text(json.dumps(values))
    (folder / "models/base").mkdir(parents=True)
    (folder / "models/base/language_model").symlink_to(model)
    lm = load(model)
    encoded(instances(lm, dev=2), lm.encoder_decoder, folder / "data/encode/tk_instruct")
    return folder


@pytest.fixture()
def model(tmp_path: Path) -> Path:
    return language_model(tmp_path / "model")


@pytest.fixture(scope="module")
def drive() -> Iterator[Drive]:
    """Exit statuses of runs (project, function to die in, at which call), one after another; -9 is killed."""
    command = [forked.interpreter(), "-c", DRIVER]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as driver:  # type: ignore[call-overload]

        def run(*runs: tuple[Path, str, int]) -> list[int]:
            statuses = []
            for folder, function, call in runs:
                driver.stdin.write(json.dumps([str(folder), "tk_instruct", function, call]) + "\n")
                driver.stdin.flush()
                statuses.append(int(driver.stdout.readline()))
            return statuses

        yield run
        driver.stdin.close()


def published(folder: Path) -> dict[str, bytes]:
    output = folder / "models/train/tk_instruct"
    return {
        path.relative_to(output).as_posix(): path.read_bytes() for path in output.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("kind", ["lora", "encoder_decoder"])
def test_killed_anywhere_and_resumed(tmp_path: Path, encoded: Maker, kind: str, drive: Drive) -> None:
    model = (encoder_decoder if kind == "encoder_decoder" else language_model)(tmp_path / "model")
    write_checksums(model)
    made = recipe(
        method="lora" if kind == "lora" else "full",
        epochs=5.0,
        evaluate_every=3,
        checkpoint_every=2,
        learning_rate=0.02,
    )
    whole = project(tmp_path / "whole", model, encoded, made)
    broken = project(tmp_path / "broken", model, encoded, made)
    # Ten steps; checkpoints after 2, 4, ...; each write syncs four files, a folder and the folder above.
    deaths = [
        (broken, "_step", 2),  # before any checkpoint
        (broken, "flush", 2),  # in the middle of the first
        (broken, "_step", 4),  # after it
        (broken, "flush", 5),  # all written, not yet renamed
        (broken, "_publish", 3),
        (broken, "_evaluate", 2),
        (broken, "replace", 1),  # all trained, nothing published
    ]
    statuses = drive((whole, "", 0), *deaths, (broken, "", 0))
    assert statuses == [0, *[-9] * len(deaths), 0], (broken / "log.txt").read_text()
    one, other = published(whole), published(broken)
    assert one.keys() == other.keys() >= {"recipe.json", "steps.jsonl", "dev.jsonl", "checksums.json"}
    assert [name for name in one if one[name] != other[name]] == []
    if kind == "lora":
        # Sets have another order in another process: only a sorted list is the same there too.
        modules = json.loads(one["adapter_config.json"])["target_modules"]
        assert modules == sorted(modules)
    facts = [(folder / "data/metrics/train-tk_instruct.json").read_text() for folder in (whole, broken)]
    assert facts[0] == facts[1]
    # From the first checkpoint on, every run went on from the last: only three runs did the first step.
    assert (broken / "log.txt").read_text().count("step 1 of 10") == 3
    steps = [json.loads(line)["step"] for line in one["steps.jsonl"].splitlines()]
    assert steps == list(range(1, 11))
    curve = (broken / "models/train/tk_instruct/dvclive/plots/metrics/train/loss.tsv").read_text()
    assert [line.split("\t")[0] for line in curve.splitlines()] == ["step", *map(str, steps)]
    # Nothing is left behind, and what was tried is not published.
    assert list((broken / ".nightjar/checkpoints").iterdir()) == []
    assert [path.name for path in (broken / "models/train").iterdir()] == ["tk_instruct"]


def test_another_configuration_starts_anew(tmp_path: Path, model: Path, encoded: Maker, drive: Drive) -> None:
    made = recipe(epochs=5.0, checkpoint_every=2)
    folder = project(tmp_path / "project", model, encoded, made)
    assert drive((folder, "_step", 6)) == [-9]
    values = json.loads((folder / "params.yaml").read_text())
    values["train"]["tk_instruct"]["learning_rate"] = 0.001
    (folder / "params.yaml").write_text(json.dumps(values))
    assert drive((folder, "", 0)) == [0]
    assert (folder / "log.txt").read_text().count("step 1 of 10") == 2
    assert len(list((folder / ".nightjar/checkpoints").iterdir())) == 2  # the abandoned one and its lock


def test_the_seed_of_a_recipe_is_added_to_that_of_the_parameters(
    tmp_path: Path, model: Path, encoded: Maker, drive: Drive
) -> None:
    folders = []
    for seed, own in ((42, 0), (42, 1), (43, 0)):
        folder = project(tmp_path / f"{seed}{own}", model, encoded, recipe(max_steps=2, seed=own))
        values = json.loads((folder / "params.yaml").read_text())
        (folder / "params.yaml").write_text(json.dumps(values | {"seed": seed}))
        folders.append(folder)
    assert drive(*((folder, "", 0) for folder in folders)) == [0, 0, 0]
    first, second, third = map(published, folders)
    assert second == third != first
    assert json.loads(second["recipe.json"])["seed"] == 43


def test_only_the_last_and_the_best_stay(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "run")
    weights: dict[str, Any] = {"w": torch.ones(2)}
    for step in (1, 2, 3):
        checkpoints.save_best(step, weights)
        checkpoints.save(step, {}, weights, {}, best=min(step, 2))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["best-000000002", "step-000000003"]
    (tmp_path / "run/step-000000003/weights.safetensors").write_bytes(b"cut")
    with pytest.raises(NightjarError, match="damaged checkpoint"):
        checkpoints.last()


def test_the_same_training_does_not_run_twice_at_once(tmp_path: Path) -> None:
    with (
        Checkpoints(tmp_path / "run").locked(),
        pytest.raises(NightjarError, match="another process is doing this work"),
        Checkpoints(tmp_path / "run").locked(),
    ):
        pass
    with Checkpoints(tmp_path / "run").locked():
        pass
