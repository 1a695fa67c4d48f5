"""Outputs, and entries in dvc.lock, of items that params.yaml no longer has.

A folder around outputs can be a dependency, and DVC hashes all of it: an output that no stage makes any more is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nightjar.core.display import first_few
from nightjar.core.files import remove
from pipelines.graph import lock_file
from pipelines.graph.graph import Graph
from pipelines.project.git import names, try_git


@dataclass(frozen=True)
class Leftover:
    """A path from the repository's root, and the stages that read a folder around it."""

    path: str
    readers: tuple[str, ...]

    def __str__(self) -> str:
        readers = first_few(self.readers)
        return f"{self.path}: no stage makes it, but it is an input of {readers}; see nightjar clean"


def find(graph: Graph, part: Graph) -> list[Leftover]:
    """The leftovers in folders that stages of `part`, a part of the graph `graph`, read; sorted by path.

    Only folders that hold outputs are searched. Files that Git knows, and hidden ones, are no leftovers.
    """
    outs = {PurePosixPath(out) for stage in graph.stages.values() for out in stage.outs}
    around = {folder for out in outs for folder in out.parents}
    readers: dict[PurePosixPath, dict[str, None]] = {}
    for name, stage in part.stages.items():
        for dep in around.intersection(map(PurePosixPath, stage.deps)):
            for path in _unmade(graph.root, dep, outs, around):
                readers.setdefault(path, {})[name] = None
    tracked = _in_git(graph.root, readers)
    return [Leftover(str(path), tuple(readers[path])) for path in sorted(readers) if path not in tracked]


@dataclass(frozen=True)
class Remains:
    """The outputs of removed stages, by dvc.lock: `paths` with their bytes, and the names of `entries`.

    Who made the `unknown` leftovers dvc.lock does not say: they may be a user's own.
    """

    paths: dict[str, int]
    entries: list[str]
    unknown: list[str]


def remains(graph: Graph) -> Remains:
    """The outputs and entries of removed stages in dvc.lock, and the leftovers beside them.

    A path that Git knows, that a stage makes, or that a stage names as an input itself is not among them. Raises
    NightjarError for a broken dvc.lock.
    """
    entries = lock_file.entries(graph.root)
    removed = {name: entry for name, entry in entries.items() if name not in graph.stages}
    outs = {PurePosixPath(out) for stage in graph.stages.values() for out in stage.outs}
    used = outs.union(PurePosixPath(dep) for stage in graph.stages.values() for dep in stage.deps)
    holding = {folder for path in used for folder in (path, *path.parents)}
    outputs_of = [PurePosixPath(out["path"]) for entry in removed.values() for out in entry.get("outs") or ()]
    removed_outputs = {path for path in outputs_of if path not in holding and outs.isdisjoint(path.parents)}
    paths = sorted(removed_outputs - _in_git(graph.root, removed_outputs))
    sizes = {str(path): _size(graph.root / path) for path in paths if (graph.root / path).exists()}
    unknown = [it.path for it in find(graph, graph) if not _within(graph.root, Path(it.path), sizes)]
    return Remains(sizes, list(removed), unknown)


def clean(graph: Graph, leavings: Remains) -> None:
    """Delete what was found, and the folders that are empty then; nothing if dvc.lock cannot be rewritten.

    Raises NightjarError for a dvc.lock that is not as DVC writes it.
    """
    if leavings.entries:
        lock_file.remove(graph.root, leavings.entries)
    for name in leavings.paths:
        path = graph.root / name
        remove(path)
        for folder in path.parents:
            if folder == graph.root or any(folder.iterdir()):
                break
            folder.rmdir()


def _within(root: Path, path: Path, paths: Collection[str]) -> bool:
    """Return true if a path is one of `paths`, or a folder that holds nothing else."""
    folder = root / path
    if path.as_posix() in paths or not folder.is_dir():
        return path.as_posix() in paths
    return all(_within(root, path / child.name, paths) for child in folder.iterdir())


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [it for it in path.rglob("*") if it.is_file()]
    return sum(file.lstat().st_size for file in files)


def _in_git(root: Path, paths: Iterable[PurePosixPath]) -> set[PurePosixPath]:
    """Return the paths that Git knows, or that hold a file that it knows. DVC works without Git: then none."""
    if not (searched := [str(path) for path in paths]):
        return set()
    listed = try_git(root, "ls-files", "-z", "--", *searched) or ""
    files = [PurePosixPath(name) for name in names(listed)]
    return {path for file in files for path in (file, *file.parents)}


def _unmade(
    root: Path, folder: PurePosixPath, outs: Collection[PurePosixPath], around: Collection[PurePosixPath]
) -> Iterator[PurePosixPath]:
    """Yield the paths in a folder that are no outputs and hold none."""
    try:
        entries = sorted((root / folder).iterdir())
    except OSError:  # not made yet, or being replaced
        return
    for entry in entries:
        path = folder / entry.name
        if path in around:
            yield from _unmade(root, path, outs, around)
        elif path not in outs and not entry.name.startswith("."):
            yield path
