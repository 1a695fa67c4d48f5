"""A small server with the OpenAI interface for completions, whose answers a test writes down."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# A request's body -> the status and the body of the answer; bytes are sent as they are.
Script = Callable[[dict[str, Any]], "tuple[int, Any]"]


def completion(text: str, reason: str = "stop", **usage: int) -> tuple[int, Any]:
    """An answer with this text."""
    return 200, {"choices": [{"text": text, "finish_reason": reason}], "usage": usage}


def said(text: str | None, reason: str = "stop", **message: Any) -> tuple[int, Any]:
    """An answer of a chat with this text."""
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": reason}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}


@dataclass
class Served:
    """A server that runs: its address, and what it was asked."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


PATHS = ("/v1/models", "/v1/completions", "/v1/chat/completions")


@contextmanager
def serving(script: Script, models: Any = ("tiny",), paths: tuple[str, ...] = PATHS) -> Iterator[Served]:
    """Serve completions by `script` at `paths`.

    `models` are the names of its models, or the whole answer to that question.
    """
    served = Served("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path not in paths:
                return self._send(404, {"error": "no such path"})
            listed = {"data": [{"id": name} for name in models]} if isinstance(models, tuple) else models
            self._send(200, listed)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path not in paths:
                return self._send(404, {"error": "no such path"})
            served.asked.append(body)
            served.headers.append(dict(self.headers))
            status, value = script(body)
            if "tools" in body and isinstance(value, dict) and "prompt_tokens" in value.get("usage", ()):
                value = value | {"usage": value["usage"] | {"prompt_tokens": 110}}  # its template has them
            self._send(status, value)

        def _send(self, status: int, value: Any) -> None:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            if status >= 429:
                self.send_header("Retry-After", "0.001")  # the client's own first pause is half a second
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def talking(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on loopback, which lets `talk` answer each connection after the head of its request; its address."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with suppress(OSError), connection:
                received = connection.recv(2**16)
                while received and b"\r\n\r\n" not in received:
                    received += connection.recv(2**16)
                talk(connection)
                # A socket that is closed with unread bytes may take back what it has sent.
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(1.0)
                while connection.recv(2**16):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
