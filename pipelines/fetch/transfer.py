"""Bytes from a publisher: a file over HTTPS that resumes, one revision of a Git repository, the files of an archive.

pooch and DVC download a file too, but they neither resume one that was cut off nor stop at a size; so the loop over the
bytes is ours, and httpx does the rest.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
import shutil
import stat
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

import httpx

from nightjar.core.errors import NightjarError, first_line
from nightjar.core.files import flush, remove
from pipelines.project.git import git, names

# Seconds without a byte, until a connection is there, and of one command of Git.
TIMEOUT = httpx.Timeout(60, connect=20)
GIT_SECONDS = 6 * 3600
# No program of the user, no path outside, no redirect that leaves the encryption, no other repository.
_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.symlinks=false"),
    *("-c", "protocol.ext.allow=never", "-c", "protocol.http.allow=user", "-c", "submodule.recurse=false"),
    *("-c", "fetch.recurseSubmodules=false"),
)
# The bytes as they were committed: these lines are stronger than those of the user and of the repository.
_ATTRIBUTES = "* -text -ident -filter !working-tree-encoding\n"
# Of ETags: a weak one may stay the same while the bytes change.
_STRONG = re.compile(r'"[!#-~]*"')
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_PAGES = (b"<!doctype html", b"<html")
_POINTER = b"version https://git-lfs.github.com/spec/"
_BLOCK = 2**20
# What zipfile, tarfile and the decompressors raise for an archive that they cannot read.
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError),
    *(EOFError, ValueError, RuntimeError),
)
Progress = Callable[[int, int], None]


def download(url: str, target: Path, byte_limit: int, progress: Progress) -> None:
    """Write the file at `url` to `target`, from where an earlier transfer was cut off.

    `target`.part has the bytes until all are there, and `target`.etag says of which version they are. Without a strong
    ETag, or where the server sends another version or another range, the transfer begins again.

    Raises NightjarError for an answer that is not the file, one of more than `byte_limit` bytes, and a connection that
    ends early.
    """
    part, version = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.etag")
    etag, done = _cut_off(part, version)
    again = "run the command again; it resumes"
    resumed = {"Range": f"bytes={done}-", "If-Range": etag} if done else {}
    try:
        with httpx.Client(
            timeout=TIMEOUT, follow_redirects=True, event_hooks={"request": [_check_encryption]}
        ) as client:
            for headers in (resumed, {}) if resumed else ({},):
                with client.stream("GET", url, headers={**headers, "Accept-Encoding": "identity"}) as reply:
                    total = _total(reply, etag, done) if headers else None
                    if headers and total is None and reply.status_code in (206, 416):
                        continue
                    if total is None:
                        total, done = _check_answer(reply, url), 0
                        _begin(part, version, reply.headers.get("etag", ""))
                    with part.open("ab") as file:
                        for block in reply.iter_raw():
                            done += len(block)
                            if max(done, total) > byte_limit:
                                what = f"more than the {byte_limit} bytes that are expected"
                                raise NightjarError(what, url, "fetch it by hand")
                            file.write(block)
                            progress(done, total)
                break
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        what = f"the transfer failed: {first_line(error) or type(error).__name__}"
        raise NightjarError(what, url, again) from None
    if total and done != total:
        raise NightjarError(f"the transfer ended after {done} of {total} bytes", url, again)
    if what := _substitute(part) if done else "an empty file":
        _begin(part, version, "")
        fix = "the publisher may have moved it; fetch it by hand"
        raise NightjarError(f"the server sends {what}, not the file", url, fix)
    # Before its name says that it is complete.
    flush(part)
    part.replace(target)
    version.unlink(missing_ok=True)


def _cut_off(part: Path, version: Path) -> tuple[str, int]:
    """The strong ETag and the number of the bytes of a transfer that was cut off; no bytes if it must begin again."""
    for path in (part, version):
        if not is_regular(path):  # a write would go elsewhere, a read might wait for ever
            remove(path)
    etag = version.read_bytes().decode("latin-1") if version.exists() else ""
    return etag, part.stat().st_size if part.exists() and _STRONG.fullmatch(etag) else 0


def _begin(part: Path, version: Path, etag: str) -> None:
    """Make `part` empty, and `version` that of the bytes to come; at no moment is it beside other bytes."""
    remove(version)
    remove(part)
    part.touch()
    if _STRONG.fullmatch(etag):
        version.write_text(etag, "ascii")


def _check_encryption(request: httpx.Request) -> None:
    """Raise NightjarError for a request without encryption, before it is sent: redirects lead to some."""
    if request.url.scheme != "https":
        what = "the server leads to an address without encryption"
        raise NightjarError(what, request.url, "fetch it by hand")


def _total(reply: httpx.Response, etag: str, done: int) -> int | None:
    """The size of the file of which an answer sends all but the first `done` bytes; None for any other answer."""
    place = _RANGE.fullmatch(reply.headers.get("content-range", ""))
    if reply.status_code != 206 or place is None or reply.headers.get("etag") != etag or _encoded(reply):
        return None
    start, last, total = map(int, place.groups())
    return total if start == done and last == total - 1 else None


def _encoded(reply: httpx.Response) -> str:
    """The encoding in which a server sends a file, which it was not to use; empty for none."""
    encoding = str(reply.headers.get("content-encoding", "")).strip().lower()
    # Some servers name what a file is.
    of_file = ("gzip", "x-gzip") if reply.url.path.endswith((".gz", ".tgz")) else ()
    return "" if encoding in ("identity", *of_file) else encoding


def _check_answer(reply: httpx.Response, url: str) -> int:
    """The size of the file that an answer sends as a whole; 0 if only its end will show.

    Raises NightjarError for an answer that is not the file.
    """
    fix = "the publisher may have moved it; fetch it by hand"
    if reply.status_code != 200:
        developers = f"{fix}, and say so to Nightjar's developers"
        raise NightjarError(f"the server answers {reply.status_code}", url, developers)
    content = reply.headers.get("content-type", "").strip().lower()
    if content.startswith(("text/html", "application/xhtml")):
        raise NightjarError("the server sends a web page, not the file", url, fix)
    if content.startswith("multipart/"):
        raise NightjarError("the server sends several parts, not the file", url, fix)
    if encoding := _encoded(reply):
        raise NightjarError(f"the server sends it as {encoding}, not as it is", url, "fetch it by hand")
    length = reply.headers.get("content-length")
    if length is None and "chunked" not in reply.headers.get("transfer-encoding", "").lower():
        what = "the server does not say where the file ends: a part of it would look complete"
        raise NightjarError(what, url, "fetch it by hand")
    return int(length or 0)


def _substitute(path: Path) -> str:
    """Return the kind of a file that publishers put in the place of another; empty for other files."""
    with path.open("rb") as file:
        start = file.read(200).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith(_PAGES):
        return "a web page"
    return "a pointer of Git LFS" if start.startswith(_POINTER) else ""


def checkout(repository: str, revision: str | None, files: dict[str, str], folder: Path, target: Path) -> str:
    """Put the files of one revision of a repository that `files` name into `target`; returns its commit.

    `folder` is where the repository is fetched. None is the newest revision. The files have the bytes that were
    committed, whatever the user's configuration and the repository's attributes say. Raises NightjarError with Git's
    own words, and for a link and a pointer of Git LFS.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, repository, "init", "--quiet", "--template=")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/attributes").write_text(_ATTRIBUTES, "ascii")
    _git(folder, repository, "sparse-checkout", "set", "--no-cone", *(f"/{pattern}" for pattern in files))
    _git(
        folder,
        repository,
        *("fetch", "--quiet", "--depth=1", "--filter=blob:none", repository, revision or "HEAD"),
    )
    commit = _git(folder, repository, "rev-parse", "FETCH_HEAD^{commit}").strip()
    objects = {}
    for entry in names(_git(folder, repository, "ls-tree", "-r", "-z", commit)):
        about, name = entry.split("\t", 1)
        mode, _, identity = about.split()
        inner = place(name, files)
        if inner is None:
            continue
        if not mode.startswith("100"):
            raise NightjarError(f"{name} is a link, not a file", repository, "fetch it by hand")
        objects[name] = (identity, target / inner)
    # The blobs of a partial clone come from the remote that it promises.
    for key, value in (("url", repository), ("promisor", "true"), ("partialclonefilter", "blob:none")):
        _git(folder, repository, "config", f"remote.origin.{key}", value)
    _git(folder, repository, "checkout", "--quiet", "--detach", commit)
    for name, (identity, path) in objects.items():
        if not is_regular(folder / name) or _object(folder / name, identity) != identity:
            what = f"{name} differs from what was committed"
            raise NightjarError(what, repository, "check the configuration of Git")
        if what := _substitute(folder / name):
            raise NightjarError(f"{name} is {what}, not the file", repository, "fetch it by hand")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / name, path)
    return commit


def _object(path: Path, identity: str) -> str:
    """The name that Git gives to the bytes of a file, by the same hash as `identity`."""
    algorithm = "sha1" if len(identity) == 40 else "sha256"
    data = hashlib.new(algorithm, b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            data.update(block)
    return data.hexdigest()


def _git(folder: Path, repository: str, *arguments: str) -> str:
    git_folder = folder.absolute() / ".git"
    # A hook of Git sets them to those of another repository.
    places = {
        "GIT_DIR": git_folder,
        "GIT_COMMON_DIR": git_folder,
        "GIT_INDEX_FILE": git_folder / "index",
        "GIT_OBJECT_DIRECTORY": git_folder / "objects",
        "GIT_WORK_TREE": git_folder.parent,
    }
    variables = {name: str(path) for name, path in places.items()}
    try:
        return git(folder, *_SAFE, *arguments, seconds=GIT_SECONDS, GIT_TERMINAL_PROMPT="0", **variables)
    except FileNotFoundError:
        raise NightjarError("git is missing", repository, "install it") from None
    except subprocess.TimeoutExpired:
        raise NightjarError("git has not ended", repository, "run the command again") from None
    except NightjarError as error:
        fix = "check the connection and the free disk space; the publisher may have moved it"
        raise NightjarError(error.what, repository, fix) from None


def unpack(archive: Path, files: dict[str, str], folder: Path, byte_limit: int) -> None:
    """Write the files of a zip or tar archive that `files` name into `folder`.

    Only these are read, so no name in the archive decides where a file goes. Raises NightjarError for a link, for more
    than `byte_limit` bytes in all, for a web page or a pointer of Git LFS, and for an archive that is damaged.
    """
    remaining = byte_limit
    try:
        for name, regular, stream in _members(archive):
            target = place(name, files)
            if target is None:
                continue
            if not regular:
                raise NightjarError(f"{name} is not a file", archive, "do not use this archive")
            with stream() as source:
                remaining -= _copy(source, folder / target, remaining, archive)
            if what := _substitute(folder / target):
                raise NightjarError(f"{name} is {what}, not the file", archive, "fetch it by hand")
    except _DAMAGED as error:
        what = f"not a sound archive: {first_line(error)}"
        raise NightjarError(what, archive, "run the command again: it is fetched anew") from None


def place(name: str, files: dict[str, str]) -> str | None:
    """Return the place of the file of this name by `files`; None if none of them names it."""
    for pattern, target in files.items():
        if fnmatchcase(name, pattern) and name.count("/") == pattern.count("/"):
            file_name = PurePosixPath(name).name
            return (PurePosixPath(target) / file_name).as_posix() if target.endswith("/") else target
    return None


def _members(archive: Path) -> Iterator[tuple[str, bool, Callable[[], IO[bytes]]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                kind = stat.S_IFMT(entry.external_attr >> 16)
                yield entry.filename, kind in (0, stat.S_IFREG), lambda entry=entry: opened.open(entry)  # type: ignore[misc]
    else:
        with tarfile.open(archive, "r:*") as packed:
            for member in packed:
                yield member.name, member.isreg(), lambda member=member: packed.extractfile(member)  # type: ignore[misc]
            # The checksum of a compressed file comes last.
            while packed.fileobj and packed.fileobj.read(_BLOCK):
                pass


def _copy(source: IO[bytes], target: Path, byte_limit: int, archive: Path) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("wb") as file:
        while block := source.read(_BLOCK):
            written += len(block)
            if written > byte_limit:
                raise NightjarError("more bytes than are expected", archive, "do not use this archive")
            file.write(block)
    return written


def is_regular(path: Path) -> bool:
    """Return whether `path` itself is an ordinary file."""
    return path.is_file() and not path.is_symlink()
