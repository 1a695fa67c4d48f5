"""What the report shows of papers: their scores and tables, and the figures of their datasets.

A benchmark has them in a file published.toml, which `read` reads:

tables      tables of papers: `source`, `tracks`, and `rows`, the numbers of each system in the order of the tracks;
            with `averages` the last number of a row is the average of the others, as the paper prints it;
            with `metrics` all numbers of the one track, whose value is the one of the metric `main`. One with a `title`
            is shown, with its `note`; one that is `alone` without the rows of other tables. `calls` are PublishedCalls.
curves      `study`, `system`, `source`, and `points`: the numbers of `tracks` by value, or the name of a row
findings    `system`, `other`, `tracks`, `paper` and `setting`: a PublishedFinding
collection  `source`, `notes` and `figures` of the dataset

"-" is a number that is not published.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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
    """What a paper gives for a system that calls tools: scores of all inputs, of those with and without a call.

    In the unit of the track's first metric, None where there are no such inputs; `share` of inputs with a call in
    percent.
    """

    track: str
    system: str
    everything: float
    with_call: float | None
    without_call: float | None
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
    """What a paper gives for one system at several values of a setting, which is that of a kind of study.

    `points` are by the value, as `nightjar study` shows it: values by track, in the unit of the track's first metric,
    or by a name of what the paper gives instead, such as the average of its tasks.
    """

    study: str
    system: str
    source: str
    points: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class PublishedFinding:
    """A paper's finding: `system` is at least as good as `other` on `tracks`, or without them by the mean of tasks.

    `paper` says where it stands, with the numbers, and `setting` with which set-up, beside that of the sample.
    """

    system: str
    other: str
    tracks: tuple[str, ...]
    paper: str
    setting: str


@dataclass(frozen=True)
class Figure:
    """A number that describes a dataset: `name` is its key in the facts of the stage ingest. None: not published."""

    name: str
    title: str
    published: float | None
    decimals: int = 0


@dataclass(frozen=True)
class Collection:
    """How the report describes the dataset: its figures beside those of `source`, and how they are counted.

    The stage ingest of one of the card's datasets writes the numbers as its fact `collection`.
    """

    source: str
    figures: tuple[Figure, ...]
    notes: str = ""


@dataclass(frozen=True)
class Papers:
    """What papers say of a benchmark: rows that are shown beside the systems, tables, results of studies, and figures.

    `curves` are results at several values of a setting, which studies of it show. Where ours are the opposite of one of
    the `findings`, the report says so.
    """

    rows: tuple[Published, ...] = ()
    tables: tuple[PublishedTable, ...] = ()
    curves: tuple[PublishedCurve, ...] = ()
    findings: tuple[PublishedFinding, ...] = ()
    collection: Collection | None = None


def read(file: Path) -> Papers:
    """What a file published.toml has, in its order."""
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    rows = [row for table in found["tables"] for row in _rows(table)]
    tables = [
        PublishedTable(
            table["title"],
            tuple(table["tracks"]),
            table.get("note", ""),
            tuple(PublishedCalls(*_known(call)) for call in table.get("calls", ())),
            source=table["source"] if table.get("alone") else "",
        )
        for table in found["tables"]
        if "title" in table
    ]
    by_system = {row.system: row.values for row in rows}
    curves = [
        PublishedCurve(
            curve["study"],
            curve["system"],
            curve["source"],
            {
                value: by_system[point] if isinstance(point, str) else _named(curve["tracks"], point)
                for value, point in curve["points"].items()
            },
        )
        for curve in found.get("curves", ())
    ]
    collection = None
    if it := found.get("collection"):
        figures = tuple(Figure(*_known(figure)) for figure in it["figures"])
        collection = Collection(it["source"], figures, it["notes"])
    findings = (
        PublishedFinding(**{**finding, "tracks": tuple(finding["tracks"])})
        for finding in found.get("findings", ())
    )
    return Papers(tuple(rows), tuple(tables), tuple(curves), tuple(findings), collection)


def _rows(table: Mapping[str, Any]) -> Iterator[Published]:
    for system, numbers in table.get("rows", {}).items():
        if "metrics" in table:
            metrics = _named(table["metrics"], numbers)
            yield Published(system, {table["tracks"][0]: metrics[table["main"]]}, table["source"], metrics)
        else:
            *values, average = numbers if table.get("averages") else (*numbers, None)
            average = None if average == "-" else average
            yield Published(system, _named(table["tracks"], values), table["source"], average=average)


def _known(values: Iterable[Any]) -> Iterator[Any]:
    return (None if it == "-" else it for it in values)


def _named(names: Iterable[str], values: Iterable[Any]) -> dict[str, float]:
    return {name: it for name, it in zip(names, _known(values), strict=True) if it is not None}
