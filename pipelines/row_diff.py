"""Rows that were added, removed or changed between two versions of a Parquet table, without holding either.

Three ways, the cheapest first. Row groups at the same place whose key columns are the same bytes hold the same
keys, row by row: of those only the columns whose bytes differ are decoded. Of the others the keys alone are read
and matched. Then the matched rows are compared, a slab of one version against the row groups of the other that
meet it. A table without a key is compared by digests of whole rows. In memory at once: the keys of what differs,
and a slab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines import row_codes as rows
from pipelines.parquet_parts import Block, Parts, Place

# Decoded bytes of one version that are held while the other passes by.
SLAB = 256 * 2**20


class Pair(NamedTuple):
    """The two versions of a table."""

    a: Parts
    b: Parts


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
    values. A key that occurs more than once is matched in order. `shard` is a column of which no value stands in
    two parts of a version, part of the key; then only parts that share a value are held against one another.
    """
    comparison = _Comparison(pair, key, columns, Found(examples))
    for names in shard_groups(pair, shard):
        comparison.parts(*names)
    return comparison.found


class _Comparison:
    def __init__(self, pair: Pair, key: Sequence[str], columns: Sequence[str], found: Found) -> None:
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
                was, now = self.a.read([block_a], unlike), self.b.read([block_b], unlike)
                masks = {column: rows.differ(was[column], now[column]) for column in unlike}
                self.found.cells(masks, partial(_same_place, block_a, block_b))
        return rest_a, rest_b

    def _matched(self, left: list[Block], right: list[Block]) -> None:
        """Compare the rows of blocks that may hold the same keys at other places."""
        partner, matched = _partners(self._keys(self.a, left), self._keys(self.b, right))
        for block, start in _starts(left):
            lost = np.flatnonzero(partner[start : start + block.rows] < 0)
            self.found.one_sided("removed", block, lost)
        for block, start in _starts(right):
            self.found.one_sided("added", block, np.flatnonzero(~matched[start : start + block.rows]))
        if self.key and self.values:
            self._cells(left, right, partner)

    def _keys(self, parts: Parts, blocks: list[Block]) -> pa.Table:
        if self.key:
            return parts.read(blocks, self.key)
        digests = [rows.digests(parts.read([block], self.columns)) for block in blocks]
        return pa.table({"row": pa.chunked_array(digests)})

    def _cells(self, left: list[Block], right: list[Block], partner: rows.Integers) -> None:
        """Compare the values of rows of `left` with those of their partners, numbers of rows of `right`."""
        starts = [start for _, start in _starts(right)]

        def where(block: Block, at: rows.Integers, partners: rows.Integers, row: int) -> tuple[Place, Place]:
            other = int(np.searchsorted(starts, partners[row], side="right")) - 1
            return Place(block, int(at[row])), Place(right[other], int(partners[row]) - starts[other])

        low = 0
        for slab in _slabs(right):
            high = low + sum(block.rows for block in slab)
            held: pa.Table | None = None
            for block, start in _starts(left):
                mine = partner[start : start + block.rows]
                at = np.flatnonzero((mine >= low) & (mine < high))
                if not len(at):
                    continue
                if held is None:
                    held = self.b.read(slab, self.values)
                was, now = _select(self.a.again(block, self.values), at), _select(held, mine[at] - low)
                masks = {column: rows.differ(was[column], now[column]) for column in self.values}
                self.found.cells(masks, partial(where, block, at, mine[at]))
            low = high


def _same_place(a: Block, b: Block, row: int) -> tuple[Place, Place]:
    return Place(a, row), Place(b, row)


def _starts(blocks: Sequence[Block]) -> Iterator[tuple[Block, int]]:
    """Each block with the number of rows before it."""
    start = 0
    for block in blocks:
        yield block, start
        start += block.rows


def _partners(a: pa.Table, b: pa.Table) -> tuple[rows.Integers, rows.Mask]:
    """For each row of `a` the row of `b` with its key, or -1; and which rows of `b` have one."""
    both = pa.concat_tables([a, b])
    numbers = rows.combined([rows.codes(rows.whole(column)) for column in both.columns])
    turn = np.concatenate([rows.turns(numbers[: len(a)]), rows.turns(numbers[len(a) :])])
    if turn.any():
        numbers = rows.combined([numbers, turn])
    at = np.full(int(numbers.max(initial=0)) + 1, -1, np.int64)
    at[numbers[len(a) :]] = np.arange(len(b))
    partner = at[numbers[: len(a)]]
    matched = np.zeros(len(b), np.bool_)
    matched[partner[partner >= 0]] = True
    return partner, matched


def _slabs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """The blocks in order, as many at once as fit."""
    slab: list[Block] = []
    for block in blocks:
        if slab and sum(it.bytes for it in slab) + block.bytes > SLAB:
            yield slab
            slab = []
        slab.append(block)
    yield slab


def _select(table: pa.Table, at: rows.Integers) -> pa.Table:
    """The rows `at` of a table; where they are long runs, without copying."""
    breaks = np.flatnonzero(np.diff(at) != 1) + 1
    if len(at) < 16 * len(breaks):
        return table.take(pa.array(at))
    firsts = at[np.concatenate([np.zeros(1, np.int64), breaks])]
    lengths = np.diff(np.concatenate([np.zeros(1, np.int64), breaks, np.full(1, len(at))]))
    return pa.concat_tables(
        table.slice(int(first), int(length)) for first, length in zip(firsts, lengths, strict=True)
    )


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
