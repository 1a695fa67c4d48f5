"""Label consistency, the questions it is related to, and the cases, of rankings that are counted by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks.papers import Published
from nightjar.core import contracts, tables
from nightjar.core.display import number
from nightjar.search.rankings import Passages
from stages.report.benchmark import cases, consistency
from stages.report.read.rankings import Ranked
from tests.stages.report import made

CARD = made.CARD
CONSISTENCY = (Published("Large", {"sums": 61.25}, "Nobody 2030"),)
LABELS = ("sums", "days", "hours")
DEPTH, LENGTH, KEPT = 4, 9, 7
QUESTIONS = list(made.questions(None, None, 0))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Ranked:
    folder = tmp_path_factory.mktemp("ranked")
    source = random.Random(3)
    with tables.ArtifactWriter(folder / "index") as writer:
        passage = {"document_id": "d", "title": "t", "start": 0}
        writer.write(
            contracts.PASSAGES, [{"passage": n, "text": f"Passage <{n}>", **passage} for n in range(LENGTH)]
        )
    with tables.ArtifactWriter(folder / "asked") as writer:
        writer.write(contracts.QUESTIONS, [one.row() for one in QUESTIONS])
    rankings: dict[str, dict[Any, Any]] = {"retrieve": {}, "rerank": {}}
    rows = []
    right: dict[str, dict[Any, bool]] = {"fid": {}, "pgra": {}}
    for place, one in enumerate(QUESTIONS):
        first = source.sample(range(LENGTH), LENGTH)
        for stage, order in (("retrieve", first), ("rerank", source.sample(first, KEPT))):
            scores = np.linspace(1, 0.1, len(order))
            rankings[stage][one.key] = (np.array(order, np.int64), scores)
            labels = [source.choice((one.references[0], "other")) for _ in range(DEPTH)]
            share = labels.count(one.references[0]) / DEPTH
            key = {"benchmark": made.NAME, "task_id": one.task_id, "id": one.id, "ranking": stage}
            rows.append({**key, "passages": order[:DEPTH], "labels": labels, "consistent": share})
        right["fid"][one.key], right["pgra"][one.key] = place % 2 == 1, place % 3 == 0
    answers = {system: {key: str(value) for key, value in some.items()} for system, some in right.items()}
    readers = {"retrieve": ["fid"], "rerank": ["pgra"]}
    return Ranked(DEPTH, rows, rankings, Passages(folder / "index"), readers, right, answers)


@pytest.fixture()
def asked(ranked: Ranked, tmp_path: Path) -> Path:
    with tables.ArtifactWriter(tmp_path / "asked") as writer:
        writer.write(contracts.QUESTIONS, [one.row() for one in QUESTIONS])
    return tmp_path / "asked"


def test_the_table_has_means_by_task_beside_the_published(
    ranked: Ranked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "CONSISTENCY", CONSISTENCY)
    found = consistency.context(CARD, ranked, {"fid": 0, "pgra": 1})
    assert found and [list(it.values()) for it in found["columns"]] == [
        ["Sums of two", "n = 24"],
        ["Days of the week", "n = 8"],
    ]
    assert found["rows"][0] == {"system": "Large", "ours": False, "cells": ["61.3", "–"]}
    for row, stage in zip(found["rows"][1:], ("retrieve", "rerank"), strict=True):
        wanted = [
            np.mean(
                [it["consistent"] for it in ranked.rows if (it["task_id"], it["ranking"]) == (task, stage)]
            )
            for task in ("sums", "days")
        ]
        assert row["ours"] and row["cells"] == [number(100 * value, 1) for value in wanted]


def test_right_answers_by_share(ranked: Ranked) -> None:
    for stage, system in (("retrieve", "fid"), ("rerank", "pgra")):
        found = consistency.points(ranked, stage, system)
        assert sum(it.n for it in found) == len(QUESTIONS)
        assert [it.share for it in found] == sorted({it.share for it in found})
        for it in found:
            keys = [
                (row["task_id"], row["id"])
                for row in ranked.rows
                if row["ranking"] == stage and row["consistent"] == it.share
            ]
            assert it.n == len(keys)
            assert it.right == pytest.approx(
                100 * np.mean([ranked.right[system][key] for key in keys]), abs=1e-4
            )
            assert (it.low is None) == (it.n < 20)
    drawn = consistency.context(CARD, ranked, {"fid": 0, "pgra": 1})
    assert drawn and all(
        f"{it['system']}: {it['right']}% of {it['n']}" in drawn["plot"].drawing for it in drawn["lines"]
    )


def test_shares_of_a_deep_ranking_are_rounded_to_steps(ranked: Ranked) -> None:
    rows = [{**row, "consistent": place / 63} for place, row in enumerate(ranked.rows)]
    found = consistency.points(replace(ranked, depth=63, rows=rows), "retrieve", "fid")
    assert len(found) <= consistency.POINTS + 1 and sum(it.n for it in found) == len(QUESTIONS)


@pytest.mark.parametrize(("depth", "steps"), [(16, 8), (24, 8), (48, 8), (8, 8), (7, 7)])
def test_every_step_of_the_figure_holds_equally_many_shares(depth: int, steps: int, ranked: Ranked) -> None:
    """One question for each share from 0 to 1: python's round would give some steps 1 share and others 3 of 16."""
    one = next(row for row in ranked.rows if row["ranking"] == "retrieve")
    rows = [{**one, "id": str(place), "consistent": place / depth} for place in range(depth + 1)]
    right = {"fid": {(one["task_id"], row["id"]): True for row in rows}}
    found = consistency.points(replace(ranked, depth=depth, rows=rows, right=right), "retrieve", "fid")
    assert [it.n for it in found] == [1] + [depth // steps] * steps
    assert [it.share for it in found] == [step / steps for step in range(steps + 1)]


def test_questions_that_reranking_moves_come_first(ranked: Ranked) -> None:
    chosen = cases.choose(ranked, cases.compared(ranked), 5)
    assert set(chosen) == {"sums", "days"}
    for task, keys in chosen.items():
        moves = [int(ranked.right["pgra"][key]) - int(ranked.right["fid"][key]) for key in keys]
        assert moves == [1, -1] and {key[0] for key in keys} == {task}
    still = replace(ranked, right=dict.fromkeys(("fid", "pgra"), ranked.right["fid"]))
    assert {len(keys) for keys in cases.choose(still, cases.compared(still), 5).values()} == {cases.CASES}
    assert cases.choose(ranked, ["fid"], 5) != cases.choose(ranked, ["fid"], 6)


def test_a_case_has_both_rankings_side_by_side(ranked: Ranked, asked: Path) -> None:
    blocks = cases.context(CARD, ranked, asked, 5)
    assert [block["title"] for block in blocks] == ["Sums", "Days"]
    for block, task in zip(blocks, ("sums", "days"), strict=True):
        for case in block["cases"]:
            key = (task, case["id"])
            gold = next(one.references[0] for one in QUESTIONS if one.key == key)
            orders = {stage: ranked.rankings[stage][key][0].tolist() for stage in ("retrieve", "rerank")}
            assert [it["system"] for it in case["answers"]] == ["fid", "pgra"]
            for place, row in enumerate(case["rows"]):
                assert row["rank"] == place + 1
                for side, stage in (("first", "retrieve"), ("second", "rerank")):
                    it = row[side]
                    assert it["text"] == f"Passage <{orders[stage][place]}>"
                    labels = next(
                        one["labels"]
                        for one in ranked.rows
                        if (one["task_id"], one["id"], one["ranking"]) == (*key, stage)
                    )
                    assert it["label"] == (labels[place] if place < DEPTH else "")
                    assert it["same"] == (place < DEPTH and labels[place] == gold)
                assert orders["retrieve"][row["second"]["before"] - 1] == orders["rerank"][place]
