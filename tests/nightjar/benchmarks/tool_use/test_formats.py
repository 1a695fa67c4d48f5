"""The file formats of the data sets: what is kept, what is refused, and files that cannot be read."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.formats import load
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.dataset_files import kept, put, put_lines, reasons

GOOGLE_RE, TREX = "lama/Google_RE/place_of_birth_test.jsonl", "lama/TREx/P19.jsonl"
MLQA = "mlqa/test-context-en-question-{}.json"
ES, ZH = MLQA.format("es"), MLQA.format("zh")
# A row of each published file, with keys that are not read.
ROWS: dict[str, dict[str, Any]] = {
    "lama/Squad/test.jsonl": {"masked_sentences": ["The colour was [MASK]."], "obj_label": "gold", "id": "s", "x": 1},
    GOOGLE_RE: {"pred": "/people", "obj_label": "Lebanon", "obj_aliases": ["lb"], "uuid": "g",
        "masked_sentences": ["Ann Lee is a writer .", "She was born in [MASK] ."]},
    TREX: {"uuid": "t", "obj_label": "Doncaster", "predicate_id": "P19", "evidences": [
        {"masked_sentence": "Bob, of [MASK], was there."}, {"masked_sentence": "Bob was born in ([MASK])."},
        {"masked_sentence": "He lived in [MASK]."}]},
    "svamp/SVAMP.json": {"ID": "s-1", "Body": " Ann has 3 hats. ", "Question": "How many?", "Answer": 3.0, "Type": "x"},
    "mawps/AddSub.json": {"iIndex": 1, "sQuestion": " Ann lost 3. How many?", "lEquations": ["X=8-3"],
        "lSolutions": [5.0], "lAlignments": [4, 20]},
    "webquestions/test.json": {"qId": "w-1", "qText": "who won?", "answers": ["Ann", "Ann", "Bob "]},
    "nq-open/NQ-open.dev.jsonl": {"question": "who won the cup", "answer": ["Ann", "Ann", " Bob"]},
    "triviaqa/unfiltered-web-dev.json": {"QuestionId": "tc_33", "Question": "Which musical?", "EntityPages": [],
        "Answer": {"Value": "Sunset Boulevard", "Aliases": ["Sunset Blvd", "Sunset Boulevard"],
            "NormalizedAliases": ["sunset blvd"], "Type": "WikipediaEntity"}},
    ES: {"id": "q-1", "question": "¿De qué es?", "answers": [{"text": "red brick", "answer_start": 21}]},
    "templama/test.jsonl": {"query": "Ann Lee plays for _X_.", "date": "2012", "id": "Q7", "relation": "P54",
        "answer": [{"wikidata_id": "Q1", "name": "Real Town"}, {"wikidata_id": "Q2", "name": "Town"}]},
}  # fmt: skip
ROWS[ZH] = ROWS[ES]
SQUAD, SVAMP, WEB, TRIVIA = (
    name for name in ROWS if name.split("/")[0] in ("svamp", "webquestions", "triviaqa") or "Squad" in name
)
CONTEXT = "The tower is made of red brick."
PROBLEM = (
    "<Problem ID='a-1' Grade='1'><Body>Ann has 3 hats,</Body><Question>How many? </Question>"
    "<Answer>3 (hats)</Answer></Problem>"
)


def write(folder: Path, file: str, *rows: Any, context: Any = CONTEXT) -> list[Record | Refused]:
    """Write the rows as the published file has them; returns what is read."""
    if file.endswith("l"):
        put_lines(folder, file, *rows)
    else:
        whole: Any = rows
        if file == TRIVIA:
            whole = {"Data": rows, "Domain": "unfiltered-web", "Version": 1.0}
        elif file.startswith("mlqa"):
            whole = {"data": [{"paragraphs": [{"context": context, "qas": [one]}]} for one in rows]}
        put(folder, file, json.dumps(whole))
    return list(load(folder))


def asdiv(folder: Path, *problems: str) -> list[Record | Refused]:
    put(
        folder, "asdiv/ASDiv.xml", f"<?xml version='1.0'?><A><ProblemSet>{''.join(problems)}</ProblemSet></A>"
    )
    return list(load(folder))


def test_the_fields_of_each_data_set(tmp_path: Path) -> None:
    for file, row in ROWS.items():
        write(tmp_path, file, row)
    put(tmp_path, "mlqa/test-context-es-question-es.json", "not read")
    tower = {"context": CONTEXT, "question": "¿De qué es?"}
    nq, mawps = "nq-open/NQ-open.dev.jsonl", "mawps/AddSub.json"
    hats = {"body": "Ann has 3 hats,", "question": "How many?"}
    assert asdiv(tmp_path, PROBLEM) == [
        Record("lama_squad", "s", SQUAD, {"text": "The colour was"}, ("gold",)),
        Record(
            "lama_google_re", "g", GOOGLE_RE, {"text": "Ann Lee is a writer . She was born in"}, ("Lebanon",)
        ),
        Record("lama_trex", "t", TREX, {"text": "Bob was born in ("}, ("Doncaster",)),
        Record("asdiv", "a-1", "asdiv/ASDiv.xml", hats, ("3 (hats)",)),
        Record("svamp", "s-1", SVAMP, {"body": "Ann has 3 hats.", "question": "How many?"}, ("3",)),
        Record(
            "mawps", "AddSub-1", mawps, {"question": "Ann lost 3. How many?", "equations": ["X=8-3"]}, ("5",)
        ),
        Record("web_questions", "w-1", WEB, {"question": "who won?"}, ("Ann", "Bob")),
        Record("natural_questions", "1", nq, {"question": "who won the cup"}, ("Ann", "Bob")),
        Record(
            "trivia_qa",
            "tc_33",
            TRIVIA,
            {"question": "Which musical?"},
            ("Sunset Boulevard", "Sunset Blvd", "sunset blvd"),
        ),
        *(
            Record(task, "q-1", file, tower, ("red brick",))
            for task, file in (("mlqa_es", ES), ("mlqa_zh", ZH))
        ),
        Record(
            "templama",
            "Q7",
            "templama/test.jsonl",
            {"text": "Ann Lee plays for"},
            ("Real Town", "Town"),
            day=date(2012, 7, 1),
        ),
    ]


NOT_FINAL = "[MASK] is not the final token"
ANSWER = ROWS["triviaqa/unfiltered-web-dev.json"]["Answer"]
# What only the value shows: values of other types are tried in test_broken_files.py.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("Squad", {"masked_sentences": ["The [MASK] was gold."]}, NOT_FINAL),
    ("Squad", {"masked_sentences": ["It was [MASK] 5."]}, NOT_FINAL),
    ("Squad", {"masked_sentences": ["Colour [MASK] is [MASK]."]}, "[MASK] occurs 2 times"),
    ("Squad", {"masked_sentences": ["It was gold."]}, "[MASK] occurs 0 times"),
    ("Squad", {"masked_sentences": ["[MASK]."]}, "nothing stands before [MASK]"),
    ("TREx", {"evidences": [{"masked_sentence": "A [MASK] b."}, {"masked_sentence": "[MASK]."}]}, NOT_FINAL),
    ("svamp", {"Body": "  "}, "Body is blank"),
    ("mawps", {"lSolutions": [float("inf")]}, "solution is not a number"),
    ("webq", {"answers": ["Ann", " "]}, "an answer is blank"),
    ("trivia", {"Answer": ANSWER | {"NormalizedAliases": [7]}}, "an alias is not a string"),
    ("templama", {"query": "_X_ is the mayor of Town."}, "_X_ is not the final token"),
    *(("templama", {"date": odd}, "date is not a year of four digits") for odd in ("12", "0000", "٢٠١٢")),
]


@pytest.mark.parametrize(("name", "change", "reason"), REFUSED)
def test_refused_rows(tmp_path: Path, name: str, change: dict[str, Any], reason: str) -> None:
    file = next(file for file in ROWS if name in file)
    accepted = {"ID": "good", "id": "good", "uuid": "good", "iIndex": 7, "qId": "good", "QuestionId": "good"}
    row = ROWS[file]
    other = row | {key: value for key, value in accepted.items() if key in row}
    good, bad, number = write(tmp_path, file, other, row | change, 7)
    assert isinstance(good, Record) and isinstance(bad, Refused) and isinstance(number, Refused)
    assert (bad.file, bad.reason, number.reason, number.raw) == (file, reason, "not an object", "7")
    bad.raw.encode()
    assert json.loads(bad.raw).keys() >= row.keys()


def test_ids_that_occur_twice(tmp_path: Path) -> None:
    row = ROWS[SVAMP]
    rows = write(tmp_path, SVAMP, row, row, row | {"ID": "s-2"})
    assert [type(one) for one in rows] == [Record, Refused, Record]
    assert reasons(rows) == ["the id 's-1' occurs twice"]
    rows = write(tmp_path, SVAMP, row | {"Answer": None}, row)
    assert [type(one) for one in rows] == [Refused, Record], "the id of a refused row is free"
    write(tmp_path / "lama", TREX, ROWS[TREX])
    rows = write(tmp_path / "lama", "lama/TREx/P20.jsonl", ROWS[TREX])
    assert len(kept(rows)) == 1 and reasons(rows) == ["the id 't' occurs twice"], "in all files of a task"


def test_lines_that_are_not_json_are_refused_with_their_text(tmp_path: Path) -> None:
    good = ROWS[SQUAD]
    rows = write(tmp_path, SQUAD, "{cut", good, "", "[1]", '{"id": "a", "id": "b"}')
    assert [it.id for it in kept(rows)] == ["s"]
    first, *others = reasons(rows)
    assert first.startswith("not JSON") and others == ["not an object", "the key 'id' occurs twice"]
    assert [it.raw for it in rows if isinstance(it, Refused)][:2] == ["{cut", "[1]"]
    nq = "nq-open/NQ-open.dev.jsonl"
    rows = write(tmp_path / "nq", nq, ROWS[nq], "", "null", ROWS[nq])
    assert [it.id for it in kept(rows)] == ["1", "4"], "the number of the line"


def test_a_paragraph_without_a_text(tmp_path: Path) -> None:
    assert reasons(write(tmp_path, ES, ROWS[ES], context=None)) == ["no context"]


@pytest.mark.parametrize(
    ("answer", "reference"),
    [(51.0, "51"), (7, "7"), (0.5, "0.5"), (1e-07, "0.0000001"), (-3.0, "-3"), (10**400, "1" + "0" * 400)],
)
def test_numbers(tmp_path: Path, answer: float, reference: str) -> None:
    (record,) = write(tmp_path, SVAMP, ROWS[SVAMP] | {"Answer": answer})
    assert isinstance(record, Record) and record.references == (reference,)


def test_several_solutions_and_indices_of_mawps(tmp_path: Path) -> None:
    row = ROWS["mawps/AddSub.json"] | {"iIndex": "x", "lEquations": None, "lSolutions": [1.5, -2]}
    assert write(tmp_path, "mawps/SingleOp.json", row) == [
        Record(
            "mawps",
            "SingleOp-x",
            "mawps/SingleOp.json",
            {"question": "Ann lost 3. How many?"},
            ("1.5; -2",),
        )
    ]


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


def test_texts_of_asdiv(tmp_path: Path) -> None:
    """Text within elements and predefined entities are read; the encoding that a file declares does not matter."""
    (record,) = asdiv(tmp_path, PROBLEM.replace("3 (hats)", "<b>3</b> &lt; &#52;"))
    assert isinstance(record, Record) and record.references == ("3 < 4",)
    content = f"<?xml version='1.0' encoding='cp037'?><A>{PROBLEM.replace('hats,', 'hüte,')}</A>"
    put(tmp_path, "asdiv/ASDiv.xml", content)
    (record,) = load(tmp_path)
    assert isinstance(record, Record) and record.parts["body"] == "Ann has 3 hüte,"


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


@pytest.mark.parametrize(
    ("folder", "what"),
    [
        ("", "no data set of tool_use"),
        ("svamp", "no such file or folder"),
        ("svamp/SVAMP.json", "give an ordinary file"),
        ("lama", r"no files \*.jsonl of LAMA"),
        ("mawps", r"no files \*.json of MAWPS"),
        ("mlqa", "no files of MLQA"),
    ],
)
def test_files_that_are_missing(tmp_path: Path, folder: str, what: str) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    with pytest.raises(NightjarError, match=what):
        list(load(tmp_path))


def test_the_published_files(real_data: Path) -> None:
    rows = list(load(real_data / "tool-benchmarks"))
    records = kept(rows)
    assert Counter(row.task_id for row in records) == {
        "lama_squad": 210,
        "lama_google_re": 545,
        "lama_trex": 5267,
        "svamp": 1000,
        "asdiv": 2305,
        "web_questions": 2032,
        "natural_questions": 3610,
    }
    refused = [row for row in rows if isinstance(row, Refused)]
    assert len(refused) + 210 + 545 + 5267 == 305 + 5528 + 22881
    assert all(row.file.startswith("lama/") for row in refused)
    assert {row.reason for row in refused} == {NOT_FINAL, *(f"[MASK] occurs {n} times" for n in (2, 3, 4))}
    by_id = {(row.task_id, row.id): row for row in records}
    assert len(by_id) == len(records)
    for row in records:
        assert all(part == part.strip() != "" for part in (*row.parts.values(), *row.references))
        assert "[MASK]" not in row.parts.get("text", "")
    mouradian = by_id["lama_google_re", "9c68053f-0e3a-4db1-ab37-4e12d89b26d8"]
    assert mouradian.references == ("Lebanon",)
    assert mouradian.parts["text"] == "Khatchig Mouradian is a journalist, writer and translator born in"
    assert by_id["svamp", "chal-1"].references == ("51",)
    assert by_id["svamp", "chal-774"].parts["question"] == "How many old games do they have 3"
    assert max(int(row.references[0]) for row in records if row.task_id == "svamp") == 22090603
    assert by_id["asdiv", "nluds-0003"].parts == {
        "body": "Janet has nine oranges and Sharon has seven oranges.",
        "question": "How many oranges do Janet and Sharon have together?",
    }
    assert by_id["asdiv", "nluds-1295"].references == ("5 (years old); 15 (years old); 20 (years old)",)
    assert by_id["natural_questions", "1"].references == ("14 December 1972 UTC", "December 1972")
    assert by_id["web_questions", "wqs000008"].references == (
        "Lightning rod", "Franklin stove", "Bifocals", "Glass harmonica",
    )  # fmt: skip
