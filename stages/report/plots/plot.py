"""A drawing and the numbers that it shows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from stages.report.plots import svg


@dataclass(frozen=True)
class Plot:
    """A drawing, its numbers as a table, and the name of its files without their suffix. None is an empty cell."""

    name: str
    drawing: Markup
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def files(self) -> dict[str, str]:
        """The drawing and its numbers by file name."""
        return {
            f"{self.name}.svg": svg.standalone(self.drawing),
            f"{self.name}.csv": table(self.columns, self.rows),
        }


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The rows as CSV below their heads."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()
