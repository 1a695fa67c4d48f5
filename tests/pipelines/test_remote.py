"""A DVC remote in a directory and in S3, by the commands of docs/versions.md: a second clone has nothing to rebuild."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.conftest import Repo
from tests.pipelines.versions.test_diff import git

TO_PARQUET = """
import pyarrow as pa, pyarrow.parquet as pq
from pathlib import Path
Path("out").mkdir()
pq.write_table(pa.table({"x": [int(line) for line in open("numbers.txt")]}), "out/part-0.parquet")
"""
GRAPH = f"""
stages:
  numbers:
    cmd: {sys.executable} to_parquet.py
    deps: [numbers.txt]
    outs: [out]
  size:
    cmd: wc -c out/part-0.parquet > size.txt
    deps: [out]
    outs: [size.txt]
"""


DOCS = Path(__file__).parents[2] / "docs/versions.md"
# The environment of the tests takes its place.
INSTALLS = ("make environment", "source .venv/bin/activate")


@pytest.fixture()
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an S3 server on this machine with a bucket of the name `bucket`; the environment has its keys."""
    pytest.importorskip("dvc_s3")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server.start()
    try:
        host, port = server.get_host_and_port()
        client = pytest.importorskip("boto3").client(
            "s3", "eu-central-1", endpoint_url=f"http://{host}:{port}"
        )
        client.create_bucket(
            Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        yield f"http://{host}:{port}"
        assert client.list_objects_v2(Bucket="bucket", Prefix="nightjar/files/md5/")["KeyCount"] >= 2
    finally:
        server.stop()


@pytest.mark.parametrize("where", ["directory", "s3"])
def test_the_documented_commands_carry_artifacts_to_a_second_clone(
    where: str, repo: Repo, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    section = DOCS.read_text(encoding="utf-8").partition("## A remote")[2]
    first, second, in_s3 = (block.strip().splitlines() for block in section.split("```")[1:6:2])
    origin = tmp_path / "origin.git"
    changed = {"/srv/nightjar-artifacts": str(tmp_path / "remote")}
    if where == "s3":
        changed = {"https://minio.example.org": request.getfixturevalue("s3")}
        place = next(number for number, line in enumerate(first) if line.startswith("dvc remote add"))
        first[place : place + 1] = in_s3
    git(tmp_path, "init", "--quiet", "--bare", str(origin))
    (repo.root / "to_parquet.py").write_text(TO_PARQUET)
    repo.write(dvc=GRAPH, numbers="1\n2\n", params="x: 1\n")
    git(repo.root, "add", "-A")
    git(repo.root, "commit", "-q", "-m", "first")
    git(repo.root, "remote", "add", "origin", str(origin))
    git(repo.root, "config", "push.default", "current")

    def run(repo: Repo, commands: list[str]) -> list[subprocess.CompletedProcess[str]]:
        done = []
        for command in commands:
            for old, new in changed.items():
                command = command.replace(old, new)
            program, *words = shlex.split(command, comments=True)
            if program == "nightjar":
                done.append(repo.nightjar(*words))
            elif program == "dvc":
                repo.dvc(*words)
            else:
                git(repo.root, *words)
        return done

    assert run(repo, first)[0].returncode == 0
    assert second[0].startswith("git clone ") and second[1] == "cd nightjar"
    branch = git(repo.root, "branch", "--show-current").strip()
    git(tmp_path, "clone", "--quiet", "--branch", branch, str(origin), "nightjar")
    clone = Repo(tmp_path / "nightjar")
    (told,) = run(clone, [command for command in second[2:] if command not in INSTALLS])
    assert told.stdout == "2 stages up to date.\nNothing to do.\n"
    assert clone.nightjar("rebuild").stdout.startswith("Nothing to do")
