"""Refuses requests to a server of this machine that a web page of another origin may have sent.

A browser lets every page send requests to 127.0.0.1, and a page whose name resolves to 127.0.0.1 (DNS rebinding) reads
the answers as its own. Such requests carry the page's origin, or its name as the host.
"""

from __future__ import annotations

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")
HTTP_PORT = 80


def hosts(port: int) -> list[str]:
    """The values of the header Host for a server on this machine at `port`; a browser leaves out the port 80."""
    return [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == HTTP_PORT else [])


def origins(port: int) -> list[str]:
    """The values of the header Origin that the server's own pages send."""
    return [f"http://{host}" for host in hosts(port)]


class SameOrigin:
    """Answers a request, or the handshake of a WebSocket, with one line and status 400 if its Host is not the
    server's, and 403 if it has an Origin that is not; passes all others to `app`.

    Programs such as Prefect's client send no Origin.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts, self._origins = set(hosts(port)), set(origins(port))
        self._address = f"http://{hosts(port)[0]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and (refused := self._refused(scope)):
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refused(self, scope: Scope) -> PlainTextResponse | None:
        found = {name: _values(scope, name) for name in (b"host", b"origin")}
        if len(found[b"host"]) != 1 or not self._hosts.issuperset(found[b"host"]):
            return PlainTextResponse(f"wrong Host header; open {self._address}\n", 400)
        if not self._origins.issuperset(found[b"origin"]):
            return PlainTextResponse(f"pages of another origin have no access; open {self._address}\n", 403)
        return None


def _values(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in scope["headers"] if name == wanted]
