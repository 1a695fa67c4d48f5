"""Augment, encode and predict in shards, some of them killed, end with the bytes of one process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import shard_project
from tests.conftest import ROOT
from tests.in_process import finish_stage, refused_stage
from tests.killing import units_added


@pytest.mark.parametrize("name", shard_project.STAGES)
def test_shards_and_then_the_whole_run_make_the_bytes_of_one_process(
    name: str, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shard_project.make(tmp_path / "one", tiny_model)
    many = shard_project.make(tmp_path / "many", tiny_model)
    monkeypatch.chdir(one)
    facts = finish_stage(name)
    monkeypatch.chdir(many)
    with units_added(kill_after=1) as first:
        finish_stage(name, "3/3")
    with units_added() as added:
        finish_stage(name, "1/3")
        assert not shard_project.outputs(many)  # a shard publishes nothing
        finish_stage(name, "3/3")
        shards = len(first + added)
        assert finish_stage(name) == facts
    added = first + added
    assert shard_project.outputs(many) == shard_project.outputs(one) != {}
    # Every unit was computed once: by a shard, or by the whole run where its shard never came.
    assert sorted(added) == list(range(len(added)))
    assert [unit for unit in added[shards:] if unit % 3 != 1] == [] != added[shards:]
    assert not list((many / ".nightjar/checkpoints").iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["combined", "--shard", "3/2"], "--shard: '3/2' is not a share of the work; give I/N"),
        (["combined", "--shard"], "'combined --shard' is not allowed; give one of"),
        (["nothing", "--shard", "1/2"], "'nothing' is not allowed; give one of"),
    ],
)
def test_a_wrong_share_is_told_in_one_line(workdir: Path, arguments: list[str], told: str) -> None:
    shutil.copy(ROOT / "params.yaml", workdir)
    assert told in refused_stage("encode", *arguments)
