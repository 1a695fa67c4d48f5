"""What lies in a folder that stages read though no stage makes it: the outputs of items that params.yaml no longer has.

A folder around outputs can be a dependency, and DVC hashes all of it. Nothing is deleted here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nightjar.core.errors import NightjarError
from pipelines.graph.graph import SHOWN, Graph
from pipelines.project.git import git, names


@dataclass(frozen=True)
class Leftover:
    """A path from the repository's root, and the stages that read a folder around it."""

    path: str
    readers: tuple[str, ...]
    folder: bool

    def __str__(self) -> str:
        more = f" and {len(self.readers) - SHOWN} more" if len(self.readers) > SHOWN else ""
        remove = f"{'rm -r' if self.folder else 'rm'} {shlex.quote(self.path)}"
        readers = f"{', '.join(self.readers[:SHOWN])}{more}"
        return f"{self.path}: no stage makes it, but it is an input of {readers}; remove it with: {remove}"

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "readers": list(self.readers)}


def find(whole: Graph, part: Graph) -> list[Leftover]:
    """The leftovers in folders that stages of `part`, a part of the graph `whole`, read; sorted by path.

    Only folders that hold outputs are searched. Files that Git knows, and hidden ones, are no leftovers.
    """
    outs = {PurePosixPath(out) for stage in whole.stages.values() for out in stage.outs}
    around = {folder for out in outs for folder in out.parents}
    readers: dict[PurePosixPath, set[str]] = {}
    for name, stage in part.stages.items():
        for dep in map(PurePosixPath, stage.deps):
            for path in _unmade(whole.root, dep, outs, around) if dep in around else ():
                readers.setdefault(path, set()).add(name)
    known = _known(whole.root, readers) if readers else set()
    order = list(part.stages)
    return [
        Leftover(path.as_posix(), tuple(sorted(readers[path], key=order.index)), (whole.root / path).is_dir())
        for path in sorted(readers)
        if path not in known
    ]


def _unmade(
    root: Path, folder: PurePosixPath, outs: set[PurePosixPath], around: set[PurePosixPath]
) -> Iterator[PurePosixPath]:
    """What is in a folder and is neither an output nor holds one."""
    try:
        entries = sorted((root / folder).iterdir())
    except OSError:  # not made yet, or being replaced
        return
    for entry in entries:
        path = folder / entry.name
        if path in outs or entry.name.startswith("."):
            continue
        if path in around:
            yield from _unmade(root, path, outs, around)
        else:
            yield path


def _known(root: Path, paths: dict[PurePosixPath, set[str]]) -> set[PurePosixPath]:
    """Those of the paths that Git knows, or that hold a file that it knows."""
    try:
        listed = git(root, "ls-files", "-z", "--", *(path.as_posix() for path in paths))
    except NightjarError:  # DVC works without Git
        return set()
    files = [PurePosixPath(name) for name in names(listed)]
    return {path for path in paths if any(path == file or path in file.parents for file in files)}
