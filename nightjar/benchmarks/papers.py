"""Published results: the scores and tables of papers, and the figures of their datasets.

A benchmark has them in a file published.toml, which `read` reads:

tables      tables of papers: `source`, `tracks`, and `rows`, the numbers of each system in the order of the tracks;
            with `averages` the last number of a row is the average of the others, as the paper prints it;
            with `metrics` all numbers of the one track, whose value is the one of the metric `main`. One with a `title`
            is shown, with its `note`; one that is `alone` without the rows of other tables. `calls` are PublishedCalls.
curves      `study`, `system`, `source`, and `points`: the numbers of `tracks` by value, or the name of a row
findings    `system`, `reference`, `tracks`, `paper` and `setting`: a PublishedFinding
collection  `source`, `notes` and `figures` of the dataset
numbers     other numbers, by the name of an analysis or a report section, row and figure

"-" is a number that is not published.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

Numbers = Mapping[str, Mapping[str, Mapping[str, float]]]
Number = Annotated[int | float | None, BeforeValidator(lambda number: None if number == "-" else number)]


def _by_position(kind: type) -> BeforeValidator:
    """Read a list of values as the fields of a dataclass, in their order."""
    return BeforeValidator(
        lambda cells: {it.name: cell for it, cell in zip(fields(kind), cells, strict=False)}
    )


@dataclass(frozen=True)
class Published:
    """A row of a paper's table: `values` by track, in the unit of the track's first metric.

    `metrics`: the values of all metrics, where the paper has several; they are of the card's first track. `average` is
    that of the values, where the paper prints it.
    """

    system: str
    values: Mapping[str, float]
    source: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    average: float | None = None


@dataclass(frozen=True)
class PublishedCalls:
    """Published scores of a system that calls tools: scores of all inputs, of those with and without a call.

    In the unit of the track's first metric, None where there are no such inputs; `share` of inputs with a call in
    percent.
    """

    track: str
    system: str
    everything: float
    with_call: Number
    without_call: Number
    share: float


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper that the report shows beside ours: its tracks are columns.

    The values are those of the card's `published`; for a table whose columns are tracks, of the rows with this `source`
    if one is given. `note`: what the paper says beside it. `calls` are the rows of a table by call. A table whose
    columns are metrics of its only track names them in `metrics`, with the headings of their columns; `reference` is a
    system from which such a table shows the differences of ours.
    """

    title: str
    tracks: tuple[str, ...]
    note: str = ""
    calls: tuple[PublishedCalls, ...] = ()
    metrics: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    source: str = ""


@dataclass(frozen=True)
class PublishedCurve:
    """Published scores of one system at several values of a setting, which is that of a kind of study.

    `points` are by the value, as `nightjar study` shows it: values by track, in the unit of the track's first metric,
    or by a name of what the paper gives instead, such as the average of its tasks.
    """

    study: str
    system: str
    source: str
    points: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class PublishedFinding:
    """A paper's finding: `system` is at least as good as `reference` on `tracks`, or without them by the mean of tasks.

    `paper` says where it stands, with the numbers, and `setting` with which set-up, beside that of the sample.
    """

    system: str
    reference: str
    tracks: tuple[str, ...]
    paper: str
    setting: str


@dataclass(frozen=True)
class Figure:
    """A number that describes a dataset: `name` is its key in the facts of the stage ingest. None: not published."""

    name: str
    title: str
    published: Number
    decimals: int = 0


@dataclass(frozen=True)
class Collection:
    """The description of a dataset: its figures beside those of `source`, and the rule by which they are counted.

    The stage ingest of one of the card's datasets writes the numbers as its fact `collection`.
    """

    source: str
    figures: tuple[Annotated[Figure, _by_position(Figure)], ...]
    notes: str = ""


@dataclass(frozen=True)
class Papers:
    """Published results of a benchmark: rows beside the systems, tables, results of studies, and figures.

    `curves` are results at several values of a setting, which studies of it show. Where ours are the opposite of one of
    the `findings`, the report says so. `numbers` are those that a report section or an analysis has beside its own: by
    its name, row and figure.
    """

    rows: tuple[Published, ...] = ()
    tables: tuple[PublishedTable, ...] = ()
    curves: tuple[PublishedCurve, ...] = ()
    findings: tuple[PublishedFinding, ...] = ()
    collection: Collection | None = None
    numbers: Numbers = field(default_factory=dict)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _TableEntry(_Entry):
    source: str = ""
    tracks: tuple[str, ...]
    rows: dict[str, tuple[Number, ...]] = {}
    averages: bool = False
    metrics: tuple[str, ...] = ()
    main: str = ""
    title: str = ""
    note: str = ""
    alone: bool = False
    calls: tuple[Annotated[PublishedCalls, _by_position(PublishedCalls)], ...] = ()

    def published_rows(self) -> Iterator[Published]:
        for system, numbers in self.rows.items():
            if self.metrics:
                metrics = _named(self.metrics, numbers)
                yield Published(system, {self.tracks[0]: metrics[self.main]}, self.source, metrics)
            else:
                *values, average = numbers if self.averages else (*numbers, None)
                yield Published(system, _named(self.tracks, values), self.source, average=average)

    def published_table(self) -> PublishedTable:
        source = self.source if self.alone else ""
        return PublishedTable(self.title, self.tracks, self.note, self.calls, source=source)


class _CurveEntry(_Entry):
    study: str
    system: str
    source: str
    tracks: tuple[str, ...] = ()
    points: dict[str, str | tuple[Number, ...]]

    def published_curve(self, rows: Mapping[str, Mapping[str, float]]) -> PublishedCurve:
        points = {
            value: rows[point] if isinstance(point, str) else _named(self.tracks, point)
            for value, point in self.points.items()
        }
        return PublishedCurve(self.study, self.system, self.source, points)


class _PapersFile(_Entry):
    tables: tuple[_TableEntry, ...]
    curves: tuple[_CurveEntry, ...] = ()
    findings: tuple[PublishedFinding, ...] = ()
    collection: Collection | None = None
    numbers: dict[str, dict[str, dict[str, float]]] = {}


def read(file: Path) -> Papers:
    """Read a file published.toml, in its order. Raises ValueError if it has another form."""
    content = _PapersFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    rows = tuple(row for table in content.tables for row in table.published_rows())
    by_system = {row.system: row.values for row in rows}
    return Papers(
        rows,
        tuple(table.published_table() for table in content.tables if table.title),
        tuple(curve.published_curve(by_system) for curve in content.curves),
        content.findings,
        content.collection,
        content.numbers,
    )


def _named(names: Sequence[str], numbers: Sequence[float | None]) -> dict[str, float]:
    return {name: number for name, number in zip(names, numbers, strict=True) if number is not None}
