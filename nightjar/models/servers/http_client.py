"""One HTTP client for servers of language models, which may be slow, broken or hostile: JSON in, JSON out.

The client of `openai` sends requests: it repeats them after the pauses that a busy server names (Retry-After), or
growing ones, and takes proxies and certificates from the environment. The hooks here do what it does not. A request has
one deadline for everything, attempts and pauses included. An answer has a limit of bytes, is asked for without
compression, and is read by the strict reader of JSON. Redirects are not followed. A loopback address is never asked
through a proxy. The key is read from NIGHTJAR_SERVER_KEY and hidden in every message before anything of it is cut. No
header of the environment that is for OpenAI's own server is sent.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

from nightjar.core.errors import NightjarError, first_line
from nightjar.core.json_text import NotJson, parse

if TYPE_CHECKING:
    from openai import AsyncOpenAI

KEY = "NIGHTJAR_SERVER_KEY"
# Of what a server says in a message, in characters.
_SHOWN = 200
# A key of so many characters is looked for in answers too; a shorter one may be a part of any text.
_SECRET = 16
# Of the pause that a busy server asks for, in characters.
_PAUSE = 40
# Busy servers ask for a pause with these.
_BUSY = frozenset({429, 503})
# What is in a request is refused; a server that is busy or fails says nothing of that.
_UNACCEPTABLE = frozenset({400, 422})
# There is no such endpoint, or no such model.
_NO_ENDPOINT = frozenset({404, 405, 501})
_INTERFACE = "check that it has the OpenAI interface"
_HOST = re.compile(r"[a-z0-9_.-]+")
# The headers of the client that are sent. Its others describe this machine, or come from variables such as
# OPENAI_ORG_ID and OPENAI_CUSTOM_HEADERS, which are for another server.
_HEADERS = frozenset({b"host", b"accept", b"content-type", b"content-length", b"connection", b"user-agent"})


@dataclass(frozen=True)
class RequestLimits:
    """Limits of one request.

    `connect`: seconds until a connection is made, for each attempt. `answer`: seconds until the answer is complete, all
    attempts and pauses included. `size`: bytes of the answer. `retries`: attempts after the first.
    """

    connect: float = 10.0
    answer: float = 600.0
    size: int = 4 * 2**20
    retries: int = 4


class NoAnswer(NightjarError):
    """The server cannot be reached, or gives no answer in time."""


class RequestRefused(NightjarError):
    """The server refuses a request, or fails on it: `status` is that of its answer.

    `reason` is what it says of the request (400 or 422); empty for a server that fails or is busy, whatever it says.
    """

    status = 0
    reason = ""

    @property
    def is_unknown(self) -> bool:
        """True if the server has no such requests; it may have others."""
        return self.status in _NO_ENDPOINT | _UNACCEPTABLE

    def names(self, parameter: str) -> bool:
        """Return True if the server names the parameter that it refuses."""
        return re.search(rf"(?<![A-Za-z_]){parameter}(?![A-Za-z_])", self.reason) is not None


class _Invalid(Exception):
    """An answer that is not read further, and why."""


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of an answer, up to a number of bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream, size: int) -> None:
        self._stream, self._size = stream, size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._stream:
            received += len(chunk)
            if received > self._size:
                raise _Invalid(f"the answer has more than {self._size:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def address(text: str) -> httpx2.URL:
    """An address of HTTP. Raises ValueError for anything else; the reason quotes nothing of it."""
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        raise ValueError("not an address") from None
    except UnicodeError:
        raise ValueError("the address is not valid Unicode") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("not the address of a server")
    if url.port is not None and not 1 <= url.port <= 65535:
        raise ValueError("the port is out of range, 1 to 65535")
    host = url.raw_host.decode("ascii")
    if _ip(host) is None:
        try:
            host.encode("idna")  # as the resolver does it
        except UnicodeError:
            raise ValueError("the host name is invalid") from None
        if not _HOST.fullmatch(host):
            raise ValueError("the host name is invalid")
    return url


class HttpClient:
    """A connection to the server at `url`; use it as a context manager. Threads may share it.

    Raises NightjarError, with one line for each fault, from every method: no answer within the limits, a refusal, a
    redirect, or an answer that is not a JSON object; also for an invalid key, proxy or file of certificates.
    """

    def __init__(self, url: str, where: str, limits: RequestLimits) -> None:
        self.url, self.where, self.limits = url, where, limits
        self._key = _key()
        forms = {self._key, json.dumps(self._key)[1:-1], repr(self._key)[1:-1], quote(self._key, safe="")}
        self._key_forms = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            client = self._connection()
            # The client limits each step of a request; only a task that is cancelled limits the request.
            self._portal = stack.enter_context(start_blocking_portal())
            self._client = stack.enter_context(self._portal.wrap_async_context_manager(client))
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def _connection(self) -> AsyncOpenAI:
        # Loaded where a server is asked: it takes half a second.
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        url = httpx2.URL(self.url)
        is_loopback = _is_loopback(url.host)
        try:
            # Reading certificates takes longer than a small answer, and this server has none.
            is_plain = is_loopback and url.scheme == "http"
            certificates = (
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else httpx2.create_ssl_context()
            )
        except OSError as error:
            what = f"the certificates cannot be read ({first_line(error)})"
            fix = "set them to certificates, or unset them"
            raise NightjarError(what, "SSL_CERT_FILE, SSL_CERT_DIR", fix) from None
        try:
            http_client = DefaultAsyncHttpxClient(
                verify=certificates,
                trust_env=not is_loopback,
                follow_redirects=False,
                event_hooks={"request": [self._set_headers], "response": [self._read_answer]},
            )
        except (ImportError, ValueError, httpx2.InvalidURL):  # without the proxy, which may have a password
            fix = "set them to http://HOST:PORT, or unset them"
            raise NightjarError("a proxy is invalid", "http_proxy, https_proxy, all_proxy", fix) from None
        return AsyncOpenAI(
            api_key="-",
            base_url=self.url,
            timeout=httpx2.Timeout(None, connect=self.limits.connect),
            max_retries=self.limits.retries,
            http_client=http_client,
        )

    async def _set_headers(self, request: httpx2.Request) -> None:
        sent = [header for header in request.headers.raw if header[0].lower() in _HEADERS]
        key = [(b"Authorization", f"Bearer {self._key}".encode("ascii"))] if self._key else []
        request.headers = httpx2.Headers([*sent, (b"Accept-Encoding", b"identity"), *key])

    async def _read_answer(self, response: httpx2.Response) -> None:
        """Read an answer within its limit. An error in the place of the answer gets the status of its code."""
        if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise _Invalid("the answer has an encoding that was not asked for")
        if response.is_redirect:
            # The client would read this address, and fails on one that is not of HTTP.
            response.extensions["location"] = response.headers.pop("Location", None)
        response.encoding = "utf-8"
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, self.limits.size)
        await response.aread()
        if response.status_code == 200:
            response.status_code = _error_status(response.content) or 200
        # The client would obey it, whatever the status says.
        response.headers.pop("x-should-retry", None)
        if response.status_code in _NO_ENDPOINT:
            response.headers["x-should-retry"] = "false"

    def ask(self, url: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON object that answers a request to a URL: with a body by POST, else by GET.

        Faults that may pass are retried. Raises RequestRefused as well.
        """
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        try:
            content = self._portal.call(self._send, url, body)
        except TimeoutError:
            raise self.fault("no answer in time", "check the server's load", NoAnswer) from None
        except APITimeoutError:
            raise self.fault("no connection in time", "check the server's load", NoAnswer) from None
        except APIConnectionError as error:
            what = f"cannot be reached ({self.quote(first_line(error.__cause__ or error))})"
            raise self.fault(what, "check the address, and that the server runs", NoAnswer) from None
        except _Invalid as error:
            raise self.fault(str(error), _INTERFACE) from None
        except APIStatusError as error:
            raise self._refusal(error.response, (body or {}).get("model")) from None
        try:
            value = parse(content)
        except NotJson as error:
            # Without what it quotes, which may be a part of the key.
            reason = re.sub(r"(?<=number )\S+|(['\"]).*\1", "…", error.reason)
            raise self.fault(f"the answer is no JSON object: {reason}", _INTERFACE) from None
        if not isinstance(value, dict):
            raise self.fault("the answer is no JSON object", _INTERFACE)
        return self._cleared(value) if len(self._key) >= _SECRET else value

    async def _send(self, url: str, body: Mapping[str, Any] | None) -> bytes:
        with anyio.fail_after(self.limits.answer):
            if body is None:
                answer = await self._client.get(url, cast_to=httpx2.Response)
            else:
                answer = await self._client.post(url, cast_to=httpx2.Response, body=body)
            return answer.content

    def fault(self, what: str, fix: str, kind: type[NightjarError] = NightjarError) -> NightjarError:
        """The error of a request."""
        return kind(self._hidden(what), self.where, fix)

    def _refusal(self, answer: httpx2.Response, model: object) -> RequestRefused:
        """The error of an answer whose status is one."""
        status, reason = answer.status_code, self._error_text(answer.content)
        detail = f"{status}: {self.quote(reason)}" if reason else f"{status}"
        fix = "see the server's log"
        if status == 401:
            what, fix = f"it refuses the key ({status})", f"set {KEY}"
        elif status == 403:
            what, fix = f"it refuses the request or the key ({detail})", f"set {KEY}, or see the server's log"
        elif status in _NO_ENDPOINT:
            # The message names the reason where the endpoint is there, but not the model.
            what = f"no endpoint {answer.request.url.path}, or no model {model!r} ({detail})"
            fix = "use a server with this interface of OpenAI"
        elif status < 400:
            location = answer.extensions.get("location")
            target = f"to {self.quote(location)}" if location else "without an address"
            what, fix = f"it redirects {target}", "give the one that answers"
        else:
            what = f"{'it fails' if status >= 500 else 'it refuses the request'} ({detail})"
            if status in _BUSY:
                fix = "try again later; what is answered already is kept"
                if pause := answer.headers.get("Retry-After"):
                    what += f", and asks for a pause: Retry-After is {self.quote(pause)[:_PAUSE]}"
        refusal = RequestRefused(self._hidden(what), self.where, fix)
        refusal.status = status
        if status in _UNACCEPTABLE:
            refusal.reason = reason
        return refusal

    def _error_text(self, body: bytes) -> str:
        """Return the server's message about a fault, without the key."""
        try:
            value: Any = parse(body)
        except NotJson:
            return ""
        for name in ("error", "message", "detail"):
            value = value.get(name, value) if isinstance(value, dict) else value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return " ".join(self._hidden(text).split())

    def quote(self, text: str) -> str:
        """Quote a server's text without the key, cut to the length that a message has."""
        return self._hidden(text)[:_SHOWN]

    def _cleared(self, value: Any) -> Any:
        """A value of JSON, without the key in its texts."""
        if isinstance(value, dict):
            return {self._hidden(name): self._cleared(it) for name, it in value.items()}
        if isinstance(value, list):
            return list(map(self._cleared, value))
        return self._hidden(value) if isinstance(value, str) else value

    def _hidden(self, text: str) -> str:
        """The text without the key, which some servers repeat; also as JSON, Python or URLs have it."""
        return self._key_forms.sub("…", text) if self._key else text


def _key() -> str:
    """The key of the environment."""
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise NightjarError("it has characters that no header can have", KEY, "set it again")
    return key


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A host that is a number, also in the forms that the resolver takes, such as 127.1; None for a name."""
    with suppress(OSError):
        host = socket.inet_ntoa(socket.inet_aton(host))
    try:
        parsed_ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(parsed_ip, "ipv4_mapped", None) or parsed_ip


def _is_loopback(host: str) -> bool:
    ip, name = _ip(host), host.rstrip(".")
    if ip is None:
        return name == "localhost" or name.endswith(".localhost")
    return ip.is_loopback or not int(ip)


def _error_status(content: bytes) -> int | None:
    """The code of an error in the place of an answer, if it is a status of HTTP: gateways send such errors with 200."""
    if b'"error"' not in content:
        return None
    try:
        value = parse(content)
    except NotJson:
        return None
    error = value.get("error") if isinstance(value, dict) and not value.get("choices") else None
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and re.fullmatch("[45][0-9]{2}", code):
        return int(code)
    return code if type(code) is int and 400 <= code <= 599 else None
