"""The Prefect server on PostgreSQL, with the password in a file: a real database of its own, and a real rebuild."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nightjar.core import paths
from pipelines.serving import server as servers
from tests.pipelines.conftest import COMMIT_LOCK, Repo

POSTGRES = shutil.which("postgres")
# PostgreSQL does not run as root; Debian's package brings a user for it.
USER = "postgres" if os.getuid() == 0 else None


def _user_exists() -> bool:
    try:
        return USER is None or bool(pwd.getpwnam(USER))
    except KeyError:
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(POSTGRES is None or not _user_exists(), reason="there is no PostgreSQL here"),
]


@dataclass(frozen=True)
class Database:
    """An empty database: its address without the password, and the file that holds it."""

    url: str
    passfile: Path
    folder: Path
    port: int

    def ask(self, sql: str) -> list[str]:
        command = ["psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "nightjar", "-d", "prefect", "-Atc"]
        environment = {**os.environ, "PGPASSFILE": str(self.passfile)}
        done = subprocess.run([*command, sql], env=environment, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()


@pytest.fixture()
def database() -> Iterator[Database]:
    assert POSTGRES is not None
    programs = Path(POSTGRES).resolve().parent
    # Not under pytest's folder, which others may not enter.
    with tempfile.TemporaryDirectory(prefix="nightjar-pg-") as name:
        folder, port = Path(name), servers.free_port()
        (folder / "password").write_text("made-up\n")
        if USER is not None:
            shutil.chown(folder, USER)

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), "-D", str(folder / "data"), *arguments]
            subprocess.run(command, user=USER, check=True, capture_output=True, timeout=120)

        run("initdb", "-U", "nightjar", "-A", "scram-sha-256", f"--pwfile={folder / 'password'}", "--no-sync")
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
        # Its output goes to a file: a pipe would stay open as long as it runs.
        run("pg_ctl", "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            passfile = folder / "passwords"
            passfile.write_text(f"127.0.0.1:{port}:*:nightjar:made-up\n")
            passfile.chmod(0o600)
            url = f"postgresql+asyncpg://nightjar@127.0.0.1:{port}/prefect"
            made = Database(url, passfile, folder, port)
            subprocess.run(
                ["createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "nightjar", "prefect"],
                env={**os.environ, "PGPASSFILE": str(passfile)},
                check=True,
                timeout=200,
            )
            yield made
        finally:
            run("pg_ctl", "-m", "immediate", "stop")


def test_a_rebuild_is_kept_in_the_database_and_nothing_in_a_file(
    repo: Repo, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(database.passfile))
    repo.write(
        dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n",
        params=f"server:\n  database: {database.url}\n",
    )
    rebuild = replace(repo, server=None).start("rebuild")
    out, err = rebuild.communicate(timeout=200)
    assert (rebuild.returncode, err) == (0, COMMIT_LOCK), out
    assert database.ask("select state_name from flow_run") == ["Completed"]
    assert database.ask("select name, state_name from task_run") == ["a|Ran"]
    assert not (repo.root / paths.PREFECT / "prefect.db").exists()
