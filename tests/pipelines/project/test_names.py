"""The parts of a stage's name."""

from __future__ import annotations

import pytest

from pipelines.project.names import StageName


@pytest.mark.parametrize(
    ("text", "name", "group"),
    [
        ("split", StageName("split"), "split"),
        ("train@tk_instruct", StageName("train", "tk_instruct"), "train"),
        ("predict@made-a@b", StageName("predict", "made-a@b"), "predict"),
        ("sub/dvc.yaml:train@x", StageName("train", "x", "sub/dvc.yaml"), "sub/dvc.yaml:train"),
        ("predict@made-combined", StageName.predict("made", "combined"), "predict"),
    ],
)
def test_a_name_is_read_and_written(text: str, name: StageName, group: str) -> None:
    assert StageName.of(text) == name
    assert (str(name), name.group) == (text, group)
