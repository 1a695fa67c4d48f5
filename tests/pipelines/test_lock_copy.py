"""A dvc.lock that was torn at any byte is told from a whole one, and comes back."""

from __future__ import annotations

from pathlib import Path

from pipelines import lock_copy
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


def test_a_cut_is_seen_wherever_it_is_but_at_the_end_of_a_line_of_an_entry() -> None:
    assert lock_copy.whole(TEXT)
    ends = {number + 1 for number, sign in enumerate(TEXT) if sign == "\n"}
    cut = [number for number in range(len(TEXT)) if lock_copy.whole(TEXT[:number])]
    # There it reads as a smaller dvc.lock, whose stages DVC looks at again.
    assert set(cut) <= ends
    assert not any(lock_copy.whole(text) for text in ("", "\n", "stages:\n", "- a\n", "a: {b: }}\n"))


def test_a_torn_lock_file_comes_back_and_no_other_changes(tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    for name, stage in (("dvc.lock", "a"), ("sub/dvc.lock", "sub/dvc.yaml:a")):
        (tmp_path / name).write_text(TEXT)
        lock_copy.keep(tmp_path, stage)
    assert lock_copy.mend(tmp_path) == []
    for name in ("dvc.lock", "sub/dvc.lock"):
        (tmp_path / name).write_text(TEXT[:200])
        lock_copy.keep(tmp_path, "a")  # a torn one replaces no copy
        assert lock_copy.mend(tmp_path) == [name]
        assert (tmp_path / name).read_text() == TEXT
    for damaged in (TEXT[:200].encode(), TEXT.encode() + b"\xff"):
        copy = tmp_path / lock_copy.FOLDER / "dvc.lock"
        copy.write_bytes(damaged)
        (tmp_path / "dvc.lock").write_text(TEXT[:100])
        assert lock_copy.mend(tmp_path) == [], "a damaged copy is not put in its place"
        assert (tmp_path / "dvc.lock").read_text() == TEXT[:100]
    (tmp_path / "dvc.lock").unlink()  # taken away is not torn
    (tmp_path / "sub/dvc.lock").write_text("schema: '2.0'\nstages: {}\n")
    assert lock_copy.mend(tmp_path) == []


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
