"""Parts of data sets from publishers on loopback: what a fetch writes, refuses, resumes and records."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from pipelines.fetch import downloads, transfer
from pipelines.fetch.sources import Named
from tests.conftest import ROOT
from tests.pipelines.fetch.conftest import Publisher, get, tree


@pytest.fixture
def sums(publisher: Publisher) -> Named:
    """A part that is one file."""
    return publisher.part("/v1/sums.txt", b"1+1\n")


def test_a_file_is_fetched_and_recorded(tmp_path: Path, publisher: Publisher) -> None:
    renamed = publisher.part("/v1/sums.txt", b"1+1\n", files={"sums.txt": "own/renamed.txt"})
    assert not downloads.is_there(tmp_path, renamed)
    get(tmp_path, renamed)
    assert downloads.is_there(tmp_path, renamed)
    digest = sha256(b"1+1\n").hexdigest()
    assert tree(tmp_path / "data/fetched") == {
        "sums/own/renamed.txt": b"1+1\n",
        "sums.json": (tmp_path / "data/fetched/sums.json").read_bytes(),
    }
    assert json.loads((tmp_path / "data/fetched/sums.json").read_text())["all"] == {
        "licence": "MIT",
        "citation": "none",
        "sources": [{"address": f"{publisher.url}/v1/sums.txt", "version": digest}],
        "files": {"own/renamed.txt": {"sha256": digest, "bytes": 4}},
    }


def test_a_file_that_changed_here_is_named(tmp_path: Path, sums: Named) -> None:
    get(tmp_path, sums)
    file = tmp_path / "data/fetched/sums/sums.txt"
    file.write_text("1+2\n")
    with pytest.raises(NightjarError, match=r"sums\.txt: differs from .* fetched for sums/all"):
        downloads.is_there(tmp_path, sums)
    file.unlink()
    assert not downloads.is_there(tmp_path, sums)


def test_a_changed_file_is_named_where_another_is_missing_and_nothing_is_overwritten(
    tmp_path: Path, publisher: Publisher
) -> None:
    data = zipped({"a.txt": b"a", "b.txt": b"b"})
    both = publisher.part("/all.zip", data, files={"a.txt": "./", "b.txt": "./"})
    get(tmp_path, both)
    folder = tmp_path / "data/fetched/sums"
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_text("mine")
    with pytest.raises(NightjarError, match=r"b\.txt: differs"):
        downloads.is_there(tmp_path, both)
    with pytest.raises(NightjarError, match=r"b\.txt: is not the published file"):
        get(tmp_path, both)
    assert tree(folder) == {"b.txt": b"mine"}


def test_a_file_of_the_user_is_not_overwritten(tmp_path: Path, sums: Named) -> None:
    file = tmp_path / "data/fetched/sums/sums.txt"
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(NightjarError, match=r"sums\.txt: is not the published file.* move it away"):
        get(tmp_path, sums)
    assert file.read_text() == "mine" and not downloads.is_there(tmp_path, sums)
    file.write_text("1+1\n")  # the same file, put there by hand
    get(tmp_path, sums)
    assert downloads.is_there(tmp_path, sums)


def test_what_the_table_no_longer_names_is_fetched_anew(
    tmp_path: Path, publisher: Publisher, sums: Named
) -> None:
    get(tmp_path, sums)
    moved = publisher.part("/v2/sums.txt", b"2\n")
    assert downloads.is_there(tmp_path, sums) and not downloads.is_there(tmp_path, moved)
    get(tmp_path, moved)
    assert (tmp_path / "data/fetched/sums/sums.txt").read_bytes() == b"2\n"
    source = moved.about.sources[0].model_copy(update={"sha256": sha256(b"3\n").hexdigest()})
    fixed = replace(moved, about=moved.about.model_copy(update={"sources": [source]}))
    assert not downloads.is_there(tmp_path, fixed)


FETCH = """
import sys
from pathlib import Path
from pipelines.fetch import downloads
from tests.pipelines.fetch.conftest import part
big_file = part({"url": sys.argv[1], "files": {"big.txt": "./"}})
downloads.fetch(Path(), big_file, lambda done, whole: print(done, flush=True))
"""


def test_a_fetch_that_is_killed_leaves_nothing_that_is_taken_for_whole_and_resumes(
    tmp_path: Path, publisher: Publisher
) -> None:
    big_file = publisher.part("/big.txt", bytes(range(256)) * 1000)
    publisher.cut, publisher.release = 100_000, threading.Event()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FETCH, f"{publisher.url}/big.txt"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < publisher.cut:
            pass
        process.kill()
    publisher.release.set()
    publisher.cut = None
    assert not (tmp_path / "data").exists() and not downloads.is_there(tmp_path, big_file)
    get(tmp_path, big_file)
    assert publisher.ranges[0] is None and len(publisher.ranges) == 2
    begun = int(str(publisher.ranges[1]).removeprefix("bytes=").removesuffix("-"))
    assert 0 < begun <= 100_000
    assert (tmp_path / "data/fetched/sums/big.txt").read_bytes() == publisher.files["/big.txt"]
    assert downloads.is_there(tmp_path, big_file)


def test_the_first_fetch_records_an_unknown_sha256_and_later_ones_need_it(
    tmp_path: Path, publisher: Publisher, sums: Named
) -> None:
    get(tmp_path, sums)
    publisher.files["/v1/sums.txt"] = b"2+2\n"
    with pytest.raises(NightjarError, match="the publisher may have changed it"):
        get(tmp_path, sums)
    assert (tmp_path / "data/fetched/sums/sums.txt").read_bytes() == b"1+1\n"


def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, publisher: Publisher, sums: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(source: Path, target: Path) -> None:
        Path(target).write_bytes(b"1+")
        raise OSError(errno.ENOSPC, "No space left on device")

    for copy in ("copyfile", "move"):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
            patch.setattr(downloads.shutil, copy, half)
            get(tmp_path, sums)
        assert tree(tmp_path / "data") == {}
    monkeypatch.setenv("SSL_CERT_FILE", "")  # the file is there: nothing is transferred again
    get(tmp_path, sums)
    assert len(publisher.ranges) == 1


def test_too_little_disk_is_said_before_the_transfer(
    tmp_path: Path, publisher: Publisher, sums: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = downloads.shutil.disk_usage(tmp_path)._replace(free=2**20 - 1)
    monkeypatch.setattr(downloads.shutil, "disk_usage", lambda folder: free)
    with pytest.raises(NightjarError, match="sums/all: about 1 MB are transferred, and 0 MB are free"):
        get(tmp_path, sums)
    assert publisher.ranges == [] and not (tmp_path / "data").exists()


def zipped(files: dict[str, bytes], link: str = "") -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o120777 if name == link else 0o100644) << 16
            archive.writestr(info, content)
    return data.getvalue()


def tarred(files: dict[str, bytes], link: str = "") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            if name == link:
                info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("damage", ["cut", "changed", "zeros"])
def test_a_damaged_archive_is_refused_and_fetched_again(
    tmp_path: Path, publisher: Publisher, pack: Any, damage: str
) -> None:
    text = "".join(f"{number}+{number}={2 * number}\n" for number in range(20_000)).encode()
    good = pack({"set/a.txt": text})
    middle = len(good) // 2
    damaged = {
        "cut": good[:middle],
        "changed": good[:middle] + bytes([good[middle] ^ 16]) + good[middle + 1 :],
        "zeros": good[:middle] + bytes(100) + good[middle + 100 :],
    }[damage]
    archive = publisher.part("/all.archive", damaged, files={"set/a.txt": "./"})
    with pytest.raises(NightjarError, match=r"all\.archive: not a sound archive") as caught:
        get(tmp_path, archive)
    assert publisher.url in str(caught.value) and not (tmp_path / "data").exists()
    publisher.files["/all.archive"] = good
    get(tmp_path, archive)
    assert (tmp_path / "data/fetched/sums/a.txt").read_bytes() == text


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_of_an_archive_only_the_named_files_are_written(
    tmp_path: Path, publisher: Publisher, pack: Any
) -> None:
    files = {"set/a.txt": b"a", "set/b.txt": b"b", "set/more/c.txt": b"c"}
    data = pack({**files, "../../escaped.txt": b"x", "/etc/evil": b"x"})
    get(tmp_path, publisher.part("/all.archive", data, files={"set/*.txt": "in/"}))
    assert tree(tmp_path / "data/fetched/sums") == {"in/a.txt": b"a", "in/b.txt": b"b"}
    assert not (tmp_path.parent / "escaped.txt").exists()


def test_an_archive_that_grows_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    archive.write_bytes(zipped({"a.txt": b"0" * 3_000_000}))
    with pytest.raises(NightjarError, match="more bytes than are expected"):
        transfer.unpack(archive, {"a.txt": "a.txt"}, tmp_path / "out", 2_000_000)


LINK = {"set/a.txt": b"/etc/passwd"}


@pytest.mark.parametrize(
    ("data", "source", "words"),
    [
        (b"1+1\n", {"url": "https://127.0.0.1:9/sums.txt"}, "the transfer failed"),
        (b"1+1\n", {"sha256": "0" * 64}, "the sha256 is .*, not 000"),
        (b"1" * (13 * 2**20), {}, "more than the 12582912 bytes"),
        (b"no archive", {"files": {"a/b.txt": "./"}}, "not a sound archive"),
        (zipped({"set/a.txt": b"a"}), {"files": {"set/b.txt": "./"}}, r"has no file set/b\.txt"),
        (zipped(LINK, link="set/a.txt"), {"files": {"set/a.txt": "./"}}, r"set/a\.txt is not a file"),
        (tarred(LINK, link="set/a.txt"), {"files": {"set/a.txt": "./"}}, r"set/a\.txt is not a file"),
        (tarred({"set/\udcff.txt": b"a"}), {"files": {"set/*.txt": "./"}}, "is not UTF-8"),
    ],
)
def test_what_is_not_the_expected_file_is_one_line(
    tmp_path: Path, publisher: Publisher, data: bytes, source: dict[str, Any], words: str
) -> None:
    with pytest.raises(NightjarError, match=words):
        get(tmp_path, publisher.part("/sums.txt", data, **source))
    assert not (tmp_path / "data").exists()


# Files that are damaged

RECORD: dict[str, Any] = {
    "licence": "MIT",
    "citation": "none",
    "sources": [{"address": "https://a", "version": "0" * 40}],
    "files": {"sums.txt": {"sha256": "0" * 64, "bytes": 4}},
}


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        '{"all": {}}',
        '{"other": {"files": {}}}',
        *(
            json.dumps({"all": {name: text for name, text in RECORD.items() if name != left}})
            for left in RECORD
        ),
        *(
            json.dumps({"all": RECORD | change})
            for change in (
                {"files": {"sums.txt": {"sha256": 1, "bytes": 4}}},
                {"files": {"../sums.txt": RECORD["files"]["sums.txt"]}},
                {"files": {"/etc/passwd": RECORD["files"]["sums.txt"]}},
                {"files": {"a\0b": RECORD["files"]["sums.txt"]}},
                {"sources": [{"address": "https://a"}]},
                {"sources": [{"address": "https://a", "version": "--upload-pack=touch ran"}]},
            )
        ),
    ],
)
def test_a_damaged_record_is_one_line(tmp_path: Path, sums: Named, damaged: str) -> None:
    get(tmp_path, sums)
    file = tmp_path / "data/fetched/sums.json"
    file.write_text(damaged)
    for use in (downloads.is_there, get):
        with pytest.raises(NightjarError, match=r"sums\.json.*delete it and fetch"):
            use(tmp_path, sums)
    assert file.read_text() == damaged
    assert (tmp_path / "data/fetched/sums/sums.txt").read_bytes() == b"1+1\n"


@pytest.mark.parametrize("name", ["data/fetched/sums.json", "data/fetched/sums/sums.txt"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_named_and_stays(tmp_path: Path, sums: Named, name: str, kind: str) -> None:
    get(tmp_path, sums)
    (tmp_path / name).unlink()
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).mkdir()
    for use in (downloads.is_there, get):
        with pytest.raises(NightjarError, match=f"{name}: a .*{kind}"):
            use(tmp_path, sums)
    assert (tmp_path / name).exists()


def test_a_folder_with_the_name_of_a_temporary_file_gets_nothing(tmp_path: Path, sums: Named) -> None:
    names = (".sums.txt.part", f".sums.txt.tmp-{os.getpid()}")
    for name in names:
        (tmp_path / "data/fetched/sums" / name).mkdir(parents=True)
    get(tmp_path, sums)
    assert tree(tmp_path / "data/fetched/sums") == {"sums.txt": b"1+1\n"}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "other bytes", "empty"])
def test_a_complete_transfer_that_is_damaged_begins_again(
    tmp_path: Path, publisher: Publisher, kind: str
) -> None:
    sums = publisher.part("/sums.txt", b"1+1\n", files={"sums.txt": "in/sums.txt/x"})
    (tmp_path / "data/fetched/sums").mkdir(parents=True)
    (tmp_path / "data/fetched/sums/in").touch()
    with pytest.raises(OSError):
        get(tmp_path, sums)  # the transfer is complete, and stays for the next attempt
    (transferred,) = (tmp_path / ".nightjar/fetch").glob("*/0/sums.txt")
    transferred.unlink()
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    if kind == "link":
        transferred.symlink_to(mine)
    elif kind == "pipe":
        os.mkfifo(transferred)
    elif kind == "folder":
        transferred.mkdir()
    else:
        transferred.write_bytes(b"1+2\n" if kind == "other bytes" else b"")
    (tmp_path / "data/fetched/sums/in").unlink()
    get(tmp_path, sums)
    assert tree(tmp_path / "data/fetched/sums") == {"in/sums.txt/x": b"1+1\n"}
    assert mine.read_bytes() == b"mine" and len(publisher.ranges) == 2
