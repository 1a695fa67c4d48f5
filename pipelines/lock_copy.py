"""Copies of dvc.lock, for DVC writes it in place: a disk that is full, or a kill of DVC itself, can leave it torn.

Copies lie in .nightjar/locks, taken under DVC's lock whenever a stage has ended well. A torn one is replaced by its
copy; the stages whose entries are younger are looked at again, and the run cache has what they made.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from pipelines import groups
from stages.files import write_text

FOLDER = Path(".nightjar/locks")
RUN_CACHE = Path(".dvc/cache/runs")


def keep(root: Path, stage: str) -> None:
    """Copy the lock file in which `stage`, which has just ended well, is written down."""
    file = Path(stage.rpartition(":")[0] or "dvc.yaml").with_suffix(".lock").as_posix()
    with contextlib.suppress(OSError, UnicodeError), groups.held(root / groups.DVC_LOCK):
        text = (root / file).read_text(encoding="utf-8")
        copy = root / FOLDER / file.replace("/", "%2F")
        if whole(text) and (not copy.exists() or copy.read_text(encoding="utf-8") != text):
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_text(copy, text)


def mend(root: Path) -> list[str]:
    """Put whole copies in the place of lock files that are torn; returns those. Tidies DVC's run cache as well.

    Raises OSError if there is still no room for them; then they are as they were.
    """
    _tidy(root)
    mended = []
    for copy in sorted((root / FOLDER).glob("*.lock")):
        path = root / copy.name.replace("%2F", "/")
        if path.is_file() and not whole(path.read_text(encoding="utf-8", errors="replace")):
            text = copy.read_text(encoding="utf-8", errors="replace")
            if not whole(text):
                continue  # the copy is damaged too: DVC says what is wrong with the file itself
            with groups.held(root / groups.DVC_LOCK):
                write_text(path, text)
            mended.append(path.relative_to(root).as_posix())
    return mended


def _tidy(root: Path) -> None:
    """Remove what a full disk left in the run cache: entries that were never finished, and folders without any.

    DVC 3.67 removes the former as it meets them, and then fails for ever at the empty folder.
    """
    unfinished = [path for path in (root / RUN_CACHE).glob("*/*/.*.tmp") if path.is_file()]
    empty = [path for path in (root / RUN_CACHE).glob("*/*") if path.is_dir() and not any(path.iterdir())]
    if not unfinished and not empty:
        return
    with groups.held(root / groups.DVC_LOCK), contextlib.suppress(OSError):
        for path in unfinished:
            path.unlink(missing_ok=True)
        for path in {*empty, *(path.parent for path in unfinished)}:
            if not any(path.iterdir()):
                path.rmdir()


def whole(text: str) -> bool:
    """Whether this is all of a dvc.lock as DVC writes it: a mapping with a schema, whose last line has an end."""
    if not text.endswith("\n"):
        return False
    from stages.config import parse
    from stages.errors import NightjarError

    try:
        values = parse(text, FOLDER, aliases=True, pure=False, longest=len(text))
    except NightjarError:
        return False
    entries = values.get("stages", {}) if isinstance(values, dict) and "schema" in values else None
    return isinstance(entries, dict) and all(
        isinstance(entry, dict) and "cmd" in entry for entry in entries.values()
    )
