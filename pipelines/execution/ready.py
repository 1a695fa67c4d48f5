"""DVC processes that are started before they are needed: half a second of loading that no stage then waits for.

Each is a group of its own, as a stage is, and ends by itself when its socket is closed: also when the process that
holds the other end is killed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipelines.execution import dvc_ready
from pipelines.process import groups

NAME = "dvc"
Started = tuple[subprocess.Popen[bytes], groups.Group]

_ahead: dict[Path, Pool] = {}


class Pool:
    """The processes that wait for orders in the repository at `root`; used by several threads."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._waiting: list[tuple[Started, socket.socket]] = []
        self._lock = threading.Lock()

    @classmethod
    def of(cls, root: Path, environment: Mapping[str, str]) -> Pool:
        """The one that `ahead` began in this process, or a new one."""
        return _ahead.pop(root.resolve(), None) or cls(root, environment)

    def fill(self, number: int) -> None:
        """Start one more if less than `number` wait: one a call, so as not to crowd out the stages that begin."""
        with (
            self._lock,
            contextlib.suppress(OSError),
        ):  # then the stage starts its own, and fails if that fails
            if len(self._waiting) < number:
                self._waiting.append(self._start())

    def _start(self) -> tuple[Started, socket.socket]:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                started = groups.start(
                    [sys.executable, "-P", dvc_ready.__file__, str(theirs.fileno())],
                    self._root,
                    self._environment,
                    NAME,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                )
            except BaseException:
                ours.close()
                raise
        return started, ours

    def take(self, name: str, arguments: Sequence[str], lease: int | None) -> Started | None:
        """One that waited, else a new one, with `arguments` for DVC, `lease` as its standard input, and under `name`
        in the list of what runs; None if there is none to be had.
        """
        self.fill(1)
        while True:
            with self._lock:
                if not self._waiting:
                    return None
                (process, group), orders = self._waiting.pop(0)
            with orders, contextlib.suppress(OSError):
                groups.rename(group, name)
                descriptors = [] if lease is None else [lease]
                socket.send_fds(orders, [json.dumps(list(arguments)).encode()], descriptors)
                return process, group
            _end(process, group)  # it was killed while it waited

    def close(self) -> None:
        """End those that still wait."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for _, orders in waiting:
            orders.close()
        for (process, group), _ in waiting:
            _end(process, group)


@contextlib.contextmanager
def ahead(root: Path, environment: Mapping[str, str], number: int) -> Iterator[None]:
    """Start so many processes now, while something else is loaded, for the rebuild of this process that follows in the
    block; those that it has not taken are ended with the block.
    """
    pool = _ahead[root.resolve()] = Pool(root, environment)
    try:
        for waiting in range(number):
            pool.fill(waiting + 1)
        yield
    finally:
        _ahead.pop(root.resolve(), None)
        pool.close()


def _end(process: subprocess.Popen[bytes], group: groups.Group) -> None:
    groups.end(group)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
