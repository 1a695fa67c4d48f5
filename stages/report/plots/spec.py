"""Contents of a plot: panels with axes and marks, its numbers as a table, and a legend.

All positions are numbers in the units of the axes; an axis may name places on it. Colours are names of the style's
custom properties, so that one specification serves light and dark pages.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Systems of one role have one colour and mark everywhere: the custom property, the symbol, and the glyph of text.
ROLES: Mapping[str, tuple[str, str]] = {
    "baseline": ("circle", "●"),
    "control": ("square", "■"),
    "treatment": ("diamond", "◆"),
    "bound": ("triangle", "▲"),
    "human": ("star", "★"),
}

Kind = Literal["rect", "line", "dot", "text"]


@dataclass(frozen=True)
class Mark:
    """A mark of a panel, in the units of its axes: a rectangle between two corners, a line, a dot, or a text.

    `title` is what the mark says when it is pointed at, `edge` the colour of a rectangle's edge, `symbol` that of a
    dot, `text` and `bold` those of a text; a line is `width` pixels wide, and may be `dashed`.
    """

    kind: Kind
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    title: str = ""
    edge: str = ""
    symbol: str = ""
    text: str = ""
    bold: bool = False
    width: float = 2
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`; `labels` are places with their names instead of numbers. `hidden`: neither is shown."""

    low: float
    high: float
    title: str = ""
    labels: Sequence[tuple[float, str]] = ()
    hidden: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes with its marks, `height` pixels high; y grows upwards."""

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    height: float
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """Panels side by side, each `width` pixels wide where the window has room, and the numbers of the plot.

    `label` is for readers who do not see it; `name` is that of its files. `legend` pairs a colour and a symbol with
    what they stand for. None is an empty cell of the table.
    """

    name: str
    label: str
    panels: Sequence[Panel]
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    width: float = 300
    legend: Sequence[tuple[str, str, str]] = ()

    def draw(self) -> tuple[list[str], dict[str, str]]:
        """The panels as SVG for the page, and by file name the whole drawing and its numbers."""
        from stages.report.plots import svg  # loads matplotlib

        panels, drawing = svg.draw(self)
        return panels, {f"{self.name}.svg": drawing, f"{self.name}.csv": table(self.columns, self.rows)}


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The rows as CSV below their heads."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def rounded(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis: multiples of a round step that reach over both, and are not equal."""
    if high <= low:
        high = low + 1
    power = 10.0 ** math.floor(math.log10((high - low) / 5))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= (high - low) / 5 * (1 - 1e-9))
    return step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, the last an ellipsis where some are missing."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
