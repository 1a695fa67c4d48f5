"""The files of a folder as records, through the stage ingest as well."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nightjar.benchmarks.protoqa.formats import load
from nightjar.benchmarks.question import Record, Refused
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read_rejected, read_rows
from pipelines.cli import main
from stages.ingest.datasets import ingest
from tests.in_process import captured
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


def test_the_stage_counts_rows_and_remarks(folder: Path, tmp_path: Path) -> None:
    statistics = ingest("protoqa", folder, tmp_path / "out")
    assert (statistics.rows_in, statistics.rows_out, statistics.rows_rejected) == (10, 4, 6)
    assert statistics.remarks is not None
    assert statistics.remarks["a cluster has the count 0"] == 1
    assert statistics.facts()["remarks"] == statistics.remarks
    assert len(list(read_rows(tmp_path / "out", contracts.RECORDS))) == 4
    assert read_rejected(tmp_path / "out").num_rows == 6


def test_the_command_reports_remarks(folder: Path, tmp_path: Path) -> None:
    words = ["ingest", "--dataset", "protoqa", "--input", str(folder), "--output", str(tmp_path / "out")]
    done = captured(lambda given: main(given), words)
    assert done.returncode == 0, done.stderr
    assert "kept, with remarks:\n  a cluster has the count 0: 1\n" in done.stdout


def test_a_folder_without_questions(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match=r"no questions; put dev.crowdsourced.jsonl"):
        list(load(tmp_path))


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "train.pairs.txt").write_bytes("\ufeffwhat falls?\train\r\nwho?\tI\r\n".encode())
    found = [it for it in load(tmp_path) if isinstance(it, Record)]
    assert [(it.parts["question"], it.references) for it in found] == [
        ("what falls?", ("rain",)),
        ("who?", ("I",)),
    ]


def test_a_pair_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.pairs.txt").write_bytes(b"caf\xe9\tx\n")
    (found,) = load(tmp_path)
    assert isinstance(found, Refused)
    assert found.reason == "not UTF-8: at byte 3"


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
