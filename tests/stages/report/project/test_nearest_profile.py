"""The profile that parameters are nearest to, and the keys that differ from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.params.profile_values import Change, values
from stages.report.project.nearest_profile import nearest_profile

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    "name", ["sample", "real", "quick", "paper", "paper_appendix", "paper_11b", "mtk_instruct"]
)
def test_every_profile_is_nearest_to_itself(name: str) -> None:
    assert nearest_profile(ROOT, values(ROOT, name)) == (name, [], [])


def test_what_differs_is_named_with_both_values() -> None:
    given = values(ROOT, "real")
    given["ingest"]["natural_instructions"]["path"] = "elsewhere"
    given["train"]["defaults"]["epochs"] = 7.5
    name, differing, _ = nearest_profile(ROOT, given)
    assert name == "real" and differing == [
        Change("ingest.natural_instructions.path", "data/fetched/natural_instructions", "elsewhere"),
        Change("train.defaults.epochs", 1.0, 7.5),
    ]


def test_only_the_groups_given_are_compared() -> None:
    given = values(ROOT, "sample")
    assert nearest_profile(ROOT, {"seed": 1, "encoding": given["encoding"]})[1] == [Change("seed", 42, 1)]


def test_a_broken_profile_is_named_and_the_others_are_compared(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "defaults.yaml").write_text("seed: 1\n")
    (folder / "sample.yaml").write_text("{}\n")
    (folder / "other.yaml").write_text("sede: 2\n")
    name, differing, unreadable = nearest_profile(tmp_path, {"seed": 2})
    assert (name, differing) == ("sample", [Change("seed", 1, 2)])
    assert len(unreadable) == 1 and "unknown key sede" in unreadable[0]
    assert nearest_profile(tmp_path / "nothing", {"seed": 2}) == (None, [], [])
