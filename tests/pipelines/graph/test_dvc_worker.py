"""The process that does DVC's work: what it answers, how often it reads the graph, and how it ends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections import Counter
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pytest
from dvc.dvcfile import Lockfile
from dvc.lock import Lock
from dvc.parsing import DataResolver
from dvc.repo import Repo as DvcRepo

from pipelines.graph import dvc_adapter, dvc_worker
from pipelines.graph import repository as graphs
from tests.pipelines.conftest import Repo, environment

DVC = """
stages:
  a:
    foreach: [1, 2, 3, 4]
    do:
      cmd: echo ${size} ${item} > a-${item}.txt
      desc: Writes
      meta: {memory: small}
      params: [size, {more.yaml: [deep.key]}]
      outs: ["a-${item}.txt"]
      metrics: ["a-${item}.json": {cache: false}]
  last: {cmd: cat a-1.txt > last.txt, deps: [a-1.txt], outs: [last.txt]}
""".replace("> a-${item}.txt", "> a-${item}.txt; echo {} > a-${item}.json")


@pytest.fixture()
def worker(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> dvc_worker.Worker:
    """A worker in this process, for four equal stages and one after the first of them."""
    repo.write(dvc=DVC, params="size: 3\n")
    (repo.root / "more.yaml").write_text("deep: {key: x}\n")
    monkeypatch.chdir(repo.root)
    return dvc_worker.Worker(repo.root)


def ask(worker: dvc_worker.Worker, do: str, stage: str = "", **more: Any) -> dict[str, Any]:
    """What the worker answers over the pipe."""
    answer: dict[str, Any] = json.loads(
        json.dumps(worker.answer({"do": do, "stage": stage, **more}), default=str)
    )
    return answer


def run(worker: dvc_worker.Worker, stage: str) -> str:
    """Run a stage as run_stage.Stages does; returns what was done."""
    answer = ask(worker, "begin", stage, force=False)
    if answer["state"] != "run":
        return str(answer["state"])
    for command in answer["commands"]:
        subprocess.run(command, cwd=answer["folder"], env=answer["environment"], check=True)
    return str(ask(worker, "finish", stage)["state"])


def test_n_stages_read_the_graph_once(
    repo: Repo, worker: dvc_worker.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[str] = Counter()
    load, resolve, parse = Lockfile._load, DataResolver.__init__, dvc_adapter.load_path

    def counted(kind: str, call: Any, *arguments: Any, **options: Any) -> Any:
        read[kind] += 1
        return call(*arguments, **options)

    monkeypatch.setattr(Lockfile, "_load", lambda *them, **more: counted("dvc.lock", load, *them, **more))
    monkeypatch.setattr(DataResolver, "__init__", lambda *them: counted("dvc.yaml", resolve, *them))
    monkeypatch.setattr(dvc_adapter, "load_path", lambda path, fs: counted(Path(path).name, parse, path, fs))
    ask(worker, "status", "a@1")
    once = Counter(read)
    assert once == {"dvc.lock": 1, "dvc.yaml": 1, "params.yaml": 1, "more.yaml": 1}
    for name in ("a@1", "a@2", "a@3", "a@4", "last"):
        assert ask(worker, "status", name)["state"] == "would run"
        assert run(worker, name) == "ran"
        assert ask(worker, "status", name)["state"] == "up to date"
    assert read == once


def repro(repo: Repo, stage: str) -> None:
    with contextlib.chdir(repo.root), DvcRepo(".") as other:
        other.reproduce(stage)


@pytest.mark.parametrize(
    ("file", "old", "new", "wanted"),
    [
        ("params.yaml", "3", "4", {"a@1": "size: 3 → 4", "a@2": "never run", "last": ""}),
        ("more.yaml", "x", "y", {"a@1": "deep.key: x → y", "last": ""}),
        (
            "dvc.yaml",
            "cat a-1.txt",
            "cat < a-1.txt",
            {"a@1": "", "last": "command: cat a-1.txt > last.txt → "},
        ),
        ("dvc.lock", "  last:", "  lost:", {"a@1": "", "last": "never run"}),
    ],
)
def test_what_another_changes_between_two_stages_is_noticed(
    repo: Repo, worker: dvc_worker.Worker, file: str, old: str, new: str, wanted: dict[str, str]
) -> None:
    assert [run(worker, name) for name in ("a@1", "last")] == ["ran", "ran"]
    path = repo.root / file
    path.write_text(path.read_text().replace(old, new))
    for name, why in wanted.items():
        found = ask(worker, "status", name)
        assert why in found["why"] and (found["state"] == "up to date") == (why == ""), name
    assert run(worker, "a@1") == ("ran" if wanted["a@1"] else "unchanged")


def test_what_another_dvc_records_between_two_stages_is_kept(repo: Repo, worker: dvc_worker.Worker) -> None:
    assert run(worker, "a@1") == "ran"
    repro(repo, "a@2")
    assert ask(worker, "status", "a@2")["state"] == "up to date"
    assert run(worker, "a@2") == "unchanged" and run(worker, "a@3") == "ran"
    states = {name: stage.state for name, stage in graphs.read(repo.root).stages.items()}
    assert [states[f"a@{number}"] for number in (1, 2, 3)] == ["up to date"] * 3


def test_what_failed_is_looked_at_as_if_it_had_never_begun(repo: Repo, worker: dvc_worker.Worker) -> None:
    assert run(worker, "a@1") == "ran"
    repo.write(params="size: 4\n")
    assert ask(worker, "begin", "a@1", force=False)["state"] == "run"
    assert ask(worker, "finish", "a@1")["state"] == "failed"  # its command did not run
    assert "size: 3 → 4" in ask(worker, "status", "a@1")["why"]
    assert json.loads((repo.root / ".dvc/tmp/rwlock").read_text()) in ({}, {"read": {}, "write": {}})


def test_while_another_dvc_holds_the_lock_it_is_busy(
    repo: Repo, worker: dvc_worker.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dvc.lock.DEFAULT_TIMEOUT", 0.06)
    ask(worker, "abandon")
    with Lock(repo.root / ".dvc/tmp/lock", wait=True):
        for do in ("status", "begin"):
            assert ask(worker, do, "a@1", force=False) == {"state": "busy", "holder": ""}


@pytest.mark.parametrize("unread", [False, True])
def test_it_ends_when_the_other_end_closes_even_with_an_answer_that_nobody_read(
    repo: Repo, unread: bool
) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n")
    ours, theirs = Pipe()
    with theirs:
        worker = subprocess.Popen(
            [sys.executable, "-P", dvc_worker.__file__, str(theirs.fileno()), str(repo.root)],
            cwd=repo.root,
            env=environment(),
            pass_fds=[theirs.fileno()],
        )
    with ours:
        if unread:
            ours.send_bytes(json.dumps({"do": "abandon", "stage": "a"}).encode())
            assert ours.poll(60)
    try:
        assert worker.wait(30) == 0
    finally:
        worker.kill()
