"""The process that runs the shares of a stage as tasks of a Ray cluster.

Ray starts threads, sets signal handlers, writes to the standard streams, and ends the process that loses its cluster:
the run itself must not be that process. When the run dies, its guard ends this process, which ends the tasks.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import ray
from ray.exceptions import RayError, RayTaskError

from nightjar.core import display
from nightjar.core.errors import NightjarError, first_line
from pipelines.execution.shards import KILLED, POLL_SECONDS, Work, conduct
from pipelines.process.child import GRACE

CONNECT_SECONDS = 10.0
FIX = "every worker must see the project's folder under the same path, and have the same environment (docs/scaling.md)"


def work_on(work: Work, number: int) -> int:
    """Run one share on a worker of Ray; returns the exit status of the command."""
    # Ray cancels a task by SIGINT, which a cluster that was started in the background ignores.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        child = work.start(number)
    except FileNotFoundError:
        raise NightjarError(f"{work.folder} is not there", socket.gethostname(), FIX) from None
    with child:
        while (status := child.poll()) is None:  # a call that waits longer is not interrupted
            time.sleep(POLL_SECONDS)
        return status


class Task:
    """A share as a task of Ray."""

    def __init__(self, function: Any, work: Work, number: int) -> None:
        self._log = work.share_log(number)
        self._result = function.remote(work, number)

    def poll(self) -> int | None:
        """The exit status of the command, or that of a killed one if Ray lost the task. Raises NightjarError."""
        if not ray.wait([self._result], timeout=0)[0]:
            return None
        try:
            return int(ray.get(self._result))
        except RayTaskError as error:
            if isinstance(error.cause, NightjarError):
                raise error.cause from None
            raise NightjarError(first_line(error.cause), "a worker of Ray", FIX) from None
        except RayError as error:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(f"{first_line(error)}\n")
            return KILLED + signal.SIGKILL

    def end(self) -> None:
        """End the command, wherever it runs."""
        ray.cancel(self._result)
        ray.wait([self._result], timeout=GRACE + 1)


def connect(address: str) -> None:
    """Connect to a cluster, or start one on this machine (`local`). Raises NightjarError."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # A Ray that this process starts is in another group: TERM must not end it before its tasks.
    group = os.getpgrp()
    os.setpgid(0, 0)
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        if place.hostname and place.port:  # Ray itself would try for minutes
            socket.create_connection((place.hostname, place.port), CONNECT_SECONDS).close()
        ray.init(
            address,
            namespace="nightjar",
            log_to_driver=False,
            logging_level=logging.ERROR,
            include_dashboard=False,
        )
    except Exception as error:
        what = f"no Ray cluster can be used ({first_line(error)})"
        fix = "give the address of a running Ray cluster, local, or null"
        raise NightjarError(what, f"shards.address: {address}", fix) from None
    finally:
        os.setpgid(0, group)


def main() -> None:
    """Do the work that the one argument, JSON, describes. Ends with one line on standard error if that fails."""
    display.protect()
    work, stop = Work.model_validate_json(sys.argv[1]), threading.Event()
    settings = work.settings
    try:
        connect(str(settings.address))
        for number in (signal.SIGTERM, signal.SIGINT):  # after Ray, which has a handler of its own
            signal.signal(number, lambda number, frame: stop.set())
        # `conduct` starts a lost share again, not Ray.
        remote = ray.remote(num_cpus=settings.cpus, num_gpus=settings.gpus, max_retries=0)(work_on)
        conduct(work, lambda number: Task(remote, work, number), lambda line: print(line, flush=True), stop)
    except NightjarError as error:
        raise SystemExit(f"nightjar: {error}") from None
