"""What a check finds: which check, where, what, and some of the rows that break it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightjar.core.display import counted_as

# Offending rows that a finding shows, and how much of a long text.
MOST_ROWS, MOST_LETTERS = 10, 160


@dataclass(frozen=True)
class Finding:
    """One broken check. `rows` are at most MOST_ROWS of the `count` rows that break it; a finding that does not
    block is worth a look and stops nothing."""

    check: str
    artifact: str
    table: str
    what: str
    fix: str
    count: int = 0
    rows: tuple[Mapping[str, Any], ...] = ()
    blocks: bool = True

    @property
    def where(self) -> str:
        return f"{self.artifact}/{self.table}" if self.table else self.artifact

    def __str__(self) -> str:
        of = f" ({counted_as(self.count, 'row')})" if self.count else ""
        return " ".join(f"{self.where}: {self.check}: {self.what}{of}; {self.fix}".split())

    def as_dict(self) -> dict[str, Any]:
        names = ("check", "artifact", "table", "what", "fix", "count", "blocks")
        return {**{name: getattr(self, name) for name in names}, "rows": [dict(row) for row in self.rows]}


@dataclass
class Collector:
    """Findings of one table in the making: what is found again and again is one finding, its rows counted."""

    artifact: Path
    table: str
    _found: dict[tuple[str, str], _Open] = field(default_factory=dict)

    def add(
        self,
        check: str,
        what: str,
        fix: str,
        rows: Iterable[Mapping[str, Any]] = (),
        count: int = 0,
        blocks: bool = True,
    ) -> None:
        entry = self._found.setdefault((check, what), _Open(fix, blocks))
        entry.count += count
        for row in rows:
            if len(entry.rows) >= MOST_ROWS:
                break
            entry.rows.append({name: short(value) for name, value in row.items()})

    def findings(self) -> list[Finding]:
        return [
            Finding(
                check, self.artifact.as_posix(), self.table, what, it.fix, it.count, tuple(it.rows), it.blocks
            )
            for (check, what), it in self._found.items()
        ]


@dataclass
class _Open:
    fix: str
    blocks: bool
    count: int = 0
    rows: list[Mapping[str, Any]] = field(default_factory=list)


def short(value: Any) -> Any:
    """A value as a finding shows it: long texts cut, anything that JSON has no form for as text."""
    if isinstance(value, str):
        return value if len(value) <= MOST_LETTERS else value[:MOST_LETTERS] + "…"
    if isinstance(value, list):
        return [short(item) for item in value[:3]] + (["…"] if len(value) > 3 else [])
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):  # JSON has no NaN
        return value if value - value == 0 else str(value)
    return str(value)
