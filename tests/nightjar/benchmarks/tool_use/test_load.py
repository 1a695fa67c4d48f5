"""Loaders of the published files: what is kept, what is refused, and files that cannot be read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.formats import load
from nightjar.core.errors import NightjarError

SVAMP = {"ID": "s-1", "Body": " Ann has 3 hats. ", "Question": "How many hats?", "Answer": 3.0, "Type": "x"}
WEB = {"qId": "w-1", "qText": "who won?", "answers": ["Ann", "Ann", "Bob "]}
PROBLEM = (
    "<Problem ID='a-1' Grade='1'><Body>Ann has 3 hats,</Body><Question>How many? </Question>"
    "<Answer>3 (hats)</Answer></Problem>"
)


def put(folder: Path, file: str, content: str | bytes) -> None:
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def svamp(folder: Path, *rows: Any) -> list[Record | Refused]:
    put(folder, "svamp/SVAMP.json", json.dumps(rows))
    return list(load(folder))


def web(folder: Path, *rows: Any) -> list[Record | Refused]:
    put(folder, "webquestions/test.json", json.dumps(rows))
    return list(load(folder))


def asdiv(folder: Path, *problems: str) -> list[Record | Refused]:
    put(
        folder, "asdiv/ASDiv.xml", f"<?xml version='1.0'?><A><ProblemSet>{''.join(problems)}</ProblemSet></A>"
    )
    return list(load(folder))


def reasons(rows: list[Record | Refused]) -> list[str]:
    return [row.reason for row in rows if isinstance(row, Refused)]


def test_the_fields_of_each_task(tmp_path: Path) -> None:
    svamp(tmp_path, SVAMP)
    web(tmp_path, WEB)
    assert asdiv(tmp_path, PROBLEM) == [
        Record(
            "asdiv", "a-1", "asdiv/ASDiv.xml", {"body": "Ann has 3 hats,", "question": "How many?"}, ("3 (hats)",)
        ),
        Record("svamp", "s-1", "svamp/SVAMP.json", {"body": "Ann has 3 hats.", "question": "How many hats?"}, ("3",)),
        Record("web_questions", "w-1", "webquestions/test.json", {"question": "who won?"}, ("Ann", "Bob")),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        (51.0, "51"),
        (22090603.0, "22090603"),
        (7, "7"),
        (0.5, "0.5"),
        (1e-07, "0.0000001"),
        (-3.0, "-3"),
        (10**400, "1" + "0" * 400),
    ],
)
def test_numbers_of_svamp(tmp_path: Path, answer: float, reference: str) -> None:
    (record,) = svamp(tmp_path, SVAMP | {"Answer": answer})
    assert isinstance(record, Record) and record.references == (reference,)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ID": None}, "no ID"),
        ({"ID": 5}, "ID is not a string"),
        ({"Body": "  "}, "Body is blank"),
        ({"Question": "\ud800?"}, "Question is not valid Unicode"),
        ({"Answer": None}, "no Answer"),
        ({"Answer": "51"}, "Answer is not a number"),
        ({"Answer": True}, "Answer is not a number"),
        ({"Answer": float("nan")}, "Answer is not a number"),
        ({"Answer": [1]}, "Answer is not a number"),
    ],
)
def test_refused_rows_of_svamp(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    good, bad = svamp(tmp_path, SVAMP | {"ID": "good"}, SVAMP | change)
    assert isinstance(good, Record)
    assert isinstance(bad, Refused)
    assert (bad.reason, bad.file) == (reason, "svamp/SVAMP.json")
    assert "3 hats" in bad.raw or "Body" in change
    assert bad.id == ("s-1" if "ID" not in change else None)
    bad.raw.encode()


def test_rows_that_are_no_objects_and_doubled_keys_and_ids(tmp_path: Path) -> None:
    put(tmp_path, "svamp/SVAMP.json", '[7, null, {"ID": "a", "ID": "b"}]')
    assert reasons(list(load(tmp_path))) == ["not an object", "not an object", "the key 'ID' occurs twice"]
    rows = svamp(tmp_path, SVAMP, SVAMP, SVAMP | {"ID": "s-2"})
    assert [type(row) for row in rows] == [Record, Refused, Record]
    assert reasons(rows) == ["the id 's-1' occurs twice"]


def test_an_id_of_a_refused_row_is_free(tmp_path: Path) -> None:
    rows = svamp(tmp_path, SVAMP | {"Answer": None}, SVAMP)
    assert [type(row) for row in rows] == [Refused, Record]


@pytest.mark.parametrize("answers", [None, [], "Ann", {}])
def test_questions_without_answers(tmp_path: Path, answers: Any) -> None:
    assert reasons(web(tmp_path, WEB | {"answers": answers})) == [
        "answers is not a list of at least one answer"
    ]


def test_a_blank_answer(tmp_path: Path) -> None:
    assert reasons(web(tmp_path, WEB | {"answers": ["Ann", " "]})) == ["an answer is blank"]
    assert reasons(web(tmp_path, WEB | {"answers": ["Ann", 7]})) == ["an answer is not a string"]


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (PROBLEM.replace("ID='a-1'", ""), "no ID"),
        (PROBLEM.replace("<Body>Ann has 3 hats,</Body>", ""), "no Body"),
        (PROBLEM.replace("3 (hats)", ""), "Answer is blank"),
        (PROBLEM.replace("<Answer>", "<Answer>4</Answer><Answer>"), "Answer occurs twice"),
    ],
)
def test_refused_problems_of_asdiv(tmp_path: Path, problem: str, reason: str) -> None:
    good, bad = asdiv(tmp_path, PROBLEM.replace("a-1", "good"), problem)
    assert isinstance(good, Record) and isinstance(bad, Refused)
    assert bad.reason == reason
    assert bad.raw.startswith("<Problem ") and bad.raw.endswith("</Problem>")


def test_text_within_elements_and_predefined_entities_are_read(tmp_path: Path) -> None:
    (record,) = asdiv(tmp_path, PROBLEM.replace("3 (hats)", "<b>3</b> &lt; &#52;"))
    assert isinstance(record, Record) and record.references == ("3 < 4",)


LAUGHS = (
    "<!DOCTYPE A [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><A><Problem ID='1'><Body>&b;</Body></Problem></A>"
)
OUTSIDE = (
    "<!DOCTYPE A [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><A><Problem ID='1'><Body>&a;</Body></Problem></A>"
)


@pytest.mark.parametrize(
    ("content", "what", "where"),
    [
        (LAUGHS, "a document type", ""),
        (OUTSIDE, "a document type", ""),
        ("<A>\n<Problem>\n</A>", "not XML (mismatched tag: line 3, column 2)", ":3"),
        ("", "not XML (no element found: line 1, column 0)", ":1"),
        ("<A>&unknown;</A>", "not XML (undefined entity: line 1, column ", ":1"),
        ("<A>Müller</A>".encode("latin-1"), "not UTF-8 at byte 4", ""),
        ("<A>" + "<B>" * 100_000 + "</B>" * 100_000 + "</A>", "nested too deeply", ""),
    ],
)
def test_files_of_asdiv_that_are_not_read(
    tmp_path: Path, content: str | bytes, what: str, where: str
) -> None:
    put(tmp_path, "asdiv/ASDiv.xml", content)
    with pytest.raises(NightjarError) as caught:
        list(load(tmp_path))
    assert what in caught.value.what
    assert caught.value.where == f"{tmp_path}/asdiv/ASDiv.xml{where}"


def test_an_encoding_that_the_file_declares_does_not_matter(tmp_path: Path) -> None:
    put(
        tmp_path,
        "asdiv/ASDiv.xml",
        f"<?xml version='1.0' encoding='cp037'?><A>{PROBLEM.replace('hats,', 'hüte,')}</A>",
    )
    (record,) = load(tmp_path)
    assert isinstance(record, Record) and record.parts["body"] == "Ann has 3 hüte,"


@pytest.mark.parametrize("content", ["", "{", "[1,", "{}", "7", '"text"', b"\xff[]", "[" * 5000 + "]" * 5000])
@pytest.mark.parametrize("file", ["svamp/SVAMP.json", "webquestions/test.json"])
def test_json_files_that_are_not_read(tmp_path: Path, file: str, content: str | bytes) -> None:
    put(tmp_path, file, content)
    with pytest.raises(NightjarError) as caught:
        list(load(tmp_path))
    assert str(tmp_path / file) in caught.value.where


def test_folders_that_are_missing(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(NightjarError, match="no data set of tool_use"):
            list(load(folder))
    (tmp_path / "svamp").mkdir()
    with pytest.raises(NightjarError, match="no such file or folder") as caught:
        list(load(tmp_path))
    assert caught.value.where == f"{tmp_path}/svamp/SVAMP.json"
    (tmp_path / "svamp" / "SVAMP.json").mkdir()
    with pytest.raises(NightjarError, match="give an ordinary file"):
        list(load(tmp_path))


def test_the_sample(sample: Path) -> None:
    rows = list(load(sample / "tool_use"))
    assert not reasons(rows)
    counts = Counter(row.task_id for row in rows if isinstance(row, Record))
    languages = ("en", "es", "de", "hi", "vi", "zh", "ar")
    assert counts == {
        **dict.fromkeys(("svamp", "asdiv", "web_questions", "held_out"), 24),
        **dict.fromkeys(("lama_squad", "lama_google_re", "lama_trex", "mawps"), 8),
        **dict.fromkeys(("natural_questions", "trivia_qa", "templama"), 8),
        **dict.fromkeys((*(f"mlqa_{code}" for code in languages), "wikitext"), 6),
    }


def test_the_published_files(real_data: Path) -> None:
    rows = list(load(real_data / "tool-benchmarks"))
    records = [row for row in rows if isinstance(row, Record)]
    counts = Counter(row.task_id for row in records)
    others = {"svamp": 1000, "asdiv": 2305, "web_questions": 2032, "natural_questions": 3610}
    assert {task: counts[task] for task in others} == others
    assert all(row.file.startswith("lama/") for row in rows if isinstance(row, Refused))
    by_id = {(row.task_id, row.id): row for row in records}
    assert len(by_id) == len(records)
    for row in records:
        assert all(part == part.strip() != "" for part in (*row.parts.values(), *row.references))
    assert by_id["svamp", "chal-1"].references == ("51",)
    assert by_id["svamp", "chal-774"].parts["question"] == "How many old games do they have 3"
    assert max(int(row.references[0]) for row in records if row.task_id == "svamp") == 22090603
    assert by_id["asdiv", "nluds-0003"].parts == {
        "body": "Janet has nine oranges and Sharon has seven oranges.",
        "question": "How many oranges do Janet and Sharon have together?",
    }
    assert by_id["asdiv", "nluds-1295"].references == ("5 (years old); 15 (years old); 20 (years old)",)
    assert by_id["web_questions", "wqs000008"].references == (
        "Lightning rod", "Franklin stove", "Bifocals", "Glass harmonica",
    )  # fmt: skip
