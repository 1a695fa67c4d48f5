"""What publishers send and cut-off transfers leave in the place of a file: the file arrives, or nothing."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from pipelines.fetch.transfer import download
from tests.pipelines.fetch.conftest import Answer, Publisher

OLD, NEW, CUT = bytes(range(200)) * 600, bytes(reversed(range(200))) * 600, 50_000
SIZE = len(OLD)
STRONG = '"version-1"'


def get(url: str, folder: Path, most: int = 10**6) -> bytes:
    """The file that arrives; its folder must have nothing else then."""
    download(url, folder / "file", most, lambda done, total: None)
    assert [path.name for path in folder.iterdir()] == ["file"]
    data = (folder / "file").read_bytes()
    (folder / "file").unlink()
    return data


def refusal(url: str, folder: Path) -> str:
    """The one line of a transfer that fails; no file must be there then."""
    with pytest.raises(NightjarError) as caught:
        download(url, folder / "file", 10**6, lambda done, total: None)
    assert not (folder / "file").exists()
    return str(caught.value)


def part_of(data: bytes, start: int = CUT, etag: str | None = STRONG, **headers: str) -> Answer:
    about = {
        "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}",
        **({"ETag": etag} if etag else {}),
    }
    about |= {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(206, {name: text for name, text in about.items() if text}, data[start:])


@pytest.fixture
def cut(tmp_path: Path, publisher: Publisher) -> str:
    """The address of a file whose first transfer was cut off."""
    publisher.script = [Answer(200, {"ETag": STRONG}, OLD[:CUT], size=SIZE)]
    url = f"{publisher.url}/file"
    assert "run the command again; it resumes" in refusal(url, tmp_path)
    assert (tmp_path / "file.part").stat().st_size == CUT
    return url


WRONG_PARTS = {
    "of another version": part_of(NEW, etag='"version-2"'),
    "without a version": part_of(NEW, etag=None),
    "of a weak version": part_of(NEW, etag=f"W/{STRONG}"),
    "of two versions": part_of(NEW, etag=f"{STRONG}, {STRONG}"),
    "from the start": part_of(OLD, start=0),
    "from a byte too early": part_of(OLD, start=CUT - 1),
    "from a byte too late": part_of(OLD, start=CUT + 1),
    "that does not say where": part_of(OLD, Content_Range=""),
    "of an unknown total": part_of(OLD, Content_Range=f"bytes {CUT}-{SIZE - 1}/*"),
    "that ends early": Answer(
        206, {"ETag": STRONG, "Content-Range": f"bytes {CUT}-{CUT + 9}/{SIZE}"}, OLD[CUT : CUT + 10]
    ),
    "that ends after the end": part_of(OLD, Content_Range=f"bytes {CUT}-{SIZE}/{SIZE}"),
    "in other units": part_of(OLD, Content_Range=f"rows {CUT}-{SIZE - 1}/{SIZE}"),
    "of absurd numbers": part_of(OLD, Content_Range=f"bytes {'9' * 5000}-9/9"),
    "compressed": part_of(OLD, Content_Encoding="gzip"),
    "in several parts": Answer(
        206, {"ETag": STRONG, "Content-Type": "multipart/byteranges; boundary=a"}, b"--a\r\n\r\n" + OLD[CUT:]
    ),
    "that cannot be": Answer(416, {"Content-Range": f"bytes */{CUT}"}),
}


@pytest.mark.parametrize("answer", WRONG_PARTS.values(), ids=WRONG_PARTS.keys())
def test_a_part_that_does_not_fit_begins_the_transfer_again(
    tmp_path: Path, publisher: Publisher, cut: str, answer: Answer
) -> None:
    publisher.script, publisher.files = [answer], {"/file": NEW}
    assert get(cut, tmp_path) == NEW
    assert publisher.ranges == [None, f"bytes={CUT}-", None]


@pytest.mark.parametrize("headers", [{}, {"Content_Encoding": "identity"}, {"Content_Type": "text/html"}])
def test_the_part_that_is_missing_is_appended(
    tmp_path: Path, publisher: Publisher, cut: str, headers: dict[str, str]
) -> None:
    publisher.script = [part_of(OLD, **headers)]
    assert get(cut, tmp_path) == OLD
    assert publisher.ranges == [None, f"bytes={CUT}-"]


def test_a_part_that_is_cut_off_in_turn_resumes(tmp_path: Path, publisher: Publisher, cut: str) -> None:
    answer = part_of(OLD)
    answer.body, answer.size = answer.body[:1000], len(answer.body)
    publisher.script = [answer, Answer(503), part_of(OLD, start=CUT + 1000)]
    assert "it resumes" in refusal(cut, tmp_path)
    assert "answers 503" in refusal(cut, tmp_path)
    assert get(cut, tmp_path) == OLD
    assert publisher.ranges[2:] == [f"bytes={CUT + 1000}-"] * 2


@pytest.mark.parametrize("more", [-100, 100])
def test_a_part_of_another_length_than_its_range_is_not_taken(
    tmp_path: Path, publisher: Publisher, cut: str, more: int
) -> None:
    body = (OLD + b"x" * 100)[CUT : SIZE + more]
    answer = part_of(OLD, Transfer_Encoding="chunked")
    answer.body, answer.size = chunked(body), None
    publisher.script, publisher.files, publisher.etag = [answer], {"/file": OLD}, STRONG
    assert "ended after" in refusal(cut, tmp_path)
    publisher.script = [Answer(416)] if more > 0 else []
    assert get(cut, tmp_path) == OLD


@pytest.mark.parametrize(
    "headers", [{}, {"ETag": f"W/{STRONG}"}, {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}]
)
def test_a_file_without_a_strong_version_begins_again(
    tmp_path: Path, publisher: Publisher, headers: dict[str, str]
) -> None:
    publisher.script, publisher.files = [Answer(200, headers, OLD[:CUT], size=SIZE)], {"/file": NEW}
    refusal(f"{publisher.url}/file", tmp_path)
    assert get(f"{publisher.url}/file", tmp_path) == NEW
    assert publisher.ranges == [None, None]


def test_the_version_is_that_of_the_last_transfer(tmp_path: Path, publisher: Publisher, cut: str) -> None:
    publisher.script = [Answer(200, {}, NEW[:CUT], size=SIZE), Answer(200, {}, NEW)]
    refusal(cut, tmp_path)
    assert get(cut, tmp_path) == NEW
    assert publisher.ranges == [None, f"bytes={CUT}-", None]


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
NO_FILES = {
    "empty": (Answer(200), "an empty file"),
    "empty in chunks": (Answer(200, {"Transfer-Encoding": "chunked"}, chunked(b""), None), "an empty file"),
    "page": (Answer(200, {"Content-Type": "TEXT/HTML"}, b"moved"), "a web page"),
    "page with charset": (Answer(200, {"Content-Type": " Text/Html;charset=utf-8"}, b"moved"), "a web page"),
    "xhtml": (Answer(200, {"Content-Type": "application/xhtml+xml"}, b"moved"), "a web page"),
    "page of no type": (Answer(200, {}, b"\xef\xbb\xbf\n <!DOCTYPE HTML><p>moved"), "a web page"),
    "page as text": (Answer(200, {"Content-Type": "text/plain"}, b"<HTML>moved"), "a web page"),
    "several parts": (Answer(200, {"Content-Type": "Multipart/Mixed; boundary=a"}, b"--a"), "several parts"),
    "compressed": (Answer(200, {"Content-Encoding": "GZIP"}, gzip.compress(OLD)), "as gzip"),
    "brotli": (Answer(200, {"Content-Encoding": "br"}, b"abc"), "as br"),
    "twice": (Answer(200, {"Content-Encoding": "identity, gzip"}, b"abc"), "as identity, gzip"),
    "pointer": (Answer(200, {}, POINTER), "a pointer of Git LFS"),
    "part": (part_of(OLD), "answers 206"),
    "no content": (Answer(204, size=None), "answers 204"),
    "no range": (Answer(416), "answers 416"),
    "no end": (Answer(200, {"Connection": "close"}, OLD[:CUT], None), "where the file ends"),
    "two lengths": (Answer(200, {"Content-length": "3"}, OLD[:CUT]), "the transfer failed"),
    "no length": (Answer(200, {"Content-length": "many"}, OLD[:CUT], None), "the transfer failed"),
    "cut chunk": (Answer(200, {"Transfer-Encoding": "chunked"}, b"ff\r\nabc", None), "the transfer failed"),
    "too long": (Answer(200, {}, b"a", 10**7), "more than the 1000000 bytes"),
}


@pytest.mark.parametrize(("answer", "words"), NO_FILES.values(), ids=NO_FILES.keys())
def test_an_answer_that_is_not_the_file_is_refused_and_leaves_nothing_for_the_next(
    tmp_path: Path, publisher: Publisher, answer: Answer, words: str
) -> None:
    publisher.script, publisher.files = [answer], {"/file": NEW}
    assert words in refusal(f"{publisher.url}/file", tmp_path)
    assert get(f"{publisher.url}/file", tmp_path) == NEW


@pytest.mark.parametrize("coding", ["gzip", "x-gzip"])
def test_a_compressed_file_is_taken_as_it_is_where_the_server_names_its_compression(
    tmp_path: Path, publisher: Publisher, coding: str
) -> None:
    data = gzip.compress(OLD)
    publisher.script = [Answer(200, {"Content-Encoding": coding}, data)]
    assert get(f"{publisher.url}/file.tar.gz", tmp_path) == data


def test_a_file_in_chunks_is_complete_at_its_end(tmp_path: Path, publisher: Publisher) -> None:
    publisher.script = [Answer(200, {"Transfer-Encoding": "chunked"}, chunked(OLD), None)]
    assert get(f"{publisher.url}/file", tmp_path) == OLD


# Redirects


@pytest.fixture
def plain(publisher: Publisher) -> Iterator[tuple[str, list[str]]]:
    """The address of a server without encryption that leads to the publisher, and the paths that it was sent."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            Answer(302, {"Location": f"{publisher.url}/file"}).send(self)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", paths
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_redirect_without_encryption_is_not_followed(
    tmp_path: Path, publisher: Publisher, plain: tuple[str, list[str]]
) -> None:
    url, paths = plain
    publisher.script, publisher.files = [Answer(302, {"Location": f"{url}/file"})], {"/file": NEW}
    assert "without encryption" in refusal(f"{publisher.url}/file", tmp_path)
    assert paths == [] and publisher.ranges == [None]


@pytest.mark.parametrize(
    "location",
    ["javascript:alert(1)", "data:text/plain,a", "ftp://127.0.0.1/a", "https://[", "https:", "//", "/file"],
)
def test_a_redirect_to_nowhere_is_one_line(tmp_path: Path, publisher: Publisher, location: str) -> None:
    publisher.script = [Answer(302, {"Location": location}) for _ in range(30)]
    refusal(f"{publisher.url}/file", tmp_path)


def test_an_encrypted_redirect_is_followed_with_its_range(
    tmp_path: Path, publisher: Publisher, cut: str
) -> None:
    publisher.script = [Answer(302, {"Location": f"{publisher.url}/elsewhere"}), part_of(OLD)]
    assert get(cut, tmp_path) == OLD
    assert publisher.ranges[1:] == [f"bytes={CUT}-"] * 2


# What lies in the folder


@pytest.mark.parametrize("ending", ["part", "etag"])
@pytest.mark.parametrize("kind", ["link", "broken link", "pipe", "folder"])
def test_only_ordinary_files_are_resumed(
    tmp_path: Path, publisher: Publisher, cut: str, ending: str, kind: str
) -> None:
    place, own = tmp_path / f"file.{ending}", tmp_path.with_name(f"{tmp_path.name}-own")
    own.write_bytes(place.read_bytes())
    content = own.read_bytes()
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
        (place / "inside").touch()
    else:
        place.symlink_to(own if kind == "link" else tmp_path / "gone")
    publisher.files["/file"] = NEW
    assert get(cut, tmp_path) == NEW
    assert own.read_bytes() == content and publisher.ranges == [None, None]


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\xff\xfe",
        b"version-1",
        b'"version\r\nCookie: a"',
        '"é"'.encode(),
        b'"a" "b"',
        b'W/"a"',
        b'"a"\n',
    ],
)
def test_a_damaged_version_begins_again(
    tmp_path: Path, publisher: Publisher, cut: str, damaged: bytes
) -> None:
    (tmp_path / "file.etag").write_bytes(damaged)
    publisher.files["/file"] = NEW
    assert get(cut, tmp_path) == NEW
    assert publisher.ranges == [None, None]
