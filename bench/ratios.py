"""The ratios of the benchmarks, from each of them to the table of `python -m bench`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

# Names the file that a benchmark appends its ratios to.
FILE = "NIGHTJAR_BENCH_RATIOS"
Measure = Literal["processor", "clock", "memory", "tokens"]


@dataclass(frozen=True)
class Ratio:
    """How a measurement compares: `values`, one a round, of `against` divided by ours, so that more is better, in
    seconds of the processor, seconds by the clock, bytes of memory or tokens; beside it the check of the results or the
    floor.
    """

    what: str
    against: str
    measure: Measure
    values: tuple[float, ...]
    beside: str = ""

    def row(self) -> str:
        """The cells of a Markdown table: what, against, ratio, measure, beside."""
        low, high = f"{min(self.values):.2f}", f"{max(self.values):.2f}"
        shown = low if low == high else f"{low} to {high}"
        return f"{self.what} | {self.against} | {shown} | {self.measure} | {self.beside}"


def record(
    what: str, against: str, measure: Measure, values: float | Sequence[float], beside: str = ""
) -> None:
    """Append a ratio to the table, if this benchmark runs for one."""
    if path := os.environ.get(FILE):
        several = tuple(values) if isinstance(values, Sequence) else (values,)
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(Ratio(what, against, measure, several, beside))) + "\n")


def read(path: Path) -> list[Ratio]:
    """The ratios that a benchmark appended to the file; none if it made no file."""
    if not path.exists():
        return []
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Ratio(**{**row, "values": tuple(row["values"])}) for row in rows]
