"""Copies of dvc.lock, for DVC writes it in place: a disk that is full, or a kill of DVC itself, can leave it torn.

The worker (dvc_worker.py) copies the file to .nightjar/locks after it has written it, and puts it back if DVC's write
fails. `mend` replaces a torn file by its copy. The stages whose entries are younger are checked again, and the run
cache has what they made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.project import places

FOLDER = places.LOCK_COPIES
RUN_CACHE = Path(".dvc/cache/runs")
# How long a torn file waits for the lock of a DVC process that may be writing it.
MEND_SECONDS = 60.0
TIDY_SECONDS = 2.0


def keep(root: Path, path: Path) -> None:
    """Copy the lock file `path` if it is whole. The caller holds DVC's lock. An older copy remains if this fails."""
    with contextlib.suppress(OSError, UnicodeError):
        if whole(path.read_text(encoding="utf-8")):
            copy(root, path)


def copy(root: Path, path: Path) -> None:
    """Copy the lock file `path`, which is whole. An older copy remains if this fails."""
    place = root / FOLDER / path.relative_to(root).as_posix().replace("/", "%2F")
    with contextlib.suppress(OSError, UnicodeError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_text(place, path.read_text(encoding="utf-8"))


@contextlib.contextmanager
def put_back(root: Path, path: Path) -> Iterator[None]:
    """Put the lock file back as it was if the block, which writes it, fails. The caller holds DVC's lock."""
    before = path.read_bytes() if path.exists() else None
    keep(root, path)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # then `mend` has the copy
            path.unlink(missing_ok=True) if before is None else path.write_bytes(before)
        raise
    keep(root, path)


def mend(root: Path, seconds: float = MEND_SECONDS) -> list[str]:
    """Replace lock files that are torn by their copies, if these are whole; returns those. Tidies DVC's run cache as
    well.

    Call it under the rebuild lock. Raises NightjarError if a file looks torn and DVC's lock is not to be had within
    `seconds`, OSError if there is still no room; the files are then as they were.
    """
    from dvc.lock import LockError

    from pipelines.graph.dvc_lock import FILE, RepositoryLock

    _tidy(root)
    mended = []
    for copy in sorted((root / FOLDER).glob("*.lock")):
        path = root / copy.name.replace("%2F", "/")
        try:
            kept = copy.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if not _torn(path, kept):  # a look without the lock, which a DVC process may hold for long
            continue
        if not whole(kept):  # the copy is damaged too: DVC says what is wrong with the file itself
            continue
        try:
            with RepositoryLock(root / FILE, seconds):
                if _torn(path, kept):
                    write_text(path, kept)
                    mended.append(path.relative_to(root).as_posix())
        except LockError:
            what = "cannot be read, and another DVC process is using the repository"
            raise NightjarError(what, path, "run again once that has ended") from None
    return mended


def _torn(path: Path, kept: str) -> bool:
    """Whether DVC cannot read the file, or it is the beginning of its copy and ends within a line."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return False
    except UnicodeDecodeError:
        return True
    return not whole(text) or (kept.startswith(text) and "\n" not in (text[-1:], kept[len(text) :][:1]))


def _tidy(root: Path) -> None:
    """Remove what a full disk left in the run cache: entries that were never finished, and folders without any.

    DVC 3.67 removes the former as it meets them, and then fails for ever at the empty folder.
    """
    unfinished = [path for path in (root / RUN_CACHE).glob("*/*/.*.tmp") if path.is_file()]
    empty = [path for path in (root / RUN_CACHE).glob("*/*") if path.is_dir() and not any(path.iterdir())]
    if not unfinished and not empty:
        return
    from dvc.lock import LockError

    from pipelines.graph.dvc_lock import FILE, RepositoryLock

    with contextlib.suppress(OSError, LockError), RepositoryLock(root / FILE, TIDY_SECONDS):
        for path in unfinished:
            path.unlink(missing_ok=True)
        for path in {*empty, *(path.parent for path in unfinished)}:
            if not any(path.iterdir()):
                path.rmdir()


def whole(text: str) -> bool:
    """Whether DVC can read this as a dvc.lock, and it is not empty."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    from nightjar.core.config import parse

    try:
        values = parse(text, FOLDER, aliases=True, pure=False, longest=len(text))
        COMPILED_LOCKFILE_SCHEMA(values)
    except (NightjarError, Invalid, ValueError, RecursionError):
        return False
    return bool(values)
