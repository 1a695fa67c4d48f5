"""The Prefect server of this project: loopback only, its data in .nightjar/prefect, no analytics, no other
network.

A server that runs is written down in .nightjar/server.json; a rebuild uses it, or starts one for itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from nightjar.core import json_text
from nightjar.core.errors import NightjarError
from nightjar.core.files import own_folder, private_folder, write_text
from pipelines.process.child import Child, end_group
from pipelines.process.identity import alive, identity
from pipelines.project import places
from pipelines.project.environment import SECRETS, WEBHOOK

HOME = places.PREFECT
STATE = places.SERVER
LOG = HOME / "server.log"
HOST = "127.0.0.1"
PORT = 4200
STARTING_SECONDS = 90.0
# How long a command waits for a server that runs and does not answer.
BUSY_SECONDS = 30.0
Process = Child | subprocess.Popen[bytes]


@dataclass(frozen=True)
class Server:
    """A running server: its process, what sets that apart from later ones (identity), and its port."""

    pid: int
    started: str
    port: int
    owner: str

    @property
    def url(self) -> str:
        """Where people open it."""
        return f"http://{HOST}:{self.port}"


def installed() -> bool:
    """Whether Prefect is installed."""
    return importlib.util.find_spec("prefect") is not None


def require() -> None:
    """Raise NightjarError if Prefect is not installed."""
    if not installed():
        fix = "`pip install -c requirements.lock -e '.[prefect]'`, or run `dvc repro`, which does the same"
        raise NightjarError("Prefect is not installed", "nightjar", fix)


def environment(root: Path, url: str | None = None) -> dict[str, str]:
    """The environment of a server at `root`, or of a client of the server at `url`.

    Settings of another Prefect (a profile, a key of its cloud) do not leak in. Of the secrets it has only the password
    of the database, and a client not even that.
    """
    needless = {WEBHOOK} if url is None else {*SECRETS}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in needless and not name.startswith("PREFECT_")
    }
    home = (root / HOME).resolve()
    # Here, not above: with nothing to do no parameters are read, and pydantic takes long to load.
    from nightjar.core.config import PARAMS_FILE
    from nightjar.core.driver_params import load_server

    database = load_server(root / PARAMS_FILE).database
    direct = ",".join(filter(None, [kept.get("NO_PROXY") or kept.get("no_proxy"), "127.0.0.1", "localhost"]))
    ours = {
        "NO_PROXY": direct,
        "no_proxy": direct,
        "DO_NOT_TRACK": "1",
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": database or f"sqlite+aiosqlite:///{home / 'prefect.db'}",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        "PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "1.0",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
        # A server that goes away in the middle of a call is noticed soon.
        "PREFECT_CLIENT_MAX_RETRIES": "2",
        "PREFECT_API_REQUEST_TIMEOUT": "10",
        "PREFECT_CLI_PROMPT": "false",
    }
    if url is not None:
        ours["PREFECT_API_URL"] = f"{url}/api"
    return {**kept, **ours}


def healthy(url: str, seconds: float = 2.0) -> bool:
    """Whether the server at `url` says that it is well."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/api/health", timeout=seconds) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def recorded(root: Path) -> Server | None:
    """The server of the project at `root` whose process runs, whether it answers or not."""
    try:
        server = Server(**json_text.parse((root / STATE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return server if alive(server.pid, server.started) else None


def find(root: Path) -> Server | None:
    """The server that runs for the project at `root`; None if none runs.

    One that is busy, or is just starting, is waited for. Raises NightjarError if it does not answer in BUSY_SECONDS:
    a second one must not use the same database.
    """
    deadline = None
    while (server := recorded(root)) is not None and not healthy(server.url):
        if deadline is None:
            deadline = time.monotonic() + BUSY_SECONDS
            waits = f"does not answer yet; waiting up to {BUSY_SECONDS:.0f} s"
            print(f"nightjar: the Prefect server (process {server.pid}) {waits}", file=sys.stderr, flush=True)
        elif time.monotonic() > deadline:
            what = f"the Prefect server (process {server.pid}) does not answer"
            raise NightjarError(what, server.url, "end it with `nightjar ui --stop`, then run again")
        time.sleep(0.1)
    return server


def free_port(wanted: int = 0) -> int:
    """`wanted` if nothing listens there, else a port that the system gives."""
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return int(probe.getsockname()[1])
    raise NightjarError("no port is free", HOST, "close some programs")


def start(root: Path, port: int, owner: str, stays: bool = False) -> tuple[Server, Process]:
    """Start a server and record it; it may not answer yet (see `wait`). It ends with this process unless it `stays`."""
    private_folder(root / HOME)  # the secrets of its database, and the key to them
    (root / LOG).touch(mode=0o600)
    command = [sys.executable, str(Path(__file__).with_name("server_app.py").resolve()), HOST, str(port)]
    # The page that the server serves asks this address for everything; by default that is port 4200's.
    address = {
        "PREFECT_SERVER_UI_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_UI_URL": f"http://{HOST}:{port}",
    }
    whole = environment(root) | address
    process: Process
    with (root / LOG).open("ab") as log:
        if stays:
            process = subprocess.Popen(
                command,
                cwd=root,
                env=whole,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                umask=0o077,
                start_new_session=True,
            )
        else:
            process = Child(command, root, whole, stdout=log, stderr=log, umask=0o077)
    server = Server(process.pid, identity(process.pid), port, owner)
    write_text(root / STATE, json.dumps(asdict(server)) + "\n")
    return server, process


def wait(
    root: Path,
    server: Server,
    process: Process,
    seconds: float = STARTING_SECONDS,
) -> None:
    """Wait until the server answers. Raises NightjarError with the last line of its log if it ends or takes longer."""
    deadline = time.monotonic() + seconds
    while not healthy(server.url):
        if process.poll() is not None:
            what = f"the Prefect server ended: {last_line(root / LOG)}"
            raise NightjarError(what, root / LOG, "read that file")
        if time.monotonic() > deadline:
            what = f"no answer from the Prefect server in {seconds:.0f} s"
            raise NightjarError(what, root / LOG, "read that file")
        time.sleep(0.1)


def last_line(path: Path) -> str:
    """The last line of a log that has text."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    texts = [re.sub(r"\s+", " ", line).strip() for line in lines]
    return next((line for line in reversed(texts) if line), "its log is empty")


def stop(root: Path, server: Server) -> None:
    """End a server that `start` began, here or in another process."""
    end_group(server.pid, server.started)
    with contextlib.suppress(OSError):
        if json_text.recorded(root / STATE).get("pid") == server.pid:
            (root / STATE).unlink()


@contextlib.contextmanager
def running(root: Path, port: int, owner: str) -> Iterator[Server]:
    """The project's server: the one that runs, or one that is started now at `port` and ends with the block."""
    own_folder(root)
    with (root / places.SERVER_LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs that begin at once start one server
        server, process = find(root), None
        if server is None:
            server, process = start(root, free_port(port), owner)
    try:
        if process is not None:
            wait(root, server, process)
        yield server
    finally:
        if process is not None:
            stop(root, server)
            process.wait()
