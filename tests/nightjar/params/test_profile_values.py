"""Profiles as values."""

from __future__ import annotations

from pathlib import Path

from nightjar.params.profile_values import values

ROOT = Path(__file__).parents[3]


def test_mtk_instruct_trains_on_the_cross_lingual_track() -> None:
    settings = values(ROOT, "mtk_instruct")
    assert settings["split"]["track"] == settings["train"]["recipes"]["supervised"]["track"] == "xlingual"
    assert values(ROOT, "paper")["train"]["recipes"]["supervised"]["track"] == "default"
