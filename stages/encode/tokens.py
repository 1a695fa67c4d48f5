"""Writes token ids as one Arrow file, a few hundred rows at a time, that training maps into memory.

The layout is contracts.TOKENS. Only the batch in hand stands in memory, as flat arrays; nothing is compressed, or it
could not be mapped; the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from nightjar.core.contracts import TOKENS, TOKENS_FILE

# 512 prompts of 1,024 tokens in five variants are 10 MB.
ROWS_PER_BATCH = 512


@dataclass
class _Lists:
    """A column of lists of lists of ids, kept flat."""

    values: list[np.ndarray] = field(default_factory=list)
    inner: list[int] = field(default_factory=lambda: [0])
    outer: list[int] = field(default_factory=lambda: [0])

    def add(self, rows: Sequence[Sequence[int]]) -> None:
        for ids in rows:
            self.values.append(np.asarray(ids, dtype=np.int32))
            self.inner.append(self.inner[-1] + len(ids))
        self.outer.append(len(self.inner) - 1)

    def array(self, kind: pa.ListType) -> pa.ListArray:
        flat = pa.array(np.concatenate(self.values) if self.values else np.zeros(0, np.int32))
        inner = pa.ListArray.from_arrays(pa.array(self.inner, pa.int32()), flat, type=kind.value_type)
        return pa.ListArray.from_arrays(pa.array(self.outer, pa.int32()), inner, type=kind)


class TokenWriter:
    """Writes `TOKENS_FILE` in a folder; use as a context manager. Rows are added in the order they are to have."""

    def __init__(self, folder: Path, encoder_decoder: bool) -> None:
        self.rows: dict[str, int] = {}
        self.tokens = 0
        self._schema = TOKENS.with_metadata({"encoder_decoder": str(encoder_decoder).lower()})
        self._sink = pa.OSFile(str(folder / TOKENS_FILE), "wb")
        self._writer = pa.ipc.new_file(self._sink, self._schema)
        self._start()

    def __enter__(self) -> TokenWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()
        self._sink.close()

    def _start(self) -> None:
        self._names: tuple[list[str], list[str], list[str]] = ([], [], [])
        self._prompts, self._targets = _Lists(), _Lists()

    def add(
        self,
        side: str,
        task_id: str,
        id: str,
        prompts: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
    ) -> None:
        """One instance: ids of its prompt in every variant, and of each of its references, the end token last."""
        for column, value in zip(self._names, (side, task_id, id), strict=True):
            column.append(value)
        self._prompts.add(prompts)
        self._targets.add(targets)
        self.rows[side] = self.rows.get(side, 0) + 1
        self.tokens += sum(map(len, prompts)) + sum(map(len, targets))
        if len(self._names[0]) == ROWS_PER_BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._names[0]:
            return
        lists = (
            column.array(TOKENS.field(name).type)
            for name, column in (("prompts", self._prompts), ("targets", self._targets))
        )
        columns = [*(pa.array(column, pa.string()) for column in self._names), *lists]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._start()
