"""Files of a version of the project: what DVC says differs, and where its local cache has the bytes. Nothing is
checked out or fetched.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import FOLDER, check_input
from pipelines.graph.repository import opened

if TYPE_CHECKING:
    from dvc.repo import Repo

WORKSPACE = "workspace"
# DVC's hash of a directory without files.
_EMPTY = "d751713988987e9331980363e24189ce.dir"

Hashes = dict[str, str]


def commit_of(repo: Repo, revision: str) -> str | None:
    """The commit of a branch, tag, commit or experiment; None for the workspace.

    Raises NightjarError if DVC knows no such revision, or several.
    """
    from dvc.scm import RevError, resolve_rev
    from scmrepo.exceptions import SCMError  # of a repository without commits

    if revision == WORKSPACE:
        return None
    with contextlib.suppress(RevError, SCMError):
        if revision:  # "" is HEAD for Git
            return str(resolve_rev(repo.scm, revision))
    fix = "give a branch, tag, commit, `workspace` or an experiment, by its full name if several have it"
    raise NightjarError("no such revision", revision, fix)


def changes(repo: Repo, path: PurePosixPath, a: str | None, b: str | None) -> tuple[Hashes, Hashes]:
    """Return the hashes by path, in either version, of what differs at or below `path` between two commits, or a commit
    and the workspace (None). The path of a directory ends with "/".

    Raises NightjarError if no version has an artifact there, if Git keeps it, for a pipe or a device in the workspace,
    and if the local cache lacks the list of a directory.
    """
    full = Path(repo.root_dir, path)
    if not (a and b):
        for file in (full, *full.rglob("*")):
            check_input(file, FOLDER)  # DVC would wait at a pipe for ever
    differences = _differences(repo, path, [entry for entry in (a, b) if entry]) if a or b else {}
    old = {entry["path"]: entry["hash"] for entry in differences.get("deleted", ())}
    new = {entry["path"]: entry["hash"] for entry in differences.get("added", ())}
    for entry in differences.get("modified", ()):
        old[entry["path"]], new[entry["path"]] = entry["hash"]["old"], entry["hash"]["new"]
    for entry in differences.get("renamed", ()):
        old[entry["path"]["old"]] = new[entry["path"]["new"]] = entry["hash"]
    names = {*old, *new}
    for folder in (
        entry for entry in names if entry.endswith("/") and PurePosixPath(entry).is_relative_to(path)
    ):
        inside = any(name.startswith(folder) for name in names - {folder})
        if not inside and {old.get(folder), new.get(folder)} - {None, _EMPTY}:
            raise missing(folder.rstrip("/"), path)
    # An output that was never made has no hash. DVC takes a commit first, then the workspace.
    hashes_by_side = [
        {name: entry for name, entry in side.items() if entry and PurePosixPath(name).is_relative_to(path)}
        for side in (old, new)
    ]
    return (hashes_by_side[0], hashes_by_side[1]) if a else (hashes_by_side[1], hashes_by_side[0])


def _differences(repo: Repo, path: PurePosixPath, commits: list[str]) -> Mapping[str, Sequence[Any]]:
    """Return the differences of `dvc diff` between two commits, or one and the workspace."""
    from dvc_data.index import DataIndexDirError

    def outs() -> dict[PurePosixPath, bool]:
        return {PurePosixPath(*out.index_key[1]): bool(out.use_cache) for out in repo.index.outs}

    outputs = outs()
    if not any(path.is_relative_to(it) for it in outputs):
        # The path is a folder, or an output of another version's graph.
        outputs = {it: cached for _ in repo.brancher(revs=commits) for it, cached in outs().items()}
    if not outputs.get(path, True):
        raise NightjarError("Git keeps it, not DVC (cache: false)", path, "use git diff or dvc metrics diff")
    try:
        # In a commit DVC finds only paths from the current folder.
        with contextlib.chdir(repo.root_dir), contextlib.suppress(FileNotFoundError):
            if any(path.is_relative_to(it) for it in outputs):
                return repo.diff(*commits, targets=[str(path)])
            if any(it.is_relative_to(path) for it in outputs):
                return repo.diff(*commits)  # of all: a second for each target costs more
    except DataIndexDirError:
        raise missing(path, path) from None
    listed = ", ".join(sorted(map(str, outputs))[:8]) + ", …" * (len(outputs) > 8) or "none"
    raise NightjarError("not an artifact of these versions", path, f"give the path of an output: {listed}")


def cached(repo: Repo, digest: str, file: str, artifact: object) -> Path:
    """The file of an artifact with this hash in the local cache. Raises NightjarError if the cache lacks it."""
    if (file_in_cache := Path(repo.cache.local.oid_to_path(digest))).is_file():
        return file_in_cache
    raise missing(file, artifact)


def missing(file: object, artifact: object) -> NightjarError:
    """The error for a file of an artifact that the local cache lacks."""
    return NightjarError("not in the local cache", file, f"get it with: dvc fetch --all-commits {artifact}")


@contextlib.contextmanager
def provided(
    start: Path, revision: str, artifacts: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[Path]:
    """A temporary folder with artifacts of a revision at their paths, as links into the local cache.

    `artifacts` are paths from the root of the repository; a revision may lack those that are `optional`. Raises
    NightjarError for an unknown revision, for an artifact that it lacks, and for files that are not in the cache.
    """
    from dvc.api import DVCFileSystem
    from dvc_data.index import DataIndexDirError

    with tempfile.TemporaryDirectory(prefix="nightjar-") as scratch:
        with opened(start, locked=False) as repo, repo.switch(commit_of(repo, revision)):
            for artifact in (*artifacts, *optional):
                try:
                    files = DVCFileSystem(repo=repo).find(artifact, detail=True, dvc_only=True)
                except DataIndexDirError:
                    raise missing(artifact, artifact) from None
                hashes = {path: it.get("md5") for path, it in files.items()}
                if not hashes and artifact in optional:
                    continue
                if not hashes or None in hashes.values():
                    fix = f"commit dvc.lock after a rebuild, or give a revision whose dvc.lock has {artifact}"
                    raise NightjarError(f"no {artifact} in this version", revision, fix)
                for path, digest in hashes.items():
                    place = Path(scratch, path)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(cached(repo, digest, path, artifact))
        yield Path(scratch)


def cache_dir(root: Path) -> Path:
    """The local cache of the repository, by all levels of DVC's configuration."""
    from dvc.config import Config, ConfigError

    try:
        folder = Config(str(root / ".dvc")).get("cache", {}).get("dir")
    except ConfigError as error:
        raise NightjarError(str(error), root / ".dvc/config", "correct it") from None
    return Path(folder) if folder else root / ".dvc" / "cache"
