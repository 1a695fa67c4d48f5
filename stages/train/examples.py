"""The encoded instances of one recipe, as views on the Arrow file that the encode stage wrote (contracts.TOKENS).

The file is mapped into memory: token ids are read from the disk's cache when a batch is made, and no Python object
stands for an instance. What is kept of each is a few numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from nightjar.core.contracts import TOKENS, TOKENS_FILE
from nightjar.core.errors import NightjarError


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


class Examples:
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

    def prompt(self, number: int, variant: int = 0) -> np.ndarray:
        """A view on the ids of the instance's prompt in one of its variants."""
        batch, row = self._place(number)
        return self._prompts[batch].ids(row, variant)

    def target(self, number: int, reference: int = 0) -> np.ndarray:
        """A view on the ids of one of the instance's references, the end token last."""
        batch, row = self._place(number)
        return self._targets[batch].ids(row, reference)


def _counts(columns: list[_Lists]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int32), *(np.diff(column.outer) for column in columns)])
