"""The REST API of a project's Prefect server. Needs no Prefect."""

from __future__ import annotations

import time
from typing import Any

import httpx

# How long a server that is busy or silent is asked again.
PATIENCE = 20.0
BUSY = (429, 503)


class Api:
    """The API of the server at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=f"{url}/api", timeout=10.0, trust_env=False)

    def ask(self, path: str, body: Any = None, method: str = "") -> Any:
        """The answer to a request, by default GET without a body and POST with one. Raises httpx.HTTPError: at once if nothing listens at the
        address or the server refuses the request, and after PATIENCE if it is busy or silent.
        """
        method = method or ("GET" if body is None else "POST")
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self._client.request(method, path, json=body)
                answer.raise_for_status()
                return answer.json() if answer.content else None
            except httpx.HTTPError as error:
                if isinstance(error, httpx.ConnectError) or refused(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.3)


def refused(error: httpx.HTTPError) -> bool:
    """Whether the server refused a request, which it would refuse again."""
    return isinstance(error, httpx.HTTPStatusError) and error.response.status_code not in BUSY
