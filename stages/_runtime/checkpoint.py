"""The work of a stage as it is done, unit by unit: a run that was killed resumes, and shards share the units.

A unit is whatever a stage computes by itself: a batch, a text, a task. Each is one JSON line, appended and synced to
disk: it is there whole, or its line is torn and does not count. The folder is named by a digest of everything that
decides the results, so that a run finds its own work and no other. Every process writes a part of its own and reads
all parts: whoever computed a unit, and whenever, the whole run finds it and publishes the same bytes. Its work is then
forgotten, unless the folder has a file KEEP; of unfinished work of other settings it leaves the newest.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest
from nightjar.core.json_text import exact
from stages._runtime.closure import Code

WHOLE = "whole"
# A folder of checkpoints that has this file keeps those of runs that have published, for later ones with more units.
KEEP = "keep"
# Checkpoints of a stage's other settings or other code, left by runs that were killed, that are kept: one may go back.
KEPT = 2


@cache
def code_of(stage: str) -> str:
    """A digest of the code that the stage may run. It is a part of keys: other code resumes no work."""
    return Code(Path(__file__).parents[2]).stage_digest(stage)


def folder_of(stage: str, cache_key: Mapping[str, Any], folder: Path = paths.CHECKPOINTS) -> Path:
    """Return the folder of a run's checkpoint; other files that resuming needs may lie there and go with it."""
    return folder / stage.replace("@", "-") / digest(cache_key)


@dataclass(frozen=True)
class Shard:
    """One of `of` equal shares of a stage's units, counted from 1: every `of`-th unit."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From I/N as on the command line. Raises NightjarError for anything else."""
        number, slash, of = text.partition("/")
        if slash and all(part.isascii() and part.isdigit() for part in (number, of)):
            shard = cls(int(number), int(of))
            if 1 <= shard.number <= shard.of:
                return shard
        raise NightjarError(f"{text!r} is not a share of the work", "--shard", "give I/N, from 1/N to N/N")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, unit: int) -> bool:
        return unit % self.of == self.number - 1


class Checkpoint:
    """The units done so far of the run of `stage` of that `cache_key`; use as a context manager.

        with Checkpoint("predict@x", cache_key, shard) as checkpoint:
            for unit in checkpoint.todo(units):
                checkpoint.add(unit, compute(unit))

    A mapping from a unit's number to its value, which is read from the disk each time. Units with `keys`, one for each
    number, are found by them: they may have other numbers than in an earlier run. A shard does its share beside others;
    without, a run does all and is alone. Raises NightjarError if another process is at the same.
    """

    def __init__(
        self,
        stage: str,
        cache_key: Mapping[str, Any],
        shard: Shard | None = None,
        folder: Path = paths.CHECKPOINTS,
        keys: Sequence[str] | None = None,
    ) -> None:
        self.shard = shard
        self._keys = keys
        self._numbers = None if keys is None else {key: number for number, key in enumerate(keys)}
        self.folder = folder_of(stage, cache_key, folder)
        self.part = self.folder / (f"{shard.number}-of-{shard.of}.jsonl" if shard else f"{WHOLE}.jsonl")
        self._places: dict[int, tuple[Path, int, int]] = {}

    def __enter__(self) -> Checkpoint:
        self.folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            # Shards hold it together; the run that publishes, and then removes the folder, alone.
            lock(stack, self.folder / "lock", fcntl.LOCK_SH if self.shard else fcntl.LOCK_EX)
            self._file = lock(stack, self.part)
            for part in sorted(self.folder.glob("*.jsonl")):
                good = self._read(part)
                if part == self.part:  # what follows would spoil what is appended
                    os.ftruncate(self._file, good)
                    self._size = good
            self._open = stack.pop_all()
        if self.shard is None:
            self._forget_others()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _read(self, part: Path) -> int:
        """Take note of the whole lines; where they end. The first that is not whole or no JSON ends them."""
        good = 0
        with part.open("rb") as stream:
            for line in stream:
                unit: Any = None
                if line.endswith(b"\n"):
                    with contextlib.suppress(ValueError, KeyError, TypeError):
                        unit = exact(line)["unit"]
                if not isinstance(unit, int if self._numbers is None else str):
                    break
                number: Any = unit if self._numbers is None else self._numbers.get(str(unit))
                if number is not None:
                    self._places.setdefault(number, (part, good, len(line)))
                good += len(line)
        return good

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, unit: int) -> bool:
        return unit in self._places

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __getitem__(self, unit: int) -> Any:
        part, start, length = self._places[unit]
        with part.open("rb") as stream:
            stream.seek(start)
            return exact(stream.read(length))["value"]

    def todo(self, units: int) -> list[int]:
        """Of the units 0 to `units` - 1 those that this process has to do, in order."""
        mine = range(units) if self.shard is None else filter(self.shard.has, range(units))
        return [unit for unit in mine if unit not in self]

    def add(self, unit: int, value: Any) -> None:
        """Record a finished unit; it is on the disk when this returns. Raises OSError if the disk is full."""
        name = unit if self._keys is None else self._keys[unit]
        line = json.dumps({"unit": name, "value": value}).encode() + b"\n"
        start, remaining = self._size, line
        while remaining:
            remaining = remaining[os.write(self._file, remaining) :]
        os.fsync(self._file)
        self._size += len(line)
        self._places[unit] = (self.part, start, len(line))

    def remove(self) -> None:
        """Forget the run: its results are published."""
        if (self.folder.parents[1] / KEEP).exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(
            OSError
        ):  # another run of this stage, with other settings, may have work there
            self.folder.parent.rmdir()

    def _forget_others(self) -> None:
        """Remove the stage's other checkpoints but for those used last; never one that a process holds."""
        named = re.compile("[0-9a-f]{64}").fullmatch
        others = [
            folder for folder in self.folder.parent.iterdir() if named(folder.name) and folder != self.folder
        ]
        for folder in sorted(others, key=_used, reverse=True)[KEPT:]:
            with contextlib.suppress(NightjarError, OSError), contextlib.ExitStack() as stack:
                lock(stack, folder / "lock")
                shutil.rmtree(folder)


def _used(folder: Path) -> int:
    """When a checkpoint was last opened or added to, in nanoseconds; 0 if that is not known."""
    with contextlib.suppress(OSError):
        return max((part.stat().st_mtime_ns for part in folder.glob("*.jsonl")), default=0)
    return 0


def lock(stack: contextlib.ExitStack, path: Path, kind: int = fcntl.LOCK_EX) -> int:
    """Hold a file until the stack closes it or the process ends; its number. Raises NightjarError if it is held."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    stack.callback(os.close, file)
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise NightjarError("another process is doing this work", path, "wait for it, or end it") from None
    return file
