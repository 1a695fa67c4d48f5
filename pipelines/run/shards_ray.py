"""Shares of a stage as tasks of a Ray cluster."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from urllib.parse import urlsplit

import ray
from ray.exceptions import RayError, RayTaskError

from nightjar.core.errors import NightjarError, first_line
from nightjar.params.drivers import Shards
from pipelines.process.child import GRACE
from pipelines.run.shards import KILLED, POLL_SECONDS, Execute, Work, run_locally

CONNECT_SECONDS = 10.0
FIX = "every worker must see the project's folder under the same path, and have the same environment (docs/scaling.md)"


def connect(settings: Shards) -> Execute:
    """Connect to the cluster of the settings, or start one on this machine (`local`). Raises NightjarError."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    address = str(settings.address)
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
    # A lost share is started again by shards_run, not by Ray.
    remote = ray.remote(num_cpus=settings.cpus, num_gpus=settings.gpus, max_retries=0)(on_worker)

    def run(work: Work, number: int, stop: threading.Event) -> int:
        result = remote.remote(work, number)
        try:
            while not ray.wait([result], timeout=POLL_SECONDS)[0]:
                if stop.is_set():
                    ray.cancel(result)
                    ray.wait([result], timeout=GRACE + 1)
                    return KILLED
            return int(ray.get(result))
        except RayTaskError as error:
            if isinstance(error.cause, NightjarError):
                raise error.cause from None
            raise NightjarError(first_line(error.cause), "a worker of Ray", FIX) from None
        except RayError as error:
            with work.share_log(number).open("a", encoding="utf-8") as log:
                log.write(f"{first_line(error)}\n")
            return KILLED + signal.SIGKILL

    return run


def on_worker(work: Work, number: int) -> int:
    """Run one share on a worker of Ray; returns the exit status of the command."""
    # Ray cancels a task by SIGINT, which a cluster that was started in the background ignores.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run_locally(work, number, threading.Event())
    except FileNotFoundError:
        raise NightjarError(f"{work.folder} is not there", socket.gethostname(), FIX) from None
