"""Readers of the fuzz for what servers of language models say: bodies of answers, and whole answers as bytes.

All of them go through a real loopback socket: the client reads nothing else.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from bench import mutate
from bench.mutate import Reader
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import is_text
from nightjar.models.http_client import Limits
from nightjar.models.server import MOST_TOKENS, Address, Server
from nightjar.tools.by_text import Piece, answer
from nightjar.tools.calculator import Calculator
from nightjar.tools.toolbox import Toolbox

_CHOICE = {
    "index": 0,
    "text": " It is [Calculator(2 * 8) -> 16] 16.",
    "finish_reason": "stop",
    "logprobs": None,
}
_USAGE = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}
_COMPLETION = json.dumps({"id": "c", "model": "m", "choices": [_CHOICE], "usage": _USAGE}).encode()
_MODELS = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
_REFUSAL = json.dumps({"error": {"message": "prompt too long", "type": "invalid", "code": 400}}).encode()
_HEADERS = b"Content-Type: application/json\r\nConnection: close\r\n"
# Of one request; nothing is tried again.
_LIMITS = Limits(connect=1.0, answer=5.0, size=2**16, attempts=1)
_TOOLS = Toolbox([Calculator()])


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
        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _answer(status: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, _HEADERS, len(body), body)


def _completed(path: Path, reply: bytes) -> None:
    """A completion with calls. What is taken can be recorded: valid text, counts of tokens that a table holds."""

    def write_on(prompt: str, tokens: int) -> Piece:
        found = server.complete(prompt, tokens, ())
        counts = (found.tokens, found.prompt_tokens)
        if not is_text(found.text) or not all(n is None or 0 <= n <= MOST_TOKENS for n in counts):
            raise AssertionError(f"an answer that cannot be recorded: {found}")
        return Piece(found.text, found.tokens or 0, found.cut)

    with (
        talking(lambda connection: connection.sendall(reply)) as url,
        _named(path),
        Server(Address(url, "m"), _LIMITS) as server,
    ):
        answer(write_on, len, "Q", 20, _TOOLS, 1)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """The message names the server instead of a file."""
    try:
        yield
    except NightjarError as error:
        if not error.where.startswith("server:http://127.0.0.1:"):
            raise AssertionError(f"the server is not named: {error}") from None
        raise NightjarError(error.what, path, error.fix) from None


def _completion(path: Path) -> None:
    _completed(path, _answer(b"200 OK", path.read_bytes()))


def _whole(path: Path) -> None:
    _completed(path, path.read_bytes())


def _refusal(path: Path) -> None:
    try:
        _completed(path, _answer(b"400 Bad Request", path.read_bytes()))
    except NightjarError as error:
        if "it refuses the request" in error.what and len(error.what) < 300:
            return
        raise
    raise AssertionError("a refused request has an answer")


def _models(path: Path) -> None:
    reply = _answer(b"200 OK", path.read_bytes())
    with (
        talking(lambda connection: connection.sendall(reply)) as url,
        _named(path),
        Server(Address(url, None), _LIMITS) as server,
    ):
        if not is_text(server.model) or not server.model:
            raise AssertionError(f"a model of no name: {server.model!r}")


def _address(path: Path) -> None:
    source = "server:" + path.read_bytes().decode("utf-8", "surrogateescape")
    try:
        Address.parse(source)
    except NightjarError as error:
        if not error.where.startswith("server:"):
            raise AssertionError(f"the server is not named: {error}") from None
        raise NightjarError(error.what, path, error.fix) from None


def readers() -> list[Reader]:
    """All of them."""
    jsons, chunked = mutate.mutate_json, b"%x\r\n%b\r\n0\r\n\r\n" % (len(_COMPLETION), _COMPLETION)
    whole = (
        _answer(b"200 OK", _COMPLETION),
        b"HTTP/1.1 200 OK\r\n%bTransfer-Encoding: chunked\r\n\r\n%b" % (_HEADERS, chunked),
        b"HTTP/1.0 200 OK\r\nSet-Cookie: a=b\r\n\r\n%b" % _COMPLETION,
    )
    addresses = (b"http://127.0.0.1:8080/v1#org/model", b"https://host.example", b"http://[::1]:9/llm/")
    return [
        Reader("completions", (_COMPLETION,), jsons, "completion", _completion, 0.3),
        Reader("refusals of servers", (_REFUSAL,), jsons, "refusal", _refusal, 0.1),
        Reader("models of servers", (_MODELS,), jsons, "models", _models, 0.1),
        Reader("answers as bytes", whole, mutate.mutate_bytes, "answer", _whole, 0.3),
        Reader("addresses of servers", addresses, mutate.mutate_bytes, "address", _address),
    ]
