"""Files appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nightjar.core import files
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name


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
        assert safe_name(name) == name


@given(st.lists(st.text(st.sampled_from("aü/ :-é\n\0."), max_size=6) | st.text(max_size=90), unique=True))
@example(["ü", "ö", "fi le", "fi-le", "fi/le", "x" * 300, "x" * 301, "评" * 99, "评" * 98])
def test_no_two_names_come_out_the_same(names: list[str]) -> None:
    safe = [safe_name(name) for name in names]
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


def test_an_output_never_takes_the_place_of_an_input(tmp_path: Path) -> None:
    source, folder = tmp_path / "in.jsonl", tmp_path / "tasks"
    source.write_text("precious")
    folder.mkdir()
    (tmp_path / "hard.jsonl").hardlink_to(source)
    (tmp_path / "view").symlink_to(tmp_path)
    for output in (
        source,
        tmp_path / "hard.jsonl",
        tmp_path / "view/in.jsonl",
        tmp_path / "tasks/../in.jsonl",
    ):
        with pytest.raises(NightjarError, match="is read"):
            files.write_output(output, "new", [None, source])
    for output in (folder / "new.json", tmp_path / "view/tasks/sub/new.json"):
        with pytest.raises(NightjarError, match=r"is in .*tasks, which is read"):
            files.write_output(output, "new", [folder])
    assert source.read_text() == "precious" and list(folder.iterdir()) == []
    files.write_output(tmp_path / "new/out.jsonl", "new", [source, folder, tmp_path / "absent"])
    assert (tmp_path / "new/out.jsonl").read_text() == "new"


def test_an_output_takes_the_place_of_ordinary_files_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as unix, contextlib.chdir(tmp_path):
        unix.bind("socket")
        wanted = {
            "": "folder",
            "link": "a symbolic link to file; name the file itself",
            "broken": "a symbolic link to nowhere",
            "loop": "a symbolic link to loop",
            "folder": "a folder",
            "socket": "a socket",
            "file/below": "file: not a folder",
            "x" * 256: "name too long",
            f"{'x' * 256}/y": "name too long",
        }
        for name, told in wanted.items():
            with pytest.raises(NightjarError, match=told) as caught:
                files.check_output(Path(name))
            assert name.partition("/")[0] in str(caught.value)
    assert (tmp_path / "file").read_text() == "old" and (tmp_path / "link").is_symlink()


def test_an_output_goes_through_a_device_or_a_pipe(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    null, pipe = tmp_path / "null", tmp_path / "pipe"
    null.symlink_to("/dev/null")
    os.mkfifo(pipe)
    files.write_output(null, "text", [null])
    assert null.is_symlink() and Path("/dev/null").is_char_device()
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        files.write_output(pipe, "text")
        assert read.result() == "text"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with open(1, "w", closefd=False) as real:
        monkeypatch.setattr(sys, "stdout", real)
        print("before")
        files.write_output(Path("/dev/stdout"), "text\n")
        print("after")
    assert capfd.readouterr().out == "before\ntext\nafter\n"
    assert Path("/dev/stdout").is_symlink()


def test_the_longest_names_and_odd_ones_can_be_written(tmp_path: Path) -> None:
    names = ["x" * 255, "評" * 85, "[a-b] *?", os.fsdecode(b"\xff.json")]
    for name in names:
        files.write_text(tmp_path / name, "one")
        files.write_text(tmp_path / name, "two")
        assert (tmp_path / name).read_text() == "two"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_only_leftovers_of_our_own_are_removed(tmp_path: Path) -> None:
    for name in (".a.tmp-999999999", ".a.tmp-999999999-old", ".a.tmp-backup", ".a.tmp-mine-old"):
        (tmp_path / name).touch()
    files.write_text(tmp_path / "a", "text")
    assert {path.name for path in tmp_path.iterdir()} == {"a", ".a.tmp-backup", ".a.tmp-mine-old"}


def test_a_place_that_cannot_be_written_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(NightjarError, match="cannot be written"):
        files.check_output(tmp_path / "new/out.json")


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
