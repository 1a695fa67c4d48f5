"""By what things are found again: digests of values and files, names of files, and ids of instances."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# In bytes; a file's whole name may have 255, and there are endings.
LONGEST_NAME = 180


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


def safe_name(name: str) -> str:
    """`name` as part of a file's name: word characters and @.- stay. Where that is not the whole of it, or it is very
    long, part of a hash sets it apart from names that would come out the same.
    """
    safe = re.sub(r"[^\w@.-]+", "-", name).encode()[:LONGEST_NAME].decode(errors="ignore")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return safe if safe == name else f"{safe}-{digest[:8]}"


def sha256_of(path: Path) -> str:
    """The sha256 of one file, in hexadecimal. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def qualified(row: Mapping[str, Any]) -> str:
    """TASK:ID of a row with `task_id` and `id`: unique, which an id alone need not be. For files of other people."""
    return f"{row['task_id']}:{row['id']}"


def unique_ids(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The id of each of `rows` (with `task_id` and `id`); one that occurs in several tasks as TASK:ID."""
    counts = Counter(row["id"] for row in rows)
    return [row["id"] if counts[row["id"]] == 1 else qualified(row) for row in rows]
