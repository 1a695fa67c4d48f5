"""Benchmarks whose files are sides: no file is two of them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from nightjar.benchmarks.protoqa.questions import ProtoQASettings as ProtoQa
from nightjar.benchmarks.reading.questions import ReadingSettings as Reading
from nightjar.benchmarks.sides import Sides


@pytest.mark.parametrize("settings", [ProtoQa, Reading])
@pytest.mark.parametrize("names", [("evaluated", "train"), ("evaluated", "dev"), ("train", "dev")])
def test_one_file_is_not_two_sides(settings: type[Sides], names: tuple[str, str]) -> None:
    with pytest.raises(ValidationError, match=r"different files; dev\.scraped is named twice"):
        settings(**dict.fromkeys(names, "dev.scraped"))


@pytest.mark.parametrize("settings", [ProtoQa, Reading])
def test_sides_that_are_not_named_are_not_the_same(settings: type[Sides]) -> None:
    assert settings().train is None
    assert settings(evaluated="a", train="b").dev is None
