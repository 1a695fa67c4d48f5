"""The files of a folder as records, files of predictions and references, and one line for each fault."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.protoqa.formats import load, predictions, reference, references
from nightjar.benchmarks.question import Record, Refused
from nightjar.core.errors import NightjarError
from stages.ingest.datasets import ingest
from tests.nightjar.benchmarks.protoqa.files import put, row


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    odd = row("q2", rain={"count": 0, "answers": ["rain"]}, snow={"count": 9, "answers": ["snow"]})
    broken = [row("q3", rain={"count": -1, "answers": ["rain"]}), "{", row("q1"), "[]", ""]
    put(source / "dev.crowdsourced.jsonl", [row("q1"), odd, *broken])
    put(source / "dev.assessments.jsonl", [{"question_id": "q1", "assessments": {"drizzle": "q1.rain"}}])
    put(source / "train.question_answer_pairs.txt", ["what falls?\train", "what falls?\t ", "what falls?"])
    put(source / "dev.predictions.human.jsonl", [{"q1": ["rain"]}])
    put(source / "README.md", ["nothing to read"])
    return source


def test_records_and_refused_rows(folder: Path) -> None:
    found = list(load(folder))
    records = [it for it in found if isinstance(it, Record)]
    assert [(it.task_id, it.id, it.references) for it in records] == [
        ("dev.assessments", "q1", ()),
        ("dev.crowdsourced", "q1", ("rain", "snow")),
        ("dev.crowdsourced", "q2", ("snow", "rain")),
        ("train.question_answer_pairs", "1", ("rain",)),
    ]
    assert records[0].parts == {"assessments": {"drizzle": "q1.rain"}}
    assert "a cluster has the count 0" in records[2].remarks
    assert [it.reason for it in found if isinstance(it, Refused)] == [
        "the count of the cluster 'q3.rain' is negative",
        "not JSON: Expecting property name enclosed in double quotes at line 1 column 2, it seems to be cut off",
        "the id 'q1' occurs twice",
        "not an object",
        "the answer is blank",
        "0 tabs, not one between question and answer",
    ]


def test_the_stage_counts_remarks(folder: Path, tmp_path: Path) -> None:
    statistics = ingest("protoqa", folder, tmp_path / "out")
    assert statistics.remarks and statistics.remarks["a cluster has the count 0"] == 1
    assert statistics.facts()["remarks"] == statistics.remarks


def test_a_folder_without_questions(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match=r"no questions; put dev.crowdsourced.jsonl"):
        list(load(tmp_path))


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    content = "\ufeffwhat falls?\train\r\nwho?\tI\r\n".encode() + b"caf\xe9\tx\n"
    (tmp_path / "train.pairs.txt").write_bytes(content)
    *records, odd = load(tmp_path)
    assert isinstance(odd, Refused) and odd.reason == "not UTF-8: at byte 3"
    found = [it for it in records if isinstance(it, Record)]
    assert [(it.parts["question"], it.references) for it in found] == [
        ("what falls?", ("rain",)),
        ("who?", ("I",)),
    ]


def test_real_data(real_data: Path) -> None:
    found = list(load(real_data / "protoqa"))
    records = [it for it in found if isinstance(it, Record)]
    assert Counter(it.task_id for it in records) == {
        "crowdsource_dev.assessments": 52,
        "dev.crowdsourced": 52,
        "dev.scraped": 980,
        "omitted": 29,
        "test.questions": 102,
        "train.question_answer_pairs": 45_025,
    }
    assert len(records) == len(found)
    remarks = Counter(remark for it in records for remark in it.remarks)
    assert remarks["raw answers are in no cluster"] == 51
    assert remarks["a cluster has the count 0"] == 13
    assert remarks["label: taxonomic"] > 50


def read(path: Path) -> dict[str, list[str]]:
    return {id: answers for _, id, answers in predictions(path)}


def test_the_three_forms_of_predictions(tmp_path: Path) -> None:
    expected = {"q1": ["rain", ""], "q2": []}
    listed = put(
        tmp_path / "a.jsonl", [{"question_id": id, "ranked_answers": it} for id, it in expected.items()]
    )
    keyed = put(tmp_path / "b.jsonl", [{id: it} for id, it in expected.items()])
    whole = put(tmp_path / "c.json", [json.dumps(expected, indent=1)])
    assert read(listed) == read(keyed) == read(whole) == expected


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([{"ranked_answers": ["x"]}], ":1: question_id is missing"),
        ([{"question_id": 3, "ranked_answers": ["x"]}], "the question_id 3 is not a text"),
        ([{"q1": ["x", 3]}], "answer 2 to 'q1' is 3, which is not a text"),
        ([{"q1": "x"}], "the answers to 'q1' are not a list"),
        ([{"q1": ["x"], "q2": ["y"]}], "2 keys and no question_id"),
        (['{"q1": ["x"], "q1": ["y"]}'], "occurs twice"),
        ([], "no predictions"),
        ("{}", "no predictions"),
        ('{"q1": ["x"]}\n{"q2": ["y"]}', "not JSON"),
    ],
)
def test_predictions_that_are_refused(tmp_path: Path, lines: list[Any] | str, reason: str) -> None:
    """The lines of a file of JSON Lines, or a whole file of JSON."""
    name, rows = ("p.json", [lines]) if isinstance(lines, str) else ("p.jsonl", lines)
    with pytest.raises(NightjarError) as raised:
        read(put(tmp_path / name, rows))
    assert reason in str(raised.value)


def test_references_are_in_the_form_of_the_dataset(tmp_path: Path) -> None:
    ((where, found),) = references(put(tmp_path / "dev.jsonl", [row()]))
    assert where.endswith("dev.jsonl:1")
    assert (found.id, found.references) == ("q1", ("rain", "snow"))
    assert reference(found) == row()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {key: value for key, value in row().items() if key != "answers"},
            "the question 'q1' has no clusters",
        ),
        (row(a={"count": 3, "answers": []}), "the cluster 'q1.a' has no strings"),
        (row(a={"count": 0, "answers": ["x"]}), "the counts of 'q1' are all 0"),
        ("[]", "not an object"),
    ],
)
def test_references_that_are_refused(tmp_path: Path, given: Any, reason: str) -> None:
    with pytest.raises(NightjarError, match=f":1: .*{reason}"):
        list(references(put(tmp_path / "dev.jsonl", [given])))
