"""Run stages of the DVC graph, with their output as it comes.

DVC decides whether a stage must run, can be restored from the run cache, or is unchanged. It holds its repository lock
while it hashes files or writes dvc.lock, and not while a command runs, so that several stages may run at a time.
"""

from __future__ import annotations

import contextlib
import json
import locale
import math
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import IO, Any, Literal, Self

from nightjar.core import history
from pipelines.graph import dvc_worker
from pipelines.process.child import Child
from pipelines.project import places
from pipelines.project.environment import SECRETS

LOGS = places.LOGS
# Set by `nightjar serve`, which sets PYTHONSAFEPATH too, for itself and not for stages.
SERVED = "NIGHTJAR_SERVED"
BATCH_SECONDS = 0.5
BATCH_LINES = 200
LONGEST_LINE = 65_536
# How often a stage is tried again whose files another DVC process has reserved.
BUSY_SECONDS = 1.0
# How long a stage that is stopped waits for a request to DVC that has begun.
STOP_SECONDS = 2.0
# How long to go on reading when the stage has ended and something that it left behind holds its output open.
DRAIN_SECONDS = 1.0

KILLED = "the process that runs DVC was killed"

State = Literal["ran", "restored", "unchanged", "failed", "stopped"]
Lines = Callable[[list[str]], None]

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True)
class Outcome:
    """How a stage ended: its command ran, DVC restored its outputs from the run cache, it was unchanged, it
    failed, or it was stopped. `exit_code` and `error` (the last line that tells why) only where it failed.
    """

    stage: str
    state: State
    seconds: float
    log: Path
    exit_code: int | None = None
    error: str | None = None


class LineReader:
    """Cuts a stream of bytes into lines without colours; of a line redrawn by carriage returns the last
    stays.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that `data` completes."""
        *whole, rest = (self._rest + data).split(b"\n")
        # Only what follows the last carriage return stays; those at the very end may belong to a line end.
        rest = rest[rest.rstrip(b"\r").rfind(b"\r") + 1 :]
        while len(rest) > LONGEST_LINE:
            whole.append(rest[:LONGEST_LINE])
            rest = rest[LONGEST_LINE:]
        self._rest = rest
        return [self._clean(line) for line in whole]

    def close(self) -> list[str]:
        """The last line, if no line end followed it."""
        rest, self._rest = self._rest, b""
        return [self._clean(rest)] if rest else []

    @staticmethod
    def _clean(line: bytes) -> str:
        text = _ESCAPES.sub("", line.decode("utf-8", errors="replace")).rstrip("\r")
        return text.rsplit("\r", 1)[-1].rstrip()


def environment() -> dict[str, str]:
    """The environment of DVC: `python` is this interpreter, output is not buffered and has all characters, no
    telemetry is sent.

    The secrets of the driver and its settings of Prefect are left out.
    """
    folder = str(Path(sys.executable).parent)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in SECRETS and not name.startswith("PREFECT_")
    }
    if kept.pop(SERVED, None):
        kept.pop("PYTHONSAFEPATH", None)
    # It is read as UTF-8 here (see LineReader), and DVC fails when it cannot print a stage's command.
    encoding = kept.get("PYTHONIOENCODING", "").partition(":")[0] or locale.getpreferredencoding(False)
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        kept["PYTHONIOENCODING"] = "utf-8:backslashreplace"
    return {
        **kept,
        "PATH": folder + os.pathsep + os.environ.get("PATH", os.defpath),
        "PYTHONUNBUFFERED": "1",
        "DVC_NO_ANALYTICS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }


def stage_environment() -> dict[str, str]:
    """The environment of a stage, whose seconds its driver writes down."""
    return {**environment(), history.TIMED: "1"}


class Stages:
    """Runs stages of the repository at `root`, several at a time from several threads.

    A worker process does DVC's part of each stage: see graph/dvc_worker.py. The commands are children of this process.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._answers: IO[bytes] | None = None

    def start(self) -> None:
        """Start the worker now, which loads DVC in half a second. The first `run` does so otherwise."""
        with self._lock:
            self._connect()

    def run(
        self,
        stage: str,
        log: Path,
        lines: Lines | None = None,
        stop: threading.Event | None = None,
        lease: int | None = None,
        earlier: float = 0.0,
        afresh: bool = False,
    ) -> Outcome:
        """Run `stage` and wait for it, unless DVC finds it unchanged or restores it from the run cache.

        The output of its command goes to the file `log`, and in batches to `lines`. When `stop` is set, or `lines`
        raises, the command's process group is ended. If the command ran well, its seconds are added to the local
        history, with the `earlier` seconds of its shares. `lease` is a descriptor that the command inherits (see
        lease.py). With `afresh` the command runs in any case, and what it makes is not added to DVC's cache. While
        another DVC process, such as a `dvc repro`, has reserved the stage's files, the stage waits. Raises only what
        `lines` raises, and OSError.
        """
        stop = stop or threading.Event()
        began = time.monotonic() - earlier
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb", buffering=0) as file:
            output = _Output(file, lines)
            state, code, error = self._run(stage, output, stop, lease, afresh)
        seconds = time.monotonic() - began
        if state == "ran":
            with contextlib.suppress(OSError):  # the outputs are recorded, even if the disk is full
                history.append(self._root, stage, seconds, "done")
        return Outcome(stage, state, seconds, log, code, error)

    def _run(
        self, stage: str, output: _Output, stop: threading.Event, lease: int | None, afresh: bool
    ) -> tuple[State, int | None, str | None]:
        answer = self._settled({"do": "begin", "stage": stage, "afresh": afresh}, output, stop)
        if answer["state"] != "run":
            return answer["state"], answer.get("code"), answer.get("error")
        output.write([f"Running stage '{stage}':"])
        code, commands = 0, list(answer["commands"])
        try:
            while commands and not code and not stop.is_set():
                output.write([f"> {commands[0][-1]}"])
                code = _command(
                    commands.pop(0), Path(answer["folder"]), answer["environment"], output, stop, lease
                )
        except BaseException:
            self._ask({"do": "abandon", "stage": stage}, stop)
            raise
        if not code and not commands:
            done = self._settled({"do": "finish", "stage": stage}, output, stop)
            if done["state"] == "done":
                return "ran", None, None
            if done["state"] == "failed":
                return "failed", done["code"], done["error"]
        self._ask({"do": "abandon", "stage": stage}, stop)
        if stop.is_set():
            return "stopped", code, "stopped before its end"
        return "failed", code, output.last or f"exit status {code}, without any output"

    def _settled(self, request: dict[str, Any], output: _Output, stop: threading.Event) -> dict[str, Any]:
        """The worker's answer to a request, which is repeated while another DVC process is in its way."""
        holder = ""
        while (answer := self._ask(request, stop))["state"] == "busy":
            if answer["holder"] and answer["holder"] != holder:
                holder = answer["holder"]
                output.show([f"waits for another DVC process ({holder})"])
            if stop.wait(BUSY_SECONDS if holder else 0.0):
                error = "stopped while it waited for another DVC process"
                return {"state": "stopped", "error": error}
        return answer

    def _ask(self, request: dict[str, Any], stop: threading.Event) -> dict[str, Any]:
        """The worker's answer. A worker that was killed fails its stages, and the next stage gets a new one."""
        with self._lock:
            if self._answers is not None or (request["do"] == "begin" and not stop.is_set()):
                with contextlib.suppress(OSError):
                    if line := self._exchange(json.dumps(request).encode() + b"\n", stop):
                        answer: dict[str, Any] = json.loads(line)
                        return answer
                self._disconnect()
        if stop.is_set():
            return {"state": "stopped", "error": "stopped before its end"}
        return {"state": "failed", "code": 1, "error": KILLED}

    def _exchange(self, request: bytes, stop: threading.Event) -> bytes:
        """The line that answers a request; empty if the worker ended, or if it takes long and `stop` is set."""
        connection, answers = self._connect()
        connection.sendall(request)
        deadline = math.inf
        while not select.select([connection], [], [], 0.1)[0]:
            if stop.is_set():
                deadline = min(deadline, time.monotonic() + STOP_SECONDS)
            if time.monotonic() > deadline:
                return b""
        return answers.readline()

    def _connect(self) -> tuple[socket.socket, IO[bytes]]:
        if self._connection is None or self._answers is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._worker = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        dvc_worker.__file__,
                        str(theirs.fileno()),
                        str(self._root.resolve()),
                    ],
                    cwd=self._root,
                    env=stage_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=[theirs.fileno()],
                )
            self._connection, self._answers = ours, ours.makefile("rb")
        return self._connection, self._answers

    def _disconnect(self) -> None:
        """Let the worker end: it finishes what it does and exits, after seconds at most."""
        if self._connection is not None and self._answers is not None:
            self._answers.close()
            self._connection.close()
        self._connection = self._answers = None

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._disconnect()
            if self._worker is not None:
                self._worker.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def dvc(
    arguments: Sequence[str],
    root: Path,
    log: Path,
    stop: threading.Event,
    variables: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a command of DVC, such as `checkout`, with `variables` in its environment. Its output goes to `log`."""
    began = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", *arguments]
    with log.open("wb", buffering=0) as file:
        output = _Output(file, None)
        code = _command(command, root, environment() | dict(variables or {}), output, stop, None)
    state: State = "stopped" if code and stop.is_set() else "failed" if code else "ran"
    error = output.last.removeprefix("ERROR: ") if code else None
    return Outcome(arguments[0], state, time.monotonic() - began, log, code or None, error)


def _command(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    output: _Output,
    stop: threading.Event,
    lease: int | None,
) -> int:
    """Run a command to its end, or until `stop` is set; returns its exit status."""
    with Child(
        command,
        folder,
        environment,
        stdin=subprocess.DEVNULL if lease is None else lease,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as child:
        follow(child, stop, output.hear)
        while child.poll() is None and not stop.wait(0.05):
            pass
        return child.end()


class _Output:
    """What a stage writes: all of it to the log, and what it says itself to `lines`."""

    def __init__(self, log: RawIOBase, lines: Lines | None) -> None:
        self._log, self._lines = log, lines
        # The last line that is not empty.
        self.last = ""

    def write(self, lines: list[str]) -> None:
        """Write lines to the log only."""
        with contextlib.suppress(OSError):  # the disk is full: the stage itself fails if it needs space
            self._log.write("".join(line + "\n" for line in lines).encode())

    def show(self, lines: list[str]) -> None:
        """Pass lines on only."""
        if self._lines is not None:
            self._lines(lines)

    def hear(self, lines: list[str]) -> None:
        """Write lines to the log, and pass on those that are not empty."""
        self.write(lines)
        if said := [line for line in lines if line.strip()]:
            self.last = said[-1].strip()
            self.show(said)


def follow(child: Child, stop: threading.Event, hear: Lines) -> None:
    """Read the output of `child` to its end, and pass it on every half second."""
    reader = LineReader()
    batch: list[str] = []
    passed, ended = time.monotonic(), None
    stream = child.stdout
    while stream is not None and not stop.is_set():
        if select.select([stream], [], [], 0.1)[0]:
            data = os.read(stream.fileno(), 65_536)
            if not data:
                break
            batch += reader.feed(data)
        now = time.monotonic()
        if batch and (now - passed >= BATCH_SECONDS or len(batch) >= BATCH_LINES):
            hear(batch)
            batch, passed = [], now
        if child.poll() is not None:
            ended = ended or now
            if now - ended > DRAIN_SECONDS:
                break
    if batch := batch + reader.close():
        hear(batch)
