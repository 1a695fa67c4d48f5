"""Which cells differ between rows of two versions that have been matched by their keys.

Where the versions have the same order, save for rows that came and went, a row group of one is held beside the
few of the other that its rows stand in, and the next ones are read meanwhile: every row group is read once. Where
the order is another, both are read once too, and what is held are hashes of the cells, 64 bits each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.versions import row_codes as rows
from pipelines.versions import row_hashes
from pipelines.versions.parquet_parts import Block, Parts

# Rows of the other version that are held at once, as a multiple of the largest row group.
WINDOW = 4

Masks = dict[str, rows.Mask]


class Pair(NamedTuple):
    """The two versions of a table."""

    a: Parts
    b: Parts


@dataclass(frozen=True)
class Step:
    """A row group of version a and the number of its first row: for each of its rows the number of the matched
    row among those of b, or -1; and which row groups of b they stand in, by their numbers.
    """

    block: Block
    first: int
    partners: rows.Integers
    needed: list[int]


def first_rows(blocks: Sequence[Block]) -> rows.Integers:
    """(n) the number of rows before each block."""
    return np.cumsum([0, *(block.rows for block in blocks)])[:-1]


def differences(
    pool: Executor,
    pair: Pair,
    left: Sequence[Block],
    right: Sequence[Block],
    partner: rows.Integers,
    columns: Sequence[str],
) -> Iterator[tuple[Step, Masks]]:
    """The row groups of `left` that hold matched rows, each with the cells of `columns` that differ, as masks of
    its rows. `partner` has for each row of `left` the number of its row in `right`, or -1. `pool` has two threads.
    """
    starts = first_rows(right)
    steps = []
    for block, start in zip(left, first_rows(left), strict=True):
        mine = partner[start : start + block.rows]
        needed = np.unique(np.searchsorted(starts, mine[mine >= 0], side="right") - 1)
        if len(needed):
            steps.append(Step(block, int(start), mine, needed.tolist()))
    way = _side_by_side if _fits(steps, left, right) else _by_hashes
    yield from way(pool, pair, steps, right, columns)


def _last_steps(steps: Sequence[Step]) -> dict[int, int]:
    """By the number of a row group of b the last step that needs it."""
    return {number: at for at, step in enumerate(steps) for number in step.needed}


def _fits(steps: Sequence[Step], left: Sequence[Block], right: Sequence[Block]) -> bool:
    """Whether no step has more rows of b to hold than the window allows."""
    limit = WINDOW * max(block.rows for block in (*left, *right))
    last = _last_steps(steps)
    held: set[int] = set()
    for at, step in enumerate(steps):
        held = {number for number in held if last[number] >= at} | set(step.needed)
        if sum(right[number].rows for number in held) > limit:
            return False
    return True


def _side_by_side(
    pool: Executor, pair: Pair, steps: Sequence[Step], right: Sequence[Block], columns: Sequence[str]
) -> Iterator[tuple[Step, Masks]]:
    starts = first_rows(right)
    last = _last_steps(steps)
    asked: set[int] = set()

    def fetch(numbers: Sequence[int]) -> dict[int, pa.Table]:
        return {number: pair.b.read([right[number]], columns) for number in numbers}

    def ask(step: Step) -> tuple[Future[pa.Table], Future[dict[int, pa.Table]]]:
        fresh = [number for number in step.needed if number not in asked]
        asked.update(fresh)
        return pool.submit(pair.a.read, [step.block], columns), pool.submit(fetch, fresh)

    held: dict[int, pa.Table] = {}
    coming = ask(steps[0]) if steps else None
    for at, step in enumerate(steps):
        assert coming is not None
        was, more = coming[0].result(), coming[1].result()
        held = {number: table for number, table in held.items() if last[number] >= at} | more
        # One step ahead, so that reading and comparing share the cores.
        coming = ask(steps[at + 1]) if at + 1 < len(steps) else None
        masks = {name: np.zeros(step.block.rows, np.bool_) for name in columns}
        for number in step.needed:
            _compare(masks, was, held[number], step.partners - starts[number])
        yield step, masks


def _compare(masks: Masks, was: pa.Table, now: pa.Table, partners: rows.Integers) -> None:
    """Mark in `masks` the cells of `was` that differ from those of its rows' partners, as far as these are in
    `now`.
    """
    there = (partners >= 0) & (partners < len(now))
    found = np.flatnonzero(there)
    span = slice(found[0], found[-1] + 1)
    there, at = there[span], rows.indices(partners[span], there[span])
    was = was.slice(span.start, len(there))
    for name, mask in masks.items():
        mask[span] |= rows.differ(was[name], now[name].take(at)) & there


def _by_hashes(
    pool: Executor, pair: Pair, steps: Sequence[Step], right: Sequence[Block], columns: Sequence[str]
) -> Iterator[tuple[Step, Masks]]:
    needed = sorted({number for step in steps for number in step.needed})
    blocks = [step.block for step in steps]
    mine = pool.submit(_hashed, pair.a, blocks, columns)
    others = pool.submit(_hashed, pair.b, [right[number] for number in needed], columns)
    # Where a row of b stands among those that were read.
    place = np.zeros(len(right), np.int64)
    place[needed] = first_rows([right[number] for number in needed])
    starts = first_rows(right)
    was, now = mine.result(), others.result()
    for step, start in zip(steps, first_rows(blocks), strict=True):
        among = np.searchsorted(starts, step.partners, side="right") - 1
        at = step.partners - starts[among] + place[among]
        there = step.partners >= 0
        at[~there] = 0
        own = slice(start, start + step.block.rows)
        yield step, {name: (was[name][own] != now[name][at]) & there for name in columns}


def _hashed(parts: Parts, blocks: Sequence[Block], columns: Sequence[str]) -> dict[str, row_hashes.Hashes]:
    """(n) hashes of each column for the rows of the blocks."""
    found = {name: np.empty(sum(block.rows for block in blocks), np.uint64) for name in columns}
    for block, start in zip(blocks, first_rows(blocks), strict=True):
        table = parts.read([block], columns)
        for name in columns:
            found[name][start : start + block.rows] = row_hashes.cells(table[name])
    return found
