"""Refuses requests to a server of this machine that a web page of another origin may have sent.

A browser lets every page send requests to 127.0.0.1, and a page whose name resolves to 127.0.0.1 (DNS rebinding) reads
the answers as its own. Such requests carry the page's origin, or its name as the host.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")


def hosts(port: int) -> list[str]:
    """The values of the header Host for a server on this machine at `port`; a browser leaves out the port 80."""
    return [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == 80 else [])


def origins(port: int) -> list[str]:
    """The values of the header Origin that the server's own pages send."""
    return [f"http://{host}" for host in hosts(port)]


def same_origin(app: ASGIApp, port: int) -> ASGIApp:
    """`app` without requests and handshakes of a WebSocket whose Host is not the server's, which get one line and
    status 400, and those with an Origin that is not, which get status 403.

    Programs such as Prefect's client send no Origin.
    """
    address = origins(port)[0]
    foreign_host = PlainTextResponse(f"wrong Host header; open {address}\n", 400)
    foreign_origin = PlainTextResponse(f"pages of another origin have no access; open {address}\n", 403)

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            host, origin = ([it.lower() for it in headers.getlist(name)] for name in ("host", "origin"))
            if len(host) != 1 or host[0] not in hosts(port):
                answer = foreign_host
            elif not set(origins(port)).issuperset(origin):
                answer = foreign_origin
        await answer(scope, receive, send)

    return checked
