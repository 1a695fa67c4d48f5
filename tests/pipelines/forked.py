"""Processes that begin with what they would load: forked from one that has loaded it.

    python -P forked.py DESCRIPTOR SET

A rebuild spends most of its processor time on modules of others. Those alone are loaded ahead, one SET of them. The
project's own modules are loaded by each process for itself, as a user's would. `start` starts `nightjar` or `dvc`.
`interpreter` is a `python` that has stages, launchers and DVC forked, and executes the interpreter for all else.

The forkserver of multiprocessing does not suffice: it forks only for the process that started it and for children of
multiprocessing, and so neither for the shell in which DVC starts `python -m stages.train` nor for several workers.

All workers of the tests share the process with each set. It listens at an abstract address: the worker that could bind
it starts the process, which ends with the last worker that uses it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

# What takes time to load, with all that it loads itself: for rebuilds and DVC, and for stages with a model.
SETS = {
    "dvc": (
        "prefect.flow_engine",
        "prefect.task_engine",
        "prefect.artifacts",
        "fastapi.encoders",
        "jinja2",
        "psutil",
        "pyarrow.compute",
        "pyarrow.parquet",
        "pydantic.v1",
        "ruamel.yaml",
        "dvc.cli.parser",
        "dvc.commands.repro",
        "dvc.repo.artifacts",
        "dvc.repo.datasets",
        "dvc.repo.plots",
        "dvc.repo.reproduce",
        "dvc.scm",
        "dulwich.worktree",
    ),
    "torch": (
        "accelerate",
        "faiss",
        "httpx",
        "jinja2",
        "pandas",
        "peft",
        "pyarrow.acero",
        "pyarrow.parquet",
        "pydantic.json_schema",
        "rapidfuzz.process",
        "ruamel.yaml",
        "transformers.models.bert.modeling_bert",
        "transformers.models.llama.modeling_llama",
    ),
}
# The words after `python`, as patterns of the shell, of processes that are forked from the one with each set.
FORKED = {
    "dvc": "'-m dvc '*|'-P '*'/pipelines/graph/dvc_worker.py '*",
    "torch": "'-c '*|'-m stages.'*|'-u -m stages.'*|'-u -m worker '*|"
    "'-m accelerate.commands.launch '*|'-m torch.distributed.run '*",
}
# In a shell's language, because an interpreter takes twenty times as long to start.
SCRIPT = """#!/bin/sh
case "$*" in
{cases}
*) exec {python} "$@" ;;
esac
"""
CASE = """{words}) exec {python} -ISs {client} {address} "$0" "$@" ;;"""
# Waits for the forked process, which dies with it. Signals are passed on.
CLIENT = """
import json, os, signal, socket, struct, sys
address, python, *words = sys.argv[1:]
order = dict(words=words, cwd=os.getcwd(), env=dict(os.environ), python=python)
descriptors = [0, 1, 2]
if words[0] == "-P":
    descriptors.append(int(words[2]))
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect("\\0" + address)
    socket.send_fds(server, [json.dumps(order).encode()], descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    (pid,) = struct.unpack("i", server.recv(4))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(pid, number))
    (code,) = struct.unpack("i", server.recv(4))
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""
_NUMBER = struct.Struct("i")


class _Forker:
    """A use of the process that forks from the modules of a set."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        self.address = f"nightjar-tests-{run}-{kind}"
        while not self._use():
            self._start()

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect("\0" + self.address)
        return connection

    def _use(self) -> bool:
        """Whether there is such a process, which remains now as long as this one."""
        try:
            self._used = self.connect()
            self._used.send(b"use")
            return bool(self._used.recv(_NUMBER.size))
        except OSError:
            return False

    def _start(self) -> None:
        settings = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as orders:
            try:
                orders.bind("\0" + self.address)
            except OSError:  # another worker starts it
                return
            orders.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).resolve()), str(orders.fileno()), self.kind],
                cwd="/",
                env=kept | settings,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[orders.fileno()],
                start_new_session=True,
            )


@cache
def _forker(kind: str) -> _Forker:
    return _Forker(kind)


@cache
def _scripts() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _client() -> Path:
    path = Path(_scripts().name, "client.py")
    path.write_text(CLIENT, encoding="utf-8")
    return path


@cache
def _dvc_python() -> str:
    """The `python` of forked processes. It has another name, so that their stages' `python` is the interpreter."""
    return _script("forking", ["dvc"])


@cache
def interpreter() -> str:
    """The path of a `python` that forks stages, launchers, code and DVC."""
    return _script("python", ["torch", "dvc"])


def _script(name: str, sets: Sequence[str]) -> str:
    path, python = Path(_scripts().name, name), shlex.quote(sys.executable)
    cases = [
        CASE.format(words=FORKED[modules], python=python, client=_client(), address=_forker(modules).address)
        for modules in sets
    ]
    path.write_text(SCRIPT.format(cases="\n".join(cases), python=python), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def start(
    program: str, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], python: str = ""
) -> subprocess.Popen[str]:
    """Start `nightjar` or `dvc` with these arguments, in a session of its own.

    `nightjar` starts processes with `python`, by default one that forks those of DVC.
    """
    words = ["-m", "dvc"] if program == "dvc" else [program]
    address = _forker("dvc").address
    return subprocess.Popen(
        [sys.executable, "-ISs", _client(), address, python or _dvc_python(), *words, *arguments],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )


def _serve(orders: socket.socket) -> tuple[dict[str, Any], socket.socket] | None:
    """Fork as told until nobody uses this process; returns the order in each child, and None at the end."""
    running: dict[int, tuple[int, socket.socket]] = {}
    users: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(orders, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd in users:
                    selector.unregister(key.fd)
                    users.pop(key.fd).close()
                    if not users:
                        return None
                    continue
                if key.fd in running:
                    pid, status = running.pop(key.fd)
                    _, ended = os.waitpid(pid, 0)
                    with contextlib.suppress(OSError):
                        status.send(_NUMBER.pack(os.waitstatus_to_exitcode(ended)))
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    status.close()
                    continue
                status, _ = orders.accept()
                message, descriptors, _, _ = socket.recv_fds(status, 1 << 18, 4)
                if message == b"use":
                    users[status.fileno()] = status
                    selector.register(status, selectors.EVENT_READ)
                    status.send(_NUMBER.pack(0))
                    continue
                if not descriptors:  # its sender is gone
                    status.close()
                    continue
                pid = os.fork()
                if pid == 0:
                    os.setsid()
                    for number, descriptor in enumerate(descriptors[:3]):
                        os.dup2(descriptor, number)
                        os.close(descriptor)
                    for other in (orders, *users.values(), *(it for _, it in running.values())):
                        other.close()
                    for descriptor in running:
                        os.close(descriptor)
                    return {**json.loads(message), "descriptors": descriptors[3:]}, status
                with contextlib.suppress(OSError):
                    status.send(_NUMBER.pack(pid))
                for descriptor in descriptors:
                    os.close(descriptor)
                watched = os.pidfd_open(pid)
                running[watched] = (pid, status)
                selector.register(watched, selectors.EVENT_READ)


def _die_with(client: socket.socket) -> None:
    client.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


def _run(order: dict[str, Any]) -> int:
    """Do what `python` does with the words of the order; returns the exit status."""
    words, env = order["words"], order["env"]
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None
    sys.executable = order["python"]
    sys.path[:0] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    if words[0] != "-P" and not env.get("PYTHONSAFEPATH"):
        sys.path.insert(0, order["cwd"])
    while words[0] == "-u":
        del words[0]
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        elif words[0] == "-P":
            sys.argv = [words[1], str(order["descriptors"][0]), *words[3:]]
            runpy.run_path(words[1], run_name="__main__")
        elif words[0] == "-c":
            sys.argv = ["-c", *words[2:]]
            sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(words[1], "<string>", "exec"), sys.modules["__main__"].__dict__)
        else:
            sys.argv = words
            from pipelines.cli import main

            main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _main() -> None:
    orders = socket.socket(fileno=int(sys.argv[1]))
    for name in SETS[sys.argv[2]]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert not {"stages", "nightjar", "pipelines"} & sys.modules.keys()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests themselves were started by nohup
    gc.collect()
    gc.freeze()  # a child that looked for garbage in all this would copy it
    request = _serve(orders)
    if request is None:
        return
    order, client = request
    status = [1]

    def end() -> None:
        """Without the garbage of all that was loaded ahead, which takes a quarter of a second."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status[0])

    atexit.register(end)  # after all that the process itself registers
    threading.Thread(target=_die_with, args=[client], daemon=True).start()
    status[0] = _run(order)


if __name__ == "__main__":
    _main()
