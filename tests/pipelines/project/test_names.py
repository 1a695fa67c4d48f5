"""Names: every artifact has a key that Prefect takes and that no other has; the parts of a stage's name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.project.names import CHECK, OWN, StageName, stage_keys

# Few letters: names that differ in their separators, case and strange letters alone are what may clash.
names = st.text(st.sampled_from("aAäß1-_@./: \n"), min_size=1, max_size=4)
prefixed = st.builds(str.__add__, st.sampled_from(["", "check-", "check@", "check_check-"]), names)
stages = st.lists(prefixed | st.text() | st.sampled_from(OWN), unique=True, max_size=12)


@given(stages)
def test_no_two_artifacts_have_one_key(stages: list[str]) -> None:
    from prefect.client.schemas.actions import ArtifactCreate  # Prefect takes a second to load

    keys = stage_keys(stages)
    assert list(keys) == stages
    every = [*OWN, *(prefix + key for key in keys.values() for prefix in ("", CHECK))]
    assert len(set(every)) == len(every)
    for key in every:
        assert ArtifactCreate(key=key).key == key


def test_plain_names_keep_plain_keys() -> None:
    stages = [
        "base_model",
        "ingest@natural_instructions",
        "predict@supernatinst-tk_instruct",
        "sub/dvc.yaml:A",
        "@",
    ]
    assert list(stage_keys(stages).values()) == [
        "base-model",
        "ingest-natural-instructions",
        "predict-supernatinst-tk-instruct",
        "sub-dvc-yaml-a",
        "stage",
    ]


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
