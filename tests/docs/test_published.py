"""The table of docs/published.md names settings, profiles and sections that there are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nightjar.core.config import read_yaml
from nightjar.params.profile_values import optional
from tests.conftest import ROOT

PAGE = ROOT / "docs/published.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| ") and "---" not in line
][1:]
SETTINGS = sorted(
    {name for row in ROWS for name in re.findall(r"`([a-z_]+(?:\.[\w*]+)*)(?:: [^`]*)?`", row[5])}
)


def held(values: Any, names: list[str]) -> bool:
    """Whether the key of these names is there; NAME and RECIPE are any name, * is any key."""
    if not names:
        return True
    own = values if isinstance(values, dict) else {}
    return any(held(own[key], names[1:]) for key in own if names[0] in (key, "*") or names[0].isupper())


def test_every_row_has_seven_cells_and_an_effect() -> None:
    assert len(ROWS) > 40 and {len(row) for row in ROWS} == {7}
    assert all(all(row[1:]) for row in ROWS)


def test_what_a_paper_leaves_open_is_not_compared() -> None:
    """A published way is a fact with its place, or the row says that there is nothing to compare with."""
    vague = re.compile(r"not known|not given|unknown|not in the code|^none$")
    cells = [(row[1], cell) for row in ROWS for cell in (*row[2:4], row[6])]
    assert [name for name, cell in cells if vague.search(cell)] == []


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_is_one_of_the_profile(setting: str) -> None:
    assert optional(setting) or held(read_yaml(ROOT / "params.yaml"), setting.split("."))


def test_profiles_exist() -> None:
    named = {name for row in ROWS for name in re.findall(r"`(\w+)`", row[4])}
    assert named and all((ROOT / f"profiles/{name}.yaml").exists() for name in named)
