"""The HTTP client against servers that drip, flood, compress, repeat the key, or are behind a proxy."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.servers import http_client
from nightjar.models.servers.completion_server import CompletionServer
from nightjar.models.servers.http_client import HttpClient, RequestLimits
from nightjar.models.servers.server_address import Address
from tests.completions_server import completion, serving, talking
from tests.nightjar.models.conftest import PATIENT, Interface

QUICK = RequestLimits(connect=1.0, answer=0.1, size=1000, retries=1)
SECRET = "sk-0123456789-abcdefghijklmnopqrstuvwxyz"


def ask(url: str, limits: RequestLimits = PATIENT) -> dict[str, Any]:
    with HttpClient(url, f"server:{url}", limits) as client:
        return client.ask(f"{url}/x", {})


def drip(head: bytes, part: bytes = b"x") -> Callable[[socket.socket], None]:
    """A header or a body that never ends: a part in every hundredth of a second."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        for _ in range(1000):
            connection.sendall(part)
            time.sleep(0.01)

    return talk


BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"
STEP = b"HTTP/1.1 100 Continue\r\n\r\n"


def silence(connection: socket.socket) -> None:
    while connection.recv(100):
        pass


@pytest.mark.parametrize("talk", [drip(b""), drip(BODY), drip(b"", STEP), silence])
def test_an_answer_has_one_deadline_however_it_comes(
    interface: Interface, talk: Callable[[socket.socket], None]
) -> None:
    with talking(talk) as url, pytest.raises(NightjarError, match="no answer in time"):
        interface.ask(f"{url}#m", QUICK)


def test_attempts_and_pauses_have_the_same_deadline(interface: Interface) -> None:
    busy = RequestLimits(answer=0.1, retries=1000)
    with serving(lambda body: (503, {})) as served, pytest.raises(NightjarError, match="no answer in time"):
        interface.ask(f"{served.url}#m", busy)


@pytest.mark.parametrize("pause", ["86400", "9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_pause_of_more_than_two_minutes_ends_the_request_at_once(interface: Interface, pause: str) -> None:
    head = f"HTTP/1.1 429 Too Many\r\nRetry-After: {pause}\r\nContent-Length: 0\r\n\r\n"
    started = time.monotonic()
    told = rf"it refuses the request \(429\), and asks for a pause: Retry-After is {pause[:40]};"
    with (
        talking(lambda connection: connection.sendall(head.encode())) as url,
        pytest.raises(NightjarError, match=told),
    ):
        interface.ask(f"{url}#m", RequestLimits(answer=60.0))
    assert time.monotonic() - started < 30


def flood(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" " * 2**16)


def test_an_endless_answer_is_not_kept(interface: Interface) -> None:
    limits = RequestLimits(answer=60.0, size=2**20)
    tracemalloc.start()
    try:
        with talking(flood) as url, pytest.raises(NightjarError, match="more than 1,048,576 bytes"):
            interface.ask(f"{url}#m", limits)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def reply(body: bytes, encoding: str) -> Callable[[socket.socket], None]:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return lambda connection: connection.sendall(head.encode() + body)


def test_a_compressed_answer_is_refused_unread(interface: Interface) -> None:
    said = interface.body("yes")
    with talking(reply(said, "identity")) as url:
        assert interface.ask(f"{url}#m").text == "yes"
    bomb = gzip.compress(b" " * 2**25)
    tracemalloc.start()
    try:
        for body, encoding in (
            (bomb, "GZIP"),
            (gzip.compress(said), "gzip, gzip"),
            (zlib.compress(said), "deflate"),
        ):
            with (
                talking(reply(body, encoding)) as url,
                pytest.raises(NightjarError, match="an encoding that was not asked for"),
            ):
                interface.ask(f"{url}#m", RequestLimits(size=100_000))
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


KEYS = ("a\"b'c\\d/e  f%-0123456789", SECRET, SECRET * 2)


@pytest.mark.parametrize("key", KEYS)
def test_the_key_is_hidden_in_every_form_and_before_a_message_is_cut(
    interface: Interface, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(http_client.KEY, key)
    quoted = json.dumps({"error": {"header": f"Bearer {key}"}}).encode()
    plain = json.dumps(key)[1:-1].encode()
    escaped = b'{"error": "%b"}' % "".join(f"\\u{ord(sign):04x}" for sign in key).encode()
    answers = (
        b"HTTP/1.1 400 No\r\n\r\n" + quoted,
        *(b"HTTP/1.1 404 No\r\n\r\n%b %b" % (b"x" * before, quoted) for before in (150, 190, 199, 700)),
        b"HTTP/1.1 400 No\r\n\r\n" + escaped,
        b"HTTP/1.1 200 OK\r\n\r\n" + quoted[:-4],
        b'HTTP/1.1 200 OK\r\n\r\n{"xxxxxxxxxx%b": 1, "xxxxxxxxxx%b": 2}' % (plain, plain),
        b'HTTP/1.1 200 OK\r\n\r\n{"xxxxxxxxxx%b\\ud800": 1}' % plain,
        b"HTTP/1.1 302 There\r\nLocation: http://h/?%b\r\n\r\n" % key.encode(),
        b"Bearer %b\r\n\r\n" % key.encode(),
        b"HTTP/1.1 200 OK\r\nBearer %b\r\n\r\n" % key.encode(),
    )
    for answer in answers:
        with talking(lambda connection, said=answer: connection.sendall(said)) as url:
            with pytest.raises(NightjarError) as raised:
                interface.ask(f"{url}#m")
            assert not any(part in str(raised.value) for part in (key[:6], "0123456789", "c\\d", "c\\\\d"))


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in (*PROXIES, "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    "proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "//[", "http://h:99999", "\udcff"]
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]", "0.0.0.0"])
def test_loopback_is_never_asked_through_a_proxy(
    host: str, proxy: str, no_proxies: pytest.MonkeyPatch
) -> None:
    for name in PROXIES:
        no_proxies.setenv(name, proxy)
    with serving(lambda body: completion("yes")) as served:
        address = Address.parse(f"server:{served.url.replace('127.0.0.1', host)}")
        with CompletionServer(address, PATIENT) as server:
            assert server.complete("a", 1, ()).text == "yes"


def test_other_hosts_are_asked_through_the_proxy_of_the_environment(no_proxies: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        asked.append(b"once")
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n{}")

    with talking(talk) as url:
        for name in ("http_proxy", "ALL_PROXY"):
            no_proxies.setenv(name, url.removeprefix("http://"))
            assert ask("http://192.0.2.1:1") == {}
            no_proxies.delenv(name)
        assert len(asked) == 2
        no_proxies.setenv("http_proxy", url)
        no_proxies.setenv("no_proxy", "192.0.2.1")
        with pytest.raises(NightjarError, match=r"192\.0\.2\.1"):
            ask("http://192.0.2.1:1", QUICK)
        assert len(asked) == 2


@pytest.mark.parametrize(
    ("proxy", "told"),
    [
        ("socks5://me:word@h:1", "http_proxy, https_proxy, all_proxy: a proxy is invalid; set them to"),
        ("ftp://me:word@h:1", "http_proxy, https_proxy, all_proxy: a proxy is invalid; set them to"),
        ("http://me:wo/rd@h", "http_proxy, https_proxy, all_proxy: a proxy is invalid; set them to"),
        ("http://h:99999", "cannot be reached"),
        ("http://\udcff", "http_proxy, https_proxy, all_proxy: a proxy is invalid; set them to"),
        ("garbage garbage", "cannot be reached"),
    ],
)
def test_an_invalid_proxy_is_one_line_without_its_password(
    proxy: str, told: str, no_proxies: pytest.MonkeyPatch
) -> None:
    no_proxies.setenv("https_proxy", proxy)
    with pytest.raises(NightjarError, match=told) as raised:
        ask("https://server.example", RequestLimits(retries=0))
    assert "wo" not in str(raised.value) and "\n" not in str(raised.value)


def test_certificates_that_cannot_be_read(no_proxies: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_proxies.setenv("SSL_CERT_FILE", os.fspath(tmp_path / "none.pem"))
    with pytest.raises(NightjarError, match="SSL_CERT_FILE, SSL_CERT_DIR: the certificates cannot be read"):
        ask("https://server.example")


def test_a_local_server_needs_no_certificates(no_proxies: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_proxies.setenv("SSL_CERT_FILE", os.fspath(tmp_path / "none.pem"))
    with talking(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n{}")) as url:
        assert ask(url) == {}
        with pytest.raises(NightjarError, match="the certificates cannot be read"):
            ask(url.replace("http:", "https:"))


def test_no_header_for_another_server_is_sent(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of `openai` reads these variables."""
    monkeypatch.delenv(http_client.KEY, raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Key: {SECRET}\nAuthorization: Bearer {SECRET}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    with serving(lambda body: interface.said("yes")) as served:
        assert interface.ask(served.url).text == "yes"
    (headers,) = served.headers
    sent = {"Host", "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "User-Agent"}
    assert {name.title() for name in headers} == sent and SECRET not in str(headers)


@pytest.mark.parametrize(
    "kind", ["text/html; charset=hex_codec", "text/html; charset=\udcff", "; charset=idna"]
)
def test_a_refusal_in_an_odd_encoding_is_one_line(interface: Interface, kind: str) -> None:
    head = f"HTTP/1.1 400 No\r\nContent-Type: {kind}\r\nContent-Length: 3\r\n\r\n"
    data = head.encode(errors="surrogateescape") + b"\xffab"
    told = pytest.raises(NightjarError, match=r"it refuses the request \(400\); see the server's log")
    with talking(lambda connection: connection.sendall(data)) as url, told:
        interface.ask(f"{url}#m")


def test_redirects_are_not_followed(interface: Interface) -> None:
    with serving(lambda body: interface.said("no")) as other:
        head = f"HTTP/1.1 307 There\r\nLocation: {other.url}{interface.path}\r\n\r\n".encode()
        told = f"it redirects to {other.url}{interface.path}"
        with talking(lambda it: it.sendall(head)) as url, pytest.raises(NightjarError, match=told):
            interface.ask(f"{url}#m")
    assert not other.asked


@pytest.mark.parametrize(
    "location",
    ["javascript:alert(1)", "data:text/html,x", "mailto:a@b.example", "about:blank", "http://[::1", "//"],
)
def test_a_redirect_to_what_is_no_address_is_one_line(interface: Interface, location: str) -> None:
    head = f"HTTP/1.1 302 There\r\nLocation: {location}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode()
    told = re.escape(f"it redirects to {location}; give the one that answers")
    with talking(lambda it: it.sendall(head)) as url, pytest.raises(NightjarError, match=told):
        interface.ask(f"{url}#m")


@pytest.mark.parametrize(
    "pause",
    [
        "Mon, 01 Jan 99999999999999999999999 00:00:00 GMT",
        "Thu, 01 Jan 2026 00:00:00 +9999999999999",
        "Mon, 01 Jan 0001 00:00:00 +2300",
        "Fri, 31 Feb 2026 99:59:59 GMT",
        "soon",
    ],
)
def test_a_pause_that_is_no_time_is_not_obeyed(interface: Interface, pause: str) -> None:
    said = interface.body("yes")
    answers = [
        f"HTTP/1.1 503 Busy\r\nRetry-After: {pause}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said,
    ]
    with talking(lambda it: it.sendall(answers.pop(0))) as url:
        assert interface.ask(f"{url}#m").text == "yes"


def test_a_secret_is_in_no_answer(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(http_client.KEY, SECRET)
    with serving(lambda body: interface.said(f"It is {SECRET}."), (f"m-{SECRET}",)) as served:
        assert interface.ask(served.url).text == "It is …."
    assert served.asked[0]["model"] == "m-…"
    key = KEYS[0]
    monkeypatch.setenv(http_client.KEY, key)
    for form in (key, json.dumps(key)[1:-1], repr(key)[1:-1], quote(key, safe="")):
        with serving(lambda body, form=form: interface.said(f"It is {form}.")) as served:
            assert interface.ask(served.url).text == "It is …."
    with talking(
        lambda it: it.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps({key: [key]}).encode())
    ) as url:
        assert ask(url) == {"…": ["…"]}
    # A short key is none: its letters may be a part of any answer.
    monkeypatch.setenv(http_client.KEY, "none")
    with serving(lambda body: interface.said("It is none.")) as served:
        assert interface.ask(served.url).text == "It is none."
