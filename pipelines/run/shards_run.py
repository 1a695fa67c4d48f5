"""The process that runs the shares of a stage: processes of this machine, or tasks of a Ray cluster.

    python -P -m pipelines.run.shards_run WORK     WORK is a shards.Work as JSON

Ray starts threads, sets signal handlers, writes to the standard streams, and ends the process that loses its cluster:
the run itself must not be that process. When the run dies, its guard ends this process, which ends the shares.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

from nightjar.core.errors import NightjarError
from pipelines.process.child import last_line
from pipelines.run.shards import KILLED, Execute, Work, run_locally
from stages._runtime.standard_streams import protect


def main() -> None:
    """Run the shares of the work that the one argument describes, until each has succeeded, or until SIGTERM.

    Ends with one line on standard error if a share fails.
    """
    protect()
    work, stop = Work.model_validate_json(sys.argv[1]), threading.Event()
    count = work.settings.count
    run: Execute = run_locally
    try:
        if work.settings.address is not None:
            from pipelines.run.shards_ray import connect

            run = connect(work.settings)
        for number in (signal.SIGTERM, signal.SIGINT):  # after Ray, which has a handler of its own
            signal.signal(number, lambda number, frame: stop.set())
        with ThreadPoolExecutor(count) as pool:
            shares = {pool.submit(_until_done, work, it, run, stop): it for it in range(1, count + 1)}
            try:
                for done, share in enumerate(as_completed(shares), start=1):
                    share.result()
                    if not stop.is_set():
                        _say(f"{work.name(shares[share])} done, {done} of {count}")
            finally:
                stop.set()
    except NightjarError as error:
        raise SystemExit(f"nightjar: {error}") from None


def _until_done(work: Work, number: int, run: Execute, stop: threading.Event) -> None:
    """Run a share until it has succeeded. One that was killed is lost, and started again.

    Raises NightjarError if it failed by itself or was lost too often.
    """
    for tried in itertools.count(1):
        status = run(work, number, stop)
        if status == 0 or stop.is_set():
            return
        why = f"exit status {status}"
        if status <= KILLED:
            why = f"{why}: {last_line(work.share_log(number))}"
            # After a loss, the lost process may still hold its part of the checkpoint, and the share then fails.
            if tried == 1:
                raise NightjarError(why, work.name(number), "see its log, and run again")
        if tried == work.settings.attempts:
            fix = "see its log; another run resumes the work"
            raise NightjarError(f"lost {tried} times, the last time: {why}", work.name(number), fix)
        _say(f"{work.name(number)} was lost ({why}): it is started again")


def _say(line: str) -> None:
    print(f"{line}\n", end="", flush=True)  # in one write, for several threads


if __name__ == "__main__":
    main()
