"""What the Prefect server of a project tells its visitors."""

from __future__ import annotations

import json
import urllib.request

from tests.pipelines.conftest import Api


def test_the_page_asks_its_own_server_whatever_the_port(api: Api) -> None:
    with urllib.request.urlopen(f"{api.server.url}/ui-settings", timeout=10) as answer:
        settings = json.load(answer)
    assert api.server.port != 4200
    assert settings["api_url"] == f"{api.server.url}/api"
