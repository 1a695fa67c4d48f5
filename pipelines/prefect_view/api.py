"""The REST API of a project's Prefect server. Needs no Prefect."""

from __future__ import annotations

import ssl
import time
from typing import Any

import httpx

# How long a server that is busy or silent is asked again.
PATIENCE = 20.0
BUSY = (429, 503)


class Api:
    """The API of the server at `url`. Where it is restarted by others, it may be `away` for so many seconds."""

    def __init__(self, url: str, away: float = 0.0) -> None:
        self.url, self._away = url, away
        # No certificates are read for a server that has none.
        plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.Client(base_url=f"{url}/api", timeout=10.0, trust_env=False, verify=plain)

    def ask(self, path: str, body: Any = None, method: str = "") -> Any:
        """The answer to a request, by default GET without a body and POST with one.

        Raises httpx.HTTPError: at once if the server is gone or refuses the request, and after PATIENCE if it is busy
        or silent.
        """
        method = method or ("GET" if body is None else "POST")
        began = time.monotonic()
        while True:
            try:
                answer = self._client.request(method, path, json=body)
                answer.raise_for_status()
                return answer.json() if answer.content else None
            except httpx.HTTPError as error:
                most = self._away if isinstance(error, httpx.ConnectError) else max(PATIENCE, self._away)
                if refused(error) or time.monotonic() - began >= most:
                    raise
            time.sleep(0.3)


def refused(error: httpx.HTTPError) -> bool:
    """Whether the server refused a request, which it would refuse again."""
    return isinstance(error, httpx.HTTPStatusError) and error.response.status_code not in BUSY
