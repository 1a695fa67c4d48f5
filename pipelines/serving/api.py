"""The REST API of a project's Prefect server, for processes that load no Prefect."""

from __future__ import annotations

import ssl
import time
from typing import Any

import httpx

BUSY = (429, 503)


class Api:
    """The API of the server at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        # No certificates are read for a server that has none.
        plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.Client(base_url=f"{url}/api", trust_env=False, verify=plain)

    def ask(self, path: str, body: Any = None, method: str = "", seconds: float = 10.0) -> Any:
        """The answer to a request, by default GET without a body and POST with one. A busy server is asked again.

        Raises httpx.HTTPError if the server is gone, refuses the request, or does not answer in so many seconds.
        """
        method = method or ("GET" if body is None else "POST")
        deadline = time.monotonic() + seconds
        while True:
            answer = self._client.request(method, path, json=body, timeout=seconds)
            if answer.status_code not in BUSY or time.monotonic() > deadline:
                answer.raise_for_status()
                return answer.json() if answer.content else None
            time.sleep(0.3)
