"""The process that does DVC's work ends with its starter, however that ends."""

from __future__ import annotations

import json
import subprocess
import sys
from multiprocessing.connection import Pipe

import pytest

from pipelines.graph import dvc_worker
from tests.pipelines.conftest import Repo, environment


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
