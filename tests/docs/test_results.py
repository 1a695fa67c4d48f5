"""docs/results.md has one form: every run says what it asks, how it was run, what it shows and what it does not."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"(?ms)^### ([^\n]+)\n(.*?)(?=^##|\Z)", TEXT))
PARTS = ["Question", "Set-up", "It shows", "It does not show"]


@pytest.mark.parametrize("name", SECTIONS)
def test_a_run_has_its_parts_in_order(name: str) -> None:
    found = re.findall(r"(?m)^\*\*([^*]+)\*\*", SECTIONS[name])
    assert found == PARTS


def test_the_questions_lead_to_sections() -> None:
    listed = TEXT.partition("\n## ")[0]
    anchors = {re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in SECTIONS}
    linked = re.findall(r"\]\(#([^)]+)\)", listed)
    assert linked and set(linked) <= anchors
