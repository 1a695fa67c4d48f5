"""Files put in place whole or not at all: written beside their place, then renamed.

Apart from the tables, so that a command which only writes a line of JSON does not wait for Arrow to load.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import uuid
from pathlib import Path

# What Nightjar keeps beside a project's own files.
OWN = Path(".nightjar")
# In bytes; a file's whole name may have 255, and there are endings.
LONGEST_NAME = 180


def temporary_sibling(path: Path) -> Path:
    """A fresh name beside `path` for work in progress; leftovers of processes that died are removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f".{path.name}.tmp-*"):
        pid = leftover.name.rsplit("-", 1)[1]
        if not pid.isdigit() or int(pid) == os.getpid() or not Path("/proc", pid).exists():
            remove(leftover)
    return path.with_name(f".{path.name}.tmp-{os.getpid()}")


def replace(temporary: Path, path: Path) -> None:
    """Put the finished `temporary` file or directory in the place of `path`."""
    if path.is_dir() and not path.is_symlink():
        # A directory cannot be renamed onto a full one; the old version steps aside under a name that the
        # next writer removes.
        old = path.with_name(f".{path.name}.tmp-{os.getpid()}-old")
        path.replace(old)
        temporary.replace(path)
        shutil.rmtree(old)
    else:
        temporary.replace(path)


def write_text(path: Path, text: str) -> None:
    """Write a small text file whole or not at all."""
    temporary = temporary_sibling(path)
    try:
        temporary.write_text(text, encoding="utf-8")
        replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def own_folder(root: Path) -> Path:
    """The folder .nightjar of the project at `root`, made if it is not there, and told to Git as not its own.

    An existing .gitignore in it stays as it is; where none can be written there is none. Raises OSError for the folder.
    """
    folder = root / OWN
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".gitignore").exists():
        whole = folder / f".gitignore.tmp-{uuid.uuid4().hex}"
        with contextlib.suppress(OSError):
            try:
                whole.write_text("*\n", encoding="ascii")
                os.link(whole, folder / ".gitignore")  # unlike a rename, takes the place of nothing
            finally:
                whole.unlink(missing_ok=True)
    return folder


def private_folder(path: Path) -> None:
    """Make the folder `path` if it is not there, and take from all but its owner every right to it and to what is in
    it. Links in it are not followed. Raises OSError, as where the folder belongs to somebody else.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = path.resolve()
    _make_private(path)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):  # a file of a server that is just ending
                _make_private(Path(folder, name))


def _make_private(path: Path) -> None:
    mode = path.lstat().st_mode
    if mode & 0o077 and not stat.S_ISLNK(mode):
        path.chmod(stat.S_IMODE(mode) & 0o700)


def safe_name(name: str) -> str:
    """`name` as part of a file's name: word characters and @.- stay. Where that is not the whole of it, or it is very
    long, part of a hash sets it apart from names that would come out the same.
    """
    safe = re.sub(r"[^\w@.-]+", "-", name).encode()[:LONGEST_NAME].decode(errors="ignore")
    return safe if safe == name else f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def remove(path: Path) -> None:
    """Remove a file or a directory, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
