"""Git, called as a program: what identifies the project's state."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.project.names import LOCK_FILE

# A status, say, must not take the lock of the index from somebody who commits.
_GIT = ("git", "--no-optional-locks")


def git(root: Path, *arguments: str, seconds: float | None = None, **variables: str) -> str:
    """The output of `git` in `root`, with `variables` in its environment.

    Raises NightjarError with the first line of Git's error if it fails, OSError, and TimeoutExpired after so many
    `seconds`.
    """
    done = subprocess.run(
        [*_GIT, *arguments],
        cwd=root,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=seconds,
    )
    if done.returncode:
        lines = (done.stderr.strip() or "git failed").splitlines()
        # Later ones follow from it, or are advice.
        first = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
        raise NightjarError(first, root.absolute(), remedy(first, root))
    return done.stdout


def remedy(message: str, root: Path) -> str:
    """Return the fix of an error of Git that concerns the whole repository, by its message."""
    if "dubious ownership" in message:
        return (
            f"it belongs to another account; run: git config --global --add safe.directory {root.absolute()}"
        )
    if "not a git repository" in message:
        return "run: git init, then commit"
    return "this needs a Git repository with a commit"


def try_git(root: Path, *arguments: str) -> str | None:
    """The output of `git` in `root`; None if it fails or is not installed."""
    try:
        return git(root, *arguments)
    except (NightjarError, OSError):
        return None


def names(listed: str) -> list[str]:
    """The paths of a list that Git wrote with -z."""
    return [name for name in listed.split("\0") if name]


def tags(root: Path) -> list[str]:
    """The project's folder, its short commit if any, and the profile that `nightjar use` applied, if any."""
    profile = ""
    with contextlib.suppress(OSError, ValueError):
        profile = (root / paths.PROFILE).read_text(encoding="utf-8").strip()[:40]
    labels = {"commit": short_commit(root), "profile": profile}
    return [root.name, *(f"{name} {value}" for name, value in labels.items() if value)]


def short_commit(root: Path) -> str:
    """The commit that is checked out, with a + if tracked files differ from it; empty if there is none.

    dvc.lock is ignored, because a rebuild changes it.
    """
    commit = (try_git(root, "rev-parse", "--short", "HEAD") or "").strip()
    if not commit:
        return ""
    changed = try_git(
        root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude,glob)**/dvc.lock"
    )
    return commit + "+" * bool(changed)


@dataclass(frozen=True)
class Baseline:
    """The state of the project that every point of a study starts from.

    `tree` is a commit that no branch has, with the tracked files as they were: the paths `changed` differ in it from
    `commit`. `tracked_paths` are all its files and folders.

    `digest` identifies the commit and the changed files without params.yaml, which counts by its values, and dvc.lock,
    which describes what is built, not what is to be built.
    """

    commit: str
    tree: str
    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    tracked_paths: frozenset[str]
    digest: str


def baseline(root: Path) -> Baseline:
    """The project's commit and its tracked files as they are now.

    Raises NightjarError where there is no commit yet, where Git does not have dvc.yaml, or where the project is not
    the root of its repository.
    """
    commit = git(root, "rev-parse", "--verify", "HEAD^{commit}").strip()
    if git(root, "rev-parse", "--show-prefix").strip():
        raise NightjarError("not the root of its Git repository", root.absolute(), "run from the root")
    try_git(root, "update-index", "-q", "--refresh")  # stash fails for files that were only touched
    tree = git(root, "stash", "create").strip() or commit
    diff = ("diff", "--no-renames", "-z", commit, tree)
    changed = tuple(sorted(names(git(root, *diff, "--name-only"))))
    left_out = (f":(exclude){name}" for name in (paths.PARAMS_FILE, LOCK_FILE))
    code = git(root, *diff, "--raw", "--no-abbrev", "--", ".", *left_out)
    digest = sha256((commit + code).encode("utf-8", "surrogateescape")).hexdigest()
    untracked = tuple(names(git(root, "ls-files", "--others", "--exclude-standard", "-z")))
    files = names(git(root, "ls-tree", "-r", "--name-only", "-z", tree))
    tracked_paths = {*files, *(folder.as_posix() for name in files for folder in Path(name).parents)}
    if "dvc.yaml" not in tracked_paths:
        raise NightjarError("not in Git", root / "dvc.yaml", "commit it: this works in a clone")
    return Baseline(commit, tree, changed, untracked, frozenset(tracked_paths), digest)
