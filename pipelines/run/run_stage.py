"""Run stages of the DVC graph, with their output as it comes.

DVC decides whether a stage must run, can be restored from the run cache, or is unchanged. It holds its repository lock
while it hashes files or writes dvc.lock, and not while a command runs, so that several stages may run at a time.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Self

from pipelines.graph import dvc_worker
from pipelines.process.child import FOLLOWED, Child, Lines, Output
from pipelines.project.names import without
from pipelines.run.results import Result
from stages._runtime import history

# How often a stage is tried again whose files another DVC process has reserved.
BUSY_SECONDS = 1.0
# How long a stage that is stopped waits for a request to DVC that has begun.
STOP_SECONDS = 2.0
KILLED = "the process that runs DVC was killed"

Message = dict[str, Any]


def environment() -> dict[str, str]:
    """The environment of DVC: `python` is this interpreter, output is not buffered and has all characters, no
    telemetry is sent.

    The secrets of the driver and its settings of Prefect are left out.
    """
    folder = str(Path(sys.executable).parent)
    return {
        **without(),
        # It is read as UTF-8 here (see cleaned), and DVC fails when it cannot print a stage's command.
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "PATH": folder + os.pathsep + os.environ.get("PATH", os.defpath),
        "PYTHONUNBUFFERED": "1",
        "DVC_NO_ANALYTICS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }


class Stages:
    """Runs stages of the repository at `root`, several at a time from several threads.

    A worker process does DVC's part of each stage: see graph/dvc_worker.py. The commands are children of this process.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def status(self, stage: str, stop: threading.Event) -> Message:
        """Ask DVC what it would do with `stage` now: its `state` as in `nightjar plan`, and `why`.

        If that is not known, the state is failed or stopped, with an `error`.
        """
        return self._settled({"do": "status", "stage": stage}, stop)

    def run(
        self,
        stage: str,
        log: Path,
        lines: Lines | None = None,
        stop: threading.Event | None = None,
        lease: int | None = None,
        earlier: float = 0.0,
        force: bool = False,
    ) -> Result:
        """Run `stage` and wait for it, unless DVC finds it unchanged or restores it from the run cache.

        The output of its command goes to the file `log`, and in batches to `lines`. When `stop` is set, or `lines`
        raises, the command's process group is ended. If the command ran well, its seconds are added to the local
        history, with the `earlier` seconds of its shares. `lease` is a descriptor that the command inherits (see
        resources.py). With `force` the command runs in any case, and what it makes is not added to DVC's cache. While
        another DVC process, such as a `dvc repro`, has reserved the stage's files, the stage waits. Raises only what
        `lines` raises, and OSError.
        """
        stop, began, code = stop or threading.Event(), time.monotonic() - earlier, 0
        stdin = subprocess.DEVNULL if lease is None else lease
        with Output(log, lines) as output:
            answer = self._settled({"do": "begin", "stage": stage, "force": force}, stop, output.show)
            if answer["state"] == "run":
                output.write([f"Running stage '{stage}':"])
                commands, folder = list(answer["commands"]), Path(answer["folder"])
                try:
                    while commands and not code and not stop.is_set():
                        command = commands.pop(0)
                        output.write([f"> {command[-1]}"])
                        with Child(command, folder, answer["environment"], stdin=stdin, **FOLLOWED) as child:
                            code = output.follow(child, stop)
                except BaseException:
                    self._ask({"do": "abandon", "stage": stage}, stop)
                    raise
                answer = self._record(stage, code, bool(commands), output.last, stop)
        seconds = time.monotonic() - began
        if answer["state"] == "ran":
            with contextlib.suppress(OSError):  # the outputs are recorded, even if the disk is full
                history.append(self._root, stage, seconds)
        error, exit_code = answer.get("error", ""), answer.get("code")
        return Result(stage, answer["state"], seconds, error=error, log=str(log), exit_code=exit_code)

    def _record(self, stage: str, code: int, unfinished: bool, last: str, stop: threading.Event) -> Message:
        """Let DVC record the outputs of commands that ended well, or give up the stage."""
        if not code and not unfinished:
            answer = self._settled({"do": "finish", "stage": stage}, stop)
            if answer["state"] in ("ran", "failed"):
                return answer
        self._ask({"do": "abandon", "stage": stage}, stop)
        if stop.is_set():
            return {"state": "stopped", "error": "stopped before its end"}
        return {"state": "failed", "code": code, "error": last or f"exit status {code}, without any output"}

    def _settled(self, request: Message, stop: threading.Event, show: Lines | None = None) -> Message:
        """The worker's answer to a request, which is repeated while another DVC process is in its way."""
        holder = ""
        while (answer := self._ask(request, stop))["state"] == "busy":
            if answer["holder"] and answer["holder"] != holder:
                holder = answer["holder"]
                if show is not None:
                    show([f"waits for another DVC process ({holder})"])
            if stop.wait(BUSY_SECONDS if holder else 0.0):
                return {"state": "stopped", "error": "stopped while it waited for another DVC process"}
        return answer

    def _ask(self, request: Message, stop: threading.Event) -> Message:
        """The worker's answer. A worker that was killed fails its stages, and the next stage gets a new one."""
        with self._lock:
            first = request["do"] not in ("finish", "abandon") and not stop.is_set()
            if self._connection is not None or first:
                with contextlib.suppress(OSError, EOFError):
                    if answer := self._exchange(request, stop):
                        return answer
                self._disconnect()
        if stop.is_set():
            return {"state": "stopped", "error": "stopped before its end"}
        return {"state": "failed", "code": 1, "error": KILLED}

    def _exchange(self, request: Message, stop: threading.Event) -> Message | None:
        """The answer to a request; None if it takes long and `stop` is set."""
        connection = self._connect()
        connection.send_bytes(json.dumps(request).encode())
        deadline = math.inf
        while not connection.poll(0.1):
            if stop.is_set():
                deadline = min(deadline, time.monotonic() + STOP_SECONDS)
            if time.monotonic() > deadline:
                return None
        answer: Message = json.loads(connection.recv_bytes())
        return answer

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection, theirs = Pipe()
            with theirs:
                number = theirs.fileno()
                self._worker = subprocess.Popen(
                    [sys.executable, "-P", dvc_worker.__file__, str(number), str(self._root.resolve())],
                    cwd=self._root,
                    env={**environment(), history.TIMED: "1"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=[number],
                )
        return self._connection

    def _disconnect(self) -> None:
        """Let the worker end: it finishes what it does and exits, after seconds at most."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._disconnect()
            if self._worker is not None:
                self._worker.wait()

    def __enter__(self) -> Self:
        """Start the worker, which loads DVC in half a second. Outside of a block the first request does so."""
        with self._lock:
            self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def dvc(
    arguments: Sequence[str],
    root: Path,
    log: Path,
    stop: threading.Event,
    variables: Mapping[str, str] | None = None,
) -> Result:
    """Run a command of DVC, such as `checkout`, with `variables` in its environment. Its output goes to `log`."""
    began, command = time.monotonic(), [sys.executable, "-m", "dvc", "--wait-for-lock", *arguments]
    with (
        Output(log) as output,
        Child(command, root, environment() | dict(variables or {}), **FOLLOWED) as child,
    ):
        code = output.follow(child, stop)
    state = "stopped" if code and stop.is_set() else "failed" if code else "ran"
    error = output.last.removeprefix("ERROR: ") if code else ""
    return Result(arguments[0], state, time.monotonic() - began, error=error, log=str(log), exit_code=code)
