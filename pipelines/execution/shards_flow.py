"""The Prefect flow `shards`: the shares of one stage's work, a task each, on this machine or a Ray cluster.

A process of its own (see shards.share): Ray is told of nothing but what stands here, and its troubles stay here. A task
runs the stage's command with `--shard I/N` in the project's folder, which all workers see. A share keeps what it has
done, so that a lost one is simply started again, wherever there is room.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from nightjar.core import display
from nightjar.core.driver_params import Shards
from nightjar.core.errors import NightjarError
from pipelines.execution.run_stage import environment
from pipelines.execution.shards import Work, share_log
from pipelines.process.child import Child
from pipelines.project import places

MARKS = places.SHARDS
LOCAL = "local"
POLL_SECONDS = 0.5
# From TERM to KILL of a share that is stopped.
GRACE = 2.0
CONNECT_SECONDS = 10.0
# How long shares that are ended may take.
END_SECONDS = POLL_SECONDS + GRACE + 1.0


class ShareError(Exception):
    """A share's command ended badly: its exit status and its last line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(status, line)
        self.status, self.line = status, line

    @property
    def lost(self) -> bool:
        """Whether it was killed, and did not fail by itself."""
        return self.status > 128


class Stopped(Exception):
    """The share was stopped, as were all the others."""


@task(task_run_name="{number}/{of}", cache_policy=NO_CACHE, persist_result=False)
def share(work: dict[str, Any], number: int, of: int, mark: tuple[str, str]) -> None:
    """Do one share, on whatever machine this runs on, for as long as `mark`, a file and its text, is there.

    Raises NightjarError if this machine does not see the project, ShareError if the command fails, Stopped.
    """
    it = Work(**work)
    if not Path(it.root).is_dir():
        raise NightjarError(f"{it.root} is not there", socket.gethostname(), FIX)
    if not _is_there(*mark):
        # It may be another folder of that name, or all may be over already.
        raise Stopped(socket.gethostname())
    log = share_log(Path(it.log), number)
    begins = log.stat().st_size if log.exists() else 0
    command = [*it.command, "--shard", f"{number}/{of}"]
    with (
        log.open("ab") as output,
        Child(
            command,
            Path(it.root) / it.folder,
            environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            grace=GRACE,
        ) as child,
    ):
        while child.poll() is None and _is_there(*mark):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(POLL_SECONDS)
        stopped = child.poll() is None
        status = child.end()
    if stopped:
        raise Stopped(socket.gethostname())
    if status != 0:
        with log.open("rb") as stream:
            stream.seek(begins)
            lines = stream.read().decode("utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "ended without a word")
        raise ShareError(status, last)


FIX = "every worker must see the project's folder under the same path, and have the same environment (docs/scaling.md)"


def _is_there(path: str, text: str) -> bool:
    try:
        return Path(path).read_text(encoding="ascii") == text
    except OSError:
        return False


@dataclass
class _Share:
    number: int
    attempts: int = 0
    future: PrefectFuture[Any] | None = None


@flow(name="shards", persist_result=False, flow_run_name="{stage}: {count} shards", log_prints=False)
def run(
    stage: str, work: dict[str, Any], count: int, settings: dict[str, Any], mark: tuple[str, str]
) -> None:
    """Have all shares done, or end them all when the mark goes.

    Raises NightjarError if one fails, or is lost too often.
    """
    wanted = Shards(**settings)
    waiting = [_Share(number) for number in range(1, count + 1)]
    try:
        with _options(wanted):
            while waiting and _is_there(*mark):
                for one in list(waiting):
                    if one.future is None:
                        one.attempts += 1
                        one.future = share.submit(work, one.number, count, mark)
                    try:
                        one.future.result(timeout=POLL_SECONDS / len(waiting))
                    except TimeoutError:
                        continue
                    except Exception as error:
                        if _is_there(*mark):
                            _again(one, error, count, wanted)
                    else:
                        waiting.remove(one)
                        _say(f"shard {one.number}/{count} done, {count - len(waiting)} of {count}")
    finally:
        Path(mark[0]).unlink(missing_ok=True)  # each share that still runs looks for it
        deadline = time.monotonic() + END_SECONDS
        for one in waiting:
            if one.future is not None:
                one.future.wait(timeout=max(deadline - time.monotonic(), 0.01))


def _again(one: _Share, error: Exception, count: int, settings: Shards) -> None:
    """Have a lost share done again. Raises NightjarError if it failed by itself, or was lost too often."""
    name = f"shard {one.number}/{count}"
    if isinstance(error, NightjarError):
        raise error
    why = _first_line(error)
    if isinstance(error, ShareError):
        why = f"exit status {error.status}" + ("" if error.lost else f": {error.line}")
        # After a loss the share may find that what was lost is not quite over yet, and holds its part of the work.
        if not error.lost and one.attempts == 1:
            raise NightjarError(why, name, "see its log, and run again")
    if isinstance(error, Stopped):
        raise NightjarError(f"the project's folder on {error} is another one", name, FIX)
    if one.attempts >= settings.attempts:
        fix = "see its log; another run goes on where it was"
        raise NightjarError(f"lost {one.attempts} times, at last: {why}", name, fix)
    _say(f"{name} was lost ({why}): it is started again")
    one.future = None


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


@contextlib.contextmanager
def _options(settings: Shards) -> Iterator[None]:
    """What Ray is to give each share. A lost one is started again here, not by Ray."""
    if settings.address is None:
        yield
        return
    from prefect_ray.context import remote_options

    with remote_options(num_cpus=settings.cpus, num_gpus=settings.gpus, max_retries=0):
        yield


def _runner(settings: Shards) -> TaskRunner[Any]:
    """The task runner; connected, where there is a Ray cluster. Raises NightjarError if there is none."""
    if settings.prefect_api:
        _reach(settings.prefect_api, "prefect_api", "give the address of a running Prefect server, or null")
    if settings.address is None:
        if settings.gpus:
            what, fix = "only Ray deals out GPUs", "set shards.address to local or a cluster's, or gpus to 0"
            raise NightjarError(what, f"shards.gpus: {settings.gpus:g}", fix)
        return ThreadPoolTaskRunner(max_workers=settings.count)
    if importlib.util.find_spec("prefect_ray") is None:
        raise NightjarError(
            "prefect-ray is not installed", "shards.address", "`pip install -c requirements.lock -e '.[ray]'`"
        )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from prefect_ray import RayTaskRunner

    more: dict[str, Any] = {}
    if settings.address == LOCAL:
        more = {"include_dashboard": False}
    else:
        _reach(settings.address, "address", "give the address of a running Ray cluster, local, or null")
    try:
        ray.init(
            settings.address,
            namespace="nightjar",
            log_to_driver=False,
            logging_level=logging.ERROR,
            **more,
        )
    except Exception as error:
        what = f"no Ray cluster can be used ({_first_line(error)})"
        raise NightjarError(what, f"shards.address: {settings.address}", "see `ray status` there") from None
    return RayTaskRunner(address=settings.address)


def _reach(address: str, key: str, fix: str) -> None:
    """Raises NightjarError if nobody listens at a host and port: Ray itself would try for minutes."""
    place = urlsplit(address if "://" in address else f"//{address}")
    try:
        if place.hostname and place.port:
            socket.create_connection((place.hostname, place.port), CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise NightjarError(f"nobody answers ({error})", f"shards.{key}: {address}", fix) from None


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Do the work that the one argument, JSON of `work` and `settings`, names: exit status 0 when all shares are done,
    2 with one line else, 143 if stopped by SIGTERM.
    """
    display.protect()
    asked = json.loads(sys.argv[1])
    work, settings = Work(**asked["work"]), Shards(**asked["settings"])
    file = Path(work.root) / MARKS / uuid.uuid4().hex
    mark = (str(file), file.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(file.name, encoding="ascii")
    stopped = threading.Event()

    def stop(number: int, frame: object) -> None:
        stopped.set()
        file.unlink(missing_ok=True)  # every share looks for it

    status = 0
    try:
        runner = _runner(settings)
        signal.signal(signal.SIGTERM, stop)  # after Ray, which has a handler of its own
        signal.signal(signal.SIGINT, stop)
        named = run.with_options(task_runner=runner)
        named(work.stage, asdict(work), settings.count, settings.model_dump(), mark)
    except NightjarError as error:
        print(f"nightjar: {error}", file=sys.stderr)
        status = 2
    finally:
        file.unlink(missing_ok=True)
    if stopped.is_set():
        status = 128 + signal.SIGTERM
    raise SystemExit(status)
