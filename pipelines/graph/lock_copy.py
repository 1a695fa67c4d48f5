"""Copies of dvc.lock, for DVC writes it in place: a disk that is full, or a kill of DVC itself, can leave it torn.

Copies lie in .nightjar/locks, taken under DVC's lock when a rebuild begins and whenever a stage has ended well. A torn
file is replaced by its copy, under DVC's lock too; the stages whose entries are younger are looked at again, and the
run cache has what they made.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.process import groups
from pipelines.project import places

FOLDER = places.LOCK_COPIES
RUN_CACHE = Path(".dvc/cache/runs")
# How long a torn file waits for the lock of a DVC process that may be writing it.
MEND_SECONDS = 60.0

_keeping = threading.Lock()


def keep(root: Path, *stages: str, seconds: float = groups.LOCK_SECONDS) -> None:
    """Copy the lock files that have the entries of `stages`.

    Skips what DVC holds for longer than `seconds`, and what cannot be copied: the copy before it remains.
    """
    files = {Path(stage.rpartition(":")[0] or "dvc.yaml").with_suffix(".lock").as_posix() for stage in stages}
    for file in sorted(files):
        with _keeping, contextlib.suppress(OSError, UnicodeError):
            with groups.held(root / groups.DVC_LOCK, seconds) as had:
                text = (root / file).read_text(encoding="utf-8") if had else ""
            copy = root / FOLDER / file.replace("/", "%2F")
            if whole(text) and (not copy.exists() or copy.read_bytes() != text.encode()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                write_text(copy, text)


def mend(root: Path, seconds: float = MEND_SECONDS) -> list[str]:
    """Replace lock files that are torn by their copies, if these are whole; returns those. Tidies DVC's run cache as
    well.

    Call it under the rebuild lock. Raises NightjarError if a file looks torn and DVC's lock is not to be had within
    `seconds`, OSError if there is still no room; the files are then as they were.
    """
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
        with groups.held(root / groups.DVC_LOCK, seconds) as had:
            if not had:
                what = "cannot be read, and another DVC process is using the repository"
                raise NightjarError(what, path, "run again once that has ended")
            if _torn(path, kept):
                write_text(path, kept)
                mended.append(path.relative_to(root).as_posix())
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
    with groups.held(root / groups.DVC_LOCK) as had, contextlib.suppress(OSError):
        if not had:
            return
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
