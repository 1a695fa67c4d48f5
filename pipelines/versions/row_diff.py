"""Rows that were added, removed or changed between two versions of a Parquet table, without holding either.

Three ways, the cheapest first. Row groups at the same place whose key columns are the same bytes hold the same
keys, row by row: of those only the columns whose bytes differ are decoded. Of the others the keys alone are read
and matched, then the other columns of the matched rows compared (matched_rows). Rows without a key are matched by
short columns that tell them apart, or else by digests of whole rows. In memory at once: codes of the keys, or
digests, of what differs, and a few row groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.versions import matched_rows, row_hashes
from pipelines.versions import row_codes as rows
from pipelines.versions.matched_rows import Pair, Step, first_rows
from pipelines.versions.parquet_parts import Block, Parts, Place


@dataclass
class Found:
    """What differs: numbers of rows, the changed cells of each column, and where the first `examples` are."""

    examples: int
    counts: dict[str, int] = field(default_factory=lambda: {"added": 0, "removed": 0, "changed": 0})
    columns: dict[str, int] = field(default_factory=dict)
    added: list[Place] = field(default_factory=list)
    removed: list[Place] = field(default_factory=list)
    changed: list[tuple[Place, Place, list[str]]] = field(default_factory=list)

    def one_sided(self, kind: str, block: Block, at: rows.Integers) -> None:
        """The rows `at` of a block are `kind`: added or removed."""
        self.counts[kind] += len(at)
        places: list[Place] = getattr(self, kind)
        places += [Place(block, int(row)) for row in at[: self.examples - len(places)]]

    def cells(self, masks: Mapping[str, rows.Mask], where: Callable[[int], tuple[Place, Place]]) -> None:
        """Matched rows differ where the masks of the columns say; `where` finds the nth of them in both versions."""
        if not masks:
            return
        for name, mask in masks.items():
            if count := int(mask.sum()):
                self.columns[name] = self.columns.get(name, 0) + count
        changed = np.flatnonzero(np.logical_or.reduce(list(masks.values())))
        self.counts["changed"] += len(changed)
        for row in changed[: self.examples - len(self.changed)]:
            columns = [name for name, mask in masks.items() if mask[row]]
            self.changed.append((*where(int(row)), columns))


def compare(
    pair: Pair, key: Sequence[str], columns: Sequence[str], shard: str | None, examples: int
) -> Found:
    """Compare two versions of a table.

    `columns` are those that both versions have; `key` is a part of them, and empty if a row is known by all its
    values. A key that occurs more than once is matched in order. `shard` is a column of which no value is in
    two parts of a version, part of the key; then only parts that share a value are held against one another.
    """
    # Two threads, one for each version: a Parts serves one at a time.
    with ThreadPoolExecutor(2) as pool:
        comparison = _Comparison(pool, pair, key, columns, Found(examples))
        for names in shard_groups(pair, shard):
            comparison.parts(*names)
    return comparison.found


class _Comparison:
    def __init__(
        self, pool: Executor, pair: Pair, key: Sequence[str], columns: Sequence[str], found: Found
    ) -> None:
        self.pool, self.pair = pool, pair
        self.a, self.b = pair
        self.key, self.columns, self.found = key, columns, found
        self.values = [column for column in columns if column not in key]

    def parts(self, names_a: Sequence[str], names_b: Sequence[str]) -> None:
        """Compare parts that share no key with other parts."""
        rest_a: list[Block] = []
        rest_b: list[Block] = []
        both = set(names_a) & set(names_b)
        for name in names_a:
            left, right = self._aligned(name) if name in both else (self.a.blocks(name), [])
            rest_a += left
            rest_b += right
        for name in names_b:
            rest_b += [] if name in both else self.b.blocks(name)
        if rest_a and rest_b:
            self._matched(rest_a, rest_b)
            return
        for kind, blocks in (("removed", rest_a), ("added", rest_b)):
            for block in blocks:
                self.found.one_sided(kind, block, np.arange(block.rows))

    def _aligned(self, name: str) -> tuple[list[Block], list[Block]]:
        """Compare the row groups of a part that hold the same keys in both; returns those that do not."""
        left, right = self.a.blocks(name), self.b.blocks(name)
        one, other = self.a.open(name), self.b.open(name)
        if not one.metadata.schema.equals(other.metadata.schema):
            return left, right
        rest_a, rest_b = left[len(right) :], right[len(left) :]
        for block_a, block_b in zip(left, right, strict=False):
            identified = self.key or self.columns
            if block_a.rows != block_b.rows or not all(
                one.same_bytes(other, block_a.group, column) for column in identified
            ):
                rest_a.append(block_a)
                rest_b.append(block_b)
                continue
            unlike = [column for column in self.values if not one.same_bytes(other, block_a.group, column)]
            if self.key and unlike:
                was, now = self._read([block_a], [block_b], unlike)
                masks = {column: rows.differ(was[column], now[column]) for column in unlike}
                self.found.cells(masks, partial(_same_place, block_a, block_b))
        return rest_a, rest_b

    def _matched(self, left: list[Block], right: list[Block]) -> None:
        """Compare the rows of blocks that may hold the same keys at other places."""
        numbers, others = self._numbers(left, right)
        partner, matched = _partners(numbers, sum(block.rows for block in left))
        lost = partner < 0
        starts = first_rows(right)

        def where(step: Step, row: int) -> tuple[Place, Place]:
            partner = int(step.partners[row])
            other = int(np.searchsorted(starts, partner, side="right")) - 1
            return Place(step.block, row), Place(right[other], partner - int(starts[other]))

        if others:
            steps = matched_rows.differences(self.pool, self.pair, left, right, partner, others)
            for step, masks in steps:
                if self.key:
                    self.found.cells(masks, partial(where, step))
                else:
                    # A row that is known by all its values is another one if any differs.
                    unlike = np.flatnonzero(np.logical_or.reduce(list(masks.values())))
                    lost[step.first + unlike] = True
                    matched[step.partners[unlike]] = False
        for kind, blocks, alone in (("removed", left, lost), ("added", right, ~matched)):
            for block, start in zip(blocks, first_rows(blocks), strict=True):
                self.found.one_sided(kind, block, np.flatnonzero(alone[start : start + block.rows]))

    def _numbers(self, left: Sequence[Block], right: Sequence[Block]) -> tuple[rows.Integers, Sequence[str]]:
        """Numbers to match rows by, of those of `left`, then of `right`; and the columns that they leave out.

        They are codes of the key. Without one they are codes of shorter columns, if no two rows of a version are
        alike in these, or else of digests of all columns.
        """
        if self.key:
            return rows.combined(self._codes(left, right, name) for name in self.key), self.values
        size = sum(block.rows for block in left)
        numbers = np.zeros(size + sum(block.rows for block in right), np.int64)
        telling = self.a.short(left[0], self.columns)
        for at, name in enumerate(telling, start=1):
            numbers = rows.combined([numbers, self._codes(left, right, name)])
            if not any(rows.turns(own).any() for own in (numbers[:size], numbers[size:])):
                return numbers, [column for column in self.columns if column not in telling[:at]]
        was, now = self.pool.map(self._digests, self.pair, (left, right))
        return rows.codes(pa.concat_arrays([*was, *now])), []

    def _read(
        self, left: Sequence[Block], right: Sequence[Block], columns: Sequence[str]
    ) -> tuple[pa.Table, pa.Table]:
        was = self.pool.submit(self.a.read, left, columns)
        now = self.pool.submit(self.b.read, right, columns)
        return was.result(), now.result()

    def _codes(self, left: Sequence[Block], right: Sequence[Block], name: str) -> rows.Integers:
        """The codes of a column in the rows of `left`, then of `right`."""
        was, now = self._read(left, right, [name])
        chunks = [*was[name].chunks, *now[name].chunks]
        return rows.codes(rows.whole(pa.chunked_array(chunks, was[name].type)))

    def _digests(self, parts: Parts, blocks: Sequence[Block]) -> list[pa.Array]:
        return [row_hashes.digests(parts.read([block], self.columns)) for block in blocks]


def _same_place(a: Block, b: Block, row: int) -> tuple[Place, Place]:
    return Place(a, row), Place(b, row)


def _partners(numbers: rows.Integers, size: int) -> tuple[rows.Integers, rows.Mask]:
    """For each of the first `size` numbers the place of its like among the others, or -1; and which of those
    have one. What occurs more than once is matched in order.
    """
    turn = np.concatenate([rows.turns(numbers[:size]), rows.turns(numbers[size:])])
    if turn.any():
        numbers = rows.combined([numbers, turn])
    left, right = numbers[:size], numbers[size:]
    at = np.full(int(numbers.max(initial=0)) + 1, -1, np.int64)
    at[right] = np.arange(len(right))
    partner = at[left]
    matched = np.zeros(len(right), np.bool_)
    matched[partner[partner >= 0]] = True
    return partner, matched


@dataclass(eq=False)
class _Group:
    """Parts of both versions that share values of the shard column."""

    values: set[Any]
    names: tuple[list[str], list[str]]


def shard_groups(pair: Pair, shard: str | None) -> list[tuple[list[str], list[str]]]:
    """Groups of parts, by their names in both versions, that share no value of `shard`; without it one group."""
    if shard is None:
        return [(list(pair.a.contents), list(pair.b.contents))]
    by_value: dict[Any, _Group] = {}
    groups: dict[int, _Group] = {}
    for side, parts in enumerate(pair):
        for name in parts.contents:
            values = set(pc.unique(parts.read(parts.blocks(name), [shard])[shard]).to_pylist())
            group = _Group(values, ([], []))
            group.names[side].append(name)
            for other in {id(it): it for it in map(by_value.get, values) if it}.values():
                group.values |= other.values
                for mine, more in zip(group.names, other.names, strict=True):
                    mine[:0] = more
                del groups[id(other)]
            groups[id(group)] = group
            by_value |= dict.fromkeys(group.values, group)
    return [group.names for group in groups.values()]
