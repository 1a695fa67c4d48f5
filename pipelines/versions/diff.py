"""What differs between two versions of an artifact: rows of its tables by the keys of their contracts, and its
other files by their hashes. Parts that have the same bytes in both versions are not opened.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from nightjar.core import contracts
from nightjar.core.contracts import REJECTED
from nightjar.core.errors import NightjarError, first_line
from pipelines.versions import row_diff
from pipelines.versions.files import File, Version, find_root, read

# Several tables may have one name, in artifacts of their own.
CONTRACTS: dict[str, list[contracts.Table]] = {}
for _contract in vars(contracts).values():
    if isinstance(_contract, contracts.Table):
        CONTRACTS.setdefault(_contract.name, []).append(_contract)
# A part of the table that its folder is, in the names that common writers give.
_PART = re.compile(r"(part|data|chunk|shard)?[-_.]?\d+([-_.].*)?")
Progress = Callable[[int, int], None]
KINDS = ("added", "removed", "changed")


@dataclass
class TableDiff:
    """One table in two versions. `key` is empty where a row is identified by all its values.

    `parts` counts the Parquet files that are the same, changed, added and removed; `columns` the changed cells;
    `schema` names columns that only one version has, and those of another type.
    """

    table: str
    key: list[str]
    parts: dict[str, int]
    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    columns: dict[str, int] = field(default_factory=dict)
    schema: dict[str, list[str]] = field(default_factory=lambda: {"added": [], "removed": [], "retyped": []})
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

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
        sides = (
            {"revision": it.revision, "commit": it.commit, "hash": it.digest, "there": it.there}
            for it in (self.a, self.b)
        )
        return {
            "artifact": self.artifact,
            **dict(zip("ab", sides, strict=True)),
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
    tables and files out; `examples` is how many rows of each kind to show. `progress` is called with the number of
    bytes that have been compared and of all that must be. Raises NightjarError for an unknown revision, artifact or
    table, and for data that are not in the local cache, naming the command that gets them.
    """
    root = find_root(start.resolve())
    path = _from_root(root, start, artifact)
    versions = read(root, path, a, b)
    if not any(version.made for version in versions) and any(version.tracked for version in versions):
        commits = " ".join(version.revision for version in versions if version.commit)
        what = "tracked by Git, not an artifact of the graph"
        raise NightjarError(what, artifact, f"use: git diff {commits} -- {artifact}")
    if not any(version.there for version in versions):
        known = sorted({out for version in versions for out in version.outs})
        some = f"; there are {', '.join(known[:8])}{', …' if len(known) > 8 else ''}" if known else ""
        fix = f"give the path of an output of dvc.yaml{some}"
        raise NightjarError(f"not an artifact in {a} or {b}", artifact, fix)
    return compare_versions(versions[0], versions[1], table, examples, progress)


def compare_versions(
    a: Version, b: Version, table: str | None = None, examples: int = 3, progress: Progress | None = None
) -> ArtifactDiff:
    """`diff` of two versions that have been read. Raises NightjarError for an unknown table and missing data."""
    left, right = _by_table(a), _by_table(b)
    names = sorted({*left, *right} - {""})
    if table is not None:
        known = names or "no tables"
        names = [name for name in names if table in (name, PurePosixPath(name).name)]
        if not names:
            raise NightjarError(f"no table {table}", a.artifact, f"it has {known}")
    work = [_Work(name, left.get(name, {}), right.get(name, {})) for name in names]
    _check_present(file for one in work for file in (*one.a.values(), *one.b.values()))
    sizes = [sum(file.size for file in (*one.a.values(), *one.b.values())) for one in work]
    tables = []
    for number, one in enumerate(work, start=1):
        tables.append(_compare(one, examples))
        if progress:
            progress(sum(sizes[:number]), sum(sizes))
    files, same = ([], 0) if table is not None else _plain(left.get("", {}), right.get("", {}))
    return ArtifactDiff(a.artifact, a, b, tables, files, same)


def _from_root(root: Path, start: Path, artifact: str) -> str:
    """The artifact as a path from the root. Links remain, since DVC's names are those of the links."""
    full = Path(os.path.normpath(start.resolve() / artifact))
    if not full.is_relative_to(root):
        raise NightjarError("it lies outside the repository", artifact, f"give a path in {root}")
    return full.relative_to(root).as_posix()


def _by_table(version: Version) -> dict[str, dict[str, File]]:
    """The files of an artifact by table; those of no table have the name "". A table's parts lie in a folder of its
    name; a Parquet file at the top is a table too, unless the artifact is itself a table's folder.
    """
    artifact = PurePosixPath(version.artifact)
    own = artifact.name or "data"
    if artifact.suffix == ".parquet" and artifact.parent.name in CONTRACTS:
        own = artifact.parent.name  # one part of a table
    found: dict[str, dict[str, File]] = {}
    for name, file in sorted(version.files.items()):
        path = PurePosixPath(name or artifact.name)
        if path.suffix != ".parquet":
            table = ""
        elif path.parent != PurePosixPath():
            # The refused rows of one of several artifacts lie beside its tables, not in one.
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
        both = [name for name in self.a if name in self.b]
        pairs = [(name, name) for name in both if self.a[name].same(self.b[name])]
        self.changed = len(both) - len(pairs)
        others = {file.known: name for name, file in self.b.items() if file.known and name not in self.a}
        for name, file in self.a.items():
            if name not in self.b and file.known in others:
                pairs.append((name, others.pop(file.known)))
        self.same = len(pairs)
        for name, other in pairs:
            del self.a[name], self.b[other]

    def counts(self) -> dict[str, int]:
        added, removed = len(self.b) - self.changed, len(self.a) - self.changed
        return {"same": self.same, "changed": self.changed, "added": added, "removed": removed}


def _check_present(files: Iterable[File]) -> None:
    """Raise NightjarError, one for all files of a version, if bytes that must be read are not on this machine."""
    absent: dict[str, list[File]] = {}
    for file in files:
        if not file.is_here():
            absent.setdefault(file.version.revision, []).append(file)
    for lost in absent.values():
        raise lost[0].version.missing([file.name for file in lost])


def _compare(work: _Work, examples: int) -> TableDiff:
    result = TableDiff(work.name, [], work.counts())
    with tempfile.TemporaryDirectory(prefix="nightjar-diff-") as name:
        folder = Path(name)
        sides = [_side(work.a, folder / "a"), _side(work.b, folder / "b")]
        present = [side for side in sides if side is not None]
        if not present:
            return result
        a, b = (side or replace(present[0], empty=True) for side in sides)
        columns = _shared(a.schema, b.schema, result.schema)
        contract = _contract_of(PurePosixPath(work.name).name, [a.schema, b.schema], columns)
        result.key = list(contract.key) if contract else []
        try:
            found = row_diff.compare(a, b, result.key, columns, examples, folder)
        except duckdb.Error as error:
            what = f"cannot be compared ({first_line(error)})"
            raise NightjarError(what, work.name, "rebuild or fetch it, or free memory") from None
    result.rows, result.columns = found.counts, found.columns
    changed = [_changed(result.key, *example) for example in found.changed]
    result.examples = {"added": found.added, "removed": found.removed, "changed": changed}
    return result


def _contract_of(
    name: str, schemas: Sequence[pa.Schema], shared: Mapping[str, pa.DataType]
) -> contracts.Table | None:
    """The contract of that name whose columns a version has, or else whose key both have; somebody else's table
    may have a known name and other columns.
    """
    fitting = [it for it in CONTRACTS.get(name, ()) if set(it.key) <= set(shared)]
    exact = [it for it in fitting if any(it.schema.names == schema.names for schema in schemas)]
    return next(iter(exact or fitting), None)


def _side(files: Mapping[str, File], folder: Path) -> row_diff.Side | None:
    """The files as links in `folder`, whose names hold no pattern; None if there are none."""
    folder.mkdir()
    schemas = []
    for number, (name, file) in enumerate(files.items()):
        target = folder / f"{number}.parquet"
        file.provide(target)
        try:
            schemas.append(pq.read_schema(target))
        except (pa.ArrowInvalid, OSError) as error:
            where = f"{file.version.revision}:{file.version.artifact}: {name}"
            raise NightjarError(f"not readable as Parquet ({error})", where, "rebuild or fetch it") from None
    paths = [folder / f"{number}.parquet" for number in range(len(files))]
    return row_diff.Side(paths, schemas[0]) if schemas else None


def _changed(
    key: Sequence[str], old: row_diff.Row, new: row_diff.Row, columns: Sequence[str]
) -> dict[str, Any]:
    cells = {name: {"a": old[name], "b": new[name]} for name in columns}
    return {"key": {name: old[name] for name in key}, "columns": cells}


def _shared(a: pa.Schema, b: pa.Schema, changes: dict[str, list[str]]) -> dict[str, pa.DataType]:
    """The columns of both versions with the type to compare them in; adds the differences to `changes`."""
    changes["removed"] = [name for name in a.names if name not in b.names]
    changes["added"] = [name for name in b.names if name not in a.names]
    shared = {}
    for name in (name for name in a.names if name in b.names):
        old, new = a.field(name).type, b.field(name).type
        if old != new:
            changes["retyped"].append(f"{name}: {old} → {new}")
        if (kind := _common(old, new)) is not None:
            shared[name] = kind
    return shared


def _common(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both; None if there is no plain one."""
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
