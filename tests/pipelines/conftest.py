"""Small DVC repositories of quick commands, and one Prefect server for all tests."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import pytest

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from pipelines.serving import server as servers
from tests.conftest import shared_folder
from tests.in_process import captured
from tests.pipelines import forked, study_project

NIGHTJAR = [sys.executable, "-c", "from pipelines.cli import main; main()"]

# Commands that only read and print: they are run in the tests' own process.
READERS = frozenset({"check", "diff", "judge", "ledger", "plan"})
# Commands that run stages: they use the tests' own server, where the repository has none.
RUNS = frozenset({"rebuild", "nightly", "study"})
# The advice at the end of a rebuild, until Git has dvc.lock.
COMMIT_LOCK = "Commit dvc.lock, so that later versions can be compared with this one.\n"


@dataclass(frozen=True)
class Repo:
    """A DVC repository in a temporary folder, and the tests' Prefect server, which is started when it is needed."""

    root: Path
    server: Callable[[], Api] | None = None

    def write(self, **files: str) -> None:
        """Write files; `dvc` is dvc.yaml, `params` params.yaml, any other key a text file of that name."""
        names = {"dvc": "dvc.yaml", "params": "params.yaml"}
        for name, text in files.items():
            (self.root / names.get(name, f"{name}.txt")).write_text(text, encoding="utf-8")

    def dvc(self, *arguments: str) -> str:
        done = self._run("dvc", arguments, 250)
        done.check_returncode()
        return done.stdout

    def nightjar(self, *arguments: str, timeout: float = 250) -> subprocess.CompletedProcess[str]:
        if arguments[0] in READERS:
            return self.here(*arguments)
        return self._run("nightjar", arguments, timeout)

    def _run(
        self, program: str, arguments: Sequence[str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        process = self._start(program, arguments)
        try:
            out, err = process.communicate(timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess([program, *arguments], process.returncode, out, err)

    def here(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`nightjar` in this process, for what starts none and loads no Prefect: one of its own takes a second."""
        with contextlib.chdir(self.root):
            return captured(main, list(arguments))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`nightjar` in the background, as `nightjar` does."""
        return self._start("nightjar", arguments)

    def _start(self, program: str, arguments: Sequence[str]) -> subprocess.Popen[str]:
        known = (self.root / paths.SERVER).exists()
        if program == "nightjar" and arguments[0] in RUNS and self.server and not known:
            self.server().serve(self)
        return forked.start(program, arguments, self.root, environment())


def environment() -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    folder = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "PATH": folder + os.pathsep + os.environ["PATH"],
        "DVC_NO_ANALYTICS": "1",
        "CI": "1",  # DVC does not look for updates then
    }


def wait_for(true: Callable[[], Any], seconds: float = 200, what: str = "it") -> Any:
    """Wait until `true` gives something true, and return that.

    A long wait asks less often: a question to a server costs both sides twenty milliseconds of processor time.
    """
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        if value := true():
            return value
        time.sleep(min(max(0.05, waited / 10), 0.5))
    raise AssertionError(f"{what} did not happen within {seconds} s")


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent to notice does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def stage_pid(repo: Repo) -> int:
    """The process of a stage that writes its number to the file `pid`, which is removed."""
    path = repo.root / "pid"
    text: str = wait_for(lambda: path.exists() and path.read_text().strip(), what="the stage")
    path.unlink()
    return int(text)


@pytest.fixture(scope="session")
def empty_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh repository to copy: `dvc init` takes a second."""
    root = tmp_path_factory.mktemp("empty")
    subprocess.run(["git", "init", "--quiet", "."], cwd=root, check=True)
    Repo(root).dvc("init", "--quiet")
    return root


@pytest.fixture()
def repo(empty_repo: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Repo:
    """A DVC repository without stages."""
    root = tmp_path / f"repo-{secrets.token_hex(4)}"
    shutil.copytree(empty_repo, root)
    return Repo(root, lambda: request.getfixturevalue("api"))


@pytest.fixture(scope="session")
def study_prepared(empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose split is built once, as after a first rebuild; to be copied."""
    root = tmp_path_factory.mktemp("study") / "repo"
    shutil.copytree(empty_repo, root)
    study_project.fill(Repo(root))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUDY_RUNS", str(root / "unused"))
        Repo(root).dvc("repro", "questions", "base_model")
    return root


@pytest.fixture()
def study_repo(
    study_prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Repo:
    """A copy of it; no Git identity to be found, as on a build machine."""
    root = tmp_path / "repo"
    shutil.copytree(study_prepared, root)
    monkeypatch.setenv("STUDY_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Repo(root, lambda: request.getfixturevalue("api"))


@dataclass(frozen=True)
class Api:
    """The REST API of the tests' Prefect server, whose data lie in `root`."""

    server: servers.Server
    root: Path

    def ask(self, path: str, **body: Any) -> Any:
        """The answer to a POST with this body, or to a GET without one."""
        data = json.dumps(body).encode() if body or path.endswith("/filter") else None
        request = urllib.request.Request(
            f"{self.server.url}/api/{path}", data, {"content-type": "application/json"}
        )
        deadline = time.monotonic() + 200
        while True:
            try:
                with urllib.request.urlopen(request, timeout=200) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                # Its database is locked for a moment: "come again", as Prefect's own client does.
                if error.code != 503 or time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def serve(self, repo: Repo) -> None:
        """Let rebuilds of `repo` find this server, as if `nightjar ui` had been started there."""
        state = repo.root / paths.SERVER
        state.parent.mkdir(exist_ok=True)
        state.write_text(json.dumps(self.server.__dict__), encoding="utf-8")


def run_of(api: Api, repo: Repo) -> dict[str, Any]:
    """The last flow run of the repository, whose name no other has."""
    asked = {"flow_runs": {"tags": {"all_": [repo.root.name]}}, "sort": "START_TIME_DESC"}
    run: dict[str, Any] = wait_for(lambda: api.ask("flow_runs/filter", **asked), what="the flow run")[0]
    return run


# Makes the tables as a server does at its first start.
MAKE_TABLES = """
import asyncio
from prefect.server.database import provide_database_interface
asyncio.run(provide_database_interface().create_db())
"""


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the lock `folder`.lock: of all workers only this one runs the block."""
    with folder.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def tables(pytestconfig: pytest.Config) -> Path:
    """A Prefect database with its tables and nothing in them: making it takes eight processor seconds, so it is made
    once for each version of Prefect, and kept in pytest's cache.
    """
    cache = pytestconfig.cache
    assert cache is not None
    root = cache.mkdir(f"prefect-{version('prefect')}") / "tables"
    with alone(root):
        if not root.exists():
            making = root.with_name("tables-making")
            shutil.rmtree(making, ignore_errors=True)  # of tests that were killed
            (making / paths.PREFECT).mkdir(parents=True)
            command = [sys.executable, "-c", MAKE_TABLES]
            subprocess.run(command, env=servers.environment(making), check=True, timeout=200)
            making.rename(root)
    return root / paths.PREFECT / "prefect.db"


def lend_database(tables: Path, root: Path) -> None:
    """Give a server at `root` a database whose tables are made."""
    (root / paths.PREFECT).mkdir(parents=True)
    shutil.copy(tables, root / paths.PREFECT / "prefect.db")


def answers(root: Path, server: servers.Server, process: servers.Process) -> None:
    """Wait until a server answers or ends, however busy the machine is: pytest's own timeout is the end of it."""
    while True:
        try:
            return servers.wait(root, server, process)
        except NightjarError:
            if process.poll() is not None:
                raise


@contextlib.contextmanager
def prefect_server(root: Path, tables: Path) -> Iterator[Api]:
    """A Prefect server at `root` that ends with the block."""
    lend_database(tables, root)
    server, process = servers.start(root, servers.free_port(), "ui")
    try:
        answers(root, server, process)
        yield Api(server, root)
    finally:
        servers.stop(root, server)
        process.wait()


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory, tables: Path) -> Iterator[Api]:
    """One Prefect server for the tests of all workers: a start costs five processor seconds, and an idle server a
    fortieth of a processor. The worker that needs it first starts it, the last one ends it.
    """
    root = shared_folder(tmp_path_factory) / "prefect"
    mine = root / "users" / str(os.getpid())
    with alone(root):
        server = servers.recorded(root)
        if server is None:
            if not root.exists():
                lend_database(tables, root)
            server, process = servers.start(root, servers.free_port(), "ui", stays=True)
            answers(root, server, process)
        mine.parent.mkdir(exist_ok=True)
        mine.touch()
    yield Api(server, root)
    with alone(root):
        mine.unlink()
        if not any(lives(int(user.name)) for user in mine.parent.iterdir()):
            servers.stop(root, server)
