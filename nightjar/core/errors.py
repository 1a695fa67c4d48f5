"""The one error a user sees for a mistake that is the input's, not the program's."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches

from nightjar.core.display import printable

# Of the message of an error, in characters.
MOST_SHOWN = 300


class NightjarError(Exception):
    """Bad input of any kind, reported in one line: what is wrong, where, and what to do about it.

    The command line and the stages turn it into that line on standard error and exit status 2.
    """

    def __init__(self, what: str, where: object, fix: str) -> None:
        self.what, self.where, self.fix = what, str(where), fix
        super().__init__(what, self.where, fix)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}; {self.fix}"
        return shortened(printable(" ".join(line.split())))


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    """The fix of a name that is not among `names`: the one that may be meant, or `otherwise`."""
    near = get_close_matches(name, list(names), 1)
    return f"did you mean {near[0]}?" if near else otherwise


def shortened(line: str, limit: int = 1900) -> str:
    """A line of at most `limit` characters: what is too long loses its middle, since a fix is at the end."""
    if len(line) <= limit:
        return line
    head_length, tail_length = 2 * limit // 3, limit // 4
    return (
        f"{line[:head_length]} … {len(line) - head_length - tail_length:,} characters … {line[-tail_length:]}"
    )


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the name of its class: what fits into a NightjarError."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # of another package's class
        lines = []
    return (lines or [type(error).__name__])[0][:MOST_SHOWN]


def explain(error: BaseException) -> str:
    """The class and the first line of the message of an error that another package raised."""
    return f"{type(error).__name__[:MOST_SHOWN]}: {first_line(error)}"


def from_os_error(error: OSError, where: object) -> NightjarError | None:
    """The one-line form of an operating-system error, or None if the user cannot correct it.

    Arrow wraps the error number in its message, hence the look at the text.
    """
    if error.errno == errno.ENOSPC or "No space left on device" in str(error):
        return NightjarError(
            "the disk is full", where, "free some space and run again; nothing was kept half-written"
        )
    if error.errno in (errno.EDQUOT, errno.EFBIG):
        fix = "raise the limit or write elsewhere; nothing was kept half-written"
        return NightjarError("a quota or a limit on file sizes is reached", where, fix)
    # A temporary file's name means nothing to a user, who named the place it is to take.
    place = error.filename if error.filename and ".tmp-" not in str(error.filename) else where
    if error.errno == errno.ENAMETOOLONG:
        return NightjarError("name too long", place, "a name may have 255 bytes, a path 4,095")
    if error.errno == errno.ELOOP:
        return NightjarError("symbolic links in a circle", place, "check the path")
    if error.errno == errno.EROFS:
        return NightjarError("the file system is read-only", place, "choose another place")
    if error.errno == errno.ENXIO:
        return NightjarError("a socket or device that cannot be opened", place, "name an ordinary file")
    if isinstance(error, PermissionError):
        return NightjarError("permission denied", place, "check who owns the file")
    if isinstance(error, FileNotFoundError):
        return NightjarError("no such file or folder", place, "check the path")
    if isinstance(error, NotADirectoryError | IsADirectoryError | FileExistsError):
        return NightjarError(error.strerror or "wrong kind of file", place, "check the path")
    return None
