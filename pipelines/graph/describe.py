"""The description of a stage, from dvc.yaml and docstrings, and the tags of runs."""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path

from pipelines.graph.graph import Stage
from pipelines.project import places
from pipelines.project.git import try_git

_PYTHON = re.compile(
    r"(?:^|[\s;&|])python[0-9.]*\s+(?:-m\s+(?P<module>[A-Za-z_][\w.]*)|(?P<script>[^\s;&|-][^\s;&|]*\.py)\b)"
)


def stage(root: Path, stage: Stage) -> str:
    """The description in dvc.yaml, then the docstrings of the Python files that the command runs; may be empty.

    The files are not imported.
    """
    parts = [stage.description, *(docstring(path) for path in _files(root, stage.command))]
    return "\n\n".join(dict.fromkeys(part for part in parts if part))


def _files(root: Path, command: str) -> list[Path]:
    """The files of the project that `python -m MODULE` and `python FILE.py` in a command run."""
    found = []
    for module, script in _PYTHON.findall(command):
        path = root / (script or module.replace(".", "/"))
        found += [path] if script else [path / "__main__.py", path.with_name(f"{path.name}.py")]
    return [path for path in found if path.is_file() and path.resolve().is_relative_to(root.resolve())]


def docstring(path: Path) -> str:
    """The docstring of a Python file; empty if it has none or is not Python."""
    try:
        return ast.get_docstring(ast.parse(path.read_bytes())) or ""
    except (OSError, SyntaxError, ValueError):
        return ""


def tags(root: Path) -> list[str]:
    """The project's folder, its short commit if any, and the profile that `nightjar use` applied, if any."""
    profile = ""
    with contextlib.suppress(OSError, ValueError):
        profile = (root / places.PROFILE).read_text(encoding="utf-8").strip()[:40]
    found = {"commit": short_commit(root), "profile": profile}
    return [root.name, *(f"{name} {value}" for name, value in found.items() if value)]


def short_commit(root: Path) -> str:
    """The commit that is checked out, `marked` if tracked files differ from it; empty if there is none.

    dvc.lock is ignored, because a rebuild changes it.
    """
    commit = (try_git(root, "rev-parse", "--short", "HEAD") or b"").decode().strip()
    if not commit:
        return ""
    changed = try_git(
        root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude,glob)**/dvc.lock"
    )
    return marked(commit, bool(changed))


def marked(commit: str, changed: bool) -> str:
    """The commit with a + if tracked files differed from it."""
    return f"{commit}+" if changed else commit
