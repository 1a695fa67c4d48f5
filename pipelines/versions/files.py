"""The files of an artifact in a version of the project: in the workspace, or in the local cache and in Git as DVC
finds them for a revision. Nothing is checked out and nothing is fetched.

DVC reads its own files here (`dvc.repo.Repo`). Its DVCFileSystem would read a file that the local cache lacks from the
remote, and does not give the path of one that the cache has.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import FOLDER, check_input
from pipelines.graph.graph import opened
from pipelines.project.git import try_git

if TYPE_CHECKING:
    from dvc.repo import Repo

WORKSPACE = "workspace"


@dataclass
class File:
    """One file of an artifact. `known` is its md5 as DVC recorded it, None in the workspace.

    `place` is a path on this machine, or one in `git`, DVC's file system of a commit, for a file that DVC does not
    cache.
    """

    place: Path
    known: str | None = None
    git: Any = field(default=None, repr=False)

    @cached_property
    def md5(self) -> str:
        """The recorded md5; computed from the bytes where there is none."""
        if self.known is not None:
            return self.known
        with self.place.open("rb") as stream:
            return hashlib.file_digest(stream, "md5").hexdigest()

    def is_here(self) -> bool:
        """Whether the bytes are on this machine."""
        return bool(self.git.exists(str(self.place))) if self.git else self.place.is_file()

    @property
    def size(self) -> int:
        return int(self.git.size(str(self.place))) if self.git else self.place.stat().st_size

    def provide(self, target: Path) -> None:
        """Create `target`: a link to the file, or a copy of a file in Git."""
        if self.git:
            self.git.get_file(str(self.place), str(target))
        else:
            target.symlink_to(self.place.absolute())


@dataclass
class Version:
    """An artifact in one version of the project: its files by their paths within it.

    `digest` is DVC's hash of the artifact; None in the workspace, and where several outputs lie under the path.
    `outs` are the outputs of the version, `locked` says whether it has a dvc.lock at its root. `command` gets data
    that the local cache lacks.
    """

    revision: str
    commit: str | None
    artifact: str
    outs: list[str] = field(default_factory=list)
    locked: bool = True
    command: str = ""
    digest: str | None = None
    files: dict[str, File] = field(default_factory=dict)

    @property
    def there(self) -> bool:
        """Whether the version has the artifact."""
        return bool(self.files) or self.digest is not None

    @property
    def made(self) -> bool:
        """Whether the path is an output, lies in one, or has one in it."""
        return any(_related(self.artifact, out) for out in self.outs)

    def check_present(self, files: Iterable[tuple[str, File]]) -> None:
        """Raise NightjarError, with the command that gets them, for those of the files that this machine lacks."""
        lost = [name for name, file in files if not file.is_here()]
        if lost:
            raise self._missing(lost)

    def as_json(self, state: str) -> dict[str, Any]:
        """The facts of the version, with a `note` if it has nothing of the artifact: the `state` of what the other has,
        and what to do where that is wrong.
        """
        note = f"{self.revision} has no {self.artifact}, so everything counts as {state}."
        if not self.locked:
            fix = "commit dvc.lock" if self.commit else "run nightjar rebuild"
            note = f"{self.revision} has no dvc.lock, so everything counts as {state}: {fix}."
        elif self.commit is None and self.made:
            fix = f"get it with: dvc checkout {self.artifact} (dvc pull, if the local cache lacks it)"
            note = f"{self.artifact} is not in the workspace, so everything counts as {state}; {fix}"
        facts = {"revision": self.revision, "commit": self.commit, "hash": self.digest, "there": self.there}
        return facts if self.there else facts | {"note": note}

    def add(self, path: str, out: Any, repo: Repo) -> None:
        """Add the files of DVC's output `out` that lie in the artifact."""
        if path == self.artifact:
            self.digest = out.hash_info.value
        hashes = {path: out.hash_info.value}
        if out.hash_info.isdir:
            hashes = {f"{path}/{'/'.join(key)}": it.value for key, _, it in self._listing(path, out)}
        for full, digest in hashes.items():
            if PurePosixPath(full).is_relative_to(self.artifact):
                kept = Path(out.cache.oid_to_path(digest))
                file = (
                    File(kept, digest) if out.use_cache else File(Path(repo.root_dir, full), digest, repo.fs)
                )
                self.files[_name(full, self.artifact)] = file

    def _listing(self, path: str, out: Any) -> Any:
        """DVC's listing of a directory: a key, metadata and a hash for each file."""
        place = Path(out.cache.oid_to_path(out.hash_info.value))
        with contextlib.suppress(AttributeError, KeyError, TypeError):  # JSON that is no listing
            if (listing := out.get_obj()) is not None:
                return listing
        if not place.exists():
            raise self._missing([""])
        raise NightjarError(f"the listing of {path} is broken", place, "remove it and run dvc fetch")

    def _missing(self, names: list[str]) -> NightjarError:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        what = f"not in the local cache: {PurePosixPath(self.artifact, names[0])}{more}"
        return NightjarError(what, self.revision, f"get it with: {self.command}")


def read(start: Path, artifact: str, *revisions: str) -> list[Version]:
    """The files of `artifact`, a path from `start` in a DVC repository, in each of the revisions: a branch, tag,
    commit, the name or reference of an experiment, or the word `workspace`.

    Raises NightjarError for an unknown revision, for files that DVC cannot read, and for a directory that the local
    cache does not list. An artifact that a version does not have has no files.
    """
    start = start.resolve()
    with opened(start, locked=False) as repo:
        root = Path(repo.root_dir)
        # Links remain, since DVC's names are those of the links.
        full = Path(os.path.normpath(start / artifact))
        if not full.is_relative_to(root):
            raise NightjarError("it lies outside the repository", artifact, f"give a path in {root}")
        path = _name(full.as_posix(), root.as_posix())
        return [
            _workspace(repo, root, path) if name == WORKSPACE else _committed(repo, root, path, name)
            for name in revisions
        ]


@contextlib.contextmanager
def provided(start: Path, revision: str, artifacts: Iterable[str]) -> Iterator[Path]:
    """A temporary folder with artifacts of a revision at their paths, as links into the local cache.

    Raises NightjarError as `read` does, for an artifact that the revision does not have, and for files that are not in
    the cache.
    """
    with tempfile.TemporaryDirectory(prefix="nightjar-") as scratch:
        for artifact in artifacts:
            [version] = read(start, artifact, revision)
            if not version.there:
                fix = f"commit dvc.lock after a rebuild, or give a revision whose dvc.lock has {artifact}"
                raise NightjarError(f"no {artifact} in this version", revision, fix)
            version.check_present(version.files.items())
            for name, file in version.files.items():
                place = Path(scratch, artifact, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                file.provide(place)
        yield Path(scratch)


def cache_dir(root: Path) -> Path:
    """The local cache of the repository, by all levels of DVC's configuration."""
    from dvc.config import Config, ConfigError

    try:
        folder = Config(str(root / ".dvc")).get("cache", {}).get("dir")
    except ConfigError as error:
        raise NightjarError(str(error), root / ".dvc/config", "correct it") from None
    return Path(folder) if folder else root / ".dvc" / "cache"


def _outs(repo: Repo) -> dict[str, Any]:
    """DVC's outputs in the version that `repo` shows, by their paths from the root."""
    keys = ((out, *out.index_key) for out in repo.index.outs)
    return {"/".join(key): out for out, place, key in keys if place == "repo"}


def _committed(repo: Repo, root: Path, artifact: str, revision: str) -> Version:
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    known = try_git(root, *verify)
    experiments = try_git(root, "for-each-ref", "--format=%(objectname)", f"refs/exps/*/*/{revision}")
    commits = (known or experiments or b"").decode().split()
    # For ^HEAD, which means all but that commit, Git prints its hash with the sign.
    if not revision or len(commits) != 1 or not commits[0].isalnum():
        fix = "give a branch, tag, commit, `workspace` or an experiment, by its full name if several have it"
        raise NightjarError("no such revision", revision, fix)
    [commit] = commits
    fetch = f"dvc fetch {'' if commit == repo.get_rev() else '--all-commits '}{artifact}"
    if not known or revision.startswith("refs/exps/"):
        fetch = f"dvc exp pull origin {revision}"
    with repo.switch(commit):
        outs = _outs(repo)
        locked = repo.fs.exists(repo.fs.join(repo.root_dir, "dvc.lock"))
        version = Version(revision, commit, artifact, list(outs), locked, fetch)
        for path, out in outs.items():
            if out.hash_info and _related(artifact, path):
                version.add(path, out, repo)
    return version


def _workspace(repo: Repo, root: Path, artifact: str) -> Version:
    """What is on the disk: the outputs in the artifact, or else its whole path.

    Raises NightjarError for a pipe, a device or a broken link among the files.
    """
    version = Version(WORKSPACE, None, artifact, list(_outs(repo)), (root / "dvc.lock").is_file())
    inside = [out for out in version.outs if PurePosixPath(out).is_relative_to(artifact)]
    for place in (root / path for path in inside or [artifact]):
        for file in (place, *place.rglob("*")):
            # DVC and unfinished writers put other files beside those of the artifact.
            name = _name(file.relative_to(root).as_posix(), artifact)
            if ".tmp-" not in name and file.name != ".gitignore":
                check_input(file, FOLDER)
                if file.is_file():
                    version.files[name] = File(file)
    return version


def _name(path: str, artifact: str) -> str:
    """A path in the artifact as one from there; "" if it is the artifact."""
    relative = PurePosixPath(path).relative_to(artifact).as_posix()
    return "" if relative == "." else relative


def _related(one: str, other: str) -> bool:
    """Whether the paths are the same or one lies in the other."""
    first, second = PurePosixPath(one), PurePosixPath(other)
    return first.is_relative_to(second) or second.is_relative_to(first)
