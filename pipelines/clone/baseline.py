"""The project as it is at one moment: its commit, and the tracked files that differ from it, kept as they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from pipelines.project.git import git, names

LOCK_FILE = "dvc.lock"


@dataclass(frozen=True)
class Kept:
    """One file as it was: its bytes and mode, or where it leads if it is a symbolic link."""

    content: bytes
    mode: int
    link: bool

    @classmethod
    def of(cls, path: Path) -> Kept | None:
        """The file at `path`; None if there is none."""
        if path.is_symlink():
            return cls(os.fsencode(path.readlink()), 0, True)
        if path.is_file():
            return cls(path.read_bytes(), stat.S_IMODE(path.stat().st_mode), False)
        return None

    @property
    def identity(self) -> bytes:
        """What Git tells apart: the kind of file, whether it can be executed, and its bytes."""
        kind = b"link" if self.link else b"executable" if self.mode & stat.S_IXUSR else b"file"
        return kind + b"\0" + self.content

    def write(self, path: Path) -> None:
        """Put the file at `path`, in place of what is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if self.link:
            path.symlink_to(os.fsdecode(self.content))
        else:
            path.write_bytes(self.content)
            path.chmod(self.mode)


@dataclass(frozen=True)
class Baseline:
    """What every point of a study starts from: the commit, and the tracked files that differ from it.

    `files` holds those files as they were, None for one that was removed. `known` are the paths of all files and
    folders that a clone has by the commit and these files.
    """

    commit: str
    files: Mapping[str, Kept | None]
    untracked: tuple[str, ...]
    known: frozenset[str]

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(self.files)

    @property
    def digest(self) -> str:
        """Of the commit and the changed files; not of params.yaml, which counts by its values, nor of dvc.lock, which
        tells what is built, not what is to be built.
        """
        digest = sha256(self.commit.encode())
        for name, kept in self.files.items():
            if name not in (str(PARAMS_FILE), LOCK_FILE):
                content = kept.identity if kept else b"(gone)"
                digest.update(f"\0{name}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
                digest.update(content)
        return digest.hexdigest()


def baseline(root: Path) -> Baseline:
    """The project's commit and its tracked files as they are now.

    Raises NightjarError where there is no commit yet, or where the project is not the root of its repository.
    """
    commit = git(root, "rev-parse", "--verify", "HEAD^{commit}").strip()
    if git(root, "rev-parse", "--show-prefix").strip():
        raise NightjarError("not the root of its Git repository", root.absolute(), "run from the root")
    changed = sorted(names(git(root, "diff", "--name-only", "--no-renames", "-z", "HEAD")))
    files = {name: Kept.of(root / name) for name in changed}
    untracked = tuple(names(git(root, "ls-files", "--others", "--exclude-standard", "-z")))
    there = {name for name in names(git(root, "ls-tree", "-r", "--name-only", "-z", commit))}
    there = {name for name in there | set(changed) if name not in files or files[name] is not None}
    known = there | {folder.as_posix() for name in there for folder in Path(name).parents}
    return Baseline(commit, files, untracked, frozenset(known))
