"""The page of commands names every command and profile, and documented fetches are not refused."""

from __future__ import annotations

import re

import pytest

from pipelines.cli import COMMANDS
from pipelines.fetch import sources
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text("utf-8")
PATHS = [
    ROOT / "README.md",
    ROOT / "pipelines" / "commands" / "fetch.py",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "profiles").glob("*.yaml")),
]
# The words behind each documented `nightjar fetch`.
FETCHES = [
    words
    for path in PATHS
    for words in re.findall(r"(?m)^[#> ]*nightjar fetch (.+)$", path.read_text("utf-8"))
    if words != "--list"
]


def test_every_command_is_in_the_page() -> None:
    documented = set(re.findall(r"`nightjar (\w+)", PAGE))
    assert set(COMMANDS) <= documented


def test_every_profile_is_in_the_page() -> None:
    profiles = {path.stem for path in (ROOT / "profiles").glob("*.yaml")} - {"defaults"}
    assert profiles <= set(re.findall(r"`(\w+)`", PAGE))


@pytest.mark.parametrize("words", sorted(set(FETCHES)))
def test_a_fetch_of_restricted_parts_accepts_their_licence(words: str) -> None:
    parts = sources.choose(tuple(word for word in words.split() if not word.startswith("-")))
    restricted = [str(part) for part in parts if part.about.terms]
    assert parts and (not restricted or "--accept-licence" in words), restricted
