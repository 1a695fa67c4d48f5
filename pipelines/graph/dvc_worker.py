"""The process that does DVC's work on the stages of one run: it compares them with dvc.lock and records outputs.

    python -P dvc_worker.py DESCRIPTOR ROOT

DESCRIPTOR is one end of a multiprocessing.Pipe. Requests and answers are messages in JSON, and are served in order:

    {"do": "status", "stage": NAME}                  the answer has a `state`: that of `nightjar plan`, with `why`
    {"do": "begin", "stage": NAME, "force": BOOL}    unchanged, restored, or run (`commands`, `folder`, `environment`)
    {"do": "finish", "stage": NAME}                  ran
    {"do": "abandon", "stage": NAME}                 abandoned

Any answer may instead be busy (with the `holder` of a lock, if known) or failed (with `error`, its one line). The graph
and its parameters are read once, and again only where a file changed.

When the other end closes, the request that is being served is finished, so that DVC's files remain whole. Signals that
end other processes are ignored.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# When the other end closes: how long the files of stages that still run remain reserved, because their guards may take
# so long to end them, and how long a request that is being served may take.
ENDING_SECONDS = 3.5
LAST_SECONDS = 5.0


class Worker:
    """The repository at `root`, and its stages that have begun."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._begun: dict[str, Any] = {}
        self._project: Any = None

    def load(self) -> None:
        """Load DVC before the first request. An error is reported with that."""
        gc.disable()  # nothing of what is loaded is ever garbage
        with contextlib.suppress(Exception):
            self._open()
        gc.freeze()
        gc.enable()

    def _open(self) -> Any:
        from pipelines.graph import dvc_adapter, dvc_run, dvc_status  # noqa: F401

        self._project = self._project or dvc_adapter.Project(self._root)
        return self._project

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Serve one request."""
        from pipelines.graph import dvc_adapter

        try:
            return self._serve(request["do"], request.get("stage", ""), request)
        except dvc_adapter.Busy as busy:
            return {"state": "busy", "holder": str(busy)}
        except Exception as error:  # DVC raises errors of all kinds for bad files
            self._abandon(request.get("stage", ""))
            return {"state": "failed", "code": 1, "error": dvc_adapter.one_line(error)}

    def _serve(self, do: str, name: str, request: dict[str, Any]) -> dict[str, Any]:
        from pipelines.graph import dvc_run, dvc_status

        if do == "status":
            state, why = dvc_status.status_of(self._open(), name)
            return {"state": state, "why": why}
        if do == "begin":
            begun = dvc_run.begin(self._open(), name, request["force"])
            if isinstance(begun, bool):
                return {"state": "restored" if begun else "unchanged"}
            self._begun[name] = begun
            folder, environment = begun.surroundings
            return {"state": "run", "commands": begun.commands, "folder": folder, "environment": environment}
        if name not in self._begun:  # another worker began it
            return {"state": "failed", "code": 1, "error": "the process that ran DVC was killed"}
        if do == "finish":
            dvc_run.finish(self._open(), self._begun[name])
        self._abandon(name)
        return {"state": "ran" if do == "finish" else "abandoned"}

    def _abandon(self, name: str) -> None:
        if begun := self._begun.pop(name, None):
            with contextlib.suppress(Exception):
                begun.reserved.close()

    def close(self) -> None:
        """Release the files of stages that neither finished nor were abandoned, once their processes have ended."""
        if self._begun:
            time.sleep(ENDING_SECONDS)
        for name in list(self._begun):
            self._abandon(name)


def main(descriptor: int, root: Path) -> None:
    """Serve requests until the other end closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: None)
    worker = Worker(root)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    with Connection(descriptor) as connection:
        threading.Thread(target=_read, args=(connection, requests), daemon=True).start()
        worker.load()
        while request := requests.get():
            answer = json.dumps(worker.answer(json.loads(request)), default=str).encode()
            with contextlib.suppress(OSError):  # the other end has closed in the meantime
                connection.send_bytes(answer)
        worker.close()


def _read(connection: Connection, requests: queue.SimpleQueue[bytes]) -> None:
    with contextlib.suppress(OSError, EOFError):
        while True:
            requests.put(connection.recv_bytes())
    requests.put(b"")
    time.sleep(LAST_SECONDS)
    from pipelines.graph.dvc_run import writing

    with writing:
        os._exit(1)


if __name__ == "__main__":
    # Run as a file, so that no folder `pipelines` of the repository in which it runs is taken for this one.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    main(int(sys.argv[1]), Path(sys.argv[2]))
