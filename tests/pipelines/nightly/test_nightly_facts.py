"""What the ledger keeps of a night: which scores may be compared with an earlier night's."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.statistics import verdict
from pipelines.graph import repository as graphs
from pipelines.nightly import nightly_facts
from pipelines.nightly import verdicts as nightly_verdicts
from pipelines.nightly.stages import selected
from tests.pipelines import nightly_stages as made
from tests.pipelines.conftest import Repo


def test_other_texts_under_the_old_ids_are_not_compared(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(dvc=made.DVC, params=made.PARAMS, strength="30")
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("NIGHT_RUNS", "runs")
    stages = list(selected(graphs.read(repo.root), ("predict", "evaluate")).stages.values())

    def scored() -> dict[verdict.Cell, verdict.Scored]:
        for stage in (made.questions, made.train, made.predict, made.evaluate):
            stage()
        return verdict.cells(nightly_facts.scores(repo.root, stages)[1], nightly_verdicts.measures)

    before = scored()
    repo.write(params=made.PARAMS.replace("What is", "Tell me"))
    rows = verdict.judge(scored(), before, {}, 0.05)
    assert {row["reason"] for row in rows} == {"40 instances have another input or other references"}


def test_parameters_of_another_project_have_one_text(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("b: 1\n2: x\nday: 2026-07-01\n")
    assert nightly_facts.parameters(file) == '{"2": "x", "b": 1, "day": "2026-07-01"}'
    for odd in ("? [a]\n: b\n", "2026-07-01: x\n"):
        file.write_text(odd)
        with pytest.raises(NightjarError, match=r"params\.yaml: .*a key that is neither a text nor a number"):
            nightly_facts.parameters(file)
