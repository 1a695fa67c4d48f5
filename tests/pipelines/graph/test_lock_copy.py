"""A dvc.lock that was torn at any byte is told from a whole one, and comes back."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nightjar.core import config
from nightjar.core.errors import NightjarError
from pipelines.graph import lock_copy
from pipelines.graph.dvc_lock import FILE, RepositoryLock
from tests.pipelines.conftest import Repo

# As DVC writes it.
TEXT = """schema: '2.0'
stages:
  a:
    cmd: echo a > a.out
    outs:
    - path: a.out
      hash: md5
      md5: 60b725f10c9c85c70d97880dfe8191b3
      size: 2
  b@1:
    cmd: cp a.out b.out
    deps:
    - path: a.out
      hash: md5
      md5: 60b725f10c9c85c70d97880dfe8191b3
      size: 2
    outs:
    - path: b.out
      hash: md5
      md5: 60b725f10c9c85c70d97880dfe8191b3
      size: 2
"""


def test_a_cut_is_seen_wherever_it_is_but_at_the_end_of_a_line_of_an_entry(tmp_path: Path) -> None:
    (tmp_path / "dvc.lock").write_text(TEXT)
    lock_copy.keep(tmp_path, tmp_path / "dvc.lock")
    ends = {number for number, sign in enumerate(TEXT) if sign == "\n"}
    for number in range(len(TEXT)):
        (tmp_path / "dvc.lock").write_text(TEXT[:number])
        mended = lock_copy.mend(tmp_path)
        # There it reads as a smaller dvc.lock, whose stages DVC looks at again.
        assert mended == ["dvc.lock"] or {number, number - 1} & ends
        assert (tmp_path / "dvc.lock").read_text() == (TEXT if mended else TEXT[:number])
        assert mended or lock_copy.whole(TEXT[:number])
    assert not any(lock_copy.whole(text) for text in ("", "\n", "stages:\n", "- a\n", "a: {b: }}\n"))


def test_a_large_lock_file_is_whole_and_aliases_that_multiply_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "MOST_VALUES", 10)
    assert lock_copy.whole(TEXT.replace("cp a.out", "cp *.out"))
    bomb = "".join(
        f"{name}: &{name} [{f'*{before}, ' * 9}1]\n" for before, name in zip("abcd", "bcde", strict=True)
    )
    assert not lock_copy.whole(f"schema: '2.0'\na: &a 1\n{bomb}")
    with pytest.raises(NightjarError, match="its aliases refer to more than 10 values"):
        config.parse(f"a: &a 1\n{bomb}", "x", aliases=True)


def test_a_torn_lock_file_comes_back_and_no_other_changes(tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    for name in ("dvc.lock", "sub/dvc.lock"):
        (tmp_path / name).write_text(TEXT)
        lock_copy.keep(tmp_path, tmp_path / name)
    assert lock_copy.mend(tmp_path) == []
    for name in ("dvc.lock", "sub/dvc.lock"):
        (tmp_path / name).write_text(TEXT[:200])
        lock_copy.keep(tmp_path, tmp_path / name)  # a torn one replaces no copy
        assert lock_copy.mend(tmp_path) == [name]
        assert (tmp_path / name).read_text() == TEXT
    for damaged in (TEXT[:200].encode(), TEXT.encode() + b"\xff"):
        copy = tmp_path / lock_copy.FOLDER / "dvc.lock"
        copy.write_bytes(damaged)
        (tmp_path / "dvc.lock").write_text(TEXT[:100])
        assert lock_copy.mend(tmp_path) == [], "a damaged copy is not put in its place"
        assert (tmp_path / "dvc.lock").read_text() == TEXT[:100]
        (tmp_path / "dvc.lock").write_text(TEXT)
        lock_copy.keep(tmp_path, tmp_path / "dvc.lock")
        assert copy.read_text() == TEXT, "a damaged copy is replaced"
    (tmp_path / "dvc.lock").unlink()  # taken away is not torn
    (tmp_path / "sub/dvc.lock").write_text("schema: '2.0'\nstages: {}\n")
    assert lock_copy.mend(tmp_path) == []


OTHER = TEXT.replace("echo a", "echo other").rstrip("\n")


@pytest.mark.parametrize("text", [TEXT.rstrip("\n"), OTHER, OTHER[: OTHER.index("\n  b@1")]])
def test_a_valid_lock_file_without_a_last_line_end_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / "dvc.lock").write_text(TEXT)
    lock_copy.keep(tmp_path, tmp_path / "dvc.lock")
    (tmp_path / "dvc.lock").write_text(text)  # by an editor, or with another branch
    assert lock_copy.mend(tmp_path) == [] and (tmp_path / "dvc.lock").read_text() == text


def test_a_lock_file_that_dvc_is_writing_is_not_torn(tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    path, half = tmp_path / "dvc.lock", threading.Event()
    path.write_text(TEXT)
    lock_copy.keep(tmp_path, tmp_path / "dvc.lock")

    def write() -> None:
        with RepositoryLock(tmp_path / FILE):
            path.write_text(OTHER[:300])
            half.set()
            time.sleep(0.3)
            path.write_text(OTHER + "\n")

    with ThreadPoolExecutor() as threads:
        written = threads.submit(write)
        half.wait()
        assert lock_copy.mend(tmp_path) == []
        written.result()
    assert path.read_text() == OTHER + "\n"


def test_nothing_is_replaced_without_the_lock_of_dvc(tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    path = tmp_path / "dvc.lock"
    path.write_text(TEXT)
    lock_copy.keep(tmp_path, path)
    with RepositoryLock(tmp_path / FILE):
        path.write_text(OTHER[:300])
        with pytest.raises(NightjarError, match="another DVC process"):
            lock_copy.mend(tmp_path, seconds=0.05)
        assert path.read_text() == OTHER[:300]
    path.write_text("")
    assert lock_copy.mend(tmp_path) == ["dvc.lock"] and path.read_text() == TEXT


def test_a_write_that_fails_puts_the_file_back_and_one_that_was_killed_is_mended(tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    path, fresh = tmp_path / "dvc.lock", tmp_path / "fresh.lock"
    path.write_text(TEXT)
    for file, before in ((path, TEXT), (fresh, None)):
        with pytest.raises(OSError, match="full"), lock_copy.put_back(tmp_path, file):
            file.write_text(OTHER[:300])
            raise OSError("the disk is full")
        assert (file.read_text() if file.exists() else None) == before
    path.write_text(OTHER[:300])  # the process was killed in the middle
    assert lock_copy.mend(tmp_path) == ["dvc.lock"] and path.read_text() == TEXT
    with lock_copy.put_back(tmp_path, path):
        path.write_text(OTHER + "\n")
    path.write_text("")
    assert lock_copy.mend(tmp_path) == ["dvc.lock"] and path.read_text() == OTHER + "\n"


def test_an_unfinished_entry_of_the_run_cache_stops_no_stage(repo: Repo) -> None:
    stage = "cmd: cp source.txt a.out\n    deps: [source.txt]\n    outs: [a.out]\n"
    repo.write(dvc=f"stages:\n  a:\n    {stage}", source="1")
    repo.dvc("repro", "--quiet")
    entry = next((repo.root / lock_copy.RUN_CACHE).glob("*/*"))
    for path in [*entry.iterdir(), repo.root / "dvc.lock"]:
        path.unlink()
    (entry / ".abc.tmp").touch()
    assert lock_copy.mend(repo.root) == [] and not entry.exists()
    repo.dvc("repro", "--quiet")
