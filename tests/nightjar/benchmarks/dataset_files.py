"""Writes small files in the published formats for the tests of the loaders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused


def put(folder: Path, file: str, content: str | bytes) -> None:
    """Write the file, with the folders that it needs."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def put_lines(folder: Path, file: str, *rows: Any) -> None:
    """Write JSON Lines; a text is a line as it is."""
    put(folder, file, "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))


def kept(rows: list[Record | Refused]) -> list[Record]:
    """The records among the rows."""
    return [row for row in rows if isinstance(row, Record)]


def reasons(rows: list[Record | Refused]) -> list[str]:
    """Why rows were refused."""
    return [row.reason for row in rows if isinstance(row, Refused)]
