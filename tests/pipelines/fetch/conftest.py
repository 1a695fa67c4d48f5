"""A publisher on loopback: an HTTPS server whose files a test sets, and a way to point Git at local repositories."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


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
    """`files` by path, of the media type `kind`; `cut` ends answers after so many bytes, or lets them wait there for
    `release`. The answers of `script` come first. `ranges` are the ranges that were requested.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    kind: str = ""
    cut: int | None = None
    ranges: list[str | None] = field(default_factory=list)
    release: threading.Event | None = None
    script: list[Answer] = field(default_factory=list)
    etag: str | None = None


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
    found = Publisher()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            found.ranges.append(asked)
            if found.script:
                found.script.pop(0).send(self)
                return
            data = found.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
            etag = f'"{len(data)}"' if found.etag is None else found.etag
            if asked and self.headers.get("If-Range") != etag:
                start = 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            if found.kind:
                self.send_header("Content-Type", found.kind)
            self.send_header("ETag", etag)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.end_headers()
            rest = data[start:]
            self.wfile.write(rest if found.cut is None else rest[: found.cut])
            self.wfile.flush()
            if found.release:
                found.release.wait(60)
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
    found.url = f"https://127.0.0.1:{server.server_address[1]}"
    yield found
    server.shutdown()
    server.server_close()
    thread.join()
