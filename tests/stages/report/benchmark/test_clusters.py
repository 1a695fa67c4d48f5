"""A benchmark with clusters: its table by metric, its labels and its instances, counted by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks.aggregate import aggregate
from nightjar.benchmarks.protoqa.report import labelled_questions
from nightjar.benchmarks.scores import InstanceKey, SystemScores, from_rows
from nightjar.benchmarks.sections import Evaluated, Value
from nightjar.core import contracts, tables
from nightjar.core.display import number
from nightjar.params import load
from nightjar.statistics import Bootstrap
from stages.report.benchmark import clusters, published
from stages.report.read import benchmark_results
from stages.report.site import row
from tests.conftest import ROOT
from tests.stages.report import made_lists
from tests.stages.report.made_lists import ATTACK, BENCHMARK, NAME, N
from tests.stages.report.test_stage import OUT, explorer, parsed

SCORED = Path("data/evaluate", NAME)
PAGE = f"{NAME}.html"
ASKED = list(made_lists.BENCHMARK.questions(None, None, 0))  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def _in_project(built_with_lists: Path) -> Iterator[None]:
    with contextlib.chdir(built_with_lists):
        yield


def cells(name: str = PAGE) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in parsed(name).rows]


def interval(row: dict[str, Any], signed: bool = False) -> str:
    value, low, high = (number(row[name], 3, signed) for name in ("value", "low", "high"))
    return f"{value}[{low}, {high}]"


def starred(row: dict[str, Any]) -> str:
    return interval(row, signed=True).replace("[", "*[")


def overall(system: str, metric: str) -> dict[str, Any]:
    rows = tables.read_rows(SCORED, contracts.SCORES)
    return next(row for row in rows if (row["system"], row["metric"]) == (system, metric))


def test_the_papers_table_by_metric() -> None:
    rows = cells()
    at = rows.index(["system", "n", "first 1", "first 3"])  # "first 9" was not evaluated
    assert rows[at + 1] == ["Lister 9B", "", "0.250", "0.500"]
    metrics = ("same/1", "same/3")
    for place, system in ((2, "untuned"), (3, "people")):
        assert rows[at + place] == [system, str(N), *(interval(overall(system, it)) for it in metrics)]
    assert len(rows[at + 4]) == 1 and rows[at + 4][0].startswith("Distance to people")
    compared = {
        row["metric"]: row
        for row in tables.read_rows(SCORED, contracts.COMPARISONS)
        if (row["system"], row["baseline"], row["level"]) == ("people", "untuned", "overall")
    }
    assert all(compared[it]["significant"] and compared[it]["value"] > 0 for it in metrics)
    assert rows[at + 5] == ["people − untuned", str(N), *(starred(compared[it]) for it in metrics)]
    one = (OUT / PAGE).read_text()
    assert "Nobody counted." in one and "Table 4" not in one and "Distance to nobody" not in one
    assert one.count("Not in the paper: contained") == 1
    assert one.count("Lister 9B") == 1, "not in the headline"


def test_a_table_of_few_instances_has_no_intervals() -> None:
    rows = tables.read_rows(SCORED, contracts.SCORES)
    compared = tables.read_rows(SCORED, contracts.COMPARISONS)
    few = [{**row, "n": 19 if row["metric"] == "same/1" else 18, "low": None, "high": None} for row in rows]
    none = [{**row, "low": None, "high": None} for row in compared]
    first, _ = published.tables(BENCHMARK, benchmark_results.Results(BENCHMARK, few, {}, none), [])
    *ours, heading, distance = [row(cells, first.table.columns) for cells in first.table.rows]
    assert [it.cells[1] for it in ours] == ["", "18–19, n<20", "18–19, n<20"] and heading.heading
    assert all(cell.n == 0 for it in (*ours, distance) for cell in it.cells if isinstance(cell, Value))
    for it in published.tables(BENCHMARK, benchmark_results.Results(BENCHMARK, rows, {}), []):
        rows_of_table = [row(cells, it.table.columns) for cells in it.table.rows]
        assert not any(one.heading for one in rows_of_table), "the reference was not compared"


def test_labels() -> None:
    assert "labels" in parsed(PAGE).ids
    rows = cells()
    at = rows.index(["questions", "n", "untuned", "people"])
    table = {row[0]: row[1:] for row in rows[at + 1 : at + 7]}
    assert list(table) == [
        *("all questions", "easy", "not easy", "hard", "not hard", "without any label"),
    ]
    assert [row[0] for row in table.values()] == ["24", "8", "16", "0", "24", "16"]
    scores = from_rows(tables.read_rows(SCORED, contracts.INSTANCE_SCORES))
    easy = {one.id for one in ASKED if one.parts["labels"]}
    # As the stage evaluate does with the parameters' resamples.
    again = aggregate(BENCHMARK, scores, Bootstrap())
    for place, system in ((1, "untuned"), (2, "people")):
        (one,) = [it for it in scores if it.system == system]
        values = dict(zip([key.id for key in one.keys], one.parts["same/3"], strict=True))
        means = {
            having: np.mean([value for id, value in values.items() if (id in easy) == having])
            for having in (True, False)
        }
        assert table["easy"][place] == f"{means[True]:.3f}n<20"
        assert table["not easy"][place] == table["without any label"][place] == f"{means[False]:.3f}n<20"
        assert table["hard"][place] == "–"
        score = next(row for row in again if (row["system"], row["metric"]) == (system, "same/3"))
        assert table["all questions"][place] == table["not hard"][place] == interval(score)
    page = (OUT / PAGE).read_text()
    assert "8 of 24 questions: every third question" in page and "0 of 24 questions: no question" in page


def test_remarks_on_rows_that_were_kept() -> None:
    assert ["ingest@made_lists", "label: easy", "9"] in cells("stages.html")
    assert ["ingest@made_lists", "odd <b>", "2"] in cells("stages.html")


def test_the_clusters_of_a_question() -> None:
    listed, shown = explorer(NAME)
    assert listed["systems"] == ["untuned", "people"] and listed["similarities"] == ["equal", "contained"]
    assert f"{NAME}.instances.html" in parsed(PAGE).links
    one = shown[3]
    assert (one["people"], one["labels"], shown[4]["labels"]) == ("100", ["easy"], [])
    # The largest first, equal ones in their order.
    assert [(it["count"], it["strings"]) for it in one["clusters"]] == [
        (60, ["snow"]), (20, ["rain", "a shower", f"rain {ATTACK}"]), (20, ["frogs"]),
    ]  # fmt: skip
    has, none = ([kind, place] for kind, place in (("has", 2), ("none", 0)))
    assert one["matches"] == [[[none, has], [none, has]], [[["has", 1], has], [["has", 1], has]]]


def test_the_answers_with_their_clusters() -> None:
    listed, shown = explorer(NAME)
    one, matches = shown[0], shown[0]["matches"][0]
    answers = one["systems"][0]["answers"]
    assert answers[:5] == ["mud", "snow", "the snow", ATTACK, r"\u202eturned"]
    assert matches[0][:3] == [["none", 0], ["has", 1], ["none", 0]], "equal"
    assert matches[1][:3] == [["none", 0], ["has", 1], ["repeats", 1]], "contained"
    assert one["counted"][0] == 3 and len(answers) == clusters.ANSWERS and one["systems"][0]["more"] == 17
    assert answers[5].startswith("xx") and len(answers[5]) < 3_000, "an answer of a megabyte"
    (scores,) = (
        it for it in from_rows(tables.read_rows(SCORED, contracts.INSTANCE_SCORES)) if it.system == "untuned"
    )
    assert one["systems"][0]["scores"][0] == ["equal, first 3", f"{scores.parts['same/3'][0]:.3f}"]
    assert [row[4][0] for row in listed["rows"][:3]] == ["-", "-", "x"], "an empty list, and none"
    files = "".join(file.read_text() for file in (OUT / "instances" / NAME).iterdir())
    assert "<" not in files and "\u202e" not in files and len(files) < 150_000


def evaluated(systems: list[str]) -> Evaluated:
    scores = from_rows(tables.read_rows(SCORED, contracts.INSTANCE_SCORES))
    table = tables.read_rows(SCORED, contracts.SCORES)
    params = load(ROOT / "params.yaml").model_copy(update={"seed": 3})
    return Evaluated(BENCHMARK, params, systems, ASKED, scores, table, {}, Path(), lambda path: None)


def test_more_than_fits_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLUSTERS", "STRINGS", "ANSWERS"):
        monkeypatch.setattr(clusters, name, 1)
    found = clusters.Clusters.read(evaluated(["people"]))
    assert found
    one = found.of(ASKED[0])
    assert (len(one["clusters"]), one["smaller"], one["clusters"][0]["more"]) == (1, 2, 0)
    assert [[len(matches) for matches in of] for of in one["matches"]] == [[1, 1]]


def test_scores_by_label_leave_out_what_has_no_score() -> None:
    keys = [InstanceKey("default", "", one.task_id, one.id) for one in ASKED]
    values = np.arange(len(keys), dtype=float)
    values[0] = np.nan
    found = replace(evaluated([]), scores=[SystemScores("a", keys, {"same/3": values})])
    (shown,) = labelled_questions({"easy": "every third question"}, found)
    easy = [value for value in values[1:] if value % 3 == 0]
    (cell,) = (cells[2] for cells in shown.values["rows"] if cells[0] == "easy")
    assert isinstance(cell, Value) and cell.value == pytest.approx(np.mean(easy), abs=1e-3)
    assert (cell.low, cell.n) == (None, len(easy))
