"""The answers of a run as they come, so that a run that was killed goes on where it was.

One JSON line a batch, appended and synced to disk: a batch is there whole, or its line is torn and does not count. The
folder is named by a digest of everything that decides the answers, so that a run finds its own answers and no others.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from stages.errors import NightjarError

FOLDER = Path(".nightjar/predict")
ANSWERS = "answers.jsonl"
# The libraries and this stage decide the answers; a change in them must not go on from what the old ones said.
_CODE = ("lm", "predict", "prompts", "tools")


def digest(facts: Mapping[str, Any]) -> str:
    """A sha256 of plain values, the same for equal ones in any order of keys."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def code_digest() -> str:
    """A sha256 of the source files that answer."""
    stages = Path(__file__).parent.parent
    result = hashlib.sha256()
    for folder in _CODE:
        for path in sorted((stages / folder).glob("*.py")):
            result.update(f"{folder}/{path.name}\0".encode() + path.read_bytes() + b"\0")
    return result.hexdigest()


class Journal:
    """The batches done so far of the run with this digest; use as a context manager.

    `done` maps a batch's number to its rows. Raises NightjarError if another process has it open.
    """

    def __init__(self, name: str, folder: Path = FOLDER) -> None:
        self.folder = folder / name
        self.done: dict[int, list[dict[str, Any]]] = {}

    def __enter__(self) -> Journal:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.folder / ANSWERS, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            what = "another process is making these predictions"
            raise NightjarError(what, self.folder, "wait for it, or end it") from None
        self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def _read(self) -> None:
        """Take in the whole lines and cut off what follows the first that is not: it would spoil what is appended."""
        good = 0
        for line in (self.folder / ANSWERS).read_bytes().splitlines(keepends=True):
            value = None
            if line.endswith(b"\n"):
                with contextlib.suppress(ValueError):
                    value = json.loads(line)
            if not isinstance(value, dict):
                break
            self.done[value["batch"]] = value["rows"]
            good += len(line)
        os.ftruncate(self._file, good)

    def add(self, batch: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Record a finished batch; it is on the disk when this returns. Raises OSError if the disk is full."""
        line = json.dumps({"batch": batch, "rows": rows}).encode() + b"\n"
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)

    def remove(self) -> None:
        """Forget the run: its predictions are published."""
        shutil.rmtree(self.folder, ignore_errors=True)
