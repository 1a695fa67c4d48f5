"""Files in a folder that stages read though no stage makes them: the outputs of items that params.yaml no longer has.

A folder around outputs can be a dependency, and DVC hashes all of it. Nothing is deleted here.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipelines.graph.graph import SHOWN, Graph
from pipelines.project.git import names, try_git


@dataclass(frozen=True)
class Leftover:
    """A path from the repository's root, and the stages that read a folder around it."""

    path: str
    readers: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.readers) - SHOWN} more" if len(self.readers) > SHOWN else ""
        readers = f"{', '.join(self.readers[:SHOWN])}{more}"
        remove = f"remove it with: rm -r {shlex.quote(self.path)}"
        return f"{self.path}: no stage makes it, but it is an input of {readers}; {remove}"


def find(whole: Graph, part: Graph) -> list[Leftover]:
    """The leftovers in folders that stages of `part`, a part of the graph `whole`, read; sorted by path.

    Only folders that hold outputs are searched. Files that Git knows, and hidden ones, are no leftovers.
    """
    outs = {PurePosixPath(out) for stage in whole.stages.values() for out in stage.outs}
    around = {folder for out in outs for folder in out.parents}
    readers: dict[PurePosixPath, dict[str, None]] = {}
    for name, stage in part.stages.items():
        for dep in around.intersection(map(PurePosixPath, stage.deps)):
            for path in _unmade(whole.root, dep, outs, around):
                readers.setdefault(path, {})[name] = None
    if not readers:
        return []
    # DVC works without Git.
    listed = try_git(whole.root, "ls-files", "-z", "--", *map(str, readers)) or b""
    files = [PurePosixPath(name) for name in names(listed.decode(errors="surrogateescape"))]
    known = {path for file in files for path in (file, *file.parents)}
    return [Leftover(str(path), tuple(readers[path])) for path in sorted(readers) if path not in known]


def _unmade(
    root: Path, folder: PurePosixPath, outs: Collection[PurePosixPath], around: Collection[PurePosixPath]
) -> Iterator[PurePosixPath]:
    """What is in a folder and is neither an output nor holds one."""
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
