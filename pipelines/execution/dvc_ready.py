"""DVC that has loaded its modules and waits to be told what to do: started ahead by ready.py, as a process of its own.

    python -P dvc_ready.py DESCRIPTOR

DESCRIPTOR is one end of a socket. On it come the arguments of a DVC command as a JSON list, and perhaps a descriptor
that is to be the command's standard input. If the other end is closed before, nothing is done.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
import time
from typing import Any

# What `dvc repro` loads, from the far end; what another version of DVC does not have is loaded when it is needed.
MODULES = (
    "dvc.cli.parser",
    "dvc.commands.repro",
    "dvc.repo.reproduce",
    "dvc.repo.index",
    "dvc.repo.stage",
    "dvc.stage.cache",
    "dvc.stage.run",
    "dvc.stage.loader",
    "dvc.data_cloud",
    "dvc.repo.artifacts",
    "dvc.repo.datasets",
    "dvc.repo.metrics",
    "dvc.repo.params",
    "dvc.repo.plots",
    "dvc.rwlock",
    "dvc.scm",
    "dvc.parsing",
    "dvc.dependency.param",
    "dvc.cachemgr",
    "dvc_data.hashfile.build",
    "dvc_data.hashfile.checkout",
    "dvc_data.index",
    "dulwich.ignore",
    "dulwich.worktree",
    "fsspec.implementations.memory",
    "ruamel.yaml",
)
# How often a lock of DVC's is tried. DVC itself tries every half second, which stages that begin or end together would
# wait for one another, again and again.
TRIES_SECONDS = 0.02


def acquire(lock: Any) -> None:
    """Take a dvc.lock.Lock: Lock.lock, with TRIES_SECONDS. Raises LockError after as long as that does."""
    from dvc.lock import DEFAULT_TIMEOUT, LockError

    deadline = time.monotonic() + DEFAULT_TIMEOUT
    while True:
        try:
            lock._do_lock()
        except LockError:
            if not lock._wait and time.monotonic() > deadline:
                raise
            time.sleep(TRIES_SECONDS)
        else:
            return


def main() -> int:
    descriptor = int(sys.argv[1])
    gc.disable()  # nothing of what is loaded is ever garbage
    for name in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.enable()
    with socket.socket(fileno=descriptor) as orders:
        message, lease, _, _ = socket.recv_fds(orders, 65_536, 1)
    if not message:
        return 0
    for inherited in lease:
        os.dup2(inherited, 0)
        os.close(inherited)
    arguments = [str(argument) for argument in json.loads(message)]
    sys.argv = ["dvc", *arguments]
    from dvc.cli import main as dvc
    from dvc.lock import Lock

    if hasattr(Lock, "_do_lock"):
        Lock.lock = acquire
    code = int(dvc(arguments) or 0)
    gc.freeze()  # else the interpreter looks through all of it once more before it ends
    return code


if __name__ == "__main__":
    sys.exit(main())
