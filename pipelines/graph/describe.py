"""The tags of runs."""

from __future__ import annotations

import contextlib
from pathlib import Path

from nightjar.core import paths
from pipelines.project.git import try_git


def tags(root: Path) -> list[str]:
    """The project's folder, its short commit if any, and the profile that `nightjar use` applied, if any."""
    profile = ""
    with contextlib.suppress(OSError, ValueError):
        profile = (root / paths.PROFILE).read_text(encoding="utf-8").strip()[:40]
    found = {"commit": short_commit(root), "profile": profile}
    return [root.name, *(f"{name} {value}" for name, value in found.items() if value)]


def short_commit(root: Path) -> str:
    """The commit that is checked out, with a + if tracked files differ from it; empty if there is none.

    dvc.lock is ignored, because a rebuild changes it.
    """
    commit = (try_git(root, "rev-parse", "--short", "HEAD") or b"").decode().strip()
    if not commit:
        return ""
    changed = try_git(
        root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude,glob)**/dvc.lock"
    )
    return commit + "+" * bool(changed)
