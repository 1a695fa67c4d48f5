"""Pages of instances: which are shown, what is cut, and the passages of a system with evidence or rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.scores import from_rows
from nightjar.core import contracts, tables
from nightjar.core.paths import INDEX
from nightjar.params.predict import System
from stages.report.benchmark import instances
from tests.stages.report.building import EVIDENCE, NAME, SCORED, asked
from tests.stages.report.test_stage import OUT, run, text

CARD = registry.card(NAME)
PREDICTED = Path("data/predict", NAME)


def shown(evidence: str = "data/none") -> dict[str, Any]:
    system = System(
        kind="model", benchmark=NAME, system="combined", weights="w", evidence=evidence, tools="data/none"
    )
    found = instances.read([system], PREDICTED, asked(), 1)
    scores = from_rows(tables.read_rows(SCORED, contracts.INSTANCE_SCORES))
    return instances.context(CARD, found, next(one for one in scores if one.system == "combined"))


def test_a_larger_number_is_drawn_and_said(reported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {it["id"]: it for it in shown()["instances"]}
    assert len(every) == shown()["total"] == len(asked())
    monkeypatch.setattr(instances, "INSTANCES", 9)
    few = shown()
    assert few["total"] == len(asked()) and len(few["instances"]) == 9
    assert all(it | {"number": 0} == every[it["id"]] | {"number": 0} for it in few["instances"])


def test_scores_are_those_of_the_table(reported: Path) -> None:
    scores = {
        (row["id"], row["metric"]): row["value"]
        for row in tables.read_rows(SCORED, contracts.INSTANCE_SCORES)
        if row["system"] == "combined"
    }
    for it in shown()["instances"]:
        assert it["scores"] == [
            {"title": "ROUGE-L (%)", "value": f"{100 * scores[it['id'], 'rougeL']:.1f}"},
            {"title": "exact match (%)", "value": f"{100 * scores[it['id'], 'exact_match']:.1f}"},
        ]
        assert it["right"] == ("right" if scores[it["id"], "exact_match"] == 1 else "wrong")


def test_evidence_in_the_order_of_its_ranks(project: Path) -> None:
    first = asked()[0]
    names = {"split": "test", "task_id": first.task_id, "id": first.id, "document_id": "d", "score": 1.0}
    titles = {2: "", 1: "<i>", 3: "", 4: ""}
    rows = [
        {**names, "rank": rank, "passage": rank, "title": title, "text": f"passage {rank}"}
        for rank, title in titles.items()
    ]
    with tables.ArtifactWriter(Path(EVIDENCE)) as writer:
        writer.write(contracts.EVIDENCE, [*rows, rows[0] | {"split": "train", "id": "other"}])
    found = shown(EVIDENCE)["instances"]
    assert list(found[0]["passages"]) == ["<i>: passage 1", "passage 2", "passage 3"]
    assert not any(it["passages"] for it in found[1:])
    assert run().returncode == 0
    assert "1. <i>: passage 1" in text(f"{NAME}.combined.html")
    assert "&lt;i&gt;: passage 1" in (OUT / f"{NAME}.combined.html").read_text()
    assert "passage 1" not in text(f"{NAME}.untuned.html"), "it has no evidence"


def test_passages_of_a_ranking(project: Path) -> None:
    first = asked()[0]
    row = {"split": "test", "task_id": first.task_id, "id": first.id}
    with tables.ArtifactWriter(Path("data/rerank", NAME)) as writer:
        writer.write(contracts.RANKINGS, [row | {"passages": [7, 2, 5, 9], "scores": [4.0, 3.0, 2.0, 1.0]}])
    passage = {"document_id": "d", "title": "", "start": 0}
    with tables.ArtifactWriter(INDEX) as writer:
        rows = [{"passage": number, "text": f"text {number}", **passage} for number in range(10)]
        writer.write(contracts.PASSAGES, rows)
    found = shown(f"data/rerank/{NAME}")["instances"]
    assert list(found[0]["passages"]) == ["text 7", "text 2", "text 5"] and not found[1]["passages"]


def test_long_prompts_keep_their_ends() -> None:
    assert instances.shortened("a\nb", 3) == "a\nb"
    assert instances.shortened("abcdefghij" * 200, 6) == "abc\n[… 1,994 characters are left out …]\nhij"
