"""The Prefect server of a project, and under /report/ its report, read-only. Pages of another origin have no access.

    python -P -m pipelines.serving.server_app HOST PORT PROJECT

A page of the UI may link to the report there; a browser follows no link from it to a file. A browser lets every page
send requests to 127.0.0.1, and a page whose name resolves to 127.0.0.1 (DNS rebinding) reads the answers as its own.
Such requests carry the page's origin, or its name as the host.
"""

from __future__ import annotations

import gc
import mimetypes
import os
import sys
from functools import partial
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.versions.revision_files import cache_dir

NAMES = ("127.0.0.1", "localhost", "[::1]")


def report_page(root: Path, request: Request) -> Response:
    """The file `path` of the report of the project at `root`, or one line of text and status 404.

    A link in the report is followed only to a file of the report or of DVC's cache.
    """
    # The report itself may not be a link to any folder; its parent may, for `data` may be on another disk.
    report = (root / paths.REPORT).parent.resolve() / paths.REPORT.name
    page = report / (request.path_params["path"] or "index.html")
    try:
        file = page.resolve(strict=True)
        try:
            cache = cache_dir(root).resolve()
        except NightjarError:  # the configuration cannot be read
            cache = report
        if any(file.is_relative_to(it) for it in (report, cache)) and report.is_dir() and file.is_file():
            return FileResponse(file, media_type=mimetypes.guess_type(page)[0])
    except (OSError, RuntimeError, ValueError):  # none, a loop of links, a character that no name has
        pass
    if (report / "index.html").is_file():
        return PlainTextResponse(f"no such file in {paths.REPORT.as_posix()}\n", 404)
    return PlainTextResponse("there is no report yet; `nightjar rebuild` or `dvc repro` makes it\n", 404)


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


def main(host: str, port: int, root: Path) -> None:
    """Serve the project at `root` until the process is ended."""
    gc.set_threshold(100_000, 20, 20)  # what is loaded stays: looking for garbage in it takes half a second
    # Before Prefect is imported, which reads it then. Left alone it allows every origin.
    os.environ["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] = ",".join(origins(port))
    import uvicorn
    from prefect.server.api.server import create_app

    app = create_app(final=True)
    app.router.routes.insert(0, Route("/report/{path:path}", partial(report_page, root)))
    # Around the app, not in it: the server's own services call the app in this process, under another host name.
    uvicorn.run(same_origin(app, port), host=host, port=port, log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
