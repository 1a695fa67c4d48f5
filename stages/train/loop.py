"""The training loop: a step trains on exactly the planned instances, however many processes share them.

The loss of a step is the mean negative log-likelihood of its target tokens, or the mean over its instances of each
one's own mean (`weighting`), whichever passes and processes they fell to. After a warm-up the learning rate is constant
or falls linearly. Every `evaluate_every` steps the loss on the dev side is taken, a mean over target tokens, and the
weights where it was lowest are the ones that are kept; where texts are trained on, it is taken before the first step
too, for comparison. A pass is seeded by its step and place, so that dropout is the same in a resumed run, and in any
number of processes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType

from nightjar.core.errors import first_line
from nightjar.params.train import Recipe
from stages._runtime.stage import log
from stages.train.model import Weighting, batch, learner, learning, loss_of, to
from stages.train.packing import Packed, PaddedBatch
from stages.train.step_plan import EncodedInstances, Plan, Unit
from stages.train.training_state import Checkpoints, full_tensor, moments_of, restore, set_weights

SHARDED = frozenset({DistributedType.FSDP, DistributedType.DEEPSPEED})
CLIP = 1.0
# How far the losses of one pass by two ways of attention may be apart, as a share: bfloat16 rounds to a 256th.
ROUNDING = 0.01


@dataclass(frozen=True)
class Step:
    """One optimiser step: the loss that it lowered (nats), learning rate, tokens read and learnt from."""

    step: int
    loss: float
    learning_rate: float
    tokens: int
    target_tokens: int


@dataclass(frozen=True)
class Dev:
    """Mean loss a target token (nats) on the dev side after a step; `target_tokens` is how many there are."""

    step: int
    loss: float
    target_tokens: int


@dataclass
class History:
    """All steps and dev losses of a run, of its earlier processes too."""

    steps: list[Step] = field(default_factory=list)
    dev: list[Dev] = field(default_factory=list)

    @property
    def best(self) -> int:
        """The step with the lowest dev loss, the earliest of equals; 0 if there was none after a step."""
        after = [dev for dev in self.dev if dev.step]
        return min(after, key=lambda dev: (dev.loss, dev.step)).step if after else 0


@dataclass(frozen=True)
class TrainedModel:
    """The unwrapped model with the weights that are kept, those of `chosen_step`.

    `weights`: all of them, gathered, where the model is spread over processes; else None. `blocks`: whether attention
    skipped blocks of tokens that do not see one another.
    """

    model: Any
    weights: dict[str, torch.Tensor] | None
    history: History
    chosen_step: int
    blocks: bool


class Trainer:
    """One run. `report` is called with every step and the number of steps; `checkpoints` is where it can be
    resumed from."""

    def __init__(
        self,
        model: Any,
        examples: EncodedInstances,
        recipe: Recipe,
        seed: int,
        accelerator: Accelerator,
        checkpoints: Checkpoints,
        report: Callable[[Step | Dev, int], None],
    ) -> None:
        torch.manual_seed(seed)
        self.examples, self.recipe, self.seed = examples, recipe, seed
        self.accelerator, self.checkpoints, self.report = accelerator, checkpoints, report
        self.plan = Plan(examples, recipe, seed)
        self.config = model.config
        self.history = History()
        self.dtype: torch.dtype = getattr(torch, recipe.precision)
        trained = learner(model, recipe, examples.encoder_decoder)
        self.sharded = accelerator.distributed_type in SHARDED
        optimizer = torch.optim.AdamW(
            list(learning(trained).values()), lr=recipe.learning_rate, betas=(0.9, 0.999), weight_decay=0.0
        )
        self.model, self.optimizer = accelerator.prepare(trained, optimizer)
        self.parameters = learning(accelerator.unwrap_model(self.model))
        self.blocks = False

    def run(self) -> TrainedModel:
        """Train to the end, from the last checkpoint if there is one."""
        done = self._resume()
        on_gpu = self.accelerator.device.type == "cuda" and not self.sharded
        self.blocks = on_gpu and not self.examples.encoder_decoder and self.reads_blocks()
        every = self.recipe.evaluate_every
        if every and self.recipe.data == "corpus" and not self.history.dev and len(self.examples.dev):
            self._evaluate(0)
        for number in range(done + 1, self.plan.steps + 1):
            self.model.train()
            step = self._step(number)
            self.history.steps.append(step)
            self.report(step, self.plan.steps)
            if every and len(self.examples.dev) and (number % every == 0 or number == self.plan.steps):
                self._evaluate(number)
            if self.recipe.checkpoint_every and number % self.recipe.checkpoint_every == 0:
                self._checkpoint(number)
        return self._chosen()

    def reads_blocks(self) -> bool:
        """Tell whether attention by blocks can replace a dense mask, as two passes of unlike sizes show: the loss is
        the same to rounding, and it has gradients. Nothing is learnt from them.

        The kernels are compiled for the first size, and once more for all others.
        """
        self.model.train()
        try:
            for unit in (self.plan.step(1)[0], self.plan.step(self.plan.steps)[-1]):
                self._compare(self._tensors(unit))
        except Exception as error:  # no compiler, dropout in attention, a model of any kind
            log.info("attention has a dense mask: %s", first_line(error))
            return False
        finally:
            self.optimizer.zero_grad()
        return True

    def _compare(self, batch: Packed | PaddedBatch) -> None:
        """Take the loss of a pass with a dense mask and by blocks. Raises ValueError if they differ."""
        assert isinstance(batch, Packed)
        torch.manual_seed(self.seed)
        with torch.no_grad():
            dense = self._loss(batch).item()
        torch.manual_seed(self.seed)
        nll = self._loss(replace(batch, blocks=True))
        self.accelerator.backward(0.0 * nll)
        if not math.isclose(dense, nll.item(), rel_tol=ROUNDING):
            raise ValueError(f"by blocks the loss is {nll.item():g} instead of {dense:g}")

    def _resume(self) -> int:
        checkpoint = self.checkpoints.last()
        self.accelerator.wait_for_everyone()
        if checkpoint is None:
            return 0
        restore(checkpoint, self.optimizer.optimizer, self.parameters)
        self.history.steps = [Step(**step) for step in checkpoint.history["steps"]]
        self.history.dev = [Dev(**dev) for dev in checkpoint.history["dev"]]
        return checkpoint.step

    def _step(self, number: int) -> Step:
        passes = self.plan.step(number)
        target_tokens = sum(
            len(self.examples.target(draw.example, draw.reference))
            for unit in passes
            for group in unit
            for draw in group
        )
        instances = sum(len(group) for unit in passes for group in unit)
        weighting = self.recipe.weighting
        counted = target_tokens if weighting == "tokens" else instances
        rate = self._rate(number)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        total, tokens = 0.0, 0
        shares = self._shares(passes)
        for place, (unit, counts) in enumerate(shares):
            tensors = self._tensors(unit)
            last = place == len(shares) - 1
            self.accelerator.sync_gradients = last
            torch.manual_seed(self._seed(number, passes.index(unit)))
            with nullcontext() if last else self.accelerator.no_sync(self.model):
                nll = self._loss(tensors, weighting)
                # Gradients are averaged over the processes; the step's loss is one mean over all of them.
                self.accelerator.backward(nll * (counts * self.accelerator.num_processes / counted))
            total += nll.item() * counts
            tokens += tensors.tokens * counts
        if self.accelerator.distributed_type != DistributedType.DEEPSPEED:
            self.accelerator.clip_grad_norm_(list(self.model.parameters()), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad()
        total, read = self._sum(total, tokens)
        return Step(number, total / counted, rate, int(read), target_tokens)

    def _shares(self, passes: list[Unit]) -> list[tuple[Unit, int]]:
        """This process's passes, dealt in turns, each with 1; every process has as many, so some do one again for 0."""
        count, index = self.accelerator.num_processes, self.accelerator.process_index
        rounds = -(-len(passes) // count)
        places = [turn * count + index for turn in range(rounds)]
        return [(passes[place], 1) if place < len(passes) else (passes[0], 0) for place in places]

    def _tensors(self, unit: Unit) -> Packed | PaddedBatch:
        """The tensors of one forward pass, on the device."""
        tensors = to(batch(self.examples, unit, self.config), self.accelerator.device)
        return replace(tensors, blocks=self.blocks) if isinstance(tensors, Packed) else tensors

    def _loss(self, batch: Packed | PaddedBatch, weighting: Weighting = "tokens") -> torch.Tensor:
        with self.accelerator.autocast():
            return loss_of(self.model, batch, self.dtype, weighting)

    def _sum(self, *values: float) -> list[float]:
        """Sums over all processes."""
        if self.accelerator.num_processes == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=self.accelerator.device)
        summed: list[float] = self.accelerator.reduce(tensor, "sum").tolist()
        return summed

    def _rate(self, number: int) -> float:
        """The learning rate of a step. As published for GPT-2, a linear decay reaches 0 one step after the last."""
        recipe, steps = self.recipe, self.plan.steps
        warm = round(recipe.warmup * steps)
        if number <= warm or recipe.schedule == "constant":
            return recipe.learning_rate * min(1.0, number / max(1, warm))
        return recipe.learning_rate * (steps + 1 - number) / (steps - warm)

    def _seed(self, step: int, place: int) -> int:
        name = f"{self.seed} {step} {place}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") >> 1

    @torch.no_grad()
    def _evaluate(self, number: int) -> None:
        self.model.eval()
        total, target_tokens = 0.0, 0
        for unit, counts in self._shares(self.plan.dev()):
            tensors = self._tensors(unit)
            total += self._loss(tensors).item() * counts
            target_tokens += int((tensors.labels >= 0).sum()) * counts
        total, count = self._sum(total, target_tokens)
        dev = Dev(number, total / count, int(count))
        self.history.dev.append(dev)
        self.report(dev, self.plan.steps)
        if self.history.best == number and number not in (0, self.plan.steps):
            weights = self._weights()
            if self.accelerator.is_main_process:
                self.checkpoints.save_best(number, weights)

    def _weights(self) -> dict[str, torch.Tensor]:
        """Return what has been learnt, on the CPU of the first process. Every process must call it."""
        if self.accelerator.distributed_type == DistributedType.DEEPSPEED:
            return _unshared(self.accelerator.get_state_dict(self.model))
        main = self.accelerator.is_main_process
        gathered = ((name, full_tensor(parameter)) for name, parameter in self.parameters.items())
        return {name: value.clone() for name, value in gathered if main}

    def _checkpoint(self, number: int) -> None:
        main = self.accelerator.is_main_process
        weights = self._weights()
        moments = moments_of(self.optimizer.optimizer, self.parameters, main)
        if main:
            history = {name: [asdict(row) for row in rows] for name, rows in vars(self.history).items()}
            self.checkpoints.save(number, history, weights, moments, self.history.best)
        self.accelerator.wait_for_everyone()

    def _chosen(self) -> TrainedModel:
        last = self.plan.steps
        chosen = self.history.best or last
        self.accelerator.wait_for_everyone()
        weights = None
        if chosen != last:
            best_weights = self.checkpoints.best(chosen)
            if self.sharded:
                weights = best_weights
            else:
                set_weights(self.parameters, best_weights)
        elif self.sharded:
            weights = self._weights()
        self.model.eval()
        return TrainedModel(
            self.accelerator.unwrap_model(self.model), weights, self.history, chosen, self.blocks
        )


def _unshared(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights without those that are another's memory: safetensors refuses tied ones."""
    known_pointers: set[int] = set()
    unshared = {}
    for name, value in weights.items():
        if value.data_ptr() not in known_pointers:
            known_pointers.add(value.data_ptr())
            unshared[name] = value
    return unshared
