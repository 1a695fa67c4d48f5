"""`nightjar fetch` against publishers on loopback: what it writes, refuses, resumes and records."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo as DvcRepo

from nightjar.benchmarks.classification.formats import FORMATS
from nightjar.benchmarks.tool_use.formats import LOADERS
from nightjar.benchmarks.zeroscrolls.tasks import TASKS as LONG_TASKS
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from pipelines.fetch import downloads, sources, transfer
from pipelines.fetch.sources import Named, Part
from pipelines.process.lock import locked
from tests.conftest import ROOT
from tests.in_process import captured
from tests.pipelines.fetch.conftest import Answer, Publisher


def part(*origins: dict[str, Any], megabytes: int = 1) -> Named:
    about = {
        "for": "a test",
        "licence": "MIT",
        "citation": "none",
        "megabytes": megabytes,
        "from": list(origins),
    }
    return Named("sums", "all", "ingest.sums.path", Part.model_validate(about))


def get(root: Path, one: Named) -> None:
    downloads.fetch(root, one, lambda done, whole: None)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_file_is_fetched_and_recorded(tmp_path: Path, publisher: Publisher) -> None:
    publisher.files["/v1/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/v1/sums.txt", "files": {"sums.txt": "own/renamed.txt"}})
    assert not downloads.is_there(tmp_path, one)
    get(tmp_path, one)
    assert downloads.is_there(tmp_path, one)
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


def test_a_file_that_changed_here_is_named(tmp_path: Path, publisher: Publisher) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}})
    get(tmp_path, one)
    (tmp_path / "data/fetched/sums/sums.txt").write_text("1+2\n")
    with pytest.raises(
        NightjarError, match=r"sums\.txt: differs from the file that was fetched for sums/all"
    ):
        downloads.is_there(tmp_path, one)
    (tmp_path / "data/fetched/sums/sums.txt").unlink()
    assert not downloads.is_there(tmp_path, one)


def test_a_changed_file_is_named_where_another_is_missing_and_nothing_is_overwritten(
    tmp_path: Path, publisher: Publisher
) -> None:
    publisher.files["/all.zip"] = zipped({"a.txt": b"a", "b.txt": b"b"})
    one = part({"url": f"{publisher.url}/all.zip", "files": {"a.txt": "./", "b.txt": "./"}})
    get(tmp_path, one)
    folder = tmp_path / "data/fetched/sums"
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_text("mine")
    with pytest.raises(NightjarError, match=r"b\.txt: differs"):
        downloads.is_there(tmp_path, one)
    with pytest.raises(NightjarError, match=r"b\.txt: is not the published file"):
        get(tmp_path, one)
    assert tree(folder) == {"b.txt": b"mine"}


def test_a_file_of_the_user_is_not_overwritten(tmp_path: Path, publisher: Publisher) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}})
    own = tmp_path / "data/fetched/sums/sums.txt"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    with pytest.raises(NightjarError, match=r"sums\.txt: is not the published file.* move it away"):
        get(tmp_path, one)
    assert own.read_text() == "mine" and not downloads.is_there(tmp_path, one)
    own.write_text("1+1\n")  # the same file, put there by hand
    get(tmp_path, one)
    assert downloads.is_there(tmp_path, one)


def test_what_the_table_no_longer_names_is_fetched_anew(tmp_path: Path, publisher: Publisher) -> None:
    for version in ("1", "2"):
        publisher.files[f"/v{version}/sums.txt"] = f"{version}\n".encode()
    old, new = (
        part({"url": f"{publisher.url}/v{version}/sums.txt", "files": {"sums.txt": "./"}}) for version in "12"
    )
    get(tmp_path, old)
    assert downloads.is_there(tmp_path, old) and not downloads.is_there(tmp_path, new)
    get(tmp_path, new)
    assert (tmp_path / "data/fetched/sums/sums.txt").read_bytes() == b"2\n"
    digest = sha256(b"3\n").hexdigest()
    source = new.about.sources[0].model_copy(update={"sha256": digest})
    fixed = replace(new, about=new.about.model_copy(update={"sources": [source]}))
    assert not downloads.is_there(tmp_path, fixed)


FETCH = """
import sys
from pathlib import Path
from pipelines.fetch import downloads
from tests.pipelines.fetch.test_downloads import part
big_file = part({"url": sys.argv[1], "files": {"big.txt": "./"}})
downloads.fetch(Path(), big_file, lambda done, whole: print(done, flush=True))
"""


def test_a_fetch_that_is_killed_leaves_nothing_that_is_taken_for_whole_and_resumes(
    tmp_path: Path, publisher: Publisher
) -> None:
    publisher.files["/big.txt"] = bytes(range(256)) * 1000
    publisher.cut, publisher.release = 100_000, threading.Event()
    url = f"{publisher.url}/big.txt"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FETCH, url]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < publisher.cut:
            pass
        process.kill()
    publisher.release.set()
    publisher.cut = None
    one = part({"url": url, "files": {"big.txt": "./"}})
    assert not (tmp_path / "data").exists() and not downloads.is_there(tmp_path, one)
    get(tmp_path, one)
    assert publisher.ranges[0] is None and len(publisher.ranges) == 2
    begun = int(str(publisher.ranges[1]).removeprefix("bytes=").removesuffix("-"))
    assert 0 < begun <= 100_000
    assert (tmp_path / "data/fetched/sums/big.txt").read_bytes() == publisher.files["/big.txt"]
    assert downloads.is_there(tmp_path, one)


def test_a_file_that_changed_since_it_was_cut_off_is_fetched_whole(
    tmp_path: Path, publisher: Publisher
) -> None:
    publisher.files["/big.txt"] = b"a" * 200_000
    one = part({"url": f"{publisher.url}/big.txt", "files": {"big.txt": "./"}})
    publisher.cut = 100_000
    with pytest.raises(NightjarError, match="run the command again; it resumes"):
        get(tmp_path, one)
    publisher.cut, publisher.files["/big.txt"] = None, b"b" * 150_000
    get(tmp_path, one)
    assert (tmp_path / "data/fetched/sums/big.txt").read_bytes() == b"b" * 150_000


@pytest.mark.parametrize(
    ("data", "origin", "words"),
    [
        (None, {}, "the server answers 404"),
        (b"1+1\n", {"sha256": "0" * 64}, "the sha256 is .*, not 000"),
        (b"1" * (13 * 2**20), {}, "more than the 12582912 bytes"),
        (b"no archive", {"files": {"a/b.txt": "./"}}, "not a sound archive"),
        (b"<!doctype html>", {}, "a web page"),
    ],
)
def test_what_is_not_the_expected_file_is_one_line(
    tmp_path: Path, publisher: Publisher, data: bytes | None, origin: dict[str, Any], words: str
) -> None:
    if data is not None:
        publisher.files["/sums.txt"] = data
        publisher.kind = "text/html; charset=utf-8" if b"html" in data else ""
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}, **origin})
    with pytest.raises(NightjarError, match=words):
        get(tmp_path, one)
    assert not (tmp_path / "data").exists()


def test_the_first_fetch_records_an_unknown_sha256_and_later_ones_need_it(
    tmp_path: Path, publisher: Publisher
) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}})
    get(tmp_path, one)
    publisher.files["/sums.txt"] = b"2+2\n"
    with pytest.raises(NightjarError, match="the publisher may have changed it"):
        get(tmp_path, one)
    assert (tmp_path / "data/fetched/sums/sums.txt").read_bytes() == b"1+1\n"


def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}})

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloads.shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space"):
        get(tmp_path, one)
    assert not (tmp_path / "data").exists()
    monkeypatch.undo()
    monkeypatch.setenv("SSL_CERT_FILE", "")  # the file is there: nothing is transferred again
    get(tmp_path, one)
    assert len(publisher.ranges) == 1


def test_too_little_disk_is_said_before_the_transfer(
    tmp_path: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}}, megabytes=2)
    free = downloads.shutil.disk_usage(tmp_path)._replace(free=2**20)
    monkeypatch.setattr(downloads.shutil, "disk_usage", lambda folder: free)
    with pytest.raises(NightjarError, match="sums/all: about 2 MB are transferred, and 1 MB are free"):
        get(tmp_path, one)
    assert publisher.ranges == [] and not (tmp_path / "data").exists()


def test_data_on_another_disk_that_is_full_are_not_half_written(
    tmp_path: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}})

    def half(source: Path, target: Path) -> None:
        Path(target).write_bytes(b"1+")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloads.shutil, "move", half)
    with pytest.raises(OSError, match="No space"):
        get(tmp_path, one)
    assert tree(tmp_path / "data/fetched") == {}


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
    publisher.files["/all.archive"] = {
        "cut": good[:middle],
        "changed": good[:middle] + bytes([good[middle] ^ 16]) + good[middle + 1 :],
        "zeros": good[:middle] + bytes(100) + good[middle + 100 :],
    }[damage]
    one = part({"url": f"{publisher.url}/all.archive", "files": {"set/a.txt": "./"}})
    with pytest.raises(NightjarError, match=r"all\.archive: not a sound archive") as caught:
        get(tmp_path, one)
    assert publisher.url in str(caught.value) and not (tmp_path / "data").exists()
    publisher.files["/all.archive"] = good
    get(tmp_path, one)
    assert (tmp_path / "data/fetched/sums/a.txt").read_bytes() == text


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_of_an_archive_only_the_named_files_are_written(
    tmp_path: Path, publisher: Publisher, pack: Any
) -> None:
    publisher.files["/all.archive"] = pack(
        {
            "set/a.txt": b"a",
            "set/b.txt": b"b",
            "set/more/c.txt": b"c",
            "../../escaped.txt": b"x",
            "/etc/evil": b"x",
        }
    )
    one = part({"url": f"{publisher.url}/all.archive", "files": {"set/*.txt": "in/"}})
    get(tmp_path, one)
    assert tree(tmp_path / "data/fetched/sums") == {"in/a.txt": b"a", "in/b.txt": b"b"}
    assert not (tmp_path.parent / "escaped.txt").exists()


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_link_in_an_archive_is_refused(tmp_path: Path, publisher: Publisher, pack: Any) -> None:
    publisher.files["/all.archive"] = pack({"set/a.txt": b"/etc/passwd"}, link="set/a.txt")
    one = part({"url": f"{publisher.url}/all.archive", "files": {"set/a.txt": "./"}})
    with pytest.raises(NightjarError, match=r"set/a\.txt is not a file"):
        get(tmp_path, one)


def test_an_archive_that_grows_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("a.txt", b"0" * 3_000_000)
    with pytest.raises(NightjarError, match="more bytes than are expected"):
        transfer.unpack(archive, {"a.txt": "a.txt"}, tmp_path / "out", 2_000_000)


def test_a_missing_file_of_an_archive_is_named(tmp_path: Path, publisher: Publisher) -> None:
    publisher.files["/all.zip"] = zipped({"set/a.txt": b"a"})
    one = part({"url": f"{publisher.url}/all.zip", "files": {"set/a.txt": "./", "set/b.txt": "./"}})
    with pytest.raises(NightjarError, match=r"has no file set/b\.txt"):
        get(tmp_path, one)
    assert not (tmp_path / "data").exists()


# Git


@pytest.fixture
def repository(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that Git finds at https://published.example/sums, with two commits."""
    folder = tmp_path_factory.mktemp("published")

    def git(*arguments: str) -> None:
        own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True)

    git("init")
    for option in ("allowFilter", "allowAnySHA1InWant"):
        git("config", f"uploadpack.{option}", "true")
    (folder / "data").mkdir()
    for number, text in enumerate(("1+1\n", "2+2\n")):
        (folder / "data/sums.txt").write_text(text)
        (folder / "data/other.bin").write_bytes(bytes(1000))
        git("add", "--all")
        git("commit", "-m", "sums")
        git("tag", f"v{number}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{folder.as_uri()}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://published.example/sums")
    return folder


def commit(repository: Path, revision: str) -> str:
    done = subprocess.run(
        ["git", "rev-parse", revision], cwd=repository, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


GIT = {"git": "https://published.example/sums", "files": {"data/sums.*": "in/"}}


@pytest.mark.parametrize(("revision", "text"), [("v0", "1+1\n"), ("unknown", "2+2\n")])
def test_one_revision_of_a_repository(tmp_path: Path, repository: Path, revision: str, text: str) -> None:
    get(tmp_path, part({**GIT, "revision": revision}))
    assert tree(tmp_path / "data/fetched/sums") == {"in/sums.txt": text.encode()}
    record = json.loads((tmp_path / "data/fetched/sums.json").read_text())["all"]
    expected = commit(repository, "v1" if revision == "unknown" else revision)
    assert record["sources"] == [{"address": GIT["git"], "version": expected}]


def test_a_commit_is_a_revision_and_an_unknown_one_is_that_of_the_first_fetch(
    tmp_path: Path, repository: Path
) -> None:
    get(tmp_path, part({**GIT, "revision": commit(repository, "v0")}))
    get(tmp_path, part({**GIT, "revision": "unknown"}))
    assert tree(tmp_path / "data/fetched/sums") == {"in/sums.txt": b"1+1\n"}


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ({"revision": "v9"}, "v9"),
        ({"files": {"data/moved.txt": "./"}}, "has no file data/moved.txt"),
        ({"git": "https://127.0.0.1:9/sums"}, "check the connection"),
        ({"git": "https://published.example/sums-gone"}, "does not appear to be a git repository"),
    ],
)
def test_a_repository_that_lacks_it_is_one_line(
    tmp_path: Path, repository: Path, origin: dict[str, Any], words: str
) -> None:
    with pytest.raises(NightjarError, match=words):
        get(tmp_path, part({**GIT, **origin}))
    assert not (tmp_path / "data").exists()


TEXT = b"$Id$\n1+1\r\n2+2\n\xc3\xa9\n"


def commit_files(repository: Path, files: dict[str, bytes], link: str = "") -> None:
    """Commit `files` with exactly these bytes to the end of a repository; the file `link` as a symbolic link."""

    def git(*arguments: str, data: bytes | None = None) -> str:
        own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"]
        command = ["git", *own, *arguments]
        return subprocess.run(
            command, cwd=repository, check=True, capture_output=True, input=data
        ).stdout.decode()

    for name, data in files.items():
        identity = git("hash-object", "-w", "--stdin", "--no-filters", data=data).strip()
        mode = "120000" if name == link else "100644"
        git("update-index", "--add", "--cacheinfo", f"{mode},{identity},{name}")
    git("commit", "-m", "more")


def configure(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    """Add to the user's configuration of Git; _ stands for a dot."""
    for number, (name, text) in enumerate(settings.items(), start=1):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name.replace("_", "."))
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", text)
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(1 + len(settings)))


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        "* text eol=crlf",
        "* text=auto",
        "* crlf",
        "* ident",
        "* filter=shout",
        "* filter=lfs diff=lfs merge=lfs -text",
        "* working-tree-encoding=UTF-16",
        "* text working-tree-encoding=latin1 eol=crlf ident filter=shout",
    ],
)
@pytest.mark.parametrize("of_user", [True, False])
def test_git_keeps_the_bytes_whatever_attributes_say(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, attributes: str, of_user: bool
) -> None:
    """Filters, ends of lines and encodings of the user and of the repository: `shout` changes or refuses all files."""
    own = tmp_path / "own-attributes"
    own.write_text(attributes)
    written = (
        {} if of_user else {".gitattributes": attributes.encode(), "data/.gitattributes": attributes.encode()}
    )
    commit_files(repository, {"data/sums.txt": TEXT, **written})
    configure(
        monkeypatch,
        core_autocrlf="true",
        core_attributesFile=str(own) if of_user else "/dev/null",
        filter_shout_smudge="tr a-z A-Z",
        filter_shout_clean="tr A-Z a-z",
        filter_shout_required="true",
        filter_lfs_process="false",
        filter_lfs_required="true",
    )
    get(tmp_path / "project", part(GIT))
    assert tree(tmp_path / "project/data/fetched/sums") == {"in/sums.txt": TEXT}


def test_git_runs_no_program_of_the_user(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks of the configuration and of templates, a template's configuration, and a monitor of files."""
    template = tmp_path / "template"
    mark, hook = tmp_path / "ran", f"#!/bin/sh\ntouch {tmp_path}/ran\n"
    names = ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman")
    for name in names:
        for folder in (template / "hooks", tmp_path / "hooks"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(hook)
            (folder / name).chmod(0o755)
    (template / "info").mkdir()
    (template / "info/attributes").write_text("* text eol=crlf\n")
    (template / "config").write_text('[protocol "file"]\n\tallow = never\n')
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template))
    configure(
        monkeypatch,
        init_templateDir=str(template),
        core_hooksPath=str(tmp_path / "hooks"),
        core_fsmonitor=str(tmp_path / "hooks/fsmonitor-watchman"),
        submodule_recurse="true",
    )
    get(tmp_path / "project", part(GIT))
    assert tree(tmp_path / "project/data/fetched/sums") == {"in/sums.txt": b"2+2\n"}
    assert not mark.exists()


def test_git_writes_to_no_other_repository(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a hook of Git, whose environment names the repository that it is of."""
    own = tmp_path / "own"
    subprocess.run(["git", "init", "--quiet", str(own)], check=True)
    (own / "mine.txt").write_text("mine")
    before = tree(own)
    for name, place in (
        ("GIT_DIR", ".git"),
        ("GIT_COMMON_DIR", ".git"),
        ("GIT_INDEX_FILE", ".git/index"),
        ("GIT_OBJECT_DIRECTORY", ".git/objects"),
        ("GIT_WORK_TREE", ""),
    ):
        monkeypatch.setenv(name, str(own / place))
    get(tmp_path / "project", part(GIT))
    assert tree(tmp_path / "project/data/fetched/sums") == {"in/sums.txt": b"2+2\n"}
    assert tree(own) == before


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 4\n"


@pytest.mark.parametrize(
    ("content", "link", "words"),
    [
        (b"other.bin", "data/sums.txt", "data/sums.txt is a link"),
        (POINTER, "", "data/sums.txt is a pointer of Git LFS"),
        (b"<!DOCTYPE html>\n", "", "data/sums.txt is a web page"),
    ],
)
@pytest.mark.parametrize("attributes", [b"", b"* filter=lfs -text"])
def test_a_repository_with_something_in_the_place_of_a_file_is_refused(
    tmp_path: Path, repository: Path, content: bytes, link: str, words: str, attributes: bytes
) -> None:
    commit_files(repository, {"data/sums.txt": content, ".gitattributes": attributes}, link)
    with pytest.raises(NightjarError, match=words) as caught:
        get(tmp_path, part(GIT))
    assert GIT["git"] in str(caught.value) and not (tmp_path / "data").exists()


def test_a_link_in_the_place_of_a_folder_is_no_folder(tmp_path: Path, repository: Path) -> None:
    commit_files(repository, {"linked": b"data"}, link="linked")
    with pytest.raises(NightjarError, match=r"has no file linked/sums\.txt"):
        get(tmp_path, part({**GIT, "files": {"linked/sums.txt": "./"}}))


def test_an_annotated_tag_is_recorded_as_its_commit(tmp_path: Path, repository: Path) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *own, "tag", "-a", "-m", "v2", "v2", "v0"], cwd=repository, check=True)
    get(tmp_path, part({**GIT, "revision": "v2"}))
    record = json.loads((tmp_path / "data/fetched/sums.json").read_text())["all"]
    assert record["sources"][0]["version"] == commit(repository, "v0")


def test_git_follows_no_redirect_without_encryption(
    tmp_path: Path, publisher: Publisher, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
    address = f"{publisher.url}/sums".replace("https", "http")
    publisher.script = [Answer(302, {"Location": f"{address}/info/refs?service=git-upload-pack"}, size=0)]
    with pytest.raises(NightjarError, match="rotocol"):
        get(tmp_path, part({**GIT, "git": f"{publisher.url}/sums"}))
    assert publisher.ranges == [None]


def test_a_name_that_no_record_can_have_is_refused(tmp_path: Path, publisher: Publisher) -> None:
    publisher.files["/all.tar"] = tarred({"set/\udcff.txt": b"a"})
    with pytest.raises(NightjarError, match="is not UTF-8"):
        get(tmp_path, part({"url": f"{publisher.url}/all.tar", "files": {"set/*.txt": "./"}}))
    assert not (tmp_path / "data").exists()


# Files that are damaged


@pytest.fixture
def one(tmp_path: Path, publisher: Publisher) -> Named:
    """A part that was fetched."""
    publisher.files["/sums.txt"] = b"1+1\n"
    sums = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}})
    get(tmp_path, sums)
    return sums


WHOLE: dict[str, Any] = {
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
            json.dumps({"all": {name: text for name, text in WHOLE.items() if name != left}})
            for left in WHOLE
        ),
        *(
            json.dumps({"all": WHOLE | change})
            for change in (
                {"files": {"sums.txt": {"sha256": 1, "bytes": 4}}},
                {"files": {"../sums.txt": WHOLE["files"]["sums.txt"]}},
                {"files": {"/etc/passwd": WHOLE["files"]["sums.txt"]}},
                {"files": {"a\0b": WHOLE["files"]["sums.txt"]}},
                {"sources": [{"address": "https://a"}]},
                {"sources": [{"address": "https://a", "version": "--upload-pack=touch ran"}]},
            )
        ),
    ],
)
def test_a_damaged_record_is_one_line(tmp_path: Path, one: Named, damaged: str) -> None:
    file = tmp_path / "data/fetched/sums.json"
    file.write_text(damaged)
    for use in (downloads.is_there, get):
        with pytest.raises(NightjarError, match=r"sums\.json.*delete it and fetch"):
            use(tmp_path, one)
    assert file.read_text() == damaged
    assert (tmp_path / "data/fetched/sums/sums.txt").read_bytes() == b"1+1\n"


@pytest.mark.parametrize("name", ["data/fetched/sums.json", "data/fetched/sums/sums.txt"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_named_and_stays(tmp_path: Path, one: Named, name: str, kind: str) -> None:
    (tmp_path / name).unlink()
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).mkdir()
    for use in (downloads.is_there, get):
        with pytest.raises(NightjarError, match=f"{name}: a .*{kind}"):
            use(tmp_path, one)
    assert (tmp_path / name).exists()


def test_a_folder_with_the_name_of_a_temporary_file_gets_nothing(
    tmp_path: Path, publisher: Publisher
) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    names = (".sums.txt.part", f".sums.txt.tmp-{os.getpid()}")
    for name in names:
        (tmp_path / "data/fetched/sums" / name).mkdir(parents=True)
    get(tmp_path, part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "./"}}))
    assert tree(tmp_path / "data/fetched/sums") == {"sums.txt": b"1+1\n"}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "other bytes", "empty"])
def test_a_complete_transfer_that_is_damaged_begins_again(
    tmp_path: Path, publisher: Publisher, kind: str
) -> None:
    publisher.files["/sums.txt"] = b"1+1\n"
    one = part({"url": f"{publisher.url}/sums.txt", "files": {"sums.txt": "in/sums.txt/x"}})
    (tmp_path / "data/fetched/sums").mkdir(parents=True)
    (tmp_path / "data/fetched/sums/in").touch()
    with pytest.raises(OSError):
        get(tmp_path, one)  # the transfer is complete, and stays for the next attempt
    (transferred,) = (tmp_path / ".nightjar/fetch").glob("*/0/sums.txt")
    transferred.unlink()
    own = tmp_path / "own"
    own.write_bytes(b"mine")
    if kind == "link":
        transferred.symlink_to(own)
    elif kind == "pipe":
        os.mkfifo(transferred)
    elif kind == "folder":
        transferred.mkdir()
    else:
        transferred.write_bytes(b"1+2\n" if kind == "other bytes" else b"")
    (tmp_path / "data/fetched/sums/in").unlink()
    get(tmp_path, one)
    assert tree(tmp_path / "data/fetched/sums") == {"in/sums.txt/x": b"1+1\n"}
    assert own.read_bytes() == b"mine" and len(publisher.ranges) == 2


def test_sources_of_one_repository_keep_their_own_revisions(tmp_path: Path, repository: Path) -> None:
    old = {**GIT, "revision": "v0", "files": {"data/sums.txt": "old.txt"}}
    one = part({**GIT, "revision": "unknown", "files": {"data/sums.txt": "new.txt"}}, old)
    for _ in range(2):
        get(tmp_path, one)
        assert tree(tmp_path / "data/fetched/sums") == {"new.txt": b"2+2\n", "old.txt": b"1+1\n"}


# The table


def test_the_table_is_valid_and_its_checksums_are_of_files_that_it_names() -> None:
    known = sources.table()
    places = [
        (one.dataset, target if not target.endswith("/") else (Path(target) / Path(pattern).name).as_posix())
        for one in known.values()
        for source in one.about.sources
        for pattern, target in source.files.items()
    ]
    unknown = [
        name
        for name in sources.checksums()
        if not any(
            name.startswith(f"{dataset}/") and Path(name).match(f"{dataset}/{place}")
            for dataset, place in places
        )
    ]
    assert unknown == []


def test_the_table_has_the_files_of_every_task() -> None:
    """Against what the loaders of the benchmarks read."""
    targets: dict[str, list[str]] = {}
    for one in sources.table().values():
        for source in one.about.sources:
            for pattern, target in source.files.items():
                name = target if not target.endswith("/") else (Path(target) / Path(pattern).name).as_posix()
                targets.setdefault(one.dataset, []).append(name)
    of_tools = {name.split("/")[0] for name in targets["tool_use"]}
    assert of_tools == LOADERS.keys() - {"held_out"}, "held_out are texts of one's own"
    assert {name.split("/")[0] for name in targets["zeroscrolls"]} == LONG_TASKS.keys()
    published = ("sst2", "sst5", "trec", "cr", "mr", "mpqa", "subj", "cola", "fever")
    for task in published:
        complete = [
            it
            for it in FORMATS
            if it.task == task
            and all(
                any(fnmatchcase(file, name) for name in targets["classification"]) for file in it.required
            )
        ]
        assert complete, task


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ({"files": {"a": "a"}}, "one address"),
        ({"git": "https://a.b", "url": "https://a.b", "files": {"a": "a"}}, "one address"),
        ({"url": "http://a.b", "files": {"a": "a"}}, "pattern"),
        ({"url": "https://a.b", "files": {"a": "../a"}}, "leaves the folder"),
        ({"url": "https://a.b", "files": {"a": "/a"}}, "leaves the folder"),
        ({"git": "https://a.b", "revision": "--upload-pack=x", "files": {"a": "a"}}, "pattern"),
    ],
)
def test_a_source_that_is_not_safe_is_refused(origin: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        part(origin)


# The command


@pytest.mark.parametrize("content", [b"\xff", b"", None])
def test_a_damaged_profile_does_not_end_a_fetch(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sources, "table", lambda: {"sums/all": part(GIT)})
    (tmp_path / ".nightjar").mkdir()
    if content is None:
        os.mkfifo(tmp_path / ".nightjar/profile")
    else:
        (tmp_path / ".nightjar/profile").write_bytes(content)
    done = captured(main, ["fetch", "sums"])
    assert done.returncode == 0, done.stderr
    assert "To read them: nightjar use sample" in done.stdout


def test_what_is_fetched_is_versioned_and_read_by_what_is_printed(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a project as Git clones it, whose .gitignore leaves the records to Git and the data to DVC."""
    for name in (".gitignore", ".dvcignore", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in (["git", "init"], [sys.executable, "-m", "dvc", "init", "--quiet"]):
        subprocess.run(command, check=True, capture_output=True)
    one = sources.Named("sums", "all", "ingest.corpus.path", part(GIT).about, {"ingest.corpus.unit": "lines"})
    monkeypatch.setattr(sources, "table", lambda: {"sums/all": one})
    done = captured(main, ["fetch", "sums"])
    assert done.returncode == 0, done.stderr
    assert "--set ingest.corpus.path=data/fetched/sums --set ingest.corpus.unit=lines" in done.stdout
    with DvcRepo() as repo:
        assert "data/fetched/sums.dvc" in [stage.addressing for stage in repo.index.stages]
    listed = subprocess.run(["git", "status", "--porcelain", "-uall", "data"], capture_output=True, text=True)
    names = [line.split()[1] for line in listed.stdout.splitlines()]
    assert names == [f"data/fetched/{name}" for name in (".gitignore", "sums.dvc", "sums.json")]

    (tmp_path / "data/fetched/sums.dvc").unlink()  # a fetch that was killed before DVC had it
    again = captured(main, ["fetch", "sums", "--use"])
    assert "sums/all: unchanged" in again.stdout and (tmp_path / "data/fetched/sums.dvc").exists()
    read = read_yaml(tmp_path / "params.yaml")["ingest"]["corpus"]
    assert (read["path"], read["unit"]) == ("data/fetched/sums", "lines")


def test_terms_must_be_accepted_and_an_unknown_name_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = captured(main, ["fetch", "tool_use/svamp", "tool_use/asdiv"])
    assert done.returncode == 2
    assert "tool_use/asdiv (CC-BY-NC-4.0: non-commercial use only)" in done.stderr
    done = captured(main, ["fetch", "sst2"])
    assert done.returncode == 2
    assert "no data set 'sst2'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_two_fetches_at_once_do_not_write_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with locked(Path(), downloads.LOCK, "a fetch"):
        done = captured(main, ["fetch", "tool_use/svamp"])
    assert done.returncode == 2 and "a fetch is running" in done.stderr
    assert not (tmp_path / "data").exists()


def test_the_list_has_every_data_set_with_licence_and_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = captured(main, ["fetch", "--list", "--json"])
    listed = json.loads(done.stdout)
    assert {one["name"] for one in listed} == set(sources.table())
    assert all(one["licence"] and one["sources"] and one["megabytes"] for one in listed)
