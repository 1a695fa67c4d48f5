"""What the ledger keeps of a night: which scores may be compared with an earlier night's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.statistics import verdict
from pipelines import graph as graphs
from pipelines import nightly_facts
from pipelines.nightly_run import selected
from tests.pipelines import nightly_stages as made
from tests.pipelines.conftest import Repo


def test_other_texts_under_the_old_ids_are_not_compared(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(dvc=made.DVC, params=made.PARAMS, strength="30")
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("NIGHT_RUNS", "runs")
    stages = list(selected(graphs.read(repo.root), ("predict", "evaluate")).stages.values())

    def scored() -> dict[verdict.Cell, verdict.Scored]:
        for stage in (made.split, made.train, made.predict, made.evaluate):
            stage()
        return verdict.cells(nightly_facts.scores(repo.root, stages)[1])

    before = scored()
    repo.write(params=made.PARAMS.replace("What is", "Tell me"))
    rows = verdict.judge(scored(), before, {}, verdict.Rule.of(0.05, 10, 100, 1))
    assert {row["reason"] for row in rows} == {"40 instances have another input or other references"}


def test_parameters_of_the_stages_behind_a_score_are_compared_and_no_others() -> None:
    def stages(seed: int, other: int, top: int) -> dict[str, Any]:
        return {
            "evaluate@b": {"params": {"seed": seed, "threads": other}, "benchmarks": ["b"]},
            "predict@b-s": {"params": {"predict.top": top}, "benchmarks": []},
            "predict@b-t": {"params": {"predict.top": other}, "benchmarks": []},
        }

    same = nightly_facts.other_parameters(stages(1, 5, 3), stages(1, 6, 3), "b", "s")
    assert same == ""
    told = nightly_facts.other_parameters(stages(2, 5, 4), stages(1, 5, 3), "b", "s")
    assert told == "other parameters: predict.top 3 → 4, seed 1 → 2"
    assert nightly_facts.other_parameters(stages(2, 5, 4), {}, "b", "s").startswith("other parameters: ")


def test_parameters_of_another_project_have_one_text(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("b: 1\n2: x\nday: 2026-07-01\n")
    assert nightly_facts.parameters(file) == '{"2": "x", "b": 1, "day": "2026-07-01"}'
    for odd in ("? [a]\n: b\n", "2026-07-01: x\n"):
        file.write_text(odd)
        with pytest.raises(NightjarError, match=r"params\.yaml: .*a key that is neither a text nor a number"):
            nightly_facts.parameters(file)
