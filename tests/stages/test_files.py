"""Files appear whole or not at all."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stages import files


def test_write_text_is_whole_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new" / "facts.json"
    files.write_text(file, "one")

    def fail(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="gone"):
        files.write_text(file, "two")
    assert file.read_text() == "one"


def test_a_name_of_word_characters_stays() -> None:
    for name in ("train", "predict@a-b.c_1", "prüfe", "评估"):
        assert files.safe_name(name) == name


@given(st.lists(st.text(st.sampled_from("aü/ :-é\n\0."), max_size=6) | st.text(max_size=90), unique=True))
@example(["ü", "ö", "fi le", "fi-le", "fi/le", "x" * 300, "x" * 301, "评" * 99, "评" * 98])
def test_no_two_names_come_out_the_same(names: list[str]) -> None:
    safe = [files.safe_name(name) for name in names]
    assert len(set(safe)) == len(names)
    assert all(len(name.encode()) <= 190 and not set("/ \n\0") & set(name) for name in safe)


def test_git_leaves_our_folder_alone_and_we_what_git_was_told(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "."], cwd=tmp_path, check=True)
    with ThreadPoolExecutor(8) as pool:
        for folder in pool.map(files.own_folder, [tmp_path] * 40):
            (folder / "some.json").touch()
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, cwd=tmp_path, capture_output=True, check=True).stdout == b""
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "some.json"]
    (folder / ".gitignore").write_text("mine")
    files.own_folder(tmp_path)
    assert (folder / ".gitignore").read_text() == "mine"


def test_a_private_folder_is_its_owners_alone_with_all_that_was_in_it(tmp_path: Path) -> None:
    folder, outside = tmp_path / "new" / "private", tmp_path / "outside"
    files.private_folder(folder)
    (folder / "sub").mkdir()
    for path in (folder / "key", folder / "sub" / "data", outside):
        path.touch()
        path.chmod(0o664)
    (folder / "program").touch()
    (folder / "program").chmod(0o755)
    folder.chmod(0o755)
    (folder / "link").symlink_to(outside)
    (folder / "broken").symlink_to("nowhere")
    (tmp_path / "way").symlink_to(folder)
    files.private_folder(tmp_path / "way")
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*") if not path.is_symlink()}
    assert modes == {"key": 0o600, "sub": 0o700, "data": 0o600, "program": 0o700}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert outside.stat().st_mode & 0o777 == 0o664
