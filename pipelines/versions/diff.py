"""The differences between two versions of an artifact: DVC says which files differ, and the rows of these are compared
by the keys of the contracts.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as datasets

from nightjar.core import contracts, paths
from nightjar.core.errors import NightjarError, first_line
from nightjar.core.json_text import recorded
from nightjar.core.tables import UNREADABLE
from nightjar.params.predict import prompting
from pipelines.graph.repository import opened
from pipelines.versions import row_diff
from pipelines.versions.revision_files import Hashes, cached, changes, commit_of

if TYPE_CHECKING:
    from dvc.repo import Repo

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

    Returns {"artifact", "a" and "b": the versions, "same", "tables" and "files": those whose hashes differ, "prompts":
    the systems that were asked in another way, with how by version (`params.predict.prompting`)}. A table
    has a `key`, empty where a row is identified by all its values; `parts`, the numbers of Parquet files that were
    changed, added and removed; `rows`, the numbers of rows with `examples`; `columns`, the numbers of changed cells;
    and `schema`, the columns that only one version has or whose type changed. Raises NightjarError for an unknown
    revision, artifact or table, and for data that are not in the local cache.
    """
    with opened(start) as repo:
        root = Path(repo.root_dir)
        # Links remain, since DVC's names are those of the links.
        full = Path(os.path.normpath(start.resolve() / artifact))
        if not full.is_relative_to(root):
            raise NightjarError("it lies outside the repository", artifact, f"give a path in {root}")
        path = PurePosixPath(full.relative_to(root))
        commits = commit_of(repo, a), commit_of(repo, b)
        sides = changes(repo, path, *commits)
        if None in commits and not any(sides) and not full.exists():
            raise NightjarError(
                "neither version has it", artifact, "run the stage that makes it: nightjar rebuild"
            )
        by_table: dict[str, list[dict[str, str]]] = defaultdict(lambda: [{}, {}])
        for side, hashes in enumerate(sides):
            for file, digest in sorted(hashes.items()):
                if not file.endswith("/"):
                    by_table[_table(PurePosixPath(file), path)][side][file] = digest
        files = _files(by_table.pop("", [{}, {}]), path)
        if table is not None:
            by_table, files = (
                {it: by_table[it] for it in by_table if table in (it, PurePosixPath(it).name)},
                [],
            )
            if not by_table and PurePosixPath(table).name not in _NAMES:
                raise NightjarError(
                    f"no table {table} differs", artifact, "leave --table out to see which do"
                )
        parts = {
            name: [
                {it: cached(repo, digest, it, path) if commit else root / it for it, digest in side.items()}
                for side, commit in zip(by_table[name], commits, strict=True)
            ]
            for name in sorted(by_table)
        }
        prompts = _prompts(repo, commits, [Path(it) for side in sides for it in side])
    sizes = {it: sum(one.stat().st_size for side in parts[it] for one in side.values()) for it in parts}
    tables: list[Found] = []
    for name, places in parts.items():
        tables.append(_compare(name, places, examples))
        if progress:
            progress(sum(sizes[it["table"]] for it in tables), sum(sizes.values()))
    return {
        "artifact": str(path),
        "a": _version(a, commits[0], path, sides, "added"),
        "b": _version(b, commits[1], path, sides[::-1], "removed"),
        "same": not files and all(one["same"] for one in tables),
        "tables": tables,
        "files": files,
        "prompts": prompts,
    }


def _prompts(repo: Repo, commits: Sequence[str | None], changed: Sequence[Path]) -> dict[str, dict[str, str]]:
    """Return how the systems with `changed` predictions were asked, where the facts of both versions differ."""
    place = len(paths.PREDICTIONS.parts)
    named = {it.parts[place : place + 2] for it in changed if it.is_relative_to(paths.PREDICTIONS)}
    if not named:
        return {}
    try:
        sides = changes(repo, PurePosixPath(paths.METRICS), *commits)
    except NightjarError:  # of a repository without facts
        return {}
    prompt_differences = {}
    for benchmark, system in sorted(it for it in named if len(it) == 2):
        file = paths.metrics_file(f"predict@{benchmark}-{system}").as_posix()
        if all(file in side for side in sides):
            facts = [
                cached(repo, side[file], file, file) if commit else Path(repo.root_dir, file)
                for side, commit in zip(sides, commits, strict=True)
            ]
            a, b = (prompting(recorded(it)) for it in facts)
            if a != b:
                prompt_differences[f"{benchmark}/{system}"] = {"a": a, "b": b}
    return prompt_differences


def _version(
    revision: str, commit: str | None, path: PurePosixPath, sides: tuple[Hashes, Hashes], state: str
) -> Found:
    """The facts of a version; with a `note` if only the other one has the artifact. `sides` begin with its own."""
    facts = {"revision": revision, "commit": commit, "there": True}
    if {str(path), f"{path}/"} & (sides[1].keys() - sides[0].keys()):
        fix = f"run dvc checkout {path} or nightjar rebuild" if commit is None else "commit its dvc.lock"
        note = f"{revision} has no {path}, so everything counts as {state}. If that is wrong, {fix}."
        facts |= {"there": False, "note": note}
    return facts


def _table(file: PurePosixPath, artifact: PurePosixPath) -> str:
    """The table that a file is a part of; "" if it is no Parquet. A table's parts lie in a folder of its name; a file
    at the top is a table too, unless the artifact is itself a table's folder.
    """
    if file.suffix != ".parquet":
        return ""
    # The rejected rows of one of several artifacts lie beside its tables, not in one.
    alone = file.parent in (artifact, artifact.parent) and not _PART.fullmatch(file.stem)
    single_file = file.parent.name not in _NAMES and (alone or file.stem == contracts.REJECTED.name)
    table = file.with_suffix("") if single_file else file.parent
    inside = table != artifact and table.is_relative_to(artifact)
    return str(table.relative_to(artifact)) if inside else table.name or "data"


def _files(sides: Sequence[Hashes], path: PurePosixPath) -> list[Found]:
    (old, new), file_rows = sides, []
    for name in sorted({*old, *new}):
        relative = "" if name == str(path) else str(PurePosixPath(name).relative_to(path))
        state = "added" if name not in old else "changed" if name in new else "removed"
        file_rows.append({"path": relative, "state": state, "a": old.get(name), "b": new.get(name)})
    return file_rows


def _compare(name: str, sides: Sequence[Mapping[str, Path]], examples: int) -> Found:
    """The differences between the parts of a table, by their names, and at most `examples` of each kind."""
    changed = len(sides[0].keys() & sides[1].keys())
    parts = {"changed": changed, "added": len(sides[1]) - changed, "removed": len(sides[0]) - changed}
    try:
        tables = [datasets.dataset([str(it) for it in side.values()]) if side else None for side in sides]
        schema = next(it.schema for it in tables if it)
        a, b = (it or datasets.dataset(schema.empty_table()) for it in tables)
        shared = [column for column in a.schema.names if column in b.schema.names]
        # Somebody else's table may have a known name and other columns.
        fitting = [it for it in CONTRACTS if it.name == PurePosixPath(name).name and {*it.key} <= {*shared}]
        column_lists = [a.schema.names, b.schema.names]
        contract = max(fitting, key=lambda it: it.schema.names in column_lists, default=None)
        key = list(contract.key) if contract else []
        rows, columns, example_rows = row_diff.compare(a, b, key, shared, examples)
    except UNREADABLE as error:
        what = f"cannot be compared ({first_line(error)})"
        raise NightjarError(what, name, "rebuild or fetch it, or free memory") from None
    types = [(it, a.schema.field(it).type, b.schema.field(it).type) for it in shared]
    differing = {
        "added": [column for column in b.schema.names if column not in shared],
        "removed": [column for column in a.schema.names if column not in shared],
        "retyped": [f"{column}: {was} → {now}" for column, was, now in types if was != now],
    }
    same = not any((*rows.values(), *differing.values()))
    comparison = {"table": name, "key": key, "parts": parts, "rows": rows, "columns": columns}
    return comparison | {"schema": differing, "examples": example_rows, "same": same}
