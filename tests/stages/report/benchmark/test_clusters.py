"""A benchmark with clusters: its table by metric, its labels and the page with its questions, counted by hand."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks.aggregate import aggregate
from nightjar.benchmarks.capabilities import Matching
from nightjar.benchmarks.protoqa.report import labelled_questions
from nightjar.benchmarks.scores import Key, SystemScores, from_rows
from nightjar.benchmarks.sections import Evaluated, Table, Value
from nightjar.core import contracts, tables
from nightjar.core.display import number
from nightjar.params import load
from nightjar.statistics import Bootstrap
from stages.report.benchmark import clusters, published
from stages.report.read import results
from tests.conftest import ROOT
from tests.stages.report import made_lists
from tests.stages.report.made_lists import ATTACK, CARD, NAME, N
from tests.stages.report.test_stage import OUT, Page, parsed

SCORED = Path("data/evaluate", NAME)
PAGE, QUESTIONS = f"{NAME}.html", f"{NAME}-questions.html"
ASKED = list(made_lists.questions(None, None, 0))  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def _in_project(built_with_lists: Path) -> Iterator[None]:
    with contextlib.chdir(built_with_lists):
        yield


def cells(name: str = PAGE) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in parsed(name).rows]


def interval(row: dict[str, Any], signed: bool = False) -> str:
    value, low, high = (number(row[name], 3, signed) for name in ("value", "low", "high"))
    return f"{value}[{low}, {high}]"


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
    assert rows[at + 5] == ["people − untuned", str(N), *(interval(compared[it], True) for it in metrics)]
    one = (OUT / PAGE).read_text()
    assert "Nobody counted." in one and "Table 4" not in one and "Distance to nobody" not in one
    assert one.count("Not in the paper: contained") == 1
    assert one.count("Lister 9B") == 1, "not in the headline"


def test_a_table_of_few_instances_has_no_intervals() -> None:
    rows = tables.read_rows(SCORED, contracts.SCORES)
    compared = tables.read_rows(SCORED, contracts.COMPARISONS)
    few = [{**row, "n": 19 if row["metric"] == "same/1" else 18, "low": None, "high": None} for row in rows]
    none = [{**row, "low": None, "high": None} for row in compared]
    section = published.section(CARD, results.Results(CARD, few, {}), [], none)
    assert section
    table = next(it for it in section.blocks if isinstance(it, Table))
    *ours, heading, distance = table.rows
    assert [row.cells[1] for row in ours] == ["", "18–19, n<20", "18–19, n<20"] and heading.heading
    assert all(cell.n == 0 for row in (*ours, distance) for cell in row.cells if isinstance(cell, Value))
    section = published.section(CARD, results.Results(CARD, rows, {}), [])
    assert section
    for block in section.blocks:
        if isinstance(block, Table):
            assert not any(row.heading for row in block.rows), "the reference was not compared"


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
    again = aggregate(CARD, scores, Bootstrap())
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


def test_links_between_the_pages() -> None:
    index, questions = parsed(PAGE), parsed(QUESTIONS)
    assert QUESTIONS in index.links and PAGE in questions.links
    inside = [link for link in questions.links if link.startswith("#")]
    assert len(inside) == N and all(link[1:] in questions.ids for link in inside)
    assert not questions.tags & {"img", "iframe", "object"}


def section(number: int) -> str:
    """The part of the page about a question."""
    text = (OUT / QUESTIONS).read_text()
    return text[text.index(f'<section id="q{number}">') :].split("</section>")[0]


def rows_of(number: int) -> list[list[str]]:
    found = Page()
    found.feed(section(number))
    return [[cell.strip() for cell in row] for row in found.rows]


def test_the_clusters_of_a_question() -> None:
    rows = rows_of(4)
    assert rows[0] == ["cluster", "people", "strings", "untuned", "people"]
    # The largest first, equal ones in their order; the ranks are those of the answers that have them.
    assert rows[1:4] == [
        ["1", "60", "snow", "–", "1"],
        ["2", "20", f"rain | a shower | rain {ATTACK}", "2", "2"],
        ["3", "20", "frogs", "–", "–"],
    ]
    assert "100 answers of people in 3 clusters; labels: easy" in section(4)
    assert "labels" not in section(5)


def test_the_answers_with_their_clusters() -> None:
    rows = rows_of(1)
    at = rows.index(["", "answer", "equal", "contained"])
    listed = rows[at + 1 :]
    assert listed[0] == ["1", "mud", "✗", "✗"]
    assert listed[1] == ["2", "snow", "✓ 1 snow", "✓ 1"]
    assert listed[2] == ["3", "the snow", "✗", "= 1"]
    assert listed[3] == ["equal, first 3 counts the answers above"]
    assert listed[4][:2] == ["4", ATTACK]
    assert listed[5][1] == made_lists.TURNED.replace("\u202e", r"\u202e"), "marked"
    assert re.fullmatch(r"x{80} …", listed[6][1]), "an answer of a megabyte"
    assert listed[7][1] == "(blank)"
    assert len([row for row in listed if row[0].isdigit()]) >= clusters.ANSWERS
    assert "and 17 more answers" in section(1)
    (one,) = (
        it for it in from_rows(tables.read_rows(SCORED, contracts.INSTANCE_SCORES)) if it.system == "untuned"
    )
    assert f"{one.parts['same/3'][0]:.3f}" in section(1)
    assert "An empty list." in section(2) and "No prediction." in section(3)
    page = (OUT / QUESTIONS).read_text()
    assert ATTACK not in page and "\u202e" not in page and len(page) < 150_000


def evaluated(systems: list[str]) -> Evaluated:
    scores = from_rows(tables.read_rows(SCORED, contracts.INSTANCE_SCORES))
    table = tables.read_rows(SCORED, contracts.SCORES)
    params = load(ROOT / "params.yaml").model_copy(update={"seed": 3})
    return Evaluated(CARD, params, systems, ASKED, scores, table, {}, Path(), lambda path: None)


def test_more_than_fits_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    matching = CARD.capability(Matching)
    assert matching
    shown = {}
    for most in (9, 5):
        for name, value in {"QUESTIONS": most, "CLUSTERS": 2, "STRINGS": 1, "ANSWERS": 1}.items():
            monkeypatch.setattr(clusters, name, value)
        shown[most] = clusters.context(matching, evaluated(["people"]))
    assert len(shown[5]["questions"]) == 5 and shown[5]["total"] == N
    first = shown[5]["questions"][0]
    assert (first["more"], [it["more"] for it in first["clusters"]]) == (1, [0, 2])
    assert (len(first["lists"][0]["rows"]), first["lists"][0]["more"]) == (1, 1)
    few, larger = ({one["id"] for one in shown[most]["questions"]} for most in (5, 9))
    assert few < larger, "a larger number keeps those of a smaller one"


def test_scores_by_label_leave_out_what_has_no_score() -> None:
    keys = [Key("default", "", one.task_id, one.id) for one in ASKED]
    values = np.arange(len(keys), dtype=float)
    values[0] = np.nan
    found = replace(evaluated([]), scores=[SystemScores("a", keys, {"same/3": values})])
    (shown,) = labelled_questions({"easy": "every third question"}, found)
    (table,) = (block for block in shown.blocks if isinstance(block, Table))
    easy = [value for value in values[1:] if value % 3 == 0]
    (cell,) = (row.cells[2] for row in table.rows if row.cells[0] == "easy")
    assert isinstance(cell, Value) and cell.value == pytest.approx(np.mean(easy), abs=1e-3)
    assert (cell.low, cell.n) == (None, len(easy))
