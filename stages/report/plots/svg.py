"""The elements of SVG that the report needs, round values for axes, and plots with their numbers as CSV.

Colours are CSS variables, so that one drawing serves light and dark pages. Inside the page they come from the
page's style; a drawing in its own file includes them.
"""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nightjar.core.display import printable

# Okabe and Ito's blue, vermilion and green, which colour-blind readers tell apart; all else is a shade of grey.
LIGHT = {
    "paper": "#ffffff",
    "panel": "#f5f6f8",
    "ink": "#1d2126",
    "muted": "#5c646e",
    "line": "#d8dce1",
    "s1": "#9aa2ac",
    "s2": "#69717b",
    "s3": "#1d2126",
    "s4": "#0072b2",
    "s5": "#d55e00",
    "s6": "#009e73",
}
DARK = {
    "paper": "#15181c",
    "panel": "#1e2227",
    "ink": "#e6e8eb",
    "muted": "#a0a8b2",
    "line": "#343a42",
    "s1": "#727b86",
    "s2": "#a3abb5",
    "s3": "#f4f5f6",
    "s4": "#56b4e9",
    "s5": "#f28e3c",
    "s6": "#3cc49b",
}
# One colour and shape a system, in the order of the tables; more systems begin again with other shapes.
COLOURS = 6
SHAPES = ("ring", "diamond", "circle", "square", "triangle")


def escape(text: str) -> str:
    """The text as XML may have it: control characters, which it cannot name, are written as on a terminal."""
    return html.escape(printable(text))


def variables(indent: str = "") -> str:
    """The colours as CSS custom properties of `:root`, dark ones where the reader prefers them."""
    light = " ".join(f"--{name}: {colour};" for name, colour in LIGHT.items())
    dark = " ".join(f"--{name}: {colour};" for name, colour in DARK.items())
    return (
        f"{indent}:root {{ color-scheme: light dark; {light} }}\n"
        f"{indent}@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    )


def drawing(width: float, height: float, label: str, body: list[str]) -> Markup:
    """An SVG element that scales down with its page; `label` is for readers who do not see it.

    The page's style gives it a least width, a share of `--width`, at which its texts can be read.

    It is markup for the page: all functions here escape the texts that they are given.
    """
    size = f'width="{n(width)}" height="{n(height)}" style="--width: {n(width)}px"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {n(width)} {n(height)}" {size} '
        f'role="img" aria-label="{escape(label)}">'
    )
    return Markup("\n".join([head, *body, "</svg>"]))  # noqa: S704 - all texts in it are escaped


def standalone(text: str) -> str:
    """The drawing as a file of its own: with its colours, fonts and a background."""
    head, _, rest = text.partition(">\n")
    style = f"<style>\n{variables()}\ntext {{ font-family: system-ui, sans-serif; }}\n</style>"
    return f'{head}>\n{style}\n<rect width="100%" height="100%" fill="var(--paper)"/>\n{rest}\n'


def n(value: float) -> str:
    """A number with at most two decimals and no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(
    x: float,
    y: float,
    words: str,
    size: float = 12,
    anchor: str = "start",
    fill: str = "ink",
    bold: bool = False,
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{n(x)}" y="{n(y)}" font-size="{n(size)}" text-anchor="{anchor}" '
        f'fill="var(--{fill})"{weight}>{escape(words)}</text>'
    )


def line(
    x1: float, y1: float, x2: float, y2: float, stroke: str = "line", width: float = 1, dash: str = ""
) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{n(x1)}" y1="{n(y1)}" x2="{n(x2)}" y2="{n(y2)}" stroke="var(--{stroke})" '
        f'stroke-width="{n(width)}"{dashed}/>'
    )


def path(points: str, stroke: str = "muted", width: float = 1.5) -> str:
    return f'<path d="{points}" fill="none" stroke="var(--{stroke})" stroke-width="{n(width)}"/>'


def rect(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "line", radius: float = 0
) -> str:
    return (
        f'<rect x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}" rx="{n(radius)}" '
        f'fill="var(--{fill})" stroke="var(--{stroke})"/>'
    )


def bar(x: float, y: float, width: float, height: float, fill: str, title: str) -> str:
    """A bar without an edge, pale enough for a line on it, with a title as its tooltip."""
    return (
        f'<rect x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}" fill="var(--{fill})" '
        f'fill-opacity="0.6"><title>{escape(title)}</title></rect>'
    )


def colour(number: int) -> str:
    """The variable of the system at this place, counted from 0."""
    return f"s{number % COLOURS + 1}"


def mark(x: float, y: float, number: int, title: str = "", size: float = 4.5) -> str:
    """The mark of the system at this place: its own shape as well as its own colour."""
    shape, fill = SHAPES[(number + number // COLOURS) % len(SHAPES)], colour(number)
    tooltip = f"<title>{escape(title)}</title>" if title else ""
    if shape in ("ring", "circle"):
        inside = "paper" if shape == "ring" else fill
        style = f'fill="var(--{inside})" stroke="var(--{fill})" stroke-width="1.8"'
        return f'<circle cx="{n(x)}" cy="{n(y)}" r="{n(size - 0.5)}" {style}>{tooltip}</circle>'
    corners = {
        "diamond": [(0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)],
        "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        "triangle": [(0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
    }[shape]
    points = " ".join(f"{n(x + size * dx)},{n(y + size * dy)}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="var(--{fill})">{tooltip}</polygon>'


# Steps of an axis, at most.
MOST = 6


def ticks(low: float, high: float, most: int = MOST, whole: bool = False) -> list[float]:
    """The round values from `low` to `high`; with `whole` no fractions. `low` alone where there is no range."""
    if high <= low:
        return [low]
    step = _step((high - low) / most, whole)
    # A hair of tolerance: 0.6 / 0.2 is not quite 3.
    return _multiples(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9), step)


def around(low: float, high: float, most: int = MOST) -> list[float]:
    """Round values of which the first is not above `low` and the last not below `high`; two at least."""
    if high <= low:
        high = low + 1
    step = _step((high - low) / most, False)
    return _multiples(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9), step)


def label(value: float) -> str:
    """`20,000`, `0.25`, `−5`."""
    return f"{value + 0.0:,.10g}".replace("-", "−")


def _step(least: float, whole: bool) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= least * (1 - 1e-9))
    return max(step, 1.0) if whole else step


def _multiples(first: int, last: int, step: float) -> list[float]:
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]


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
            f"{self.name}.svg": standalone(self.drawing),
            f"{self.name}.csv": table(self.columns, self.rows),
        }


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The rows as CSV below their heads."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()
