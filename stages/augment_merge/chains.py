"""Chains of calls: the candidates behind a call at its place, and which of them are worth merging."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.tools.syntax import ARROW, Call, Found, find, write

# A row of contracts.CANDIDATES, and the text that it belongs to: source, task_id, id, target.
Candidate = Mapping[str, Any]
Key = tuple[str, str | None, str, int]


def key_of(row: Candidate) -> Key:
    return row["source"], row["task_id"], row["id"], row["target"]


def place_of(row: Candidate, earlier: str) -> tuple[Key, int, str, str]:
    """What identifies the place of a call: its text, the offset, its tool, and the calls that are before it there."""
    return key_of(row), row["offset"], row["tool"], earlier


def call_of(row: Candidate) -> Call:
    """The call of a candidate with a result. Raises NightjarError if it is none, which a damaged artifact has."""
    return _last(row).call


def before(row: Candidate) -> str:
    """The earlier calls of a candidate's chain, as they are written in a text; "" for the first of a chain."""
    if ARROW not in row["call"]:  # most have none, and reading all calls takes time
        return ""
    return f" {row['call']}"[: _last(row).start]


def written(row: Candidate) -> str:
    """A candidate's chain up to and with its own result, as it is written in a text."""
    return before(row) + write(call_of(row), row["result"])


class Chains:
    """The chains that begin with a call.

    `rows` are those that may be merged, `worth` is the gain of one less its price. A call whose chain is broken, since
    the one before it is not among `rows`, is in none.
    """

    def __init__(self, rows: Iterable[Candidate], worth: Callable[[Candidate], float]) -> None:
        self._worth = worth
        self._behind: dict[tuple[Key, int, str, str], list[Candidate]] = defaultdict(list)
        for row in rows:
            if earlier := before(row):
                self._behind[place_of(row, earlier)].append(row)

    def best(self, row: Candidate) -> list[Candidate]:
        """The calls from `row` on that are worth most together; the first of equals, the shortest of these."""
        if not self._behind:
            return [row]
        behind = self._behind.get(place_of(row, written(row)), ())
        rest = max(map(self.best, behind), key=self._total, default=[])
        return [row, *rest] if self._total(rest) > 0 else [row]

    def worth(self, row: Candidate) -> float:
        """What the best chain that begins with `row` is worth."""
        return self._total(self.best(row))

    def _total(self, rows: Iterable[Candidate]) -> float:
        return sum(map(self._worth, rows))


def _last(row: Candidate) -> Found:
    """The candidate's own call among those of its chain. Raises NightjarError if `call` has anything but calls."""
    text = f" {row['call']}"
    found = find(text, names=None)
    if "".join(text[one.start : one.end] for one in found) != text:
        raise NightjarError(
            f"{row['call']!r} is no call", paths.CANDIDATES / row["tool"], "nightjar rebuild augment"
        )
    return found[-1]
