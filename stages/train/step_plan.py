"""Which instances every step trains on, known in advance from the seed alone.

An epoch sees every instance once. Its reference and, in the mixed mode, its prompt variant are drawn for each epoch
and instance (ni_collator.py), by a hash: a draw depends neither on the other instances nor on where a run was resumed.
Instances of one task and variant go together in small groups, which share their prefix (packing.py); groups are
shuffled, and cut into steps of exactly `batch_size` instances. Within a step, groups of like length make a forward
pass of at most `batch_tokens` tokens, padding included. Texts without a prompt share nothing: those of a step are
packed into rows of at most `sequence_tokens`, whatever their group.

Encoded instances are views on the Arrow file of the stage encode (contracts.TOKENS), which is mapped into memory: token
ids are read from the disk's cache when a batch is made, and no Python object stands for an instance.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from nightjar.core.contracts import TOKENS, TOKENS_FILE
from nightjar.core.errors import NightjarError
from nightjar.params.train import Recipe
from stages.train.packing import Pair, packed_length


@dataclass(frozen=True)
class _Lists:
    """One column of a record batch: ids of list l of row r are values[inner[l]:inner[l + 1]], l from outer[r]."""

    outer: np.ndarray
    inner: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(column: pa.ListArray) -> _Lists:
        inner = column.values
        return _Lists(
            column.offsets.to_numpy(zero_copy_only=True),
            inner.offsets.to_numpy(zero_copy_only=True),
            inner.values.to_numpy(zero_copy_only=True),
        )

    def ids(self, row: int, number: int) -> np.ndarray:
        place = self.outer[row] + number
        return self.values[self.inner[place] : self.inner[place + 1]]


class EncodedInstances:
    """Every instance of an encoded artifact by its number, from 0, in the order of the file.

    `train` and `dev` hold the numbers of either side; `tasks` a number for each instance's task, `variants` and
    `references` how many prompts and targets it has. Raises NightjarError if the file is missing or is none of ours.
    """

    def __init__(self, artifact: Path) -> None:
        self.file = artifact / "tokens" / TOKENS_FILE
        try:
            reader = pa.ipc.open_file(pa.memory_map(str(self.file)))
        except FileNotFoundError:
            raise NightjarError("no token ids", self.file, "run: nightjar rebuild encode") from None
        except pa.ArrowInvalid as error:
            raise NightjarError(f"unreadable ({error})", self.file, "rebuild encode") from None
        if not reader.schema.equals(TOKENS):
            raise NightjarError("columns are not those of this version", self.file, "rebuild encode")
        self.encoder_decoder = (reader.schema.metadata or {}).get(b"encoder_decoder") == b"true"
        self._batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        self._starts = np.cumsum([0, *(len(batch) for batch in self._batches)])
        self._prompts = [_Lists.of(batch["prompts"]) for batch in self._batches]
        self._padding = np.zeros(0, np.int32)
        self._targets = [_Lists.of(batch["targets"]) for batch in self._batches]
        self.variants = _counts(self._prompts)
        self.references = _counts(self._targets)
        numbers: dict[str, int] = {}
        tasks, train = [np.zeros(0, np.int32)], [np.zeros(0, bool)]
        for batch in self._batches:
            names = batch["task_id"].to_pylist()
            tasks.append(np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32))
            train.append(np.array([side == "train" for side in batch["side"].to_pylist()], bool))
        self.tasks = np.concatenate(tasks)
        is_train = np.concatenate(train)
        self.train, self.dev = np.flatnonzero(is_train), np.flatnonzero(~is_train)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _place(self, number: int) -> tuple[int, int]:
        batch = int(np.searchsorted(self._starts, number, side="right")) - 1
        return batch, int(number - self._starts[batch])

    def names(self, number: int) -> tuple[str, str]:
        """The instance's (task_id, id)."""
        batch, row = self._place(number)
        return self._batches[batch]["task_id"][row].as_py(), self._batches[batch]["id"][row].as_py()

    def pad_prompts(self, padding_id: int) -> None:
        """Let every prompt end with `padding_id`, up to the longest prompt of the training side (ProtoQA_GPT2).

        Padding is a token like others: targets see it, and the first token of a target is predicted from it.
        """
        longest = max(len(self.prompt(number)) for number in self.train.tolist())
        self._padding = np.full(longest, padding_id, np.int32)

    def prompt(self, number: int, variant: int = 0) -> np.ndarray:
        """The ids of the instance's prompt in one of its variants: a view, unless it is padded."""
        batch, row = self._place(number)
        ids = self._prompts[batch].ids(row, variant)
        padding = self._padding[len(ids) :]
        return np.concatenate([ids, padding]) if len(padding) else ids

    def target(self, number: int, reference: int = 0) -> np.ndarray:
        """A view on the ids of one of the instance's references, the end token last."""
        batch, row = self._place(number)
        return self._targets[batch].ids(row, reference)


def _counts(columns: list[_Lists]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int32), *(np.diff(column.outer) for column in columns)])


# A group of one task is at most this long, and at most half a step, so that a step's gradient always comes from
# several tasks. Longer groups save little: with two thirds of a prompt shared, four instances cost half of what they
# cost alone, eight 42 %.
GROUP = 4
# A row of a pass is at least this part of its longest, because padding takes as long as any token; unless the padding
# of all shorter rows together is at most PASS tokens. With a model of 135M a pass takes as long as about 48 tokens.
LIKE, PASS = 7 / 8, 48


class Draw(NamedTuple):
    """An instance with the variant of its prompt and the reference drawn for it."""

    example: int
    variant: int
    reference: int


# Instances packed into one row; rows of one forward pass.
Group = tuple[Draw, ...]
Unit = tuple[Group, ...]


@dataclass(frozen=True)
class _Epoch:
    """The instances of one epoch in order: columns of (example, variant, reference, group)."""

    number: int
    rows: np.ndarray


class Plan:
    """All steps of a run, from 1 to `steps`. Raises nothing; an encoded artifact has at least one instance."""

    def __init__(self, examples: EncodedInstances, recipe: Recipe, seed: int) -> None:
        self.examples, self.recipe, self.seed = examples, recipe, seed
        self.per_epoch = math.ceil(len(examples.train) / recipe.batch_size)
        whole_epochs, part = int(recipe.epochs), recipe.epochs - int(recipe.epochs)
        steps = whole_epochs * self.per_epoch + (max(1, round(part * self.per_epoch)) if part else 0)
        self.steps = min(steps, recipe.max_steps or steps)
        self._epoch: _Epoch | None = None

    def draws(self, step: int) -> list[Group]:
        """The instances of a step, in groups that share their prefix."""
        epoch, place = divmod(step - 1, self.per_epoch)
        if self._epoch is None or self._epoch.number != epoch:
            self._epoch = _Epoch(epoch, self._order(epoch))
        size = self.recipe.batch_size
        groups: dict[int, list[Draw]] = {}
        for *draw, group in self._epoch.rows[place * size : (place + 1) * size].tolist():
            groups.setdefault(group, []).append(Draw(*draw))
        return [tuple(group) for group in groups.values()]

    def step(self, step: int) -> list[Unit]:
        """The forward passes of a step."""
        return self._units(self.draws(step))

    def dev(self) -> list[Unit]:
        """The forward passes over the dev side: every instance, first variant and first reference."""
        by_task: dict[int, list[Draw]] = {}
        for number in self.examples.dev.tolist():
            by_task.setdefault(int(self.examples.tasks[number]), []).append(Draw(number, 0, 0))
        groups = [
            tuple(draws[n : n + GROUP]) for draws in by_task.values() for n in range(0, len(draws), GROUP)
        ]
        return self._units(groups)

    def _units(self, groups: Sequence[Group]) -> list[Unit]:
        if self.recipe.sequence_tokens is None:
            return units(self.examples, groups, self.recipe.batch_tokens)
        draws = [draw for group in groups for draw in group]
        return text_units(self.examples, draws, self.recipe.batch_tokens, self.recipe.sequence_tokens)

    def _order(self, epoch: int) -> np.ndarray:
        chosen = self.examples.train
        drawn = np.empty((len(chosen), 4), np.uint64)
        for row, number in enumerate(chosen.tolist()):
            name = "\n".join((str(self.seed), str(epoch), *self.examples.names(number)))
            drawn[row] = np.frombuffer(hashlib.blake2b(name.encode(), digest_size=32).digest(), "<u8")
        variants = (drawn[:, 2] % self.examples.variants[chosen].astype(np.uint64)).astype(np.int64)
        references = (drawn[:, 3] % self.examples.references[chosen].astype(np.uint64)).astype(np.int64)
        tasks = self.examples.tasks[chosen]
        order = np.lexsort((drawn[:, 0], variants, tasks))
        group_size = max(1, min(GROUP, self.recipe.batch_size // 2))
        kinds = np.stack([tasks[order], variants[order]])
        starts = np.flatnonzero(np.r_[True, np.any(kinds[:, 1:] != kinds[:, :-1], axis=0)])
        within = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
        group = np.cumsum(within % group_size == 0) - 1
        first = np.flatnonzero(within % group_size == 0)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(drawn[order[first], 1], kind="stable")] = np.arange(len(first))
        columns = np.stack([chosen[order], variants[order], references[order], rank[group]], axis=1)
        return columns[np.argsort(rank[group], kind="stable")]


def pairs(examples: EncodedInstances, draws: Iterable[Draw]) -> list[Pair]:
    """Prompt and target ids of what was drawn, as views."""
    return [(examples.prompt(d.example, d.variant), examples.target(d.example, d.reference)) for d in draws]


def units(examples: EncodedInstances, groups: Sequence[Group], budget: int) -> list[Unit]:
    """Forward passes of groups of like length, longest first: rows times the longest is at most `budget`; see LIKE for
    how much of it is padding.

    A group longer than that is split; a single instance always goes. The groups of an encoder-decoder are dissolved:
    its rows are single instances, as long as prompt and target together.
    """
    rows: list[tuple[int, Group]] = []
    for group in groups:
        if examples.encoder_decoder:
            rows += [(sum(map(len, pairs(examples, [draw])[0])), (draw,)) for draw in group]
            continue
        part: list[Draw] = []
        for draw in group:
            if part and packed_length(pairs(examples, [*part, draw])) > budget:
                rows.append((packed_length(pairs(examples, part)), tuple(part)))
                part = []
            part.append(draw)
        rows.append((packed_length(pairs(examples, part)), tuple(part)))
    return _passes(rows, budget)


def text_units(examples: EncodedInstances, draws: Sequence[Draw], budget: int, length: int) -> list[Unit]:
    """Forward passes of texts, packed into rows of at most `length` tokens, and of at most `budget`."""
    lengths = [packed_length(pairs(examples, [draw])) for draw in draws]
    rows = [
        (sum(lengths[at] for at in row), tuple(draws[at] for at in row))
        for row in fill(lengths, min(length, budget))
    ]
    return _passes(rows, budget)


def fill(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Texts by their places, packed into rows of at most `room` tokens.

    Longest first, each text goes into the first row that has room for it. A longer text has a row of its own.
    """
    rows: list[list[int]] = []
    used: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        place = next((row for row, taken in enumerate(used) if taken + lengths[at] <= room), None)
        if place is None:
            rows.append([])
            used.append(0)
            place = len(rows) - 1
        rows[place].append(at)
        used[place] += lengths[at]
    return rows


def _passes(rows: list[tuple[int, Group]], budget: int) -> list[Unit]:
    """Rows with their lengths as passes: longest first, rows of like length together."""
    rows = sorted(rows, key=lambda row: -row[0])
    units: list[list[Group]] = []
    longest = 0
    for place, (length, group) in enumerate(rows):
        unlike = length < LIKE * longest and (longest - length) * (len(rows) - place) > PASS
        if not units or (len(units[-1]) + 1) * longest > budget or unlike:
            units.append([])
            longest = length
        units[-1].append(group)
    return [tuple(unit) for unit in units]
