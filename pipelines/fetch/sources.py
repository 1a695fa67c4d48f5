"""The table of published data, sources.yaml, the known checksums of their files, and what was fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from nightjar.core import paths
from nightjar.core.config import Gigabytes, Item, Name, StrictModel, checked, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input
from nightjar.core.json_text import read_object

UNKNOWN = "unknown"
FETCHED = paths.DATA / "fetched"
_TABLE = Path(__file__).with_name("sources.yaml")
_SUMS = Path(__file__).with_name("sha256sums")


def _inside(name: str) -> str:
    if name.startswith("/") or ".." in PurePosixPath(name).parts or "\0" in name:
        raise ValueError(f"{name} leaves the folder; give a name inside")
    return name


# The name of a file in a folder, or a pattern.
Inside = Annotated[Name, AfterValidator(_inside)]


class PublishedSource(StrictModel):
    """A Git repository at a revision, or a file or archive of the web, and which of its files are taken.

    `files` maps a name or a pattern to a name in the data set's folder; one that ends in / keeps the file's own name.
    """

    git: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    revision: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = UNKNOWN
    url: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64}|unknown)$")] = UNKNOWN
    files: Annotated[dict[Inside, Inside], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        if (self.git is None) == (self.url is None):
            raise ValueError("a source has one address; give git or url")
        return self

    @property
    def address(self) -> str:
        return str(self.git or self.url)

    @property
    def fixed(self) -> str | None:
        """The commit or the sha256 that the table names; None where it names a tag or none."""
        named = self.revision if self.git else self.sha256
        return named if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", named) else None


class Part(StrictModel):
    """A part that is fetched at once: its use (`for`), its licence, and the sources of its files.

    `megabytes` is about what is transferred. `terms`: what a user must accept first.
    """

    use: Annotated[Name, Field(alias="for")]
    licence: Name
    terms: Name | None = None
    citation: Name
    megabytes: Annotated[int, Field(ge=1, le=100_000)]
    sources: Annotated[list[PublishedSource], Field(alias="from", min_length=1)]


class Dataset(StrictModel):
    """A folder of data/fetched: the key of params.yaml that `reads` it, with what other `settings`, and its parts."""

    title: Name
    reads: Annotated[str, Field(pattern=r"^ingest\.\w+\.path$")]
    settings: dict[Name, Name] = Field(default_factory=dict)
    parts: Annotated[dict[Item, Part], Field(min_length=1)]

    def supply(self) -> Supply:
        """Return the entry of the whole data set."""
        parts = self.parts.values()
        return Supply(
            what=self.title,
            url=next(iter(parts)).sources[0].address,
            licence=", ".join(dict.fromkeys(part.licence for part in parts)),
            gigabytes=sum(part.megabytes for part in parts) / 1000,
        )


class Supply(StrictModel):
    """Data that a profile reads and the repository does not have: their publisher's address, licence and size."""

    what: Name
    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    licence: Name
    gigabytes: Gigabytes


class _Table(StrictModel):
    datasets: dict[Item, Dataset]
    supplies: dict[Name, Supply]


@dataclass(frozen=True)
class Named:
    """A part by its name, DATASET/PART."""

    dataset: str
    part: str
    reads: str
    about: Part
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.dataset}/{self.part}"


@cache
def _read() -> _Table:
    entries = read_yaml(_TABLE)
    datasets = {name: one for name, one in entries.items() if isinstance(one, dict) and "parts" in one}
    supplies = {name: one for name, one in entries.items() if name not in datasets}
    return checked(_Table, {"datasets": datasets, "supplies": supplies}, _TABLE)


@cache
def table() -> dict[str, Named]:
    """Every part by its name. Raises NightjarError for a table that is not valid."""
    return {
        f"{name}/{part}": Named(name, part, dataset.reads, about, dataset.settings)
        for name, dataset in _read().datasets.items()
        for part, about in dataset.parts.items()
    }


def supply_of(source: str) -> tuple[str, Supply] | None:
    """Return the entry of a source of params.yaml, by its name or that of a folder around it; None without one."""
    for folder in (source, *map(str, PurePosixPath(source).parents)):
        if folder in (supplies := _read().supplies):
            return folder, supplies[folder]
        path = PurePosixPath(folder)
        if path.parent == PurePosixPath(FETCHED) and path.name in (datasets := _read().datasets):
            return folder, datasets[path.name].supply()
    return None


@cache
def checksums() -> Mapping[str, str]:
    """The known sha256 of files by DATASET/NAME, in the form that `sha256sum` writes."""
    lines = _SUMS.read_text("utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def record_of(dataset: str) -> Path:
    """The file beside a data set's folder that says where its files come from."""
    return FETCHED / f"{dataset}.json"


class FetchedVersion(StrictModel):
    """A source as it was fetched: the commit or the sha256 is its `version`."""

    address: Name
    version: Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]


class Content(StrictModel):
    """The sha256 and the bytes of a file as it was fetched."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0)]


class FetchRecord(StrictModel):
    """The record of a fetched part: its licence and citation, its sources, and its files by their names."""

    licence: Name
    citation: Name
    sources: list[FetchedVersion]
    files: dict[Inside, Content]


def records(root: Path, dataset: str) -> dict[str, FetchRecord]:
    """Return the records of a data set, by the part. Raises NightjarError for a record that is damaged."""
    file, fix = root / record_of(dataset), "restore it, or delete it and fetch the data set again"
    check_input(file)
    values = read_object(file, fix) if file.exists() else {}
    try:
        return {part: checked(FetchRecord, value, file, part) for part, value in values.items()}
    except NightjarError as error:
        raise NightjarError(error.what, file, fix) from None


def choose(names: tuple[str, ...]) -> list[Named]:
    """The parts of these names: of a part, or of a data set for all its parts. Raises NightjarError for an unknown."""
    parts = table()
    chosen: dict[str, Named] = {}
    for name in names:
        fits = {key: part for key, part in parts.items() if name in (key, part.dataset)}
        if not fits:
            datasets = dict.fromkeys(part.dataset for part in parts.values())
            fix = f"data sets are {', '.join(datasets)}; their parts: nightjar fetch --list"
            raise NightjarError(f"no data set {name!r}", "fetch", fix)
        chosen |= fits
    return list(chosen.values())
