"""Pages of results have one form: every run says what it asks, how it was run, what it shows and what it does not."""

from __future__ import annotations

import re

import pytest

from bench.pictures import results_text
from tests.conftest import ROOT

OVERVIEW = ROOT / "docs" / "results.md"
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^##? |\Z)", results_text(ROOT)))
PARTS = ["Question", "Set-up", "It shows", "It does not show"]


@pytest.mark.parametrize("name", SECTIONS)
def test_a_run_has_its_parts_in_order(name: str) -> None:
    assert re.findall(r"(?m)^\*\*([^*]+)\*\*", SECTIONS[name]) == PARTS


def test_the_findings_are_one_screen_and_lead_to_all_pages() -> None:
    text = OVERVIEW.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    linked = set(re.findall(r"\]\(results/(\w+)\.md#[^)]+\)", text))
    assert linked == {page.stem for page in PAGES}
