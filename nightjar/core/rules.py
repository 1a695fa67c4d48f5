"""The rules of a contract that a schema cannot express: allowed values, ranges, unique keys.

The writer of tables (`nightjar.core.tables`) refuses what breaks one; the checks report it
(`nightjar.core.artifact_rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nightjar.core.contracts import Table
from nightjar.core.display import counted_as

# Offending rows that are shown, and how much of a long text.
MOST_ROWS, MOST_LETTERS = 10, 160


@dataclass(frozen=True)
class BrokenRule:
    """One broken check of a table, or of a whole artifact. `rows` are at most MOST_ROWS of the `count` rows that break
    it. A finding that does not block stops nothing.
    """

    check: str
    table: str
    what: str
    fix: str
    count: int = 0
    rows: tuple[Mapping[str, Any], ...] = ()
    blocks: bool = True
    artifact: str = ""

    @property
    def where(self) -> str:
        return "/".join(filter(None, (self.artifact, self.table)))

    def __str__(self) -> str:
        rows = f" ({counted_as(self.count, 'row')})" if self.count else ""
        return " ".join(f"{self.where}: {self.check}: {self.what}{rows}; {self.fix}".split())

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "rows": [dict(row) for row in self.rows]}


class Findings(dict[tuple[str, str, str], BrokenRule]):
    """The findings on the artifact at `path`; findings of one table, check and text are one, with the sum of rows."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def add(self, findings: Iterable[BrokenRule], **at: str) -> None:
        """Add findings; `at` has columns that say where their rows are, such as the part."""
        for finding in findings:
            earlier = self.get((finding.table, finding.check, finding.what))
            rows = tuple(
                {name: _short(value) for name, value in (at | {**row}).items()} for row in finding.rows
            )
            rows, count = (
                (earlier.rows + rows, earlier.count + finding.count) if earlier else (rows, finding.count)
            )
            merged = replace(finding, artifact=self.path.as_posix(), rows=rows[:MOST_ROWS], count=count)
            self[finding.table, finding.check, finding.what] = merged


def _short(value: Any) -> Any:
    """A value as a finding shows it: long texts cut, anything that JSON has no form for as text."""
    if isinstance(value, str):
        return value if len(value) <= MOST_LETTERS else value[:MOST_LETTERS] + "…"
    if isinstance(value, list):
        return [_short(item) for item in value[:3]] + (["…"] if len(value) > 3 else [])
    finite = not isinstance(value, float) or value - value == 0  # JSON has no NaN
    return value if finite and (value is None or isinstance(value, bool | int | float)) else str(value)


def broken(
    check: str, contract: Table, what: str, fix: str, rows: pa.Table, wrong: pa.ChunkedArray
) -> Iterator[BrokenRule]:
    """The finding, with the first of the `rows` where `wrong` is true; nothing where it never is."""
    if count := pc.sum(wrong).as_py() or 0:
        places = pc.indices_nonzero(wrong).slice(0, MOST_ROWS)
        example_rows = zip(places.to_pylist(), rows.take(places).to_pylist(), strict=True)
        yield BrokenRule(
            check, contract.name, what, fix, count, tuple({"row": at, **row} for at, row in example_rows)
        )


def broken_values(contract: Table, table: pa.Table) -> Iterator[BrokenRule]:
    """The rules on allowed values and ranges that `table` breaks; it has the columns with rules and keys, or more."""
    rules: list[tuple[str, str, str, pa.ChunkedArray]] = []
    for name, allowed in (contract.allowed or {}).items():
        values = pa.array(sorted(allowed), contract.schema.field(name).type)
        what = f"{name} is not one of {', '.join(sorted(allowed))}"
        rules.append(("allowed", name, what, pc.is_in(table[name], value_set=values)))
    for name, (low, high) in (contract.ranges or {}).items():
        inside = pc.and_(pc.greater_equal(table[name], low), pc.less_equal(table[name], high))  # NaN is not
        rules.append(("range", name, f"{name} is not within {low:g} to {high:g}", inside))
    for check, name, what, good in rules:
        columns = table.select(list(dict.fromkeys([*contract.key, name])))
        yield from broken(check, contract, what, "correct or reject those rows", columns, pc.invert(good))


class Keys:
    """Check that keys are unique: within each part where a column tells the parts apart, else in the whole table."""

    def __init__(self, contract: Table) -> None:
        self.contract, self.columns = contract, list(contract.key)
        self._shards: dict[Any, str] = {}
        self._tables: list[pa.Table] = []

    def add(self, table: pa.Table, part: str) -> Iterator[BrokenRule]:
        """Add the keys of one more part, or of a piece of the only part, and yield the findings so far."""
        shard = self.contract.shard
        if shard is None:
            if self.columns:
                self._tables.append(table.select(self.columns))
            return
        for value in pc.unique(table[shard]).to_pylist():
            if (first_part := self._shards.setdefault(value, part)) != part:
                row = {shard: value, "parts": f"{first_part}, {part}"}
                what = f"{shard} is in more than one part"
                yield BrokenRule("keys", self.contract.name, what, "merge them", 1, (row,))
        yield from self._duplicates(table.select(self.columns))

    def finish(self) -> Iterator[BrokenRule]:
        """The findings on the whole table, after its last part."""
        if self._tables:
            yield from self._duplicates(pa.concat_tables(self._tables))

    def _duplicates(self, table: pa.Table) -> Iterator[BrokenRule]:
        shard = self.contract.shard
        if shard in self.columns and len(self.columns) == 2 and pc.count_distinct(table[shard]).as_py() == 1:
            # One column is far quicker than two.
            row_column = next(name for name in self.columns if name != shard)
            if pc.count_distinct(table[row_column], mode="all").as_py() == len(table):
                return
        counts = table.group_by(self.columns, use_threads=False).aggregate([([], "count_all")])
        duplicates = counts.filter(pc.greater(counts["count_all"], 1))
        if len(duplicates):
            rows = duplicates.rename_columns([*self.columns, "times"]).slice(0, MOST_ROWS).to_pylist()
            what = f"the key {', '.join(self.columns)} occurs more than once"
            count = pc.sum(duplicates["count_all"]).as_py() - len(duplicates)
            yield BrokenRule("keys", self.contract.name, what, "keys must be unique", count, tuple(rows))
