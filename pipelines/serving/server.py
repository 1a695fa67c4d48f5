"""The Prefect server of this project: loopback only, its data in .nightjar/prefect, no analytics, no other network.

The file .nightjar/server.json names the server that runs; a rebuild uses it, or starts one for itself.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nightjar.core import json_text, paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import private_folder, write_text
from pipelines.process.child import Child, alive, end_group, identity, last_line
from pipelines.project.names import SECRETS, WEBHOOK, without

LOG = paths.PREFECT / "server.log"
HOST = "127.0.0.1"
PORT = 4200
STARTING_SECONDS = 90.0
# How long a command waits for a server that runs and does not answer.
BUSY_SECONDS = 90.0
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
        """Return the address at which people open it."""
        return f"http://{HOST}:{self.port}"


def installed() -> bool:
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
    # Here, not above: pydantic takes long to load.
    from nightjar.core.config import PARAMS_FILE
    from nightjar.params.drivers import ServerSettings

    inherited = without([WEBHOOK] if url is None else SECRETS)
    home = (root / paths.PREFECT).resolve()
    database = ServerSettings.load(root / PARAMS_FILE).database
    direct = ",".join(
        filter(None, [inherited.get("NO_PROXY") or inherited.get("no_proxy"), "127.0.0.1", "localhost"])
    )
    settings = {
        "HOME": str(home),
        "SERVER_ANALYTICS_ENABLED": "false",
        "SERVER_DATABASE_CONNECTION_URL": database or f"sqlite+aiosqlite:///{home / 'prefect.db'}",
        "SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "SERVER_ALLOW_EPHEMERAL_MODE": "false",
        # Nothing here uses the types of blocks. To look for them takes a fifth of the time of a start.
        "SERVER_REGISTER_BLOCKS_ON_START": "false",
        "SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
        # Otherwise a server that is started again has forgotten who holds a limit, and Prefect ends their runs.
        "SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        "SERVER_LOGGING_LEVEL": "WARNING",
        "LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        "LOGGING_INTERNAL_LEVEL": "CRITICAL",
    }
    if url is not None:
        # A client soon notices a server that hangs. The server itself, which calls its API for automations, has the
        # patience that is Prefect's default.
        settings |= {"API_URL": f"{url}/api", "API_REQUEST_TIMEOUT": "5", "CLIENT_MAX_RETRIES": "3"}
    ours = {f"PREFECT_{name}": value for name, value in settings.items()}
    return {**inherited, "NO_PROXY": direct, "no_proxy": direct, "DO_NOT_TRACK": "1", **ours}


def healthy(url: str, seconds: float) -> bool:
    """Return true if the server at `url` answers within so many seconds that it is well."""
    # Not httpx: it reads the certificates of the system for each call, and a start asks ten times a second.
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=seconds)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def recorded(root: Path) -> Server | None:
    """The server of the project at `root` whose process runs, whether it answers or not."""
    try:
        server = Server(**json_text.parse((root / paths.SERVER).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return server if alive(server.pid, server.started) else None


def find(root: Path, at_once: float = 2.0) -> Server | None:
    """The server that runs for the project at `root`; None if none runs.

    One that does not answer `at_once`, because it is busy or just starting, is waited for. Raises NightjarError if it
    does not answer in BUSY_SECONDS: a second one must not use the same database.
    """
    server = recorded(root)
    if server is None or healthy(server.url, at_once):
        return server
    waits = f"does not answer yet; waiting up to {BUSY_SECONDS:.0f} s"
    print(f"nightjar: the Prefect server (process {server.pid}) {waits}", file=sys.stderr, flush=True)
    deadline = time.monotonic() + BUSY_SECONDS
    while (server := recorded(root)) is not None:
        # One long request: a server with much to do answers none that is given up soon.
        if healthy(server.url, max(0.1, deadline - time.monotonic())):
            return server
        if time.monotonic() > deadline:
            what = f"the Prefect server (process {server.pid}) does not answer"
            raise NightjarError(what, server.url, "end it with `nightjar ui --stop`, then run again")
        time.sleep(0.1)
    return None


def free_port(preferred: int = 0) -> int:
    """`preferred` if nothing listens there, else a port that the system gives."""
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return int(probe.getsockname()[1])
    raise NightjarError("no port is free", HOST, "close some programs")


def start(root: Path, port: int, owner: str, stays: bool = False) -> tuple[Server, Process]:
    """Start a server and record it; it may not answer yet (see `wait`). It ends with this process unless it `stays`."""
    private_folder(root / paths.PREFECT)  # the secrets of its database, and the key to them
    (root / LOG).touch(mode=0o600)
    # -P: a folder `pipelines` of the repository must not be imported instead of this package.
    project = str(root.resolve())
    command = [sys.executable, "-P", "-m", "pipelines.serving.server_app", HOST, str(port), project]
    # The page that the server serves sends its requests to this address; by default that is port 4200's.
    url = f"http://{HOST}:{port}"
    variables = environment(root) | {"PREFECT_SERVER_UI_API_URL": f"{url}/api", "PREFECT_UI_URL": url}
    # Not in the project's folder: Prefect reads a file .env there, which may ask for a password, as its settings.
    home = root / paths.PREFECT
    with (root / LOG).open("ab") as log:
        kind: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "umask": 0o077}
        process: Process
        if stays:
            process = subprocess.Popen(command, cwd=home, env=variables, start_new_session=True, **kind)
        else:
            process = Child(command, home, variables, **kind)
    server = Server(process.pid, identity(process.pid), port, owner)
    write_text(root / paths.SERVER, json.dumps(asdict(server)) + "\n")
    return server, process


def wait(root: Path, server: Server, process: Process) -> None:
    """Wait until the server answers. Raises NightjarError with the last line of its log if it ends or takes longer."""
    deadline = time.monotonic() + STARTING_SECONDS
    while not healthy(server.url, max(0.1, deadline - time.monotonic())):
        if process.poll() is not None:
            what = f"the Prefect server ended: {last_line(root / LOG)}"
            raise NightjarError(what, root / LOG, "read that file")
        if time.monotonic() > deadline:
            what = f"no answer from the Prefect server in {STARTING_SECONDS:.0f} s"
            raise NightjarError(what, root / LOG, "read that file")
        time.sleep(0.1)


def stop(root: Path, server: Server) -> None:
    """End a server that `start` began, here or in another process."""
    end_group(server.pid, server.started)
    with contextlib.suppress(OSError):
        if json_text.recorded(root / paths.SERVER).get("pid") == server.pid:
            (root / paths.SERVER).unlink()
