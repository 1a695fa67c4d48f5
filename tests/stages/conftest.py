"""A real browser, for the pages that stages make."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; tests are skipped where it, or playwright, is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    path = next((one for one in found if one), None)
    if path is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=60_000)
        yield browser
        browser.close()
