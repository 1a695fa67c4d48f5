"""The Prefect server of a project, and under /report/ its report, read-only (see report_pages).
Pages of another origin have no access to either.

    python pipelines/serving/server_app.py HOST PORT

A page of the UI may link to the report there; a browser follows no link from it to a file.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path


def main(host: str, port: int) -> None:
    """Serve the project in the current folder until the process is ended."""
    gc.set_threshold(100_000, 20, 20)  # what is loaded stays: looking for garbage in it takes half a second
    from pipelines.serving.same_origin import origins, same_origin

    # Before Prefect is imported, which reads it then. Left alone it allows every origin.
    os.environ["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] = ",".join(origins(port))
    import uvicorn
    from prefect.server.api.server import create_app
    from starlette.routing import Route

    from pipelines.serving.report_pages import report_page

    app = create_app(final=True)
    app.router.routes.insert(0, Route("/report/{path:path}", report_page))
    # Around the app, not in it: the server's own services call the app in this process, under another host name.
    uvicorn.run(same_origin(app, port), host=host, port=port, log_level="warning")


if __name__ == "__main__":
    # Run as a file, so that no folder `pipelines` of the repository in which it runs is taken for this one.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    main(sys.argv[1], int(sys.argv[2]))
