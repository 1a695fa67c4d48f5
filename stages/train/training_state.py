"""Checkpoints of a training run: what a killed run needs to end with the very weights of an unbroken one.

They lie in .nightjar/checkpoints/<digest of everything that decides the weights>, outside DVC's outputs, which DVC
deletes before it runs a stage. A checkpoint is a folder that appears whole or not at all (written under another name,
synced, renamed): learnt weights and optimizer moments as safetensors, step and history as JSON. There is no state of a
random generator to keep: every forward pass is seeded by its step and place (loop.py). No pickle.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.distributed.tensor import DTensor, distribute_tensor

from nightjar.core.errors import NightjarError
from nightjar.core.files import flush
from nightjar.core.json_text import parse
from stages._runtime.checkpoint import lock

_STATE, _WEIGHTS, _MOMENTS = "state.json", "weights.safetensors", "moments.safetensors"

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class TrainingState:
    """The state after `step`: weights that learn and their moments by name, and the run's history so far."""

    step: int
    history: dict[str, Any]
    weights: dict[str, torch.Tensor]
    moments: dict[str, torch.Tensor]


class Checkpoints:
    """The folder of one run. Only the process that writes the model uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder alone, until the process ends in whatever way. Raises NightjarError if another holds it."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        file = self.folder.with_suffix(".lock")
        with ExitStack() as stack:
            lock(stack, file)
            yield
            file.unlink(missing_ok=True)

    def last(self) -> TrainingState | None:
        """The newest checkpoint, or None. Raises NightjarError if it is damaged."""
        self._remove_unfinished()
        folders = sorted(self.folder.glob("step-*"))
        if not folders:
            return None
        try:
            state = parse((folders[-1] / _STATE).read_bytes(), constants=True)
            weights, moments = (load_file(folders[-1] / name) for name in (_WEIGHTS, _MOMENTS))
            return TrainingState(state["step"], state["history"], weights, moments)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            what = f"damaged checkpoint ({error})"
            raise NightjarError(what, folders[-1], f"delete {self.folder} and start again") from None

    def save(self, step: int, history: dict[str, Any], weights: Tensors, moments: Tensors, best: int) -> None:
        """Publish the state after `step`; older checkpoints, and best weights other than those of `best`, go."""
        state = json.dumps({"step": step, "history": history}, sort_keys=True)
        self._publish(f"step-{step:09d}", {_WEIGHTS: weights, _MOMENTS: moments}, state)
        keep = {f"step-{step:09d}", f"best-{best:09d}"}
        for path in self.folder.iterdir():
            if path.name not in keep:
                shutil.rmtree(path, ignore_errors=True)

    def save_best(self, step: int, weights: Tensors) -> None:
        """Keep the weights after `step` for the end of the run."""
        name = f"best-{step:09d}"
        if not (self.folder / name).exists():
            self._publish(name, {_WEIGHTS: weights}, "{}")

    def best(self, step: int) -> dict[str, torch.Tensor]:
        """The weights that `save_best` kept."""
        return load_file(self.folder / f"best-{step:09d}" / _WEIGHTS)

    def remove(self) -> None:
        """Nothing of the run is needed any more."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_unfinished(self) -> None:
        for path in self.folder.glob(".*"):
            shutil.rmtree(path, ignore_errors=True)

    def _publish(self, name: str, tensors: Mapping[str, Tensors], state: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{name}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        for file, values in tensors.items():
            save_file({key: value.contiguous() for key, value in values.items()}, temporary / file)
        (temporary / _STATE).write_text(state, encoding="utf-8")
        for path in (*temporary.iterdir(), temporary):
            flush(path)
        temporary.rename(self.folder / name)
        flush(self.folder)


def full_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor on the CPU. One that is spread over processes (FSDP) is gathered: every process must call it."""
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().cpu()


def moments_of(
    optimizer: torch.optim.Optimizer, names: Mapping[str, torch.nn.Parameter], keep: bool = True
) -> dict[str, torch.Tensor]:
    """The optimizer's state as `<parameter's name>:<what>`; exact, in the precision it has.

    Every process must call it; those that do not `keep` it get nothing.
    """
    gathered = (
        (f"{name}:{what}", full_tensor(value))
        for name, parameter in names.items()
        for what, value in optimizer.state[parameter].items()
    )
    return {name: value for name, value in gathered if keep}


def restore(
    checkpoint: TrainingState, optimizer: torch.optim.Optimizer, names: Mapping[str, torch.nn.Parameter]
) -> None:
    """Put a checkpoint's weights and moments where `moments_of` took them from."""
    set_weights(names, checkpoint.weights)
    for key, value in checkpoint.moments.items():
        name, _, what = key.rpartition(":")
        # AdamW counts its steps on the CPU; the moments lie beside the weights.
        optimizer.state[names[name]][what] = value.clone() if what == "step" else _as(names[name], value)


def set_weights(names: Mapping[str, torch.nn.Parameter], weights: Tensors) -> None:
    """Copy weights into the parameters of these names."""
    with torch.no_grad():
        for name, parameter in names.items():
            parameter.copy_(_as(parameter, weights[name]))


def _as(parameter: torch.nn.Parameter, value: torch.Tensor) -> torch.Tensor:
    """`value` on the parameter's device, and spread over the processes as the parameter is."""
    if isinstance(parameter, DTensor):
        return distribute_tensor(value.to(parameter.device), parameter.device_mesh, parameter.placements)
    return value.to(parameter.device)
