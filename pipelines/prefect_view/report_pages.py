"""The project's report as pages of its server, read-only: data/report and what DVC linked from there to its cache."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from nightjar.core.errors import NightjarError
from pipelines.versions.files import cache_dir

REPORT = Path("data/report")
NONE_YET = "there is no report yet; `nightjar rebuild` or `dvc repro` makes it\n"


class ReportPages(StaticFiles):
    """The report of the project at `root`, which may come later, as an ASGI app.

    A link in it is followed only to a file of the report or of DVC's cache. What is not there has status 404.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        super().__init__(directory=self._root / REPORT, html=True, check_dir=False, follow_symlink=True)

    async def check_config(self) -> None:
        """Nothing: the folder need not be there yet."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file; a line of text where there is none."""
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404:
                raise
        there = (self._root / REPORT / "index.html").is_file()
        return PlainTextResponse(f"no such file in {REPORT.as_posix()}\n" if there else NONE_YET, 404)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """The file's place and facts; no facts if it is not there, cannot be read or is none of the report's."""
        try:
            place, facts = super().lookup_path(path)
        except OSError:
            return "", None
        return (place, facts) if facts is not None and self._is_ours(place) else ("", None)

    def _is_ours(self, place: str) -> bool:
        # Its parent is resolved, for `data` may be on another disk; the report itself may not be a link to any folder.
        report = (self._root / REPORT).parent.resolve() / REPORT.name
        target = Path(place).resolve()
        if target.is_relative_to(report):
            return report.is_dir()
        try:
            return target.is_relative_to(cache_dir(self._root).resolve())
        except (NightjarError, OSError):  # its configuration cannot be read
            return False
