"""What differs between two versions of an artifact: rows of its tables by the keys of their contracts, and its
other files by their hashes. A Parquet file that both versions have is not opened.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from nightjar.core import contracts
from nightjar.core.errors import NightjarError, first_line
from nightjar.core.tables import UNREADABLE
from pipelines.project.git import try_git
from pipelines.versions import row_diff
from pipelines.versions.files import File, Version, read

# Several tables may have one name, in artifacts of their own.
CONTRACTS = [it for it in vars(contracts).values() if isinstance(it, contracts.Table)]
_NAMES = {it.name for it in CONTRACTS}
# A part of the table that its folder is, in the names that common writers give.
_PART = re.compile(r"(part|data|chunk|shard)?[-_.]?\d+([-_.].*)?")
Progress = Callable[[int, int], None]
Found = dict[str, Any]


def diff(
    start: Path,
    a: str,
    b: str,
    artifact: str,
    table: str | None = None,
    examples: int = 3,
    progress: Progress | None = None,
) -> Found:
    """Compare `artifact` between the revisions `a` and `b` (or the word "workspace") of the DVC repository that
    `start` lies in.

    `artifact` is the path of an output, of something in it, or of a folder with outputs. `table` leaves the other
    tables and files out; `examples` is how many rows of each kind to show. `progress` is called with the number of
    bytes that have been compared and of all that must be.

    Returns {"artifact", "a" and "b": the versions, "same", "tables", "files": the others that differ with their md5
    hashes, "files_same"}. A table has a `key`, empty where a row is identified by all its values; `parts`, the numbers
    of Parquet files that are the same, changed, added and removed; `rows`, the numbers of rows with `examples`;
    `columns`, the numbers of changed cells; and `schema`, the columns that only one version has or whose type changed.
    Raises NightjarError for an unknown revision, artifact or table, and for data that are not in the local cache.
    """
    old, new = read(start, artifact, a, b)
    if not (old.there or new.there) or not (old.made or new.made):
        if try_git(start, "--literal-pathspecs", "ls-files", "--", artifact):
            commits = " ".join(version.revision for version in (old, new) if version.commit)
            what = "tracked by Git, not an artifact of the graph"
            raise NightjarError(what, artifact, f"use: git diff {commits} -- {artifact}")
        known = sorted({*old.outs, *new.outs})
        some = f"; there are {', '.join(known[:8])}{', …' if len(known) > 8 else ''}" if known else ""
        fix = f"give the path of an output of dvc.yaml{some}"
        raise NightjarError(f"not an artifact in {a} or {b}", artifact, fix)
    return compare_versions(old, new, table, examples, progress)


def compare_versions(
    a: Version, b: Version, table: str | None = None, examples: int = 3, progress: Progress | None = None
) -> Found:
    """`diff` of two versions that have been read. Raises NightjarError for an unknown table and missing data."""
    sides = _by_table(a), _by_table(b)
    plain = [side.pop("", {}) for side in sides]
    names = sorted({*sides[0], *sides[1]})
    if table is not None:
        chosen = [name for name in names if table in (name, PurePosixPath(name).name)]
        if not chosen:
            raise NightjarError(f"no table {table}", a.artifact, f"it has {names or 'no tables'}")
        names, plain = chosen, [{}, {}]
    work = [(name, *_without_common(*(side.get(name, {}) for side in sides))) for name in names]
    a.check_present(file for _, old, _, _ in work for file in old.items())
    b.check_present(file for _, _, new, _ in work for file in new.items())
    sizes = [sum(file.size for file in (*old.values(), *new.values())) for _, old, new, _ in work]
    tables = []
    for number, (name, old, new, same) in enumerate(work, start=1):
        tables.append(_compare((a, b), name, old, new, same, examples))
        if progress:
            progress(sum(sizes[:number]), sum(sizes))
    files = [
        {
            "path": name,
            "state": "added" if name not in plain[0] else "changed" if name in plain[1] else "removed",
            **{at: side[name].md5 if name in side else None for at, side in zip("ab", plain, strict=True)},
        }
        for name in sorted({*plain[0], *plain[1]})
    ]
    differing = [file for file in files if file["a"] != file["b"]]
    return {
        "artifact": a.artifact,
        "a": a.as_json("added"),
        "b": b.as_json("removed"),
        "same": not differing and all(one["same"] for one in tables),
        "tables": tables,
        "files": differing,
        "files_same": len(files) - len(differing),
    }


def _by_table(version: Version) -> dict[str, dict[str, File]]:
    """The files of an artifact by table; those of no table have the name "". A table's parts lie in a folder of its
    name; a Parquet file at the top is a table too, unless the artifact is itself a table's folder.
    """
    found: dict[str, dict[str, File]] = defaultdict(dict)
    artifact = PurePosixPath(version.artifact)
    for name, file in sorted(version.files.items()):
        path = artifact / name
        # The rejected rows of one of several artifacts lie beside its tables, not in one.
        alone = path.parent in (artifact, artifact.parent) and not _PART.fullmatch(path.stem)
        whole = path.parent.name not in _NAMES and (alone or path.stem == contracts.REJECTED.name)
        table = path.with_suffix("") if whole else path.parent
        inside = table != artifact and table.is_relative_to(artifact)
        shown = str(table.relative_to(artifact)) if inside else table.name or "data"
        found[shown if path.suffix == ".parquet" else ""][name or path.name] = file
    return found


def _without_common(
    a: Mapping[str, File], b: Mapping[str, File]
) -> tuple[dict[str, File], dict[str, File], int]:
    """The files that only one version has, under whatever name, and how many both have."""
    by_hash = defaultdict(list)
    for name, file in b.items():
        by_hash[file.md5].append(name)
    pairs = [(name, by_hash[file.md5].pop()) for name, file in a.items() if by_hash[file.md5]]
    olds, news = ({pair[side] for pair in pairs} for side in (0, 1))
    old = {name: file for name, file in a.items() if name not in olds}
    return old, {name: file for name, file in b.items() if name not in news}, len(pairs)


def _compare(
    versions: tuple[Version, Version],
    name: str,
    old: dict[str, File],
    new: dict[str, File],
    same: int,
    most: int,
) -> Found:
    """The differences between the files of a table, and at most `most` examples of each kind."""
    changed = len(old.keys() & new.keys())
    counts = {"same": same, "changed": changed, "added": len(new) - changed, "removed": len(old) - changed}
    result: Found = {"table": name, "key": [], "parts": counts, "rows": dict.fromkeys(row_diff.KINDS, 0)}
    schema: dict[str, list[str]] = {"added": [], "removed": [], "retyped": []}
    examples: dict[str, list[row_diff.Row]] = {kind: [] for kind in row_diff.KINDS}
    result |= {"columns": {}, "schema": schema, "examples": examples, "same": True}
    if not (old or new):
        return result
    with tempfile.TemporaryDirectory(prefix="nightjar-diff-") as folder:
        paths = _links(versions[0], old, Path(folder, "a")), _links(versions[1], new, Path(folder, "b"))
        # A side without files has the other's, of which no row counts.
        used = paths[0] or paths[1], paths[1] or paths[0]
        a, b = (
            row_diff.Side(it, pq.read_schema(it[0]), not own) for it, own in zip(used, paths, strict=True)
        )
        shared = [column for column in a.schema.names if column in b.schema.names]
        types = [(column, a.schema.field(column).type, b.schema.field(column).type) for column in shared]
        result["schema"] = {
            "added": [column for column in b.schema.names if column not in shared],
            "removed": [column for column in a.schema.names if column not in shared],
            "retyped": [f"{column}: {was} → {now}" for column, was, now in types if was != now],
        }
        contract = _contract_of(PurePosixPath(name).name, [a.schema, b.schema], shared)
        result["key"] = list(contract.key) if contract else []
        try:
            found = row_diff.compare(a, b, result["key"], shared, most, Path(folder))
        except duckdb.Error as error:
            what = f"cannot be compared ({first_line(error)})"
            raise NightjarError(what, name, "rebuild or fetch it, or free memory") from None
    result |= dict(zip(("rows", "columns", "examples"), found, strict=True))
    result["same"] = not any((*result["rows"].values(), *result["schema"].values()))
    return result


def _links(version: Version, files: Mapping[str, File], folder: Path) -> list[Path]:
    """Links to the files in `folder`, whose names hold no pattern."""
    folder.mkdir()
    paths = [folder / f"{number}.parquet" for number in range(len(files))]
    for target, (name, file) in zip(paths, files.items(), strict=True):
        file.provide(target)
        try:
            pq.read_schema(target)
        except UNREADABLE as error:
            where = f"{version.revision}:{version.artifact}: {name}"
            raise NightjarError(f"not readable as Parquet ({error})", where, "rebuild or fetch it") from None
    return paths


def _contract_of(name: str, schemas: Sequence[pa.Schema], shared: Container[str]) -> contracts.Table | None:
    """The contract of that name whose columns a version has, or else whose key both have; somebody else's table
    may have a known name and other columns.
    """
    fitting = [it for it in CONTRACTS if it.name == name and all(column in shared for column in it.key)]
    names = [schema.names for schema in schemas]
    return max(fitting, key=lambda it: it.schema.names in names, default=None)
