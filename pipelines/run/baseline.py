"""The project as it is at one moment: its commit, and its tracked files, which Git keeps as another commit."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from pipelines.project.git import git, names, try_git

LOCK_FILE = "dvc.lock"


@dataclass(frozen=True)
class Baseline:
    """What every point of a study starts from.

    `tree` is a commit that no branch has, with the tracked files as they were: the paths `changed` differ in it from
    `commit`. `known` are the paths of all its files and folders.

    `digest` identifies the commit and the changed files without params.yaml, which counts by its values, and dvc.lock,
    which describes what is built, not what is to be built.
    """

    commit: str
    tree: str
    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    known: frozenset[str]
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
    left_out = (f":(exclude){name}" for name in (PARAMS_FILE, LOCK_FILE))
    code = git(root, *diff, "--raw", "--no-abbrev", "--", ".", *left_out)
    digest = sha256((commit + code).encode("utf-8", "surrogateescape")).hexdigest()
    untracked = tuple(names(git(root, "ls-files", "--others", "--exclude-standard", "-z")))
    files = names(git(root, "ls-tree", "-r", "--name-only", "-z", tree))
    known = {*files, *(folder.as_posix() for name in files for folder in Path(name).parents)}
    if "dvc.yaml" not in known:
        raise NightjarError("not in Git", root / "dvc.yaml", "commit it: this works in a clone")
    return Baseline(commit, tree, changed, untracked, frozenset(known), digest)
