"""One holder at a time: of two processes, and of two threads of one process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines.graph import lock_copy
from pipelines.process import lock
from tests.pipelines.conftest import Repo


def test_only_the_thread_that_holds_the_lock_takes_it_again(tmp_path: Path) -> None:
    def take(wait: bool, stop: threading.Event | None = None) -> str:
        with lock.rebuild_lock(tmp_path, wait, stop):
            return "taken"

    with ThreadPoolExecutor() as threads:
        with lock.rebuild_lock(tmp_path):
            assert take(False) == "taken"
            with pytest.raises(lock.Held, match="a rebuild is running"):
                threads.submit(take, False).result()
            stop = threading.Event()
            stopped, waiting = threads.submit(take, True, stop), threads.submit(take, True)
            stop.set()
            with pytest.raises(lock.Stopped):
                stopped.result(timeout=30)
            assert not waiting.done()
        assert waiting.result(timeout=30) == "taken"


def test_a_second_rebuild_leaves_dvc_lock_to_the_first(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: echo a > a.out\n    outs: [a.out]\n")
    repo.dvc("repro", "--quiet")
    file = repo.root / "dvc.lock"
    text = file.read_text()
    lock_copy.keep(repo.root, file)
    file.write_text(text[: len(text) // 2])  # as DVC leaves it for a moment
    with lock.rebuild_lock(repo.root):
        second = repo.nightjar("rebuild")
        assert (second.returncode, second.stderr.count("\n")) == (2, 1)
        assert "a rebuild is running" in second.stderr and second.stdout == ""
        assert file.read_text() == text[: len(text) // 2]
    after = repo.nightjar("rebuild")
    assert after.returncode == 0 and "dvc.lock was torn" in after.stdout
    assert file.read_text() == text
