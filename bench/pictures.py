"""The pictures of README and docs: plots of the tables in docs/results, and screenshots of a rebuilt project.

    python -m bench.pictures                   docs/plots/*.svg
    python -m bench.pictures --screenshots     also docs/report.png and docs/ui-run.png

A plot has the numbers of a table, and a test compares the files with what the tables give. The screenshots need
Chromium, a project that `nightjar rebuild` has built, and a run that its Prefect server knows.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.serving import server as servers
from pipelines.serving.flow_runs import Api
from stages.report.plots.svg import COLOURS

RESULTS, PLOTS = Path("docs/results"), Path("docs/plots")
# Colours by role, those of the report; a second system of a role has a paler one.
BASELINE, CONTROL, TREATMENT = (COLOURS[role] for role in ("baseline", "control", "treatment"))
PALE_BASELINE, PALE_TREATMENT = "#c3c9d0", "#eda878"
NUMBER = r"[-+−]?\d[\d,]*(?:\.\d+)?"
VALUE = re.compile(rf"\**({NUMBER})\**(?:\s*\[({NUMBER}),\s*({NUMBER})\])?")


@dataclass(frozen=True)
class ResultsPlot:
    """A plot of the first table below the heading `section` that has all the columns of `series`.

    `series` are columns by the legend's text and colour; `rows` the labels to draw, in this order, empty for all;
    `interval` is the column of the interval where it is not in the cell.
    """

    name: str
    section: str
    title: str
    series: dict[str, tuple[str, str]]
    label: str
    rows: tuple[str, ...] = ()
    interval: str = ""
    where: tuple[str, str] = ("", "")


DRAWN = (
    ResultsPlot(
        "real-tasks",
        "Real tasks",
        "17 unseen Super-NaturalInstructions tasks, the category's own metric",
        {"untuned": ("untuned", BASELINE), "tk_instruct": ("fine-tuned on 104 other tasks", CONTROL)},
        "category",
        rows=(
            "Question rewriting",
            "Title generation",
            "Keyword tagging",
            "Data to text",
            "Coreference resolution",
        ),
    ),
    ResultsPlot(
        "scaling",
        "Number of tasks and of instances",
        "ROUGE-L on 17 unseen Super-NaturalInstructions tasks, 50 steps each",
        {"ROUGE-L": ("tk_instruct", CONTROL)},
        "training side",
    ),
    ResultsPlot(
        "calls-and-evidence",
        "What calls and evidence add",
        "ROUGE-L on 17 real tasks, difference from tk_instruct (loose filter of calls)",
        {"- `tk_instruct`": ("difference from tk_instruct", TREATMENT)},
        "system",
        rows=("untuned", "calls_only", "evidence_only", "combined"),
        where=("questions with a call", ""),
    ),
    ResultsPlot(
        "toolformer",
        "Toolformer on real texts",
        "Accuracy in percent, by task",
        {
            "untuned": ("untuned", BASELINE),
            "toolformer, disabled": ("toolformer, calls disabled", CONTROL),
            "toolformer": ("toolformer", TREATMENT),
        },
        "task",
        rows=(
            "ASDiv",
            "SVAMP",
            "LAMA, T-REx",
            "LAMA, Google-RE",
            "LAMA, SQuAD",
            "WebQuestions",
            "Natural Questions",
            "Dateset",
        ),
    ),
    ResultsPlot(
        "pgra",
        "PGRA on real texts",
        "Accuracy in percent (CoLA: Matthews correlation), mean of three seeds",
        {
            "reader, no passages": ("reader without passages", CONTROL),
            "FiD": ("passages of the retriever (FiD)", PALE_TREATMENT),
            "PGRA": ("passages of the reranker (PGRA)", TREATMENT),
        },
        "task",
    ),
    ResultsPlot(
        "protoqa",
        "ProtoQA on the real questions",
        "WordNet, max incorrect 3, percent of the best list of answers (52 questions)",
        {"max incorrect: 3": ("max incorrect 3", TREATMENT)},
        "system",
        interval="interval",
        where=("similarity", "WordNet"),
    ),
    ResultsPlot(
        "zeroscrolls",
        "ZeroSCROLLS on real documents",
        "50 questions a task in 2,048 tokens",
        {
            "naive": ("naive", PALE_BASELINE),
            "untuned": ("untuned", BASELINE),
            "tk_instruct": ("tk_instruct", CONTROL),
        },
        "task, metric",
    ),
)


@dataclass(frozen=True)
class Gain:
    """A benchmark of the README's plot: two cells of the table below `section`, each found by its row and column."""

    label: str
    section: str
    rows: tuple[dict[str, str], dict[str, str]]
    columns: tuple[str, str]
    interval: str = ""


BEFORE_AFTER = {"untuned, or calls disabled": BASELINE, "fine-tuned, or with calls": TREATMENT}
CALLS = ("toolformer, disabled", "toolformer")
GAINS = (
    Gain(
        "Super-NaturalInstructions, ROUGE-L (n 1,700)\nfine-tuned on other tasks",
        "Real tasks",
        ({"system": "untuned"}, {"system": "tk_instruct"}),
        ("ROUGE-L", "ROUGE-L"),
    ),
    Gain(
        "ProtoQA, best list of answers (n 52)\nfine-tuned on 45,025 pairs",
        "ProtoQA on the real questions",
        (
            {"similarity": "WordNet", "system": "untuned"},
            {"similarity": "WordNet", "system": "**fine-tuned**, all pairs"},
        ),
        ("max incorrect: 3", "max incorrect: 3"),
        "interval",
    ),
    Gain(
        "SVAMP, accuracy (n 300)\nwith tool calls",
        "Toolformer on real texts",
        ({"task": "SVAMP"},) * 2,
        CALLS,
    ),
    Gain(
        "ASDiv, accuracy (n 300)\nwith tool calls",
        "Toolformer on real texts",
        ({"task": "ASDiv"},) * 2,
        CALLS,
    ),
    Gain(
        "LAMA, Google-RE, accuracy (n 300)\nwith tool calls",
        "Toolformer on real texts",
        ({"task": "LAMA, Google-RE"},) * 2,
        CALLS,
    ),
)


Row = dict[str, str]


def tables(text: str) -> Iterator[tuple[str, list[Row]]]:
    """The tables of a Markdown text: the heading above each, and its rows by the names of their columns.

    An empty first cell is that of the row above. A name that says only a number has the last whole name before it.
    """
    heading, head, rows = "", list[str](), list[Row]()
    for line in [*text.splitlines(), ""]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not cells:
            if rows:
                yield heading, rows
            head, rows = [], []
        elif not head:
            head = list(_full_names(cells))
        elif not set("".join(cells)) <= set("-: "):
            if not cells[0] and rows:
                cells[0] = rows[-1][head[0]]
            rows.append(dict(zip(head, cells, strict=False)))


def results_text(root: Path = Path()) -> str:
    """Return the text of all pages of results."""
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted((root / RESULTS).glob("*.md")))


def _full_names(names: Sequence[str]) -> Iterator[str]:
    """`max incorrect 1 | 3` are the columns `max incorrect: 1` and `max incorrect: 3`."""
    before = ""
    for name in names:
        numbered = re.fullmatch(r"(\D+) (\d+)", name)
        if numbered:
            before = numbered[1]
        number = numbered[2] if numbered else name
        yield f"{before}: {number}" if before and number.isdigit() else name


Point = tuple[float, float, float]


def point(cell: str, interval: str = "") -> Point | None:
    """Value and bounds of a cell, such as `25.3 [20.3, 30.3]`; the bounds are the value where there are none."""
    number = VALUE.match(f"{cell} {interval}".strip())
    if number is None:
        return None
    value, low, high = (float((it or number[1]).replace(",", "").replace("−", "-")) for it in number.groups())
    return value, low, high


def _rows(text: str, section: str, columns: Sequence[str]) -> list[Row]:
    for heading, rows in tables(text):
        if heading == section and set(columns) <= rows[0].keys():
            return rows
    raise NightjarError(
        f"no table with the columns {', '.join(columns)}", f"{RESULTS}, {section}", "see bench.pictures"
    )


def points(plot: ResultsPlot, text: str) -> dict[str, dict[str, Point]]:
    """The points of a plot by label and legend text."""
    where, value = plot.where
    needed = [*plot.series, plot.label, *filter(None, [plot.interval, where])]
    label_points: dict[str, dict[str, Point]] = {}
    for row in _rows(text, plot.section, needed):
        label = re.sub(r"[`*]", "", row[plot.label])
        if label in label_points or (value and row[where] != value) or (plot.rows and label not in plot.rows):
            continue
        drawn = {
            legend: drawn_point
            for column, (legend, _) in plot.series.items()
            if (drawn_point := point(row[column], row.get(plot.interval, "")))
        }
        if drawn:
            n = f" (n {row['n']})" if "n" in row else ""
            label_points[label] = drawn
            label_points[label + n] = label_points.pop(label)
    return label_points


def gains(text: str) -> dict[str, dict[str, Point]]:
    """The points of the README's plot: each benchmark before and after."""
    gain_points = {}
    for gain in GAINS:
        pair: dict[str, Point] = {}
        for when, names, column in zip(BEFORE_AFTER, gain.rows, gain.columns, strict=True):
            rows = _rows(text, gain.section, [*names, column, *filter(None, [gain.interval])])
            row = next(drawn_point for drawn_point in rows if names.items() <= drawn_point.items())
            drawn_point = point(row[column], row.get(gain.interval, ""))
            if drawn_point is None:
                raise NightjarError(
                    f"no number: {row[column]}", f"{RESULTS}, {gain.section}", "see bench.pictures"
                )
            pair[when] = drawn_point
        gain_points[gain.label] = pair
    return gain_points


def draw(
    label_points: dict[str, dict[str, Point]], colours: dict[str, str], title: str, zero: bool = False
) -> bytes:
    """An SVG file: a row for each label, a point with its interval for each series, equal bytes for equal points."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # Text as text: small files, and the reader's own font.
    with pyplot.rc_context({"svg.hashsalt": "nightjar", "svg.fonttype": "none", "font.family": "sans-serif"}):
        step = 0.24
        height = 1.0 + sum(0.16 + step * len(of) for of in label_points.values())
        figure, axes = pyplot.subplots(figsize=(7.6, height), layout="constrained")
        at, ticks = 0.0, []
        for of in label_points.values():
            ticks.append(at + step * (len(of) - 1) / 2)
            for legend, (value, low, high) in of.items():
                axes.plot([low, high], [at, at], color=colours[legend], linewidth=2)
                axes.plot(value, at, "o", color=colours[legend], markersize=6)
                axes.annotate(
                    f"{value:.1f}", (high, at), (5, 0), textcoords="offset points", va="center", fontsize=8
                )
                at += step
            at += 0.16
        axes.set_yticks(ticks, list(label_points))
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(x=0.08)
        if zero:
            axes.axvline(0, color="#4d4d4d", linewidth=1)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        if len(colours) > 1:
            lines = [pyplot.Line2D([], [], color=it, marker="o", linewidth=2) for it in colours.values()]
            figure.legend(
                lines, list(colours), loc="outside lower left", ncols=len(colours), frameon=False, fontsize=9
            )
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
        pyplot.close(figure)
    return file.getvalue()


def plots(text: str) -> dict[str, bytes]:
    """All plots by their file's name."""
    drawn = {
        f"{plot.name}.svg": draw(
            points(plot, text), dict(plot.series.values()), plot.title, "difference" in plot.title
        )
        for plot in DRAWN
    }
    title = "SmolLM2-135M on real data, in percent, with 95% intervals"
    drawn["gains.svg"] = draw(gains(text), BEFORE_AFTER, title)
    return drawn


def photograph(url: str, file: Path, width: int, height: int) -> None:
    """A screenshot of a page, after a minute of its own clock: the chart of a run takes long to settle."""
    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
    if browser is None:
        raise NightjarError("Chromium is not installed", "--screenshots", "install chromium-headless-shell")
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "page.png"
        size = f"--window-size={width},{height}"
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=60000", size]
        subprocess.run(
            [browser, *options, f"--screenshot={taken}", url], check=True, timeout=300, capture_output=True
        )
        file.write_bytes(taken.read_bytes())


def screenshots(root: Path) -> None:
    """The overview of the project's report, and the page of its longest run on its Prefect server."""
    page = root / paths.REPORT / "index.html"
    if not page.exists():
        raise NightjarError("there is no report", page, "run `nightjar rebuild`")
    photograph(page.resolve().as_uri(), Path("docs/report.png"), 1440, 900)
    server = servers.find(root)
    if server is None:
        raise NightjarError(
            "no Prefect server runs", root / paths.SERVER, "run `nightjar ui` and `nightjar rebuild`"
        )
    runs = Api(server.url).ask("flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 50})
    if not runs:
        raise NightjarError("the server knows no run", server.url, "run `nightjar rebuild`")
    longest = max(runs, key=lambda run: run["total_run_time"])
    photograph(f"{server.url}/runs/flow-run/{longest['id']}", Path("docs/ui-run.png"), 1280, 900)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--screenshots", action="store_true", help="also of the report and the Prefect UI")
    arguments = parser.parse_args()
    for name, data in plots(results_text()).items():
        (PLOTS / name).write_bytes(data)
    if arguments.screenshots:
        screenshots(Path())


if __name__ == "__main__":
    main()
