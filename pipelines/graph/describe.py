"""What a stage does, in words that stand in the repository already, and the marks by which its runs are found."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pipelines.graph.graph import Stage
from pipelines.project import places
from pipelines.project.git import try_git

_MODULE = re.compile(r"(?:^|[\s;&|])python[0-9.]*\s+-m\s+([A-Za-z_][\w.]*)")
_SCRIPT = re.compile(r"(?:^|[\s;&|])python[0-9.]*\s+([^\s;&|-][^\s;&|]*\.py)\b")


def stage(root: Path, stage: Stage) -> str:
    """What dvc.yaml says of the stage, then the docstring of the Python file that its command runs; may be empty.

    The file is read, never imported.
    """
    parts = [stage.description, *(docstring(path) for path in _files(root, stage.command))]
    return "\n\n".join(dict.fromkeys(part for part in parts if part))


def _files(root: Path, command: str) -> list[Path]:
    """The files that `python -m MODULE` and `python FILE.py` in a command run, as far as they lie in the project."""
    found = []
    for module in _MODULE.findall(command):
        path = root.joinpath(*module.split("."))
        found += [path / "__main__.py", path.with_name(f"{path.name}.py")]
    found += [root / script for script in _SCRIPT.findall(command)]
    return [path for path in found if path.is_file() and path.resolve().is_relative_to(root.resolve())]


def docstring(path: Path) -> str:
    """The docstring of a Python file; empty if it has none, or is no Python."""
    try:
        return ast.get_docstring(ast.parse(path.read_bytes())) or ""
    except (OSError, SyntaxError, ValueError):
        return ""


def tags(root: Path) -> list[str]:
    """The project's folder, the short commit, and the profile that `nightjar use` applied, as far as there are any."""
    found = [root.name]
    if commit := short_commit(root):
        found.append(f"commit {commit}")
    try:
        profile = (root / places.PROFILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        profile = ""
    return [*found, f"profile {profile[:40]}"] if profile else found


def short_commit(root: Path) -> str:
    """The commit that is checked out, `marked` where tracked files differ from it; empty where there is none.

    dvc.lock is left out: it is what a rebuild makes of the others.
    """
    commit = (try_git(root, "rev-parse", "--short", "HEAD") or b"").decode().strip()
    if not commit:
        return ""
    changed = try_git(
        root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude,glob)**/dvc.lock"
    )
    return marked(commit, bool(changed))


def marked(commit: str, changed: bool) -> str:
    """A commit as it is shown: with a + where tracked files differed from it."""
    return f"{commit}+" if changed else commit
