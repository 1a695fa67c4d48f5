"""One HTTP client for servers of language models, which may be slow, broken or hostile: JSON in, JSON out.

A busy server is asked again after the pause that it names (Retry-After), or a growing one.
A request has one deadline for everything, attempts and pauses included, and an answer has a limit of bytes; it is asked
for as it is, without compression. Redirects are not followed. A loopback address is never asked through a proxy; for
other hosts the proxies of the environment are used. The key is read from NIGHTJAR_SERVER_KEY, sent in a header, and
hidden in every message before anything of it is cut.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Self
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx
from anyio.from_thread import start_blocking_portal

from nightjar.core.errors import NightjarError, first_line
from nightjar.core.json_text import NotJson, parse

KEY = "NIGHTJAR_SERVER_KEY"
# Of what a server says in a message, in characters.
_SHOWN = 200
# A key of so many characters is looked for in answers too; a shorter one may be a part of any text.
_SECRET = 16
# Of the pause in a message, in seconds.
_LONGEST = 999_999_999
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
# What is in a request is refused; a server that is busy or fails says nothing of that.
_UNACCEPTABLE = frozenset({400, 422})
_INTERFACE = "check that it has the OpenAI interface"
_HOST = re.compile(r"[a-z0-9_.-]+")


@dataclass(frozen=True)
class RequestLimits:
    """Limits of one request.

    `connect`: seconds until a connection is made, for each attempt. `answer`: seconds until the answer is complete, all
    attempts and pauses included. `size`: bytes of the answer. `pause`: seconds before the second attempt, doubled for
    each further.
    """

    connect: float = 10.0
    answer: float = 600.0
    size: int = 4 * 2**20
    attempts: int = 4
    pause: float = 1.0


@dataclass(frozen=True)
class _HttpReply:
    status: int
    location: str | None
    body: bytes
    # Seconds that a busy server asks to wait; 0 if it does not say.
    wait: float = 0.0


class RequestRefused(NightjarError):
    """The server refuses a request, or fails on it.

    `reason` is what it says of the request (400 or 422); empty for a server that fails or is busy, whatever it says.
    """

    reason = ""

    def names(self, parameter: str) -> bool:
        """Return True if the server names the parameter that it refuses."""
        return re.search(rf"(?<![A-Za-z_]){parameter}(?![A-Za-z_])", self.reason) is not None


class _Invalid(Exception):
    """An answer that is not read further, and why."""


class _Busy(Exception):
    """A server that asks for a longer pause than a request may take, and for how many seconds."""


def address(text: str) -> httpx.URL:
    """An address of HTTP. Raises ValueError for anything else; the reason quotes nothing of it."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
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

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            client = self._connection()
            # httpx limits each step of a request; only a task that is cancelled limits the request.
            self._portal = stack.enter_context(start_blocking_portal())
            self._client = stack.enter_context(self._portal.wrap_async_context_manager(client))
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def _connection(self) -> httpx.AsyncClient:
        url = httpx.URL(self.url)
        headers = {
            "Accept-Encoding": "identity",
            **({"Authorization": f"Bearer {self._key}"} if self._key else {}),
        }
        return httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=self.limits.connect),
            follow_redirects=False,
            proxy=_proxy(url),
            trust_env=False,
            event_hooks={"response": [_keep_location]},
            # Without https no certificate is ever looked at, and loading them takes time.
            verify=_certificates() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        )

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object that answers a request. Faults that may pass are retried. Raises Refused as well."""
        try:
            reply = self._portal.call(partial(self._send, method, path, body))
        except TimeoutError:
            raise self.fault("no answer in time", "check the server's load") from None
        except httpx.TimeoutException:
            raise self.fault("no connection in time", "check the server's load") from None
        except httpx.HTTPError as error:
            what = f"cannot be reached ({self.quote(first_line(error))})"
            raise self.fault(what, "check the address, and that the server runs") from None
        except _Invalid as error:
            raise self.fault(str(error), _INTERFACE) from None
        except _Busy as error:
            fix = "try again later; what is answered already is kept"
            raise self.fault(f"it is busy, and asks for a pause of {error} s", fix) from None
        if reply.status >= 300:
            raise self._refusal(reply, path, (body or {}).get("model"))
        try:
            value = parse(reply.body)
        except NotJson as error:
            # Without what it quotes, which may be a part of the key.
            reason = re.sub(r"(?<=number )\S+|(['\"]).*\1", "…", error.reason)
            raise self.fault(f"the answer is no JSON object: {reason}", _INTERFACE) from None
        if not isinstance(value, dict):
            raise self.fault("the answer is no JSON object", _INTERFACE)
        return self._cleared(value) if len(self._key) >= _SECRET else value

    def fault(self, what: str, fix: str) -> NightjarError:
        """The error of a request."""
        return NightjarError(self._hidden(what), self.where, fix)

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> _HttpReply:
        """The answer. Raises TimeoutError, httpx.HTTPError, _Invalid or _Busy."""
        limits = self.limits
        with anyio.fail_after(limits.answer):
            for attempt in range(1, limits.attempts + 1):
                wait = 0.0
                try:
                    reply = await self._send_once(method, path, body)
                    if reply.status not in _BUSY or attempt == limits.attempts:
                        return reply
                    wait = reply.wait
                    if wait > anyio.current_effective_deadline() - anyio.current_time():
                        raise _Busy(f"{min(wait, _LONGEST):,.0f}")
                except httpx.HTTPError:
                    if attempt == limits.attempts:
                        raise
                await anyio.sleep(max(wait, limits.pause * 2 ** (attempt - 1)))
        raise AssertionError("unreachable")

    async def _send_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> _HttpReply:
        data = bytearray()
        async with self._client.stream(method, self.url + path, json=body) as answer:
            # Not aiter_bytes: it decompresses.
            async for chunk in answer.aiter_raw():
                data += chunk
                if len(data) > self.limits.size:
                    raise _Invalid(f"the answer has more than {self.limits.size:,} bytes")
        if answer.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise _Invalid("the answer has an encoding that was not asked for")
        location = answer.extensions.get("location")
        return _HttpReply(
            answer.status_code, location, bytes(data), _seconds(answer.headers.get("Retry-After"))
        )

    def _refusal(self, reply: _HttpReply, path: str, model: object) -> NightjarError:
        """The error of an answer that is none."""
        status, reason = reply.status, self._error_text(reply.body)
        detail = f"{status}: {self.quote(reason)}" if reason else f"{status}"
        if status in (401, 403):
            return self.fault(f"it refuses the key ({status})", f"set {KEY}")
        if status in (404, 405, 501):
            # The message names the reason where the endpoint is there, but not the model.
            what = f"no endpoint {path}, or no model {model!r} ({detail})"
            return self.fault(what, "use a server with this interface of OpenAI")
        if status < 400:
            return self.fault(
                f"it redirects to {self.quote(str(reply.location))}", "give the one that answers"
            )
        what = "it fails" if status >= 500 else "it refuses the request"
        fault = RequestRefused(self._hidden(f"{what} ({detail})"), self.where, "see the server's log")
        if status in _UNACCEPTABLE:
            fault.reason = reason
        return fault

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
            return {name: self._cleared(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._cleared(one) for one in value]
        return value.replace(self._key, "…") if isinstance(value, str) else value

    def _hidden(self, text: str) -> str:
        """The text without the key, which some servers repeat; also as JSON, Python or URLs have it."""
        if not self._key:
            return text
        forms = {self._key, json.dumps(self._key)[1:-1], repr(self._key)[1:-1], quote(self._key, safe="")}
        return re.sub("|".join(map(re.escape, sorted(forms, key=len, reverse=True))), "…", text)


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


def _proxy(url: httpx.URL) -> str | None:
    """The proxy of the environment for an address; None on loopback."""
    ip, name = _ip(url.host), url.host.rstrip(".")
    on_loopback = (
        name == "localhost" or name.endswith(".localhost") if ip is None else ip.is_loopback or not int(ip)
    )
    if on_loopback or proxy_bypass(url.host):
        return None
    proxies = getproxies()
    for scheme in (url.scheme, "all"):
        if setting := proxies.get(scheme):
            proxy = setting if "://" in setting else f"http://{setting}"
            try:
                address(proxy)
            except ValueError as error:  # without the proxy, which may have a password
                fix = "set it to http://HOST:PORT, or unset it"
                raise NightjarError(f"the proxy is invalid: {error}", f"{scheme}_proxy", fix) from None
            return proxy
    return None


async def _keep_location(answer: httpx.Response) -> None:
    """Move the address of a redirect out of the headers: httpx would read it, and fails on one that is not of HTTP."""
    if answer.is_redirect:
        answer.extensions["location"] = answer.headers.pop("Location", None)


def _certificates() -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        names = "SSL_CERT_FILE, SSL_CERT_DIR"
        what = f"the certificates cannot be read ({first_line(error)})"
        raise NightjarError(what, names, "set them to certificates, or unset them") from None


def _seconds(text: str | None) -> float:
    """The seconds of Retry-After (RFC 9110, 10.2.3): a number, or a date of HTTP; 0 for anything else."""
    if text is None:
        return 0.0
    if text.strip().isascii() and text.strip().isdigit():
        return float(text)
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return 0.0
