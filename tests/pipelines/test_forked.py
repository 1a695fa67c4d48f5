"""A forked process of the tests against the process of a user: what it says, how it ends, and what it belongs to."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.pipelines import forked
from tests.pipelines.conftest import NIGHTJAR, Repo, environment, lives, wait_for


@pytest.mark.parametrize(
    "arguments", [("use", "nothing"), ("call", "Calculator(400 / 1400)"), ("rebuild", "--no")]
)
def test_it_says_and_ends_as_a_process_of_its_own(repo: Repo, arguments: tuple[str, ...]) -> None:
    done = repo.nightjar(*arguments)
    plain = subprocess.run(
        [*NIGHTJAR, *arguments], cwd=repo.root, env=environment(), capture_output=True, text=True, timeout=90
    )
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_it_leads_a_session_and_dies_of_the_signal(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: echo $DAY > began; sleep 300\n    outs: [a.out]\n")
    process = forked.start("dvc", ["repro"], repo.root, environment() | {"DAY": "Monday"})
    other = forked.start("dvc", ["status"], repo.root, environment())
    wait_for(lambda: (repo.root / "began").exists() and (repo.root / "began").read_text() == "Monday\n")
    assert os.getsid(process.pid) == process.pid and process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL and not lives(process.pid)
    other.communicate(60)
    assert other.returncode is not None and other.poll() == other.returncode
