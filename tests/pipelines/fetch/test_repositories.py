"""Parts of data sets from Git repositories: the revision and the bytes that were committed, and nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from tests.conftest import git
from tests.pipelines.fetch.conftest import GIT, Answer, Publisher, get, part, tree


@pytest.mark.parametrize(
    ("revision", "text", "tag"),
    [("v0", "1+1\n", "v0"), ("annotated", "1+1\n", "v0"), ("unknown", "2+2\n", "v1")],
)
def test_one_revision_of_a_repository(
    tmp_path: Path, repository: Path, revision: str, text: str, tag: str
) -> None:
    get(tmp_path, part({**GIT, "revision": revision}))
    assert tree(tmp_path / "data/fetched/sums") == {"in/sums.txt": text.encode()}
    record = json.loads((tmp_path / "data/fetched/sums.json").read_text())["all"]
    assert record["sources"] == [{"address": GIT["git"], "version": git(repository, "rev-parse", tag)}]


def test_a_commit_is_a_revision_and_an_unknown_one_is_that_of_the_first_fetch(
    tmp_path: Path, repository: Path
) -> None:
    get(tmp_path, part({**GIT, "revision": git(repository, "rev-parse", "v0")}))
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
    for name, data in files.items():
        command = ["git", "hash-object", "-w", "--stdin", "--no-filters"]
        identity = subprocess.run(command, cwd=repository, check=True, capture_output=True, input=data).stdout
        mode = "120000" if name == link else "100644"
        git(repository, "update-index", "--add", "--cacheinfo", f"{mode},{identity.decode().strip()},{name}")
    git(repository, "commit", "-m", "more")


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
    user_file = tmp_path / "attributes"
    user_file.write_text(attributes)
    names = () if of_user else (".gitattributes", "data/.gitattributes")
    commit_files(repository, {"data/sums.txt": TEXT, **dict.fromkeys(names, attributes.encode())})
    configure(
        monkeypatch,
        core_autocrlf="true",
        core_attributesFile=str(user_file) if of_user else "/dev/null",
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
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", str(other))
    (other / "mine.txt").write_text("mine")
    before = tree(other)
    for name, place in (
        ("GIT_DIR", ".git"),
        ("GIT_COMMON_DIR", ".git"),
        ("GIT_INDEX_FILE", ".git/index"),
        ("GIT_OBJECT_DIRECTORY", ".git/objects"),
        ("GIT_WORK_TREE", ""),
    ):
        monkeypatch.setenv(name, str(other / place))
    get(tmp_path / "project", part(GIT))
    assert tree(tmp_path / "project/data/fetched/sums") == {"in/sums.txt": b"2+2\n"}
    assert tree(other) == before


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


def test_git_follows_no_redirect_without_encryption(
    tmp_path: Path, publisher: Publisher, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
    address = f"{publisher.url}/sums".replace("https", "http")
    publisher.script = [Answer(302, {"Location": f"{address}/info/refs?service=git-upload-pack"}, size=0)]
    with pytest.raises(NightjarError, match="rotocol"):
        get(tmp_path, part({**GIT, "git": f"{publisher.url}/sums"}))
    assert publisher.ranges == [None]


def test_sources_of_one_repository_keep_their_own_revisions(tmp_path: Path, repository: Path) -> None:
    old = {**GIT, "revision": "v0", "files": {"data/sums.txt": "old.txt"}}
    both = part({**GIT, "revision": "unknown", "files": {"data/sums.txt": "new.txt"}}, old)
    for _ in range(2):
        get(tmp_path, both)
        assert tree(tmp_path / "data/fetched/sums") == {"new.txt": b"2+2\n", "old.txt": b"1+1\n"}
