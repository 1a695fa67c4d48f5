"""The outcome of a rebuild as JSON: the only thing on standard output."""

from __future__ import annotations

import json

import pytest

from tests.pipelines.conftest import Api, Repo


@pytest.mark.slow
def test_a_rebuild_tells_its_outcome_as_json(repo: Repo, api: Api) -> None:
    api.serve(repo)
    repo.write(
        dvc="stages:\n  good:\n    cmd: echo hello && touch a.out\n    outs: [a.out]\n"
        "  bad:\n    cmd: exit 3\n    outs: [b.out]\n"
    )
    result = repo.nightjar("rebuild", "--json")
    assert result.returncode == 1
    told = {stage["stage"]: stage for stage in json.loads(result.stdout)["stages"]}
    assert told["good"]["state"] == "ran"
    assert told["bad"]["state"] == "failed"
    assert "3" in told["bad"]["error"]
    assert "nightjar: rebuild:" in result.stderr
