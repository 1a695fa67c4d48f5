"""Files put in place whole or not at all: written beside their place, then renamed.

Apart from the tables, so that a command which only writes a line of JSON does not wait for Arrow to load.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from nightjar.core import paths
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.identity import safe_name

FILE, FOLDER, PIPE, BROKEN = "a file", "a folder", "a named pipe", "a broken link"
Foreign = Callable[[Path], str]
_KINDS = {
    stat.S_IFREG: FILE,
    stat.S_IFDIR: FOLDER,
    stat.S_IFIFO: PIPE,
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}


def kind(path: Path) -> str:
    """Name the kind of file at `path`, links followed: FILE, FOLDER, PIPE, BROKEN, a device, a socket; "" if none.

    Raises OSError where the system does not say, such as for a name that is too long.
    """
    try:
        return _KINDS[stat.S_IFMT(path.stat().st_mode)]
    except OSError as error:
        if path.is_symlink():
            return BROKEN
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return ""
        raise


def check_input(path: Path, *more: str) -> None:
    """Raise NightjarError if `path` is neither an ordinary file nor one of the kinds `more`.

    A read from a pipe may wait for ever, and a device may never end. What is not there is left to the reader.
    """
    try:
        path_kind = kind(path)
    except OSError as error:
        raise from_os_error(error, path) or error from None
    if path_kind not in ("", FILE, *more):
        raise NightjarError(path_kind, path, "give an ordinary file")


def check_output(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Check, before any work, that a file the user named as an output may be written. `inputs` are the files and
    folders that the command reads.

    Only an ordinary file is replaced, and none that is an input or lies in a folder that is one. A character device and
    a pipe are written through.
    """
    try:
        path_kind = kind(path)
        if _stream(path) is not None:
            return
        if path.is_symlink():
            raise NightjarError(f"a symbolic link to {path.readlink()}", path, "name the file itself")
        if path_kind not in ("", FILE):
            raise NightjarError(path_kind, path, "name a file to write")
        for source in filter(None, inputs):
            if path_kind and source.exists() and path.samefile(source):
                raise NightjarError(
                    "this file is read by the same command", path, "name another file to write"
                )
            if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
                raise NightjarError(f"it is in {source}, which is read", path, "name a file elsewhere")
        check_place(path)
    except OSError as error:
        raise from_os_error(error, path) or error from None


def check_place(path: Path) -> None:
    """Raise NightjarError if nothing can be made at `path`, whose folders need not be there yet."""
    if any(len(os.fsencode(name)) > 255 for name in path.parts) or len(os.fsencode(path.absolute())) > 4095:
        raise from_os_error(OSError(errno.ENAMETOOLONG, ""), path) or AssertionError
    folder = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
    if not folder.is_dir():
        raise NightjarError(f"not a folder, for {path.name}", folder, "choose another place")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise NightjarError("this folder cannot be written", folder, "choose another place")


def check_folder(path: Path, inputs: Iterable[Path | None] = (), foreign: Foreign | None = None) -> None:
    """Check, before any work, that a folder the user named as an output may be made.

    It must not be there yet, be empty, or hold nothing but an earlier output: `foreign` says what else is in it, "" for
    nothing. It must hold none of `inputs`.
    """
    try:
        if path.is_symlink():
            raise NightjarError(f"a symbolic link to {path.readlink()}", path, "name the folder itself")
        if (path_kind := kind(path)) not in ("", FOLDER):
            raise NightjarError(path_kind, path, "name a folder to write")
        check_place(path)
        if not path_kind or not any(path.iterdir()):
            return
        if any(it.exists() and it.resolve().is_relative_to(path.resolve()) for it in inputs if it):
            raise NightjarError("it holds the input", path, "choose another folder")
        if what := foreign(path) if foreign else "it exists already and is not empty":
            raise NightjarError(what, path, "choose another folder, or empty this one")
    except OSError as error:
        raise from_os_error(error, path) or error from None


@contextlib.contextmanager
def folder_output(
    path: Path, inputs: Iterable[Path | None] = (), foreign: Foreign | None = None
) -> Iterator[Path]:
    """An empty folder beside `path`, to be filled; it becomes `path` if the block ends without an error.

    Arguments and errors are those of `check_folder`. What somebody else makes at `path` meanwhile is not replaced: that
    is a NightjarError, too.
    """
    check_folder(path, inputs, foreign)
    parents = [folder for folder in path.parents if not folder.exists()]
    new_folder = temporary_sibling(path)
    old = new_folder.with_name(f"{new_folder.name}-old")
    try:
        new_folder.mkdir()
        yield new_folder
        if foreign and path.is_dir():
            # Looked at once more where nobody knows its name.
            path.rename(old)
            try:
                check_folder(old, (), foreign)
            except BaseException:
                old.rename(path)
                raise
        try:
            new_folder.rename(path)  # takes the place of nothing but an empty folder
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            what = "something else was made there meanwhile"
            raise NightjarError(what, path, "choose another folder") from None
        remove(old)
    except NightjarError as error:
        error.where = error.where.replace(str(old), str(path)).replace(str(new_folder), str(path))
        raise
    except OSError as error:
        raise from_os_error(error, path) or error from None
    finally:
        remove(new_folder)
        for folder in parents if not path.exists() else ():
            with contextlib.suppress(OSError):
                folder.rmdir()


def write_output(path: Path, text: str, inputs: Iterable[Path | None] = ()) -> None:
    """Write a text file that the user named: an ordinary file whole or not at all, a device or a pipe through."""
    check_output(path, inputs)
    try:
        stream = _stream(path)
        if stream is None:
            write_text(path, text)
            return
        sys.stdout.flush()
        with open(stream, "w", encoding="utf-8", closefd=isinstance(stream, Path)) as file:
            file.write(text)
    except OSError as error:
        raise from_os_error(error, path) or error from None


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]], inputs: Iterable[Path | None] = ()) -> None:
    """Write one JSON object a line to a file that the user named; `inputs` and errors as in `write_output`."""
    write_output(path, "".join(orjson.dumps(row).decode() + "\n" for row in rows), inputs)


def _stream(path: Path) -> Path | int | None:
    """The stream to write through `path`: standard output or error by their numbers, whatever they are connected to,
    or another device or pipe by its name. None for a file that is to be made or replaced.
    """
    try:
        state = path.stat()
    except OSError:
        return None
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(state, os.fstat(number)):
                return number
    return path if stat.S_ISCHR(state.st_mode) or stat.S_ISFIFO(state.st_mode) else None


def temporary_sibling(path: Path) -> Path:
    """A fresh name beside `path` for work in progress; leftovers of processes that died are removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A safe name is short enough for the ending, and has no sign that means something in a pattern.
    prefix = f".{safe_name(path.name)}.tmp-"
    for leftover in path.parent.glob(f"{prefix}*"):
        writer = re.fullmatch(r"(\d+)(-old)?", leftover.name.removeprefix(prefix))
        if writer and (int(writer[1]) == os.getpid() or not Path("/proc", writer[1]).exists()):
            remove(leftover)
    return path.with_name(f"{prefix}{os.getpid()}")


def replace(temporary: Path, path: Path) -> None:
    """Put the finished `temporary` file or directory in the place of `path`."""
    if path.is_dir() and not path.is_symlink():
        # A directory cannot be renamed onto a full one; the old version steps aside under a name that the
        # next writer removes.
        old = path.with_name(f".{safe_name(path.name)}.tmp-{os.getpid()}-old")
        path.replace(old)
        temporary.replace(path)
        shutil.rmtree(old)
    else:
        temporary.replace(path)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` for a file or a directory: made in the block, it takes the place of `path` at its end.

    If the block ends with an error, `path` stays as it was, and what was made is removed.
    """
    new_path = temporary_sibling(path)
    try:
        yield new_path
        replace(new_path, path)
    except BaseException:
        remove(new_path)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a small text file whole or not at all."""
    temporary = temporary_sibling(path)
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)  # of a folder that was made meanwhile the system says no
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def own_folder(root: Path) -> Path:
    """The folder .nightjar of the project at `root`, made if it is not there, and hidden from Git.

    An existing .gitignore in it stays as it is; where none can be written there is none. Raises OSError for the folder.
    """
    folder = root / paths.OWN
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError), (folder / ".gitignore").open("x", encoding="ascii") as file:
        file.write("*\n")
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


def flush(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk now. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file or a directory, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
