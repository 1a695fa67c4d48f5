"""The identifier of a folder is the one that Git gives it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from stages.report.project import provenance


def git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_tree_is_that_of_git(tmp_path: Path) -> None:
    code = tmp_path / "code"
    for name in ("b", "a.b", "a", "empty", "é/deep"):
        (code / name).mkdir(parents=True)
    for name in ("a/x.py", "a.b/x.py", "a-b", "é/deep/file", "b/run.sh", "a0"):
        (code / name).write_text(f"text of {name}\n")
    (code / "b/run.sh").chmod(0o755)
    (code / "link").symlink_to("a/x.py")
    (code / "a/__pycache__").mkdir()
    (code / "a/__pycache__/x.cpython-311.pyc").write_bytes(b"\0")
    (tmp_path / ".gitignore").write_text("__pycache__\n")
    git(tmp_path, "init", "-q", "--object-format=sha1")
    git(tmp_path, "add", ".")
    whole = git(tmp_path, "write-tree")
    assert provenance.identifier(code) == git(tmp_path, "rev-parse", f"{whole}:code")
    before = provenance.identifier(code)
    (code / "a0").write_text("changed")
    assert provenance.identifier(code) != before
