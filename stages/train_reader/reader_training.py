"""The training of one task's reader: AdamW, a rate that falls to 0, and the weights that answer the dev side best."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import torch

from nightjar.models.reader import (
    PASS_TOKENS,
    FrozenStates,
    LiveStates,
    Targets,
    UntrainedReader,
    all_answers,
    answer_scores,
)
from nightjar.models.reader.reader_tokens import PADDED
from nightjar.models.tokenizer import like_length
from nightjar.params.readers import ReaderRecipe
from stages.train_reader.reader_questions import ReaderExamples, ReaderTask

# As published (Guo et al. 2023). The rate has no warm-up.
WEIGHT_DECAY, CLIP = 0.01, 1.0
# Weights that begin at random learn so many times as fast as pretrained ones, which a higher rate destroys.
FRESH_RATE = 10.0


@dataclass
class TrainedReader:
    """The weights of the best step, the loss of each step (nats a token), and the accuracy on dev by step."""

    weights: dict[str, torch.Tensor]
    chosen_step: int = 0
    losses: list[float] = field(default_factory=list)
    dev: dict[int, float] = field(default_factory=dict)


class Side:
    """One side of a task as a reader reads it. `first` is the place of its first input in `states`."""

    def __init__(
        self,
        base: UntrainedReader,
        recipe: ReaderRecipe,
        states: FrozenStates | LiveStates,
        examples: ReaderExamples,
        first: int,
    ) -> None:
        self._reader, self._states, self._examples = base.reader, states, examples
        self._device = base.device
        self._prior = recipe.fusion == "rag_sequence"
        self._half = recipe.precision == "bfloat16"
        self._inputs: list[range] = []
        for inputs in examples.inputs:
            self._inputs.append(range(first, first + len(inputs)))
            first += len(inputs)

    def scores(self, numbers: Sequence[int], targets: Targets, chosen: torch.Tensor) -> torch.Tensor:
        """`answer_scores` of the questions of these numbers."""
        flat = [one for number in numbers for one in self._inputs[number]]
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._half):
            states = iter(self._states.read(flat))
            read = [list(islice(states, len(self._inputs[number]))) for number in numbers]
            priors = [self._examples.priors[number] for number in numbers] if self._prior else None
            return answer_scores(self._reader, read, priors, targets, chosen)

    def loss(self, numbers: Sequence[int], targets: Targets) -> torch.Tensor:
        """The mean negative log-likelihood of the right targets, in nats a token."""
        right = torch.tensor([self._examples.answers[number] for number in numbers], device=self._device)
        tokens = (targets.places[right] != PADDED).sum()
        return -self.scores(numbers, targets, right[:, None]).sum() / tokens

    @torch.inference_mode()
    def accuracy(self, targets: Targets) -> float:
        """The share of questions whose likeliest answer is right."""
        lengths = [sum(map(len, inputs)) for inputs in self._examples.inputs]
        right = 0
        for batch in like_length(lengths, PASS_TOKENS):
            best = self.scores(batch, targets, all_answers(targets, len(batch))).argmax(dim=1)
            right += sum(
                int(label) == self._examples.answers[number]
                for label, number in zip(best.tolist(), batch, strict=True)
            )
        return right / len(lengths)


def fit(
    base: UntrainedReader, recipe: ReaderRecipe, task: ReaderTask, seed: int, work: Path
) -> TrainedReader:
    """Train the reader of one task, from the weights that `base` has now; `work` is a folder for a large file.

    The weights that are kept are those with the highest accuracy on the dev side, the earliest of equal ones; those of
    the last step where the task has no dev side. The result depends on the seed and the task alone, not on the tasks
    before. Raises NightjarError for states or weights that are no finite numbers.
    """
    reader, task_seed = base.reader, _seed(seed, task.name)
    learning = reader.learning(recipe.trains)
    for name, parameter in reader.named_parameters():
        parameter.requires_grad_(name in learning)
    targets = base.tokens.targets(task.targets, reader.start).to(base.device)
    torch.manual_seed(task_seed)
    inputs = [
        passage_text for side in (task.train, task.dev) for read in side.inputs for passage_text in read
    ]
    with ExitStack() as stack:
        states: FrozenStates | LiveStates
        if recipe.trains == "all":
            states = LiveStates(reader, inputs)
        else:
            half = torch.autocast(base.device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16")
            with half:
                states = stack.enter_context(FrozenStates(reader.eval(), inputs, work / "states.f16"))
        train = Side(base, recipe, states, task.train, 0)
        dev = Side(base, recipe, states, task.dev, sum(map(len, task.train.inputs)))
        trained = TrainedReader({})
        optimizer = _optimizer(base, learning, recipe.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / recipe.max_steps)
        for step, batch in zip(
            range(1, recipe.max_steps + 1),
            _batches(len(task.train), recipe.batch_size, task_seed),
            strict=False,
        ):
            reader.train()
            loss = train.loss(batch, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learning.values(), CLIP)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            trained.losses.append(loss.item())
            last = step == recipe.max_steps
            if len(task.dev) and (last or (recipe.evaluate_every and step % recipe.evaluate_every == 0)):
                reader.eval()
                accuracy = dev.accuracy(targets)
                better = accuracy > max(trained.dev.values(), default=-1.0)
                trained.dev[step] = accuracy
            else:
                better = last
            if better:
                trained.chosen_step = step
                trained.weights = {name: p.detach().to("cpu", copy=True) for name, p in learning.items()}
    reader.eval()
    return trained


def _optimizer(
    base: UntrainedReader, learning: dict[str, torch.nn.Parameter], rate: float
) -> torch.optim.AdamW:
    fresh = [p for name, p in learning.items() if base.reader.is_fresh(name)]
    others = [p for name, p in learning.items() if not base.reader.is_fresh(name)]
    groups = [{"params": others, "lr": rate}, {"params": fresh, "lr": FRESH_RATE * rate}]
    return torch.optim.AdamW([group for group in groups if group["params"]], weight_decay=WEIGHT_DECAY)


def _batches(questions: int, size: int, seed: int) -> Iterator[list[int]]:
    """Numbers of questions without end: every epoch has each once, in an order of its own."""
    generator = torch.Generator().manual_seed(seed)
    waiting: list[int] = []
    while True:
        while len(waiting) < size:
            waiting += torch.randperm(questions, generator=generator).tolist()
        yield waiting[:size]
        waiting = waiting[size:]


def _seed(seed: int, task: str) -> int:
    """A seed for a task, so that its training does not depend on the tasks before."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\x1f{task}".encode(), digest_size=4).digest(), "big")
