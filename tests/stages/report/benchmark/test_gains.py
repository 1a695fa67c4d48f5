"""Differences, gains and correlation: the page has the numbers of the tables."""

from __future__ import annotations

import csv
import json
from html import unescape
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.core import contracts, tables
from nightjar.core.display import number, p
from tests.stages.report.building import BASELINES, MODELS, NAME, SCORED
from tests.stages.report.test_stage import OUT, parsed, text

FACTS = Path("data/metrics/evaluate-supernatinst.json")
BENCHMARK = registry.load_benchmark(NAME)


def signed(value: float) -> str:
    return number(value, 1, signed=True).replace("-", "−")


def ends(row: dict[str, Any]) -> str:
    return "n<20" if row["low"] is None else f"[{signed(row['low'])}, {signed(row['high'])}]"


def test_the_page_shows_the_numbers_of_the_tables(reported: Path) -> None:
    found = [[cell.strip() for cell in row] for row in parsed().rows]
    compared = tables.read_rows(SCORED, contracts.COMPARISONS)
    assert {row["low"] is None for row in compared} == {True, False}
    for row in compared:
        if row["baseline"] in BASELINES:
            continue
        metric = BENCHMARK.metric(row["metric"])
        cells = [f"{row['system']} − {row['baseline']}", BENCHMARK.track_title(row["track"]), f"{metric.title} (%)",
                 f"{row['n']}", signed(row["value"]), ends(row),
                 "n<20" if row["p"] is None else p(row["p"]),
                 *(f"{row[name]:,}" for name in ("better", "worse", "equal")),
                 "yes" if row["significant"] else "no"]  # fmt: skip
        if row["level"] == "overall" and row["metric"] != "rouge1":
            assert found.count(cells) == 1
        if row["level"] == "category" and metric == BENCHMARK.main_metric(row["name"]):
            wanted = [row["name"].replace("_", " ").capitalize(), cells[0]]
            some = [line for line in found if line[:2] == wanted and signed(row["value"]) in line]
            assert bool(some) == (row["baseline"] == "untuned")
    page = unescape((OUT / f"{NAME}.html").read_text())
    entry = json.loads(FACTS.read_text())["correlation"][0]
    assert f"r = {number(entry['r'], 3)}" in page and f"{entry['points']} points" in page
    assert "Published: Pearson's r = 0.970" in page


def test_gains_of_a_task(reported: Path) -> None:
    gains = {(row["system"], row["task_id"]): row for row in tables.read_rows(SCORED, contracts.IMPROVEMENTS)}
    (file,) = OUT.glob("gains-*-default.csv")
    lines = [it for it in csv.DictReader(file.read_text().splitlines()) if it["task"] == "task900_made_up"]
    assert {it["system"]: float(it["gain"]) for it in lines} == {
        system: gains[system, "task900_made_up"]["value"] for system in MODELS
    }
    assert all(it["best baseline"].startswith("copy_") for it in lines)


def test_a_correlation_without_an_interval_says_why(reported: Path) -> None:
    entry = json.loads(FACTS.read_text())["correlation"][1]
    assert entry["points"] == 6 and entry["low"] is None
    told = f"Cross-lingual track: r = {number(entry['r'], 3)} over 6 points, too few points for an interval"
    assert told in text(f"{NAME}.html")
