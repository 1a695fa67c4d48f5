"""The project's report as pages of its server, read-only: data/report and what DVC linked from there to its cache."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.versions.files import cache_dir


def report_page(request: Request) -> Response:
    """The file `path` of the report of the project in the current folder, or one line of text and status 404.

    A link in the report is followed only to a file of the report or of DVC's cache.
    """
    root = Path.cwd()
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
