"""One holder at a time: of two processes, and of two threads of one process."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines.process import lock
from tests.pipelines.conftest import Repo


def test_one_thread_holds_the_lock_and_the_others_wait_or_fail(tmp_path: Path) -> None:
    def take(wait: bool, stop: threading.Event | None = None) -> str:
        with lock.rebuild_lock(tmp_path, wait, stop):
            return "taken"

    with ThreadPoolExecutor() as threads:
        with lock.rebuild_lock(tmp_path):
            with pytest.raises(lock.LockHeld, match="a rebuild is running"):
                threads.submit(take, False).result()
            stop = threading.Event()
            stopped, waiting = threads.submit(take, True, stop), threads.submit(take, True)
            stop.set()
            with pytest.raises(lock.WaitStopped):
                stopped.result(timeout=200)
            assert not waiting.done()
        assert waiting.result(timeout=200) == "taken"


def test_a_lock_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".nightjar").mkdir()
    os.mkfifo(tmp_path / ".nightjar/rebuild.lock")
    with pytest.raises(FileExistsError, match="not an ordinary file"), lock.rebuild_lock(tmp_path):
        pass


def test_a_second_rebuild_leaves_dvc_lock_to_the_first(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: echo a > a.out\n    outs: [a.out]\n")
    repo.dvc("repro", "--quiet")
    file = repo.root / "dvc.lock"
    text = file.read_text()
    torn = text[: text.index("path:") + 2]
    file.write_text(torn)  # as a DVC command that writes it leaves it for a moment
    with lock.rebuild_lock(repo.root):
        second = repo.nightjar("rebuild")
        assert (second.returncode, second.stderr.count("\n")) == (2, 1)
        assert "a rebuild is running" in second.stderr and second.stdout == ""
    after = repo.nightjar("rebuild")
    assert (after.returncode, after.stderr.count("\n"), "dvc.lock" in after.stderr) == (2, 1, True)
    assert file.read_text() == torn
