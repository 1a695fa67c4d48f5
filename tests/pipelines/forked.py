"""Processes of `nightjar` and `dvc` that begin with what they would load: forked from one that has loaded it.

    python -P forked.py DESCRIPTOR

A rebuild spends most of its processor time on modules of others. Those alone are loaded ahead: Prefect, which reads its
settings while it is loaded, and the project's own modules are loaded by each process for itself, as a user's would.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

# Not coolname, whose generator would give every process the same names of runs.
MODULES = (
    "anyio",
    "anyio.from_thread",
    "asgi_lifespan",
    "cachetools",
    "click",
    "cryptography.fernet",
    "dateutil.parser",
    "fastapi.encoders",
    "fsspec",
    "griffe",
    "h2.connection",
    "httpcore",
    "httpx",
    "humanize",
    "jinja2",
    "jsonschema",
    "multiprocessing.connection",
    "pendulum",
    "prometheus_client",
    "psutil",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pydantic",
    "pydantic.v1",
    "pydantic_extra_types",
    "pydantic_settings",
    "rich.console",
    "rich.progress",
    "ruamel.yaml",
    "slugify",
    "toml",
    "unittest.mock",
    "websockets.asyncio.client",
    "websockets.client",
    "whenever",
    "yaml",
)
# What `dvc repro` loads.
DVC_MODULES = (
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
_NUMBER = struct.Struct("i")
NONE: Mapping[str, float] = {}


class Forked:
    """A forked process: what the tests use of subprocess.Popen."""

    def __init__(self, pid: int, status: IO[bytes], stdout: IO[str], stderr: IO[str]) -> None:
        self.pid, self.stdout, self.stderr = pid, stdout, stderr
        self.returncode: int | None = None
        self._status = status
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        with self._lock:
            if self.returncode is None:
                with selectors.DefaultSelector() as selector:
                    selector.register(self._status, selectors.EVENT_READ)
                    if not selector.select(timeout):
                        raise subprocess.TimeoutExpired(f"forked process {self.pid}", timeout or 0.0)
                told = self._status.read(_NUMBER.size)
                assert told, "the process that forks is gone"
                (self.returncode,) = _NUMBER.unpack(told)
                self._status.close()
            return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read both outputs to their ends. Raises subprocess.TimeoutExpired; nothing can be read afterwards then."""
        read = {}
        threads = []
        for name, stream in (("out", self.stdout), ("err", self.stderr)):

            def drain(name: str = name, stream: IO[str] = stream) -> None:
                read[name] = stream.read()
                stream.close()

            threads.append(threading.Thread(target=drain, daemon=True))
            threads[-1].start()
        self.wait(timeout)
        for thread in threads:
            thread.join(timeout)
            if thread.is_alive():  # something that it left behind holds its output
                raise subprocess.TimeoutExpired(f"output of forked process {self.pid}", timeout or 0.0)
        return read["out"], read["err"]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Forker:
    """The process that forks, and the socket for its orders; it ends when the tests do."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).resolve()), str(theirs.fileno())],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def fork(self, order: Mapping[str, object]) -> Forked:
        ends = [os.pipe() for _ in range(3)]
        socket.send_fds(self._orders, [json.dumps(order).encode()], [write for _, write in ends])
        for _, write in ends:
            os.close(write)
        status, out, err = (read for read, _ in ends)
        told = os.fdopen(status, "rb", buffering=0)
        number = told.read(_NUMBER.size)
        assert number, "the process that forks is gone"
        return Forked(
            _NUMBER.unpack(number)[0],
            told,
            os.fdopen(out, encoding="utf-8"),
            os.fdopen(err, encoding="utf-8"),
        )


@cache
def _forker(pythonpath: str) -> _Forker:
    return _Forker({**os.environ, "PYTHONPATH": pythonpath})


def start(
    program: str,
    arguments: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    waits: Mapping[str, float] = NONE,
    prefect: bool = True,
) -> Forked:
    """`nightjar` or `dvc` with these arguments, in a session of its own. For `nightjar` alone, `waits` are seconds by
    the name of the constant in pipelines/prefect_view/launch.py; without `prefect` it finds no Prefect to show a run.
    """
    order = {
        "program": program,
        "arguments": list(arguments),
        "cwd": str(cwd),
        "env": dict(env),
        "waits": dict(waits),
        "prefect": prefect,
    }
    return _forker(env["PYTHONPATH"]).fork(order)


def _serve(orders: socket.socket) -> dict[str, object] | None:
    """Fork as told until the other end closes; returns the order in each child, and None at the end."""
    running: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(orders, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd in running:
                    pid, status = running.pop(key.fd)
                    _, ended = os.waitpid(pid, 0)
                    with contextlib.suppress(BrokenPipeError):
                        os.write(status, _NUMBER.pack(os.waitstatus_to_exitcode(ended)))
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    os.close(status)
                    continue
                message, descriptors, _, _ = socket.recv_fds(orders, 1 << 18, 3)
                if not message:
                    return None
                status, out, err = descriptors
                pid = os.fork()
                if pid == 0:
                    os.setsid()
                    os.dup2(out, 1)
                    os.dup2(err, 2)
                    for descriptor in [*descriptors, *running, *(other for _, other in running.values())]:
                        os.close(descriptor)
                    orders.close()
                    told: dict[str, object] = json.loads(message)
                    return told
                os.write(status, _NUMBER.pack(pid))
                os.close(out)
                os.close(err)
                watched = os.pidfd_open(pid)
                running[watched] = (pid, status)
                selector.register(watched, selectors.EVENT_READ)


def _main() -> int:
    orders = socket.socket(fileno=int(sys.argv[1]))
    for name in (*MODULES, *DVC_MODULES):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert not {"prefect", "stages", "coolname"} & set(sys.modules)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests themselves were started by nohup
    gc.collect()
    gc.freeze()  # a child that looked for garbage in all this would copy it
    order = _serve(orders)
    if order is None:
        return 0
    os.chdir(str(order["cwd"]))
    os.environ.clear()
    os.environ.update(order["env"])  # type: ignore[call-overload]
    tempfile.tempdir = None
    sys.path.insert(0, "")  # as with `python -c` and `python -m`
    arguments = [str(argument) for argument in order["arguments"]]  # type: ignore[attr-defined]
    sys.argv = [str(order["program"]), *arguments]
    if order["program"] == "dvc":
        from dvc.cli import main as dvc

        return int(dvc(arguments) or 0)
    if order["waits"]:
        from pipelines.prefect_view import launch

        for name, seconds in order["waits"].items():  # type: ignore[attr-defined]
            setattr(launch, name, seconds)
    if not order["prefect"]:
        sys.modules["prefect"] = None  # type: ignore[assignment]
    from pipelines.cli import main

    main()
    return 0


if __name__ == "__main__":
    sys.exit(_main())
