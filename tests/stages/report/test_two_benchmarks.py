"""A second card is in every part of the report, with no line of the report's code for it."""

from __future__ import annotations

import contextlib
import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar.core import contracts, tables
from tests.stages.report import made
from tests.stages.report.building import ABLATIONS, NAME, SYSTEMS, change_params
from tests.stages.report.building_others import add_made
from tests.stages.report.conftest import reported_project
from tests.stages.report.test_stage import OUT, explorer, parsed, text

EVALUATED = Path("data/evaluate", made.NAME)


@pytest.fixture(scope="module")
def report(built_with_two: Path) -> Iterator[list[list[str]]]:
    """The rows of the page's tables; the project is the current folder."""
    with contextlib.chdir(built_with_two):
        yield [[cell.strip().replace("\xa0", " ") for cell in row] for row in parsed().rows]


def scores() -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["track"], row["system"]): row for row in tables.read_rows(EVALUATED, contracts.SCORES)}


def test_the_headline_has_both(report: list[list[str]]) -> None:
    entries = json.loads((OUT / "headline.json").read_text())
    blocks = dict.fromkeys((entry["benchmark"], entry["track"]) for entry in entries)
    assert list(blocks) == [
        (NAME, "default"),
        (NAME, "xlingual"),
        *(("made", it) for it in ("sums", "days", "accuracy")),
    ]
    assert len(entries) == 2 * len(SYSTEMS | ABLATIONS) + 3 * len(made.SYSTEMS)
    mean = entries[-1]
    assert (mean["track"], mean["system"], mean["n"], mean["accuracy"]) == (
        "accuracy",
        "tk_instruct",
        32,
        0.5,
    )
    assert mean["accuracy_low"] < 0.5 < mean["accuracy_high"]
    last = entries[-1 - len(made.SYSTEMS)]
    assert set(last) == {"benchmark", "track", "system", "n", "accuracy", "accuracy_low", "accuracy_high"}
    assert (last["n"], last["accuracy"], last["accuracy_low"]) == (8, 0.5, None)
    table = (OUT / "headline.txt").read_text().splitlines()
    assert table[0].split() == ["system", NAME, "made"]
    assert next(line.split()[-1] for line in table if line.startswith("untuned")) == "0.2500"
    assert "made: accuracy, mean of 2 tasks" in "\n".join(table), "one scale everywhere, that of the tables"
    found, tuned = scores()["sums", "untuned"], scores()["sums", "tk_instruct"]
    interval = f"[{found['low']:.3f}, {found['high']:.3f}]"
    assert [
        "Sums of two",
        "24",
        f"0.250{interval}",
        f"0.500[{tuned['low']:.3f}, {tuned['high']:.3f}]",
    ] in report
    assert ["Days of the week", "8", "0.250", "0.500"] in report, "n<20: no interval"


def test_published_rows_are_those_of_the_benchmark(report: list[list[str]]) -> None:
    found = [row[1:] for row in report if row[0] == "Guesser 9B"]
    source = "Nobody 2030, table 1, average of 2 tasks"
    assert found == [["0.313", source], ["0.500", "–"]], "the mean in the overview, in the unit of the metric"
    found = [row[1:] for row in report if row[0] == "Guesser 1B"]
    assert found == [["0.250", "–"]], "no mean that the paper does not print"
    source = "README of Tk-Instruct, on resampled test instances"
    assert [row[1:] for row in report if row[0] == "Tk-Instruct 3B"] == [["54.3", source]]
    assert "9B" not in (OUT / "headline.txt").read_text()


def test_the_tools_that_were_called(report: list[list[str]]) -> None:
    values = ["accuracy", "8", "0.500", "1.000", "0.429", "12.5", "Clock 12.5"]
    assert ["Days of the week", "tk_instruct", *values] in report
    # So has the other benchmark, whose paper's tables are not on the card: calls() puts one in every ninth answer.
    predicted = tables.read_rows(Path("data/predict", NAME, "combined"), contracts.PREDICTIONS)
    english = [row for row in predicted if row["track"] == "default"]
    counts = Counter(call["tool"] for row in english for call in row["calls"])
    tools = ", ".join(f"{tool} {100 * counts[tool] / len(english):.1f}" for tool in sorted(counts))
    line = next(row for row in report if len(row) == 9 and row[1] == "combined")
    assert line[3] == str(len(english)) and line[-1] == tools


def test_differences_have_the_unit_of_the_metric(report: list[list[str]]) -> None:
    lines = [row for row in report if row[0] == "tk_instruct − untuned" and len(row) == 9]
    tracks = [("Sums of two", "24"), ("Days of the week", "8"), ("mean of tasks", "32")]
    assert [(row[1], row[2]) for row in lines] == tracks
    assert lines[1][3] == "n<20" and [row[-1] for row in lines] == ["yes", "no", "yes"]
    assert "metric accuracy, difference +0.250" in text("made.html").replace(" = ", " "), "equal in all rows"


def test_its_answers_its_calls_and_its_systems_are_there(report: list[list[str]]) -> None:
    page = text("made.html")
    rows = explorer("made")[0]["rows"]
    assert any(row[2].startswith("What is sums number <") for row in rows)
    assert any(row[7][0].startswith("untuned is wrong about days-") for row in rows)
    assert "Sums of two" in page and "Nobody 2030" in page
    assert "of 2 benchmarks" in text("index.html")
    assert sum(row[:3] == ["untuned", "no", "32"] for row in report) == 1, "its calls"
    systems = {(row[0], row[1]) for row in report if len(row) == 3 and "fine-tuned" in row[2]}
    assert ("tk_instruct", "Super-NaturalInstructions, Made & Co") in systems
    source = ["my/made", "not the project's sample", "1", "–", "33", "32", "1"]
    assert ["made files", "Made & Co", *source] in report


def test_its_stages_are_in_the_graph(report: list[list[str]]) -> None:
    ran = {row[0] for row in report if len(row) == 6}
    assert {"ingest@made_files", "questions@made", "predict@made-untuned", "evaluate@made"} <= ran
    assert {"questions@supernatinst", "retrieve@supernatinst", "predict@supernatinst-combined"} <= ran
    rows = csv.DictReader((OUT / "stages.csv").read_text().splitlines())
    edges = {row["stage"]: row["reads from"] for row in rows}
    assert "predict@made-untuned" in edges["evaluate@made"]
    assert "questions@made" in edges["predict@made-untuned"]
    inputs = json.loads(Path("data/metrics-report.json").read_text())["inputs"]
    assert {"data/questions/made", "data/predict/made/untuned", "data/evaluate/made"} <= set(inputs)


def test_what_it_has_not_is_left_out(report: list[list[str]]) -> None:
    ids = parsed("made.html").ids
    assert "differences" in ids and not ids & {"gains", "correlation"}
    others = [file.name for file in OUT.iterdir() if "made" in file.name and file.suffix != ".html"]
    assert sorted(others) == ["forest-made.csv", "forest-made.svg", "scores-made.csv"]


def test_a_section_of_the_benchmarks_own(report: list[list[str]]) -> None:
    page = parsed("made.html")
    assert "own" in page.ids and "b" not in page.tags
    assert {"code", "strong"} <= page.tags and "Own <section>" in text("made.html")
    at = page.rows.index(["system", "answers", "half"])
    assert page.rows[at + 1] == [made.SYSTEMS[0], "32", "0.500[0.250, 0.750]"]
    numbers = (OUT / "own-points.csv").read_text().splitlines()
    assert numbers[:2] == ["system,n", f"{made.SYSTEMS[0]},32"]
    assert "&lt;score&gt;" in (OUT / "own-points.svg").read_text() and (OUT / "own-intervals.svg").exists()


def test_a_benchmark_without_a_system_is_named_and_left_out(
    built_with_arms: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def without(values: dict[str, Any]) -> None:
        systems = values["predict"]["systems"]
        for name in [name for name in systems if name.startswith(NAME)]:
            del systems[name]

    def add() -> None:
        add_made()
        change_params(without)

    out = reported_project(tmp_path_factory, "built-without-system", built_with_arms, add, made) / OUT
    assert {entry["benchmark"] for entry in json.loads((out / "headline.json").read_text())} == {"made"}
    assert "predict.systems has no system for this benchmark" in (out / "index.html").read_text()
    assert not (out / f"{NAME}.html").exists()
