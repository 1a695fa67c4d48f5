"""A forked process of the tests against the process of a user: what it says, how it ends, and what it belongs to."""

from __future__ import annotations

import subprocess

import pytest

from tests.pipelines.conftest import NIGHTJAR, Repo, environment


@pytest.mark.parametrize(
    "arguments", [("use", "nothing"), ("call", "Calculator(400 / 1400)"), ("rebuild", "--no")]
)
def test_it_says_and_ends_as_a_process_of_its_own(repo: Repo, arguments: tuple[str, ...]) -> None:
    done = repo.nightjar(*arguments)
    plain = subprocess.run(
        [*NIGHTJAR, *arguments], cwd=repo.root, env=environment(), capture_output=True, text=True, timeout=90
    )
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
