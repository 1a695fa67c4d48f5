"""`nightjar fetch`: what it fetches, versions and prints."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo as DvcRepo

from nightjar.core.config import read_yaml
from pipelines.cli import main
from pipelines.fetch import downloads, sources
from pipelines.process.lock import locked
from tests.conftest import ROOT, git
from tests.in_process import captured, nightjar, refused
from tests.pipelines.fetch.conftest import GIT, part


@pytest.mark.parametrize("content", [b"\xff", b"", None])
def test_a_damaged_profile_does_not_end_a_fetch(
    workdir: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setattr(sources, "table", lambda: {"sums/all": part(GIT)})
    profile = workdir / ".nightjar/profile"
    profile.parent.mkdir()
    if content is None:
        os.mkfifo(profile)
    else:
        profile.write_bytes(content)
    done = captured(main, ["fetch", "sums"])
    assert done.returncode == 0, done.stderr
    assert "To read them: nightjar use sample" in done.stdout


def test_what_is_fetched_is_versioned_and_read_by_what_is_printed(
    workdir: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a project as Git clones it, whose .gitignore leaves the records to Git and the data to DVC."""
    for name in (".gitignore", ".dvcignore", "params.yaml"):
        shutil.copy(ROOT / name, workdir)
    git(workdir, "init", "--quiet")
    subprocess.run([sys.executable, "-m", "dvc", "init", "--quiet"], check=True)
    corpus = sources.Named(
        "sums", "all", "ingest.corpus.path", part(GIT).about, {"ingest.corpus.unit": "lines"}
    )
    monkeypatch.setattr(sources, "table", lambda: {"sums/all": corpus})
    done = captured(main, ["fetch", "sums"])
    assert done.returncode == 0, done.stderr
    assert "--set ingest.corpus.path=data/fetched/sums --set ingest.corpus.unit=lines" in done.stdout
    with DvcRepo() as repo:
        assert "data/fetched/sums.dvc" in [stage.addressing for stage in repo.index.stages]
    listed = git(workdir, "status", "--porcelain", "-uall", "data")
    names = [line.split()[1] for line in listed.splitlines()]
    assert names == [f"data/fetched/{name}" for name in (".gitignore", "sums.dvc", "sums.json")]

    (workdir / "data/fetched/sums.dvc").unlink()  # a fetch that was killed before DVC had it
    again = captured(main, ["fetch", "sums", "--use"])
    assert "sums/all: unchanged" in again.stdout and (workdir / "data/fetched/sums.dvc").exists()
    read = read_yaml(workdir / "params.yaml")["ingest"]["corpus"]
    assert (read["path"], read["unit"]) == ("data/fetched/sums", "lines")


def test_terms_must_be_accepted_and_an_unknown_name_is_one_line(workdir: Path) -> None:
    terms = "tool_use/asdiv (CC-BY-NC-4.0: non-commercial use only)"
    assert terms in refused("fetch", "tool_use/svamp", "tool_use/asdiv")
    assert "no data set 'sst2'" in refused("fetch", "sst2")
    assert list(workdir.iterdir()) == []


def test_two_fetches_at_once_do_not_write_the_same_file(workdir: Path) -> None:
    with locked(Path(), downloads.LOCK, "a fetch"):
        assert "a fetch is running" in refused("fetch", "tool_use/svamp")
    assert not (workdir / "data").exists()


def test_the_list_has_every_data_set_with_licence_and_source(workdir: Path) -> None:
    listed = json.loads(nightjar("fetch", "--list", "--json"))
    assert {it["name"] for it in listed} == set(sources.table())
    assert all(it["licence"] and it["sources"] and it["megabytes"] for it in listed)
