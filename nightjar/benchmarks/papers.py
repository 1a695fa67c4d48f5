"""What the report shows of papers: their scores and tables, and the figures of their datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nightjar.benchmarks.capabilities import Capability


@dataclass(frozen=True)
class Published:
    """A row of a paper's table: `values` by track, in the unit of the track's first metric.

    `metrics`: the values of all metrics, where the paper has several; they are of the card's first track.
    """

    system: str
    values: Mapping[str, float]
    source: str
    metrics: Mapping[str, float] = field(default_factory=dict)


def published_rows(
    table: Mapping[str, Sequence[float | None]], tracks: Sequence[str], source: str
) -> tuple[Published, ...]:
    """The rows of a paper's table from the values of each system, in the order of `tracks`; None is not published."""
    return tuple(
        Published(
            system, {track: it for track, it in zip(tracks, row, strict=True) if it is not None}, source
        )
        for system, row in table.items()
    )


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
class Papers(Capability):
    """What papers say of a benchmark: rows that are shown beside the systems, tables, results of studies, and figures.

    `curves` are results at several values of a setting, which studies of it show.
    """

    rows: tuple[Published, ...] = ()
    tables: tuple[PublishedTable, ...] = ()
    curves: tuple[PublishedCurve, ...] = ()
    collection: Collection | None = None
