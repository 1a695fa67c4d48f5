"""Tasks on long documents in the report: the paper's tables, lengths, what was trimmed, and the form of answers."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from nightjar.core import contracts, tables
from tests.stages.report.building_others import BENCHMARK, FEW, N_FEW, NAME, SYSTEMS, N
from tests.stages.report.test_stage import OUT, explorer, parsed

Rows = list[list[str]]


@pytest.fixture(scope="module")
def report(built_with_long: Path) -> Iterator[Rows]:
    """The rows of the page's tables; the project is the current folder."""
    with contextlib.chdir(built_with_long):
        yield [[cell.strip().replace("\xa0", " ") for cell in row] for row in parsed().rows]


def between(report: Rows, first: list[str], count: int) -> Rows:
    start = report.index(first)
    return report[start + 1 : start + 1 + count]


def scores() -> dict[tuple[str, str, str], tuple[str, str]]:
    """The values and intervals that the stage evaluate wrote, as the page writes them."""
    return {
        (row["track"], row["system"], row["metric"]): (
            f"{row['value']:.1f}",
            "" if row["low"] is None else f"[{row['low']:.1f}, {row['high']:.1f}]",
        )
        for row in tables.read_rows(Path("data/evaluate", NAME), contracts.SCORES)
        if row["level"] == "overall"
    }


def test_the_papers_tables_have_our_scores_with_intervals(report: Rows) -> None:
    titles = {task: f"{one.title}, n = {N}" for task, one in TASKS.items()}
    titles[FEW] = f"{TASKS[FEW].title}, n = {N_FEW}, n<20"
    n = 9 * N + N_FEW
    head = ["system", *titles.values(), f"Mean of the ten tasks, n = {n}"]
    rows = between(report, head, 13)
    assert [row[0] for row in rows] == [
        *(it.system for it in BENCHMARK.papers.rows[:10]), "naive", *SYSTEMS,
    ]  # fmt: skip
    assert rows[2][1:] == ["7.1", "9.6", "7.2", "3.9", "25.0", "18.7", "21.4", "35.3", "15.2", "0.0", "14.3"]
    assert rows[9][1:] == ["41.0", "20.0", "22.5", "–", "53.1", "31.0", "47.0", "–", "–", "–", "–"]
    found = scores()
    for row in rows[10:]:
        for track, cell in zip((*TASKS, "score"), row[1:], strict=True):
            metric = TASKS[track].kind if track in TASKS else track
            assert cell == "".join(found[track, row[0], metric])
    second = report.index(head, report.index(head) + 1)
    assert [row[0] for row in report[second + 1 : second + 13]] == [
        *(it.system for it in BENCHMARK.papers.rows[10:]), "naive", *SYSTEMS,
    ]  # fmt: skip
    assert report[second + 6][1:] == [*["–"] * 10, "20.8"]


def test_lengths_and_what_was_trimmed(report: Rows) -> None:
    start = next(at for at, row in enumerate(report) if row[:3] == ["system", "n", "prompt tokens, mean"])
    group = report.index([TASKS["qasper"].title], start)
    naive, untuned, _ = report[group + 1 : group + 4]
    assert naive[:7] == ["naive", str(N), "–", "–", "–", "–", "–"]
    prompts = [
        row
        for row in tables.read_rows(Path("data/predict", NAME, "untuned"), contracts.PREDICTIONS)
        if row["task_id"] == "qasper"
    ]
    cut = [row for row in prompts if "[The rest of the article is omitted]" in row["prompt"]]
    asked = tables.read_rows(Path("data/questions", NAME), contracts.QUESTIONS)
    words = {row["id"]: len(json.loads(row["parts"])["input"].split()) for row in asked}
    shares = [100 * (1 - len(row["prompt"].split()) / words[row["id"]]) for row in cut]
    tokens = [row["prompt_tokens"] for row in prompts]
    assert len(cut) == N // 3
    assert untuned[:7] == [
        "untuned", str(N), f"{sum(tokens) / N:.0f}", str(max(tokens)), f"{len(cut)} of {N}",
        f"{sum(shares) / len(cut):.1f}", f"{max(shares):.1f}",
    ]  # fmt: skip
    # A fourth of the answers has one word, the others 20; the references have two.
    value, interval = scores()["qasper", "untuned", "length"]
    assert untuned[7:] == [f"{(1 + 3 * 20) / 4:.1f}", "2.0", value + interval]


def test_the_form_and_the_score_that_forgives_it(report: Rows) -> None:
    start = report.index(["system", "n", "in the form (%)", "score", "forgiving"])
    found = scores()
    for task, one in TASKS.items():
        group = next(
            at for at, row in enumerate(report) if at > start and row[0].startswith(f"{one.title}: ")
        )
        for row in report[group + 1 : group + 4]:
            few = "n<20" if task == FEW else ""
            assert row[1] == (f"{N_FEW}" if few else f"{N}") + few
            wanted = ["".join(found[task, row[0], name]) for name in ("asked_form", one.kind)]
            forgiving = found.get((task, row[0], "forgiving"))
            assert row[2:] == [*wanted, "".join(forgiving) if forgiving else "–"]
    assert found["quality", "untuned", "asked_form"][0] == "25.0"


def test_answers_have_the_verdict_of_their_form(report: Rows) -> None:
    found = {
        (one["answers"][0], *one["scores"][-1])
        for it in explorer(NAME)[1]
        for one in it["systems"]
        if one["answers"][:1] in (["B"], ["option b <b>"])
    }
    assert found == {("B", "form", "as asked"), ("option b <b>", "form", "other")}


def test_the_drawing_of_lengths_has_every_system(report: Rows) -> None:
    assert f"lengths-{NAME}.svg" in parsed(f"{NAME}.html").links
    rows = csv.DictReader((OUT / f"lengths-{NAME}.csv").read_text().splitlines())
    assert {row["system"] for row in rows} == {"naive", *SYSTEMS}
