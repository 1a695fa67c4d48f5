"""`nightjar plan` as a user sees it: states, times, and what does not have to load for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from stages._runtime import history
from tests.conftest import git
from tests.pipelines.conftest import COMMIT_LOCK, Repo, environment

DVC = """
stages:
  a: {cmd: cp source.txt a.txt, deps: [source.txt], outs: [a.txt]}
  b: {cmd: cat a.txt > b.txt; echo b >> b.txt, deps: [a.txt], outs: [b.txt], meta: {memory: large}}
  c: {cmd: cat a.txt > c.txt; echo c >> c.txt, deps: [a.txt], outs: [c.txt], meta: {memory: large}}
  d: {cmd: cat b.txt c.txt > d.txt, deps: [b.txt, c.txt], outs: [d.txt]}
"""
HEAVY = ["pyarrow", "pandas", "numpy", "prefect", "torch", "pydantic"]
SMALL = "rebuild: {jobs: 2, memory_gb: 8, memory_classes: {large: 3}}\n"


def told(repo: Repo, *options: str) -> str:
    done = repo.here("plan", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_states_reasons_and_expected_times(repo: Repo) -> None:
    repo.write(dvc=DVC, source="1", params=SMALL)
    assert told(repo).endswith("Of 4 stages 4 would run.\nExpected: unknown.\n")
    for name, seconds in {"a": 1.0, "b": 10.0, "c": 20.0}.items():
        history.append(repo.root, name, seconds)
    first = told(repo)
    assert "a      would run  never run" in first
    assert "d      would run  never run; needs b, c" in first
    assert [line.split()[-1] for line in first.splitlines()[1:5]] == ["s", "s", "s", "unknown"]
    assert first.endswith(
        "Of 4 stages 4 would run.\nExpected: 31 s one after the other, and 1 stage of unknown time.\n"
    )
    whole = json.loads(told(repo, "--json"))
    assert (whole["seconds"], whole["without_estimate"]) == (31.0, 1)
    assert [row["expected_seconds"] for row in whole["stages"]] == [1.0, 10.0, 20.0, None]

    repo.dvc("repro", "--quiet")
    repo.write(source="2")
    repo.dvc("repro", "--quiet", "a")
    assert told(repo, "a").endswith("1 stage up to date.\nNothing to do.\n")
    repo.write(source="1")
    back = json.loads(told(repo, "--json"))
    assert {row["stage"]: row["state"] for row in back["stages"]} == {
        "a": "would be restored",
        "b": "up to date",
        "c": "up to date",
        "d": "up to date",
    }
    assert back["stages"][0]["why"] == [
        {
            "kind": "dependency",
            "what": "source.txt changed",
            "old": {"hash": "c81e728d9d4c2f636f067f89cc14862c", "size": 1},
            "new": {"hash": "c4ca4238a0b923820dcc509a6f75849b", "size": 1},
        }
    ]
    assert (back["seconds"], back["without_estimate"]) == (0.0, 0)
    heading, *rows, count = told(repo).splitlines()
    assert heading.startswith("stage") and [row.split()[0] for row in rows if row] == ["a"]
    assert count == "Of 4 stages 3 are up to date, 1 would be restored from the cache."


def test_a_stage_after_one_that_runs_follows(repo: Repo) -> None:
    repo.write(dvc=DVC, source="1")
    repo.dvc("repro", "--quiet")
    repo.write(source="3")
    text = told(repo)
    assert "d      follows    needs b, c" in text
    assert "Of 4 stages 1 would run, 3 follow (they may turn out to be unchanged).\n" in text
    # Its output will be restored if b and c come out as they were.
    (repo.root / "d.txt").unlink()
    assert "d      follows    output d.txt is missing; needs b, c" in told(repo)


@pytest.mark.parametrize("command", ["plan", "rebuild"])
def test_with_nothing_to_do_neither_arrow_nor_prefect_load(repo: Repo, command: str) -> None:
    repo.write(dvc="stages:\n  a: {cmd: touch a.out, deps: [source.txt], outs: [a.out]}\n", source="1")
    repo.dvc("repro", "--quiet")
    code = (
        f"import sys; from pipelines.cli import main\ntry: main(['{command}'])\n"
        "except SystemExit as end: assert not end.code\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo.root, env=environment(), capture_output=True, text=True
    )
    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr


def test_what_depends_on_a_stage_that_would_fail_is_skipped(repo: Repo) -> None:
    repo.write(dvc=DVC.replace("deps: [a.txt], outs: [c.txt]", "deps: [lost.txt], outs: [c.txt]"), source="1")
    text = told(repo)
    assert "c      would fail        lost.txt is missing" in text.replace("never run; ", "")
    assert "d      would be skipped  never run; needs c, b" in text
    assert "Of 4 stages 2 would run, 1 would fail, 1 would be skipped.\n" in text

    done = repo.nightjar("rebuild")
    assert done.returncode == 2 and not (repo.root / "a.txt").exists()
    (line,) = done.stderr.splitlines()
    assert "c cannot run (lost.txt is missing), and d needs it" in line
    assert "name the stages to rebuild without it" in line
    advice = COMMIT_LOCK.strip()
    done = repo.nightjar("rebuild", "b")
    assert done.returncode == 0 and advice in done.stderr.splitlines()
    git(repo.root, "add", "dvc.lock")
    git(repo.root, "commit", "-m", "scores")
    repo.write(source="2")
    done = repo.nightjar("rebuild", "b")
    assert done.returncode == 0 and advice not in done.stderr
