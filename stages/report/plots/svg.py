"""A plot as SVG by matplotlib: a drawing a panel in the page, and one file. Equal plots have equal bytes.

Colours are the style's custom properties, so that a drawing follows the reader's light or dark scheme. A mark has what
it says in its `<title>`, which a browser shows where the mark is pointed at.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Affine2D, IdentityTransform

from nightjar.core.display import printable
from stages.report.plots.spec import ROLES, Mark, Panel, Plot

_STYLE = (
    (Path(__file__).parents[1] / "assets" / "style.css").read_text(encoding="utf-8").partition("\n* {")[0]
)
# The colours of light pages by the names of the style.
COLOURS = dict(re.findall(r"--(\w+): (#\w{6});", _STYLE.partition("@media")[0]))
_NAMES = {colour: name for name, colour in COLOURS.items()}
# The marker of each symbol and its size in pixels.
_MARKERS = {
    "circle": ("o", 9),
    "square": ("s", 8),
    "diamond": ("d", 11),
    "triangle": ("^", 10),
    "star": ("*", 16),
}
# A length of 1 in matplotlib is a pixel at this resolution.
_DPI = 72.0
# Pixels of a file's width, and between its panels.
_FILE_WIDTH, _GUTTER = 960.0, 16.0
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "nightjar", "text.parse_math": False}
_SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", _SVG)


def draw(plot: Plot) -> tuple[list[str], str]:
    """Return the drawing of each panel, for the page, which writes titles and notes, and a file with all of these."""
    drawings = [_drawing(panel, plot.width) for panel in plot.panels]
    return [_text(drawing) for drawing in drawings], _file(plot, drawings)


def _file(plot: Plot, drawings: Sequence[ElementTree.Element]) -> str:
    """Return the plot as a file of its own, with the titles and notes of its panels and the legend."""
    columns = max(1, min(len(drawings), int(_FILE_WIDTH // (plot.width + _GUTTER))))
    cell = _FILE_WIDTH / columns
    root = ElementTree.Element(f"{{{_SVG}}}svg")
    ElementTree.SubElement(
        root, f"{{{_SVG}}}style"
    ).text = f"\n{_STYLE}\nsvg {{ background: var(--paper); font: 12px system-ui, sans-serif; }}\n"
    top = 0.0
    for at, (colour, symbol, name) in enumerate(plot.legend):
        x, top = 160.0 * (at % 6), 20.0 * (at // 6 + 1)
        _caption(root, x + 4, top - 5, dict(ROLES.values())[symbol], colour)
        _caption(root, x + 20, top - 5, printable(name), "ink")
    for start in range(0, len(drawings), columns):
        panels = plot.panels[start : start + columns]
        notes = [wrap(printable(panel.note), int(cell // 6.5)) for panel in panels]
        head = 24.0 + 16 * max(map(len, notes))
        for at, (panel, lines) in enumerate(zip(panels, notes, strict=True)):
            _caption(root, at * cell + 4, top + 16, printable(panel.title), "ink", "bold")
            for row, line in enumerate(lines):
                _caption(root, at * cell + 4, top + 32 + 16 * row, line, "muted")
            drawing = drawings[start + at]
            drawing.attrib |= {"x": f"{at * cell:g}", "y": f"{top + head:g}"}
            root.append(drawing)
        top += head + max(float(it.attrib["height"]) for it in drawings[start : start + columns]) + 8
    size = {"width": f"{_FILE_WIDTH:g}", "height": f"{top:g}", "viewBox": f"0 0 {_FILE_WIDTH:g} {top:g}"}
    root.attrib |= size
    return _text(root)


def _caption(
    root: ElementTree.Element, x: float, y: float, words: str, colour: str, weight: str = "normal"
) -> None:
    style = {"style": f"fill: var(--{colour}); font-weight: {weight}"}
    ElementTree.SubElement(root, f"{{{_SVG}}}text", {"x": f"{x:g}", "y": f"{y:g}", **style}).text = words


def _drawing(panel: Panel, width: float) -> ElementTree.Element:
    """Return a panel without its title and note, whose marks have their titles."""
    labels = [text for _, text in panel.y.labels]
    label_width = 4.0 if panel.y.hidden else 12 + 6.6 * max(map(len, labels)) if labels else 46.0
    bottom = 4.0 if panel.x.hidden else 40.0 if panel.x.title else 24.0
    top = 24.0 if panel.y.title else 8.0
    height = panel.height + top + bottom
    titles: list[str] = []
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        room = width - label_width - 18
        axes = figure.add_axes((label_width / width, bottom / height, room / width, panel.height / height))
        _frame(axes, panel, room)
        for layer, mark in enumerate(panel.marks, start=1):
            artist = _artist(axes, mark)
            artist.set_clip_on(False)
            artist.set_zorder(layer)
            if mark.title:
                artist.set_gid(f"title{len(titles)}")
                titles.append(mark.title)
        svg_file = io.StringIO()
        figure.savefig(svg_file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    root = ElementTree.fromstring(svg_file.getvalue())  # noqa: S314 - matplotlib wrote it
    return _plain(root, titles, width, height)


def _frame(axes: Axes, panel: Panel, room: float) -> None:
    """Set the ends of the axes, their grids, labels and titles."""
    axes.set_xlim(panel.x.low, panel.x.high)
    axes.set_ylim(panel.y.low, panel.y.high)
    for background in (axes.patch, *axes.spines.values()):
        background.set_visible(False)
    axes.set_axisbelow(True)
    for panel_axis, axis, length in ((panel.x, axes.xaxis, room), (panel.y, axes.yaxis, panel.height)):
        axis.set_tick_params(length=0, labelcolor=COLOURS["ink"], labelsize=12, pad=6)
        if panel_axis.labels:
            places, names = zip(*panel_axis.labels, strict=True)
            axis.set_ticks(places, [printable(name) for name in names])
        elif panel_axis.hidden:
            axis.set_ticks([])
        else:
            axis.set_major_locator(MaxNLocator(7 if length > 260 else 5, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "−")))
            axis.grid(True, color=COLOURS["line"], linewidth=1, clip_on=False)
    muted = {"color": COLOURS["muted"], "fontsize": 12}
    axes.set_xlabel(printable(panel.x.title), labelpad=6, **muted)
    axes.annotate(printable(panel.y.title), (0, 1), (0, 12), "axes fraction", "offset points", **muted)


def _plain(root: ElementTree.Element, titles: list[str], width: float, height: float) -> ElementTree.Element:
    """Return the paths and texts of a drawing with their titles, the names of their colours, and the page's font."""
    size = {"width": f"{width:g}", "height": f"{height:g}", "viewBox": f"0 0 {width:g} {height:g}"}
    plain = ElementTree.Element(root.tag, size)
    for group in root.iter(f"{{{_SVG}}}g"):
        identity = group.attrib.get("id", "")
        for element in group:
            if element.tag.removeprefix(f"{{{_SVG}}}") not in ("path", "text"):
                continue
            style = re.sub(r"font(-size|-family)?: [^;]*; ?", "", element.attrib["style"])
            style = re.sub(r"#\w{6}", lambda colour: f"var(--{_NAMES[colour[0]]})", style)
            place = {name: element.attrib[name] for name in ("x", "y", "d") if name in element.attrib}
            if not place:  # matplotlib leaves out what is beyond the axes
                raise ValueError(f"a mark of {titles or 'a plot'} is outside of its axes")
            leaf = ElementTree.SubElement(plain, element.tag, place | {"style": style})
            leaf.text = (element.text or "").strip()
            if identity.startswith("title"):
                title = ElementTree.SubElement(leaf, f"{{{_SVG}}}title")
                title.text = printable(titles[int(identity.removeprefix("title"))], keep="\n")
    return plain


def _text(element: ElementTree.Element) -> str:
    return ElementTree.tostring(element, encoding="unicode")


def _artist(axes: Axes, mark: Mark) -> Artist:
    """Add a mark to the axes."""
    colour, x, y = COLOURS[mark.colour], mark.x, mark.y
    if mark.kind == "rect":
        edge = COLOURS[mark.edge] if mark.edge else "none"
        return axes.add_patch(
            Rectangle((x[0], y[0]), x[1] - x[0], y[1] - y[0], facecolor=colour, edgecolor=edge)
        )
    if mark.kind == "line":
        line = Line2D(x, y, color=colour, linewidth=mark.width, solid_capstyle="butt")
        if mark.dashed:
            line.set_dashes((4, 3))
        return axes.add_line(line)
    if mark.kind == "text":
        style: dict[str, Any] = {"color": colour, "weight": "bold" if mark.bold else "normal"}
        return axes.text(x[0], y[0], printable(mark.text), ha="center", va="center", size=12, **style)
    # A dot has the same size wherever it is, so its path is in pixels.
    name, size = _MARKERS[mark.symbol]
    marker, place = MarkerStyle(name), axes.transData.transform((x[0], y[0]))
    path = marker.get_path().transformed(marker.get_transform() + Affine2D().scale(size).translate(*place))
    edging = {"edgecolor": COLOURS["paper"], "linewidth": 0.8}
    return axes.add_artist(PathPatch(path, transform=IdentityTransform(), facecolor=colour, **edging))
