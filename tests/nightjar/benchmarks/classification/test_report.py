"""Label consistency, the questions it is related to, and the cases, of rankings that are counted by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks.classification import report
from nightjar.benchmarks.classification.report import Ranked
from nightjar.benchmarks.papers import Papers
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.sections import ReportRow
from nightjar.core import contracts, tables
from nightjar.core.display import number
from nightjar.search.rankings import Passages
from tests.stages.report import made

BENCHMARK = made.BENCHMARK
LABELS = ("sums", "days", "hours")
DEPTH, LENGTH, KEPT = 4, 9, 7
QUESTIONS = list(made.BENCHMARK.questions(None, None, 0))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Ranked:
    folder = tmp_path_factory.mktemp("ranked")
    source = random.Random(3)
    with tables.ArtifactWriter(folder / "index") as writer:
        passage = {"document_id": "d", "title": "t", "start": 0}
        writer.write(
            contracts.PASSAGES, [{"passage": n, "text": f"Passage <{n}>", **passage} for n in range(LENGTH)]
        )
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


def test_the_table_has_means_by_task_beside_the_published(
    ranked: Ranked, monkeypatch: pytest.MonkeyPatch
) -> None:
    papers = Papers(numbers={"consistency": {"Large": {"sums": 61.25}}})
    monkeypatch.setattr(BENCHMARK, "papers", papers)
    found = report.shares(BENCHMARK, ranked)
    assert [it.title for it in found.columns] == ["ranking", "Sums of two, n = 24", "Days of the week, n = 8"]
    assert found.rows[0] == ReportRow(("reranked by Large", "61.3", None), published=True)
    for row, stage in zip(found.rows[1:], ("retrieve", "rerank"), strict=True):
        wanted = [
            np.mean(
                [it["consistent"] for it in ranked.rows if (it["task_id"], it["ranking"]) == (task, stage)]
            )
            for task in ("sums", "days")
        ]
        assert row[1:] == tuple(number(100 * value, 1) for value in wanted)


def test_right_answers_by_share(ranked: Ranked) -> None:
    for stage, system in (("retrieve", "fid"), ("rerank", "pgra")):
        found = report.points(ranked, stage, system)
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
    values = report.consistency(BENCHMARK, ranked).values
    titles = [point.title for some in values["plot"].systems.values() for point in some]
    assert len(titles) == len(values["rows"]) and all(
        title.startswith(f"{row[0]}: {row[4]}% of {row[3]} questions")
        for title, row in zip(titles, values["rows"], strict=True)
    )


@pytest.mark.parametrize(("depth", "steps"), [(16, 8), (24, 8), (48, 8), (8, 8), (7, 7)])
def test_every_step_of_the_figure_holds_equally_many_shares(depth: int, steps: int, ranked: Ranked) -> None:
    """One question for each share from 0 to 1: python's round would give some steps 1 share and others 3 of 16."""
    one = next(row for row in ranked.rows if row["ranking"] == "retrieve")
    rows = [{**one, "id": str(place), "consistent": place / depth} for place in range(depth + 1)]
    right = {"fid": {(one["task_id"], row["id"]): True for row in rows}}
    found = report.points(replace(ranked, depth=depth, rows=rows, right=right), "retrieve", "fid")
    assert [it.n for it in found] == [1] + [depth // steps] * steps
    assert [it.share for it in found] == [step / steps for step in range(steps + 1)]


def test_questions_that_reranking_moves_come_first(ranked: Ranked) -> None:
    chosen = report.choose(ranked, report.compared(ranked), 5)
    assert set(chosen) == {"sums", "days"}
    for task, keys in chosen.items():
        moves = [int(ranked.right["pgra"][key]) - int(ranked.right["fid"][key]) for key in keys]
        assert moves == [1, -1] and {key[0] for key in keys} == {task}
    still = replace(ranked, right=dict.fromkeys(("fid", "pgra"), ranked.right["fid"]))
    assert {len(keys) for keys in report.choose(still, report.compared(still), 5).values()} == {report.CASES}
    assert report.choose(ranked, ["fid"], 5) != report.choose(ranked, ["fid"], 6)


@pytest.mark.parametrize("one", QUESTIONS[::5], ids=lambda one: one.id)
def test_a_case_has_both_rankings_side_by_side(ranked: Ranked, one: Question) -> None:
    case = report.case(BENCHMARK, ranked, one, report.compared(ranked))
    orders = {stage: ranked.rankings[stage][one.key][0].tolist() for stage in ("retrieve", "rerank")}
    labels = {row["ranking"]: row["labels"] for row in ranked.rows if row["id"] == one.id}
    assert [answer[0] for answer in case["answers"]] == ["fid", "pgra"] and case["label"] == one.references[0]
    for place, row in enumerate(case["rows"]):
        rank, *first, second, before, _, label = row
        assert rank == place + 1 and len(row) == 8
        for stage, (text, told) in {"retrieve": (first[0], first[2]), "rerank": (second, label)}.items():
            assert text == f"Passage <{orders[stage][place]}>"
            known = labels[stage][place] if place < DEPTH else ""
            assert told == (f"{'✓' if known == one.references[0] else '✗'} {known}" if known else None)
        assert orders["retrieve"][int(str(before)) - 1] == orders["rerank"][place]
