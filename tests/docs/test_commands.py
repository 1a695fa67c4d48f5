"""The page of commands names every command and profile, and documented fetches are not refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.cli import COMMANDS
from pipelines.fetch import sources
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text("utf-8")
TEXTS = [
    ROOT / "README.md",
    ROOT / "pipelines" / "commands" / "fetch.py",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "profiles").glob("*.yaml")),
]


def test_every_command_is_in_the_page() -> None:
    documented = set(re.findall(r"`nightjar (\w+)", PAGE))
    assert set(COMMANDS) <= documented


def test_every_profile_is_in_the_page() -> None:
    profiles = {path.stem for path in (ROOT / "profiles").glob("*.yaml")} - {"defaults"}
    assert profiles <= set(re.findall(r"`(\w+)`", PAGE))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_fetch_of_restricted_parts_accepts_their_licence(path: Path) -> None:
    for line in re.findall(r"(?m)^[#> ]*nightjar fetch (.+)$", path.read_text("utf-8")):
        names = tuple(word for word in line.split() if not word.startswith("-"))
        restricted = [str(part) for part in sources.choose(names) if part.about.terms] if names else []
        assert not restricted or "--accept-licence" in line, f"nightjar fetch {line}: {restricted}"
