"""Bytes from a publisher: a file over HTTPS that resumes, one revision of a Git repository, the files of an archive.

pooch and DVC download a file too, but they neither resume one that was cut off nor stop at a size; so the loop over the
bytes is ours, and httpx does the rest.
"""

from __future__ import annotations

import gzip
import lzma
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
from pipelines.project.git import git

# Seconds without a byte, until a connection is there, and of one command of Git.
TIMEOUT = httpx.Timeout(60, connect=20)
GIT_SECONDS = 6 * 3600
# No hook of the user, no path outside, the bytes as they were committed.
_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "protocol.ext.allow=never"),
    *("-c", "core.autocrlf=false"),
)
_BLOCK = 2**20
# What zipfile, tarfile and the decompressors raise for an archive that they cannot read.
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError),
    *(EOFError, ValueError, RuntimeError),
)
Progress = Callable[[int, int], None]


def download(url: str, target: Path, most: int, progress: Progress) -> None:
    """Write the file at `url` to `target`, from where an earlier transfer was cut off.

    `target`.part has the bytes until all are there, and `target`.etag says of which version they are. Raises
    NightjarError for an answer that is no file, one of more than `most` bytes, and a connection that ends early.
    """
    part, version = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.etag")
    # Without a version nobody knows whether the bytes so far are of the same file.
    known = version.read_text("utf-8") if version.exists() else ""
    done = part.stat().st_size if known and part.exists() else 0
    # A server whose file changed since sends all of it.
    headers = {"Range": f"bytes={done}-", "If-Range": known} if done else {}
    again = "run the command again; it resumes"
    try:
        with httpx.stream(
            "GET",
            url,
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=TIMEOUT,
            follow_redirects=True,
        ) as reply:
            if reply.url.scheme != "https":
                raise NightjarError("the server sends it without encryption", url, "fetch it by hand")
            if reply.status_code == 416:  # nothing is left to send
                part.replace(target)
                return
            if reply.status_code not in (200, 206):
                fix = "the publisher may have moved it; fetch it by hand, and say so to Nightjar's developers"
                raise NightjarError(f"the server answers {reply.status_code}", url, fix)
            if reply.headers.get("content-type", "").startswith("text/html"):
                fix = "the publisher may have moved it; fetch it by hand"
                raise NightjarError("the server sends a web page, not the file", url, fix)
            if reply.status_code == 200:
                done = 0
            version.write_text(reply.headers.get("etag") or reply.headers.get("last-modified", ""), "utf-8")
            length = reply.headers.get("content-length")
            whole = done + int(length) if length else 0
            with part.open("ab" if done else "wb") as file:
                for block in reply.iter_raw():
                    done += len(block)
                    if done > most:
                        raise NightjarError(
                            f"more than the {most} bytes that are expected", url, "fetch it by hand"
                        )
                    file.write(block)
                    progress(done, whole)
    except httpx.HTTPError as error:
        raise NightjarError(
            f"the transfer failed: {first_line(error) or type(error).__name__}", url, again
        ) from None
    if whole and done != whole:
        raise NightjarError(f"the transfer ended after {done} of {whole} bytes", url, again)
    part.replace(target)
    version.unlink()


def checkout(repository: str, revision: str | None, patterns: list[str], folder: Path) -> str:
    """Fetch one revision of a repository into `folder`, only the files of `patterns`; returns its commit.

    None is the newest revision. Raises NightjarError with Git's own words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, repository, "init", "--quiet")
    sparse = [f"/{pattern}" for pattern in patterns]
    _git(folder, repository, "sparse-checkout", "set", "--no-cone", *sparse)
    wanted = ["fetch", "--quiet", "--depth=1", "--filter=blob:none", repository, revision or "HEAD"]
    _git(folder, repository, *wanted)
    commit = _git(folder, repository, "rev-parse", "FETCH_HEAD").strip()
    # The blobs of a partial clone come from the remote that it promises.
    for key, value in (("url", repository), ("promisor", "true"), ("partialclonefilter", "blob:none")):
        _git(folder, repository, "config", f"remote.origin.{key}", value)
    _git(folder, repository, "checkout", "--quiet", "--detach", commit)
    return commit


def _git(folder: Path, repository: str, *arguments: str) -> str:
    try:
        return git(
            folder, *_SAFE, *arguments, seconds=GIT_SECONDS, GIT_TERMINAL_PROMPT="0", GIT_LFS_SKIP_SMUDGE="1"
        )
    except FileNotFoundError:
        raise NightjarError("git is missing", repository, "install it") from None
    except subprocess.TimeoutExpired:
        raise NightjarError("git has not ended", repository, "run the command again") from None
    except NightjarError as error:
        fix = "check the connection and the free disk space; the publisher may have moved it"
        raise NightjarError(error.what, repository, fix) from None


def unpack(archive: Path, files: dict[str, str], folder: Path, most: int) -> None:
    """Write the files of a zip or tar archive that `files` name into `folder`.

    Only these are read, so no name in the archive decides where a file goes. Raises NightjarError for a link, for more
    than `most` bytes in all, and for an archive that is damaged.
    """
    left = most
    try:
        for name, regular, stream in _members(archive):
            target = place(name, files)
            if target is None:
                continue
            if not regular:
                raise NightjarError(f"{name} is not a file", archive, "do not use this archive")
            with stream() as source:
                left -= _copy(source, folder / target, left, archive)
    except _DAMAGED as error:
        what = f"not a sound archive: {first_line(error)}"
        raise NightjarError(what, archive, "run the command again: it is fetched anew") from None


def place(name: str, files: dict[str, str]) -> str | None:
    """Where the file of this name goes by `files`; None if none of them names it."""
    for pattern, target in files.items():
        if fnmatchcase(name, pattern) and name.count("/") == pattern.count("/"):
            own = PurePosixPath(name).name
            return (PurePosixPath(target) / own).as_posix() if target.endswith("/") else target
    return None


def _members(archive: Path) -> Iterator[tuple[str, bool, Callable[[], IO[bytes]]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for one in opened.infolist():
                kind = stat.S_IFMT(one.external_attr >> 16)
                yield one.filename, kind in (0, stat.S_IFREG), lambda one=one: opened.open(one)  # type: ignore[misc]
    else:
        with tarfile.open(archive, "r:*") as packed:
            for member in packed:
                yield member.name, member.isreg(), lambda member=member: packed.extractfile(member)  # type: ignore[misc]
            # The checksum of a compressed file comes last.
            while packed.fileobj and packed.fileobj.read(_BLOCK):
                pass


def _copy(source: IO[bytes], target: Path, most: int, archive: Path) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("wb") as file:
        while block := source.read(_BLOCK):
            written += len(block)
            if written > most:
                raise NightjarError("more bytes than are expected", archive, "do not use this archive")
            file.write(block)
    return written


def take(folder: Path, files: dict[str, str], target: Path) -> None:
    """Move the files of a checkout that `files` name to `target`. Raises NightjarError for a pattern without a file."""
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if _regular(path)]
    for name in names:
        if (own := place(name, files)) is not None:
            (target / own).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder / name, target / own)


def _regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
