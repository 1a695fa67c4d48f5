"""Run one stage of the DVC graph as a group of processes, with its output as it comes.

`dvc --wait-for-lock repro --single-item STAGE` decides by itself whether the stage must run, can be restored
from the run cache, or is unchanged. Several may run side by side: DVC holds its repository lock whenever it
hashes files or writes dvc.lock, and lets go of it only while a stage's own command runs.
"""

from __future__ import annotations

import contextlib
import io
import locale
import os
import re
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import RawIOBase
from pathlib import Path
from typing import IO, Literal

import psutil

from nightjar.core import history
from pipelines.execution.ready import Pool
from pipelines.process import groups
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
# How long to go on reading when the stage has ended and something that it left behind holds its output open.
DRAIN_SECONDS = 1.0

State = Literal["ran", "restored", "unchanged", "failed", "stopped"]
Lines = Callable[[list[str]], None]

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What DVC says of files that another of its processes has reserved, and then of that process.
_BUSY = "is busy, it is being blocked by:"
_BLOCKER = re.compile(r"^\s*\(PID (\d+)\): (.*)")
_EXIT = re.compile(r", exited with (-?\d+)$")
# What DVC says beside the stage's own output; it stays in the log file.
_NOISE = re.compile(
    r"^(Running stage |> |Updating lock file |Generating lock file |Use `dvc push` |To track the changes "
    r"|\s+git add |To enable auto staging|\s+dvc config core.autostage|Data and pipelines are up to date)"
)


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


def run_stage(
    stage: str,
    root: Path,
    log: Path,
    lines: Lines | None = None,
    stop: threading.Event | None = None,
    grace: float = groups.GRACE,
    arguments: Sequence[str] | None = None,
    lease: int | None = None,
    ready: Pool | None = None,
    earlier: float = 0.0,
) -> Outcome:
    """Run `stage` of the repository at `root` and wait for it; with `arguments`, that command of DVC instead.

    Its whole output goes to the file `log`, and in batches to `lines`, DVC's own remarks left out. When
    `stop` is set, or an exception comes up, its whole process group is ended. If the command ran well, its
    seconds are added to the local history. `lease` is a descriptor that its processes inherit (see lease.py);
    `ready` has processes that may be used. `earlier` seconds that its shares took count as its own. While another
    DVC process, such as a `dvc repro` beside it, has reserved the stage's files, the stage waits. Raises only what
    `lines` raises, and OSError.
    """
    stop = stop or threading.Event()
    log.parent.mkdir(parents=True, exist_ok=True)
    asked = ["--wait-for-lock", *(arguments or ["repro", "--single-item", "--", stage])]
    waits = ""
    while True:
        outcome, blocker = _run(stage, root, log, lines, stop, grace, asked, lease, ready, earlier)
        if outcome.state != "failed" or not blocker:
            return outcome
        if blocker != waits and lines is not None:
            lines([f"waits for another DVC process ({blocker})"])
        waits = blocker
        if stop.wait(BUSY_SECONDS):
            return replace(outcome, state="stopped", error="stopped while it waited for another DVC process")


def _run(
    stage: str,
    root: Path,
    log: Path,
    lines: Lines | None,
    stop: threading.Event,
    grace: float,
    asked: Sequence[str],
    lease: int | None,
    ready: Pool | None,
    earlier: float,
) -> tuple[Outcome, str]:
    """One call of DVC for a stage; returns its outcome, and the DVC process that has reserved its files, if one has."""
    started = time.monotonic()
    process, group = (ready and ready.take(stage, asked, lease)) or groups.start(
        [sys.executable, "-m", "dvc", *asked],
        root,
        stage_environment(),
        stage,
        stdin=subprocess.DEVNULL if lease is None else lease,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    verdict = _Verdict(stage)
    try:
        with log.open("wb", buffering=0) as file:
            follow(
                process,
                process.stdout or io.BytesIO(),
                stop,
                lambda batch: _tell(batch, file, verdict, lines),
            )
        while process.poll() is None and not stop.wait(0.05):
            pass
    finally:
        if process.poll() is None or groups.members(group.number):
            groups.end(group, grace, root / groups.DVC_LOCK)
            process.wait()
        groups.forget(group)
        if process.stdout is not None:
            process.stdout.close()
    seconds = earlier + time.monotonic() - started
    if process.returncode != 0 and stop.is_set():
        return Outcome(stage, "stopped", seconds, log, process.returncode, "stopped before its end"), ""
    if process.returncode != 0:
        code = verdict.exit_code(process.returncode)
        return Outcome(stage, "failed", seconds, log, code, verdict.error()), verdict.blocker
    if verdict.state == "ran":
        with contextlib.suppress(OSError):  # what was computed stands, even if the disk is full
            history.append(root, stage, seconds, "done")
    return Outcome(stage, verdict.state, seconds, log), ""


def follow(
    process: subprocess.Popen[bytes],
    stream: IO[bytes],
    stop: threading.Event,
    tell: Callable[[list[str]], None],
) -> None:
    """Read the stream until its end, handing on what came every half second."""
    reader = LineReader()
    batch: list[str] = []
    told, ended = time.monotonic(), None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not stop.is_set():
            if selector.select(0.1):
                data = os.read(stream.fileno(), 65_536)
                if not data:
                    break
                batch += reader.feed(data)
            now = time.monotonic()
            if batch and (now - told >= BATCH_SECONDS or len(batch) >= BATCH_LINES):
                tell(batch)
                batch, told = [], now
            if process.poll() is not None:
                ended = ended or now
                if now - ended > DRAIN_SECONDS:
                    break
    tell(batch + reader.close())


def _tell(batch: list[str], file: RawIOBase, verdict: _Verdict, lines: Lines | None) -> None:
    if not batch:
        return
    with contextlib.suppress(OSError):  # no room for the log: that is for the stage itself to fail of
        file.write("".join(line + "\n" for line in batch).encode())
    told = [line for line in batch if verdict.hear(line)]
    if told and lines is not None:
        lines(told)


def _runs_dvc(pid: int) -> bool:
    """Whether the process runs DVC: DVC takes any process with the number of a killed one for that one."""
    try:
        return any("dvc" in part for part in psutil.Process(pid).cmdline())
    except (psutil.Error, OSError):
        return False


class _Verdict:
    """Reads out of DVC's remarks whether the stage ran, and why it failed."""

    def __init__(self, stage: str) -> None:
        # A stage that DVC neither runs nor finds unchanged was restored.
        self.state: State = "restored"
        self._begins = f"Running stage '{stage}':"
        self._same = f"'{stage}' didn't change, skipping"
        self._last = self._fault = ""
        # The process that has reserved the stage's files, as DVC names it.
        self.blocker = ""
        self._code: int | None = None

    def hear(self, line: str) -> bool:
        """Take note of a line; whether it is worth showing."""
        if line == self._begins:
            self.state = "ran"
        elif self.state == "restored" and line.removeprefix("Stage ") == self._same:
            self.state = "unchanged"
        if match := _EXIT.search(line):
            # A command killed by a signal: some shells report it as 128 + its number, others die of it themselves.
            code = int(match[1])
            self._code = code if code >= 0 else 128 - code
            return False
        if _BUSY in self._fault and not self.blocker and (match := _BLOCKER.match(line)):
            self.blocker = f"process {match[1]}: {match[2]}" if _runs_dvc(int(match[1])) else ""
        if line.startswith("ERROR: "):
            self._fault = self._fault or line.removeprefix("ERROR: ")
        elif line.strip() and not _NOISE.match(line):
            self._last = line.strip()
        # What DVC says of the other process is said once, when the wait begins.
        return bool(line.strip()) and not (_NOISE.match(line) or _BUSY in line or self.blocker)

    def exit_code(self, dvc: int) -> int:
        """The exit status of the stage's own command where DVC told it, else of DVC."""
        return dvc if self._code is None else self._code

    def error(self) -> str:
        """The stage's own last line if its command failed, else DVC's first error."""
        own = self._last if self._code is not None else ""
        return own or self._fault or self._last or "ended without a word"


class Stages:
    """Runs stages of one repository; several threads may call `run`."""

    def __init__(self, root: Path) -> None:
        self._root = root

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
        """Run one stage; with `afresh` whatever DVC knows of it, and nothing is kept in DVC's cache."""
        from pipelines.graph import lock_copy

        options = ("--single-item", "--force", "--no-run-cache", "--no-commit")
        arguments = ["repro", *options, "--", stage] if afresh else None
        outcome = run_stage(
            stage, self._root, log, lines, stop, arguments=arguments, lease=lease, earlier=earlier
        )
        if outcome.state == "ran" and not afresh:
            lock_copy.keep(self._root, stage)
        return outcome

    def close(self) -> None:
        """End what serves the stages."""
