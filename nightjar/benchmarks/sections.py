"""Sections that a benchmark adds to its page of the report: templates over rows and plots, which the report draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import SystemScores
from nightjar.core import contracts, paths, tables
from nightjar.statistics.metric import Metric

if TYPE_CHECKING:
    from nightjar.params import Params


@dataclass(frozen=True)
class Value:
    """A number of a metric in its unit, with the interval below it; without one, the mark of too few of `n` instances.

    `n` is 0 where no interval is meant. `bold`: significantly the best. `heat`: the share, from 0 to 1, of the colour
    behind the number; None for none.
    """

    metric: Metric
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    bold: bool = False
    heat: float | None = None


@dataclass(frozen=True)
class Noted:
    """A text of a cell with a smaller note below it."""

    text: str
    note: str


# None is a dash; a truth value is yes or no.
Cell = str | int | Value | Noted | None


@dataclass(frozen=True)
class ReportColumn:
    """A column of a table: numbers are aligned to the right, words are long texts."""

    title: str
    kind: Literal["text", "number", "words"] = "number"


def texts(*titles: str) -> list[ReportColumn]:
    """Columns of texts."""
    return [ReportColumn(title, "text") for title in titles]


def numbered(*titles: str) -> list[ReportColumn]:
    """Columns of numbers."""
    return [ReportColumn(title) for title in titles]


def words(*titles: str) -> list[ReportColumn]:
    """Columns of long texts."""
    return [ReportColumn(title, "words") for title in titles]


@dataclass(frozen=True)
class ReportRow:
    """A row of a table. `published`: it is a paper's. The only cell of a `heading` goes over all columns."""

    cells: Sequence[Cell]
    published: bool = False
    heading: bool = False


# Plain cells, or a dictionary of them by the titles of columns, are a row that is neither published nor a heading.
TableRow = ReportRow | Sequence[Cell] | Mapping[str, Cell]


class ReportTable(NamedTuple):
    """A table whose first column names the rows. The lines of the caption remain lines."""

    columns: Sequence[ReportColumn]
    rows: Sequence[TableRow]
    caption: str = ""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval, which are None for too few instances; in the unit of its metric."""

    value: float
    low: float | None
    high: float | None

    @property
    def highest(self) -> float:
        """The value or the end of its interval."""
        return self.value if self.high is None else max(self.value, self.high)


@dataclass(frozen=True)
class Intervals:
    """A plot with a row for each title, note and metric, in it an interval for each system.

    `name` is that of the files of the plot, `label` says what it shows. A row is `width` pixels wide.
    """

    name: str
    label: str
    rows: Sequence[tuple[str, str, Metric, Mapping[str, Interval]]]
    width: float = 360


@dataclass(frozen=True)
class PlotAxis:
    """An axis of a plot from `low` to `high`."""

    title: str
    low: float
    high: float


@dataclass(frozen=True)
class PlotPoint:
    """A point with the ends of the interval of its y, and what it says when it is pointed at."""

    x: float
    y: float
    title: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Points:
    """A square plot of points by system; `joined`: those of a system are joined by a line.

    `columns` and `rows` are the numbers in its file.
    """

    name: str
    label: str
    x: PlotAxis
    y: PlotAxis
    systems: Mapping[str, Sequence[PlotPoint]]
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    joined: bool = False


@dataclass(frozen=True)
class Section:
    """A section of a page: a Jinja template, its text or its file, with its values; `id` names it in links.

    A template has `table(columns, rows, caption)`, `figure(plot)`, and the columns `texts`, `numbered` and `words`.
    Every value is escaped. The names `named` and `drawn` are the report's.
    """

    id: str
    title: str
    template: str | Path
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Evaluated:
    """The contents of a section: the questions of a benchmark, and the answers and scores of its systems.

    `systems` are those with predictions; `scores` are those of all, baselines first. `table` has the rows of
    contracts.SCORES, `facts` those of the stage evaluate. `folder` is that of the run. A section that reads other
    artifacts names each to `reads`.
    """

    card: Benchmark
    params: Params
    systems: Sequence[str]
    questions: Sequence[Question]
    scores: Sequence[SystemScores]
    table: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any]
    folder: Path
    reads: Callable[[Path], None]

    def predictions(self, system: str, columns: list[str]) -> list[dict[str, Any]]:
        """Columns of the rows of contracts.PREDICTIONS."""
        source = self.folder / paths.PREDICTIONS / self.card.name / system
        return tables.read_rows(source, contracts.PREDICTIONS, columns)

    def of_track(self, track: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The overall rows of `table` of a track by metric and system."""
        return {
            (row["metric"], row["system"]): row
            for row in self.table
            if (row["track"], row["level"]) == (track, "overall")
        }

    @property
    def tracks(self) -> list[str]:
        """The tracks with scores, in the card's order."""
        present, listed = {row["track"] for row in self.table}, list(self.card.tracks)
        return [track for track in listed if track in present] + sorted(present - set(listed))


def cut(text: str, limit: int = 160) -> str:
    """The text on one line, at most `limit` characters of it, cut between words where there is a blank."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    start = text[:limit]
    return (start.rpartition(" ")[0] or start) + " …"


def initial(text: str) -> str:
    """The text with a capital letter at its beginning; the others remain."""
    return text[:1].upper() + text[1:]
