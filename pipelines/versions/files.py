"""The files of an artifact in a version of the project: in the workspace, or in the local cache and in Git as DVC
finds them for a revision. Nothing is checked out and nothing is fetched.

DVC reads its own files here (`dvc.repo.Repo`). Its DVCFileSystem would read a file that the local cache lacks from the
remote, and does not give the path of one that the cache has.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import FOLDER, check_input
from pipelines.project.git import try_git

if TYPE_CHECKING:
    from dvc.repo import Repo

WORKSPACE = "workspace"
KNOWN_HASHES = ("md5", "md5-dos2unix")


@dataclass
class File:
    """One file of an artifact. `known` is its md5 as DVC recorded it, None in the workspace."""

    name: str
    place: Path
    known: str | None
    version: Version = field(repr=False)

    @cached_property
    def md5(self) -> str:
        """The recorded md5; computed from the bytes where there is none."""
        if self.known is not None:
            return self.known
        with self.place.open("rb") as stream:
            return hashlib.file_digest(stream, "md5").hexdigest()

    @property
    def size(self) -> int:
        return self.place.stat().st_size if self.place.is_file() else 0

    def same(self, other: File) -> bool:
        """Whether both have the same bytes. A file without a recorded md5 is read only if the sizes are equal."""
        unread = None in (self.known, other.known) and self.place.is_file() and other.place.is_file()
        return (not unread or self.size == other.size) and self.md5 == other.md5

    def is_here(self) -> bool:
        """Whether the bytes are on this machine, in the cache or else in Git."""
        return self.place.is_file() or self.version.git_has(self.name)

    def provide(self, target: Path) -> None:
        """Create `target`: a link to the file, or a copy if only Git has the file."""
        if self.place.is_file():
            target.symlink_to(self.place.absolute())
        else:
            self.version.git.get_file(self.version.git_path(self.name), str(target))


@dataclass
class Version:
    """An artifact in one version of the project: its files by their paths within it.

    `digest` is DVC's hash of the artifact; None in the workspace, and where several outputs lie under the path.
    `outs` are the outputs of the version, `locked` says whether it has a dvc.lock at its root. `command` gets data
    that the local cache lacks. `git` is the file system of the commit, in which `folder` is the project's root.
    """

    revision: str
    commit: str | None
    artifact: str
    outs: list[str] = field(default_factory=list)
    locked: bool = True
    tracked: bool = False
    command: str = ""
    digest: str | None = None
    files: dict[str, File] = field(default_factory=dict)
    git: Any = field(default=None, repr=False)
    folder: str = "/"

    @property
    def there(self) -> bool:
        """Whether the version has the artifact."""
        return bool(self.files) or self.digest is not None

    @property
    def made(self) -> bool:
        """Whether the path is an output, lies in one, or has one in it."""
        return any(_related(self.artifact, out) for out in self.outs)

    def missing(self, names: list[str]) -> NightjarError:
        """The error for files that are not in the local cache."""
        first = "/".join(part for part in (self.artifact, names[0]) if part)
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        what = f"not in the local cache: {first}{more}"
        return NightjarError(what, self.revision, f"get it with: {self.command}")

    def git_path(self, name: str) -> str:
        return str(PurePosixPath(self.folder, self.artifact, name))

    def git_has(self, name: str) -> bool:
        return self.git is not None and bool(self.git.exists(self.git_path(name)))


def find_root(start: Path) -> Path:
    """The DVC repository that `start` lies in. Raises NightjarError if there is none."""
    for folder in (start, *start.parents):
        if (folder / ".dvc").is_dir():
            return folder
    raise NightjarError("not a DVC repository", start, "run from the project's root")


def read(root: Path, artifact: str, *revisions: str) -> list[Version]:
    """The files of `artifact`, a path from the root, in each of the revisions: a branch, tag, commit, the name or
    reference of an experiment, or the word `workspace`.

    Raises NightjarError for an unknown revision, for files that DVC cannot read, and for a directory that the local
    cache does not list. An artifact that a version does not have has no files.
    """
    artifact = "/".join(PurePosixPath(artifact).parts)
    with _opened(root) as repo:
        return [
            _workspace(repo, root, artifact) if name == WORKSPACE else _committed(repo, root, artifact, name)
            for name in revisions
        ]


@contextlib.contextmanager
def provided(root: Path, revision: str, artifacts: Iterable[str]) -> Iterator[Path]:
    """A temporary folder with artifacts of a revision at their paths, as links into the local cache.

    Raises NightjarError as `read` does, for an artifact that the revision does not have, and for files that are not in
    the cache.
    """
    with _opened(root) as repo:
        versions = [_committed(repo, root, artifact, revision) for artifact in artifacts]
    with tempfile.TemporaryDirectory(prefix="nightjar-") as scratch:
        for version in versions:
            artifact = version.artifact
            if not version.there:
                fix = f"give a revision whose dvc.lock has {artifact}"
                raise NightjarError(f"no {artifact} in this version", revision, fix)
            if lost := [file.name for file in version.files.values() if not file.is_here()]:
                raise version.missing(lost)
            for file in version.files.values():
                place = Path(scratch, artifact, file.name)
                place.parent.mkdir(parents=True, exist_ok=True)
                file.provide(place)
        yield Path(scratch)


def outputs(root: Path, paths: Iterable[str]) -> list[str]:
    """Those of the paths that are an output in the workspace, lie in one, or have one in them."""
    with _opened(root) as repo:
        outs = list(_outs(repo))
    return [path for path in paths if any(_related(path, out) for out in outs)]


def cache_dir(root: Path) -> Path:
    """The local cache of the repository, by all levels of DVC's configuration."""
    from dvc.config import Config, ConfigError

    try:
        folder = Config(str(root / ".dvc")).get("cache", {}).get("dir")
    except ConfigError as error:
        raise NightjarError(str(error), root / ".dvc/config", "correct it") from None
    return Path(folder) if folder else root / ".dvc" / "cache"


@contextlib.contextmanager
def _opened(root: Path) -> Iterator[Repo]:
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(str(root)) as repo:
            yield repo
    except DvcException as error:
        text = " ".join(str(part) for part in (error, error.__cause__) if part)
        raise NightjarError(" ".join(text.split())[:500], root, "correct it, or see `dvc status`") from None


def _outs(repo: Repo) -> dict[str, Any]:
    """DVC's outputs in the version that `repo` shows, by their paths from the root."""
    outs = (out for out in repo.index.outs if out.is_in_repo)
    return {"/".join(repo.fs.relparts(out.fs_path, repo.root_dir)): out for out in outs}


def _committed(repo: Repo, root: Path, artifact: str, revision: str) -> Version:
    from dvc.scm import SCMError
    from scmrepo.exceptions import SCMError as GitError

    fix = "give a branch, tag, commit, `workspace` or an experiment, by its full name if several have it"
    unknown = NightjarError("no such revision", revision, fix)
    known = _commit(root, revision)
    # v1..v2 and the like are no names of experiments.
    if known is None and try_git(root, "check-ref-format", f"refs/exps/{revision}") is None:
        raise unknown
    with contextlib.ExitStack() as stack:
        try:
            commit = stack.enter_context(repo.switch(known or revision))
        except (SCMError, GitError):
            raise unknown from None
        version = Version(revision, commit, artifact, git=repo.fs, folder=repo.root_dir)
        if known is None or revision.startswith("refs/exps/"):
            version.command = f"dvc exp pull origin {revision}"
        else:
            version.command = (
                f"dvc fetch {'' if commit == _commit(root, 'HEAD') else '--all-commits '}{artifact}"
            )
        version.locked = repo.fs.exists(repo.fs.join(repo.root_dir, "dvc.lock"))
        version.tracked = version.git_has("")
        outs = _outs(repo)
        version.outs = list(outs)
        for path, out in outs.items():
            if out.hash_info and _related(artifact, path):
                _add(version, path, out)
    return version


def _commit(root: Path, name: str) -> str | None:
    """The one commit that Git has for a name; None for anything else, such as ^HEAD, which means all but that one."""
    found = try_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    commit = (found or b"").decode("ascii", "replace").strip()
    return commit if re.fullmatch(r"[0-9a-f]{40,64}", commit) else None


def _add(version: Version, path: str, out: Any) -> None:
    """Add the files of one output that lie in the artifact."""
    if out.hash_name not in KNOWN_HASHES:
        raise NightjarError(
            f"DVC recorded {out.hash_name} of it, not md5", version.revision, "compare it by hand"
        )
    if path == version.artifact:
        version.digest = out.hash_info.value
    entries = {path: out.hash_info}
    if out.hash_info.isdir:
        entries = {f"{path}/{'/'.join(key)}": digest for key, _, digest in _listing(version, path, out)}
    for full, digest in entries.items():
        if (name := _within(version.artifact, full)) is not None:
            place = Path(out.cache.oid_to_path(digest.value))
            version.files[name] = File(name, place, digest.value, version)


def _listing(version: Version, path: str, out: Any) -> Any:
    """DVC's listing of a directory: a key, metadata and a hash for each file."""
    place = Path(out.cache.oid_to_path(out.hash_info.value))
    try:
        listing = out.get_obj()
    except (AttributeError, KeyError, TypeError):  # JSON that is no listing
        listing = None
    if listing is None and not place.exists():
        raise version.missing([""])
    if listing is None:
        raise NightjarError(f"the listing of {path} is broken", place, "remove it and run dvc fetch")
    return listing


def _workspace(repo: Repo, root: Path, artifact: str) -> Version:
    """What is on the disk: the whole path if it is an output or lies in one, else the outputs in it."""
    version = Version(WORKSPACE, None, artifact, list(_outs(repo)), (root / "dvc.lock").is_file())
    version.command = f"dvc fetch {artifact}"
    version.tracked = bool(try_git(root, "--literal-pathspecs", "ls-files", "--", artifact or "."))
    inside = [path for path in version.outs if _within(artifact, path)]
    holds = any(_within(path, artifact) is not None for path in version.outs)
    for path in [artifact] if holds or not inside else inside:
        for name, place in _walk(root / path):
            full = _within(artifact, "/".join(part for part in (path, name) if part)) or ""
            version.files[full] = File(full, place, None, version)
    return version


def _walk(place: Path) -> Iterator[tuple[str, Path]]:
    """The files at or under `place`, without what DVC and unfinished writers put beside them.

    Raises NightjarError for a pipe, a device or a broken link among them.
    """
    check_input(place, FOLDER)
    if place.is_file():
        yield "", place
        return
    for folder, folders, names in os.walk(place, followlinks=True):
        folders[:] = sorted(name for name in folders if ".tmp-" not in name)
        for name in sorted(names):
            if name != ".gitignore" and ".tmp-" not in name:
                file = Path(folder, name)
                check_input(file)
                yield file.relative_to(place).as_posix(), file


def _within(outer: str, inner: str) -> str | None:
    """`inner` as a path from `outer`, "" if they are the same; None if it lies elsewhere."""
    if outer in ("", inner):
        return "" if outer == inner else inner
    return inner[len(outer) + 1 :] if inner.startswith(f"{outer}/") else None


def _related(one: str, other: str) -> bool:
    """Whether the paths are the same or one lies in the other."""
    return _within(one, other) is not None or _within(other, one) is not None
