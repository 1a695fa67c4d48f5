"""What differs between two versions of an artifact: rows of its tables by the keys of their contracts, and its
other files by their hashes. Parts that are the same bytes in both versions are never opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from nightjar.core import contracts
from nightjar.core.contracts import REJECTED
from nightjar.core.errors import NightjarError
from pipelines.versions import row_diff
from pipelines.versions.files import File, Version, find_root, read
from pipelines.versions.parquet_parts import Parts, Place

# Several tables may have one name, in artifacts of their own.
CONTRACTS: dict[str, list[contracts.Table]] = {}
for _contract in vars(contracts).values():
    if isinstance(_contract, contracts.Table):
        CONTRACTS.setdefault(_contract.name, []).append(_contract)
# A part of the table that its folder is, in the names that common writers give.
_PART = re.compile(r"(part|data|chunk|shard)?[-_.]?\d+([-_.].*)?")
Progress = Callable[[int, int], None]


@dataclass
class TableDiff:
    """One table in two versions. `key` is empty where a row is known by all its values.

    `parts` counts the Parquet files that are the same, changed, added and removed; `columns` the changed cells;
    `schema` names columns that only one version has, and those of another type.
    """

    table: str
    key: list[str]
    parts: dict[str, int]
    rows: dict[str, int] = field(default_factory=lambda: {"added": 0, "removed": 0, "changed": 0})
    columns: dict[str, int] = field(default_factory=dict)
    schema: dict[str, list[str]] = field(default_factory=lambda: {"added": [], "removed": [], "retyped": []})
    examples: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"added": [], "removed": [], "changed": []}
    )

    @property
    def same(self) -> bool:
        return not any(self.rows.values()) and not any(self.schema.values())


@dataclass(frozen=True)
class ArtifactDiff:
    """An artifact in two versions: its tables, and its other files as {path, state, a, b} with md5 hashes."""

    artifact: str
    a: Version
    b: Version
    tables: list[TableDiff]
    files: list[dict[str, Any]]
    files_same: int

    @property
    def same(self) -> bool:
        return not self.files and all(table.same for table in self.tables)

    def as_json(self) -> dict[str, Any]:
        def side(version: Version) -> dict[str, Any]:
            told = {"revision": version.revision, "commit": version.commit}
            return told | {"hash": version.digest, "there": version.there}

        return {
            "artifact": self.artifact,
            "a": side(self.a),
            "b": side(self.b),
            "same": self.same,
            "tables": [vars(table) | {"same": table.same} for table in self.tables],
            "files": self.files,
            "files_same": self.files_same,
        }


def diff(
    start: Path,
    a: str,
    b: str,
    artifact: str,
    table: str | None = None,
    examples: int = 3,
    progress: Progress | None = None,
) -> ArtifactDiff:
    """Compare `artifact` between the revisions `a` and `b` (or the word "workspace") of the DVC repository that
    `start` lies in.

    `artifact` is the path of an output, of something in it, or of a folder with outputs. `table` leaves the other
    tables and files out; `examples` is how many rows of each kind to show. `progress` hears the compared and all
    bytes that differ. Raises NightjarError for an unknown revision, artifact or table, and for data that are not
    in the local cache, naming the command that gets them.
    """
    root = find_root(start.resolve())
    path = _from_root(root, start, artifact)
    versions = (read(root, a, path), read(root, b, path))
    if not any(version.made for version in versions) and any(version.tracked for version in versions):
        commits = " ".join(version.revision for version in versions if version.commit)
        what = "tracked by Git, not an artifact of the graph"
        raise NightjarError(what, artifact, f"use: git diff {commits} -- {artifact}")
    if not any(version.there for version in versions):
        known = sorted({out for version in versions for out in version.outs})
        some = f"; there are {', '.join(known[:8])}{', …' if len(known) > 8 else ''}" if known else ""
        fix = f"give the path of an output of dvc.yaml{some}"
        raise NightjarError(f"not an artifact in {a} or {b}", artifact, fix)
    return compare_versions(*versions, table, examples, progress)


def compare_versions(
    a: Version, b: Version, table: str | None = None, examples: int = 3, progress: Progress | None = None
) -> ArtifactDiff:
    """`diff` of two versions that have been found. Raises NightjarError for an unknown table and missing data."""
    left, right = _grouped(a), _grouped(b)
    names = sorted({*left, *right} - {""})
    if table is not None:
        known = names or "no tables"
        names = [name for name in names if table in (name, PurePosixPath(name).name)]
        if not names:
            raise NightjarError(f"no table {table}", a.artifact, f"it has {known}")
    work = [_Work(name, left.get(name, {}), right.get(name, {})) for name in names]
    _need(file for one in work for file in one.differing())
    done, whole = 0, sum(one.size() for one in work)
    tables = []
    for one in work:
        tables.append(_compare(one, examples))
        done += one.size()
        if progress:
            progress(done, whole)
    files, same = ([], 0) if table is not None else _plain(left.get("", {}), right.get("", {}))
    return ArtifactDiff(a.artifact, a, b, tables, files, same)


def _from_root(root: Path, start: Path, artifact: str) -> str:
    full = (start.resolve() / artifact).absolute()
    try:
        normal = Path(*_normal(full)).relative_to(root)
    except ValueError:
        raise NightjarError("it lies outside the repository", artifact, f"give a path in {root}") from None
    return normal.as_posix()


def _normal(path: Path) -> list[str]:
    """The parts of a path without `..`; links stay, since DVC's names are those of the links."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return parts


def _grouped(version: Version) -> dict[str, dict[str, File]]:
    """The files of an artifact by table; the name "" has those that are no tables. A table's parts lie in a folder
    of its name; a Parquet file at the top is a table too, unless the artifact is itself a table's folder.
    """
    artifact = PurePosixPath(version.artifact)
    own = artifact.name or "data"
    if artifact.suffix == ".parquet" and artifact.parent.name in CONTRACTS:
        own = artifact.parent.name  # one part of a table
    found: dict[str, dict[str, File]] = {}
    for name, file in version.files.items():
        path = PurePosixPath(name or artifact.name)
        if path.suffix != ".parquet":
            table = ""
        elif path.parent != PurePosixPath():
            # The refused rows of one of several artifacts stand beside its tables, not in one.
            beside = path.stem == REJECTED.name and path.parent.name not in CONTRACTS
            table = str(path.with_suffix("") if beside else path.parent)
        elif own in CONTRACTS or _PART.fullmatch(path.stem):
            table = own.removesuffix(".parquet")
        else:
            table = path.stem
        found.setdefault(table, {})[name or path.name] = file
    return found


@dataclass
class _Work:
    """A table's parts in both versions, without those that are in both, under whatever name."""

    name: str
    a: dict[str, File]
    b: dict[str, File]
    same: int = 0

    def __post_init__(self) -> None:
        self.changed = 0
        for name in [name for name in self.a if name in self.b]:
            if self.a[name].same(self.b[name]):
                self._leave_out(name, name)
            else:
                self.changed += 1
        # Another name, the same bytes: nothing to read either.
        names = {file.known: name for name, file in self.b.items() if file.known and name not in self.a}
        for name, file in list(self.a.items()):
            if name not in self.b and file.known in names:
                self._leave_out(name, names.pop(file.known))

    def _leave_out(self, name: str, other: str) -> None:
        del self.a[name], self.b[other]
        self.same += 1

    def differing(self) -> list[File]:
        return [*self.a.values(), *self.b.values()]

    def size(self) -> int:
        return sum(file.length() or 0 for file in self.differing())

    def counts(self) -> dict[str, int]:
        added, removed = len(self.b) - self.changed, len(self.a) - self.changed
        return {"same": self.same, "changed": self.changed, "added": added, "removed": removed}


def _need(files: Any) -> None:
    """Raise NightjarError, one for all of a version, if bytes that must be read are not on this machine."""
    lost: dict[int, list[File]] = {}
    for file in files:
        if not file.place.is_file():
            lost.setdefault(id(file.version), []).append(file)
    for gone in lost.values():
        if not gone[0].is_here():
            raise gone[0].version.missing([file.name for file in gone])


def _compare(work: _Work, examples: int) -> TableDiff:
    pair = row_diff.Pair(_opened(work.a), _opened(work.b))
    told = TableDiff(work.name, [], work.counts())
    known = [schema for schema in (side.schema() for side in pair) if schema is not None]
    if not known:
        return told
    shared = _shared(known[0], known[-1], told.schema)
    contract = _contract_of(PurePosixPath(work.name).name, known, shared)
    told.key = list(contract.key) if contract else []
    for side in pair:
        side.types = shared
    shard = contract.shard if contract and contract.shard in contract.key else None
    found = row_diff.compare(pair, told.key, list(shared), shard, examples)
    told.rows, told.columns = found.counts, found.columns
    told.examples = {
        "added": [pair.b.row(place) for place in found.added],
        "removed": [pair.a.row(place) for place in found.removed],
        "changed": [_changed(pair, told.key, *example) for example in found.changed],
    }
    return told


def _contract_of(
    name: str, schemas: Sequence[pa.Schema], shared: Mapping[str, pa.DataType]
) -> contracts.Table | None:
    """The contract of that name whose columns a version has, or else whose key both have; somebody else's table
    may have a known name and other columns.
    """
    fitting = [it for it in CONTRACTS.get(name, ()) if set(it.key) <= set(shared)]
    exact = [it for it in fitting if any(it.schema.names == schema.names for schema in schemas)]
    return next(iter(exact or fitting), None)


def _opened(files: Mapping[str, File]) -> Parts:
    first = next(iter(files.values()), None)
    where = f"{first.version.revision}:{first.version.artifact}" if first else ""
    return Parts({name: file.content() for name, file in files.items()}, where)


def _changed(
    pair: row_diff.Pair,
    key: Sequence[str],
    was: Place,
    now: Place,
    columns: Sequence[str],
) -> dict[str, Any]:
    old, new = pair.a.row(was), pair.b.row(now)
    cells = {name: {"a": old[name], "b": new[name]} for name in columns}
    return {"key": {name: old[name] for name in key}, "columns": cells}


def _shared(a: pa.Schema, b: pa.Schema, told: dict[str, list[str]]) -> dict[str, pa.DataType]:
    """The columns of both versions with the type to compare them in; writes the differences into `told`."""
    told["removed"] = [name for name in a.names if name not in b.names]
    told["added"] = [name for name in b.names if name not in a.names]
    shared = {}
    for name in (name for name in a.names if name in b.names):
        old, new = a.field(name).type, b.field(name).type
        if old != new:
            told["retyped"].append(f"{name}: {old} → {new}")
        if (kind := _common(old, new)) is not None:
            shared[name] = kind
    return shared


def _common(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both; None if that is not plain."""
    a, b = (kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (a, b))
    if a.equals(b):
        return a
    groups = (
        ((pa.types.is_string, pa.types.is_large_string), pa.large_string()),
        ((pa.types.is_signed_integer,), pa.int64()),
        ((pa.types.is_floating,), pa.float64()),
    )
    for checks, kind in groups:
        if all(any(check(it) for check in checks) for it in (a, b)):
            return kind
    return None


def _plain(a: Mapping[str, File], b: Mapping[str, File]) -> tuple[list[dict[str, Any]], int]:
    """The files that are no tables and differ, and how many do not."""
    rows: list[dict[str, Any]] = []
    same = 0
    for name in sorted({*a, *b}):
        old, new = a.get(name), b.get(name)
        if old and new and old.same(new):
            same += 1
            continue
        state = "changed" if old and new else "removed" if old else "added"
        rows.append(
            {"path": name, "state": state, "a": old.md5 if old else None, "b": new.md5 if new else None}
        )
    return rows, same
