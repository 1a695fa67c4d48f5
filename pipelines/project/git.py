"""Git, called as a program."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nightjar.core.errors import NightjarError

# A status, say, must not take the lock of the index from somebody who commits.
_GIT = ("git", "--no-optional-locks")


def git(root: Path, *arguments: str) -> str:
    """The output of `git` in `root`. Raises NightjarError with Git's own last line if it fails."""
    done = subprocess.run(
        [*_GIT, *arguments], cwd=root, capture_output=True, text=True, errors="surrogateescape"
    )
    if done.returncode:
        last = (done.stderr.strip() or f"git {arguments[0]} failed").splitlines()[-1]
        raise NightjarError(last, root.absolute(), "this needs a Git repository with a commit")
    return done.stdout


def try_git(root: Path, *arguments: str) -> bytes | None:
    """The output of `git` in `root`; None if it fails or is not installed."""
    try:
        done = subprocess.run([*_GIT, *arguments], cwd=root, capture_output=True)
    except OSError:
        return None
    return None if done.returncode else done.stdout


def names(listed: str) -> list[str]:
    """The paths of a list that Git wrote with -z."""
    return [name for name in listed.split("\0") if name]
