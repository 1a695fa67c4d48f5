"""Digests of values, of files and folders, and of the code: results are found again by what decides them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


def digest(facts: Mapping[str, Any]) -> str:
    """A sha256 of plain values, the same for equal ones in any order of keys."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def contents(*paths: Path) -> str:
    """A sha256 of files, and of all files in folders, by their names from there and their bytes."""
    result = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                result.update(f"{path.name}/{file.relative_to(path).as_posix()}\0".encode())
                with file.open("rb") as stream:
                    result.update(hashlib.file_digest(stream, "sha256").digest())
    return result.hexdigest()


def code(*names: str) -> str:
    """`contents` of folders and files of the code, such as "nightjar/models": other code resumes no work."""
    return contents(*(_ROOT / name for name in names))
