"""A publisher on loopback: an HTTPS server whose files a test sets, and a repository that Git finds at an address."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pipelines.fetch import downloads
from pipelines.fetch.sources import Named, Part
from tests.conftest import git

# A source in the fixture `repository`.
GIT = {"git": "https://published.example/sums", "files": {"data/sums.*": "in/"}}


def part(*sources: dict[str, Any]) -> Named:
    about = {"for": "a test", "licence": "MIT", "citation": "none", "megabytes": 1}
    return Named("sums", "all", "ingest.sums.path", Part.model_validate({**about, "from": list(sources)}))


def get(root: Path, sums: Named) -> None:
    downloads.fetch(root, sums, lambda done, total: None)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@dataclass
class Answer:
    """An answer as a test scripts it; `size` is the length that it promises, None for none."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    size: int | None = -1

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(self.status)
        for name, text in self.headers.items():
            handler.send_header(name, text)
        if self.size is not None:
            handler.send_header("Content-Length", str(len(self.body) if self.size < 0 else self.size))
        handler.end_headers()
        handler.wfile.write(self.body)
        handler.close_connection = True


@dataclass
class Publisher:
    """`files` by path; `cut` ends answers after so many bytes, or lets them wait there for `release`. The answers of
    `script` come first. `ranges` are the ranges that were requested.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut: int | None = None
    ranges: list[str | None] = field(default_factory=list)
    release: threading.Event | None = None
    script: list[Answer] = field(default_factory=list)
    etag: str | None = None

    def part(self, path: str, data: bytes, **source: Any) -> Named:
        """Publish a file at `path`, and return a part of a data set whose only source it is."""
        self.files[path] = data
        return part({"url": self.url + path, "files": {path.rsplit("/", 1)[1]: "./"}, **source})


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of 127.0.0.1 in one file."""
    folder = tmp_path_factory.mktemp("certificate")
    key, own = folder / "key.pem", folder / "own.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    about = "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout"
    subprocess.run(
        [*make.split(), *about.split(), str(key), "-out", str(own)], check=True, capture_output=True
    )
    both = folder / "both.pem"
    both.write_text(key.read_text() + own.read_text())
    return both


@pytest.fixture
def publisher(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    publisher = Publisher()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            requested = self.headers.get("Range")
            publisher.ranges.append(requested)
            if publisher.script:
                publisher.script.pop(0).send(self)
                return
            data = publisher.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            start = int(requested.removeprefix("bytes=").removesuffix("-")) if requested else 0
            etag = f'"{len(data)}"' if publisher.etag is None else publisher.etag
            if requested and self.headers.get("If-Range") != etag:
                start = 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            self.send_header("ETag", etag)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.end_headers()
            body = data[start:]
            self.wfile.write(body if publisher.cut is None else body[: publisher.cut])
            self.wfile.flush()
            if publisher.release:
                publisher.release.wait(60)
            self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    publisher.url = f"https://127.0.0.1:{server.server_address[1]}"
    yield publisher
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def repository(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that Git finds at the address of `GIT`, with two commits."""
    folder = tmp_path_factory.mktemp("published")
    git(folder, "init", "--quiet")
    for option in ("allowFilter", "allowAnySHA1InWant"):
        git(folder, "config", f"uploadpack.{option}", "true")
    (folder / "data").mkdir()
    for number, text in enumerate(("1+1\n", "2+2\n")):
        (folder / "data/sums.txt").write_text(text)
        (folder / "data/other.bin").write_bytes(bytes(1000))
        git(folder, "add", "--all")
        git(folder, "commit", "-m", "sums")
        git(folder, "tag", f"v{number}")
    git(folder, "tag", "-a", "-m", "annotated", "annotated", "v0")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{folder.as_uri()}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", GIT["git"])
    return folder
