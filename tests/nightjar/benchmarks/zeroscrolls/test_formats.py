"""Files become records or rejected rows: the benchmark's own, the source sets', and tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.zeroscrolls.aggregation import SUMMARIES
from nightjar.benchmarks.zeroscrolls.formats import load
from nightjar.benchmarks.zeroscrolls.prompts import of_parts
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.zeroscrolls.files import (
    SOURCES,
    books,
    hotels,
    put,
    put_all,
    put_table,
    row,
)


def records(folder: Path) -> dict[str, Record]:
    found = list(load(folder))
    assert [one for one in found if isinstance(one, Refused)] == []
    return {one.id: one for one in found if isinstance(one, Record)}


def refused(folder: Path) -> list[Refused]:
    return [one for one in load(folder) if isinstance(one, Refused)]


def document(record: Record) -> str:
    return of_parts(record.parts).document(TASKS[record.task_id].document)


def test_rows_of_one_id_are_one_example_in_order_of_appearance(tmp_path: Path) -> None:
    rows = [row(id="b", output="Two"), row(id="a"), row(id="b", output="One"), row(id="b", output="Two")]
    put(tmp_path / "qasper" / "validation.jsonl", rows)
    found = records(tmp_path)
    assert {id: one.references for id, one in found.items()} == {"b": ("Two", "One"), "a": ("Yes",)}
    assert list(found) == ["b", "a"]
    assert found["b"].remarks == ("several rows of an id",)
    assert of_parts(found["a"].parts).input == row()["input"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"id": ...}, "no id"),
        ({"query_end_index": 100_000}, "query_end_index is 100000, outside the 367"),
        ({"document_start_index": -1}, "document_start_index is -1, outside"),
        ({"document_start_index": 360}, "do not ascend"),
        ({"document_start_index": 0, "document_end_index": 0}, "the document is blank"),
    ],
)
def test_rows_that_are_refused(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    lines = [row(id="good"), row(**changed)]
    put(tmp_path / "qasper" / "validation.jsonl", lines)
    kept, odd = list(load(tmp_path))[::-1]
    assert isinstance(kept, Record) and kept.id == "good"
    assert isinstance(odd, Refused)
    assert reason in odd.reason
    assert json.loads(odd.raw) == json.loads(json.dumps(lines[1]))


@pytest.mark.parametrize("output", [None, "", ..., "NA", "null", "nan", "None"])
def test_an_example_without_a_reference_is_kept_and_words_for_missing_values_are_references(
    tmp_path: Path, output: Any
) -> None:
    put(tmp_path / "qasper" / "test.jsonl", [row(output=output)])
    (one,) = records(tmp_path).values()
    assert one.references == ((output,) if output and output is not ... else ())
    assert one.remarks == (() if one.references else ("no reference",))


def test_another_input_of_an_id_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "qasper" / "a.jsonl", [row(), row(input=row()["input"].replace("A doc", "B doc"))])
    assert [one.reason for one in refused(tmp_path)] == ["the id 'e1' has another input in an earlier row"]


def test_every_source_set_is_built(tmp_path: Path) -> None:
    found = records(put_all(tmp_path))
    assert {one.task_id for one in found.values()} == set(TASKS)
    assert document(found["GAO-1"]) == "Background\n\nCosts rose.\n\nTwice."
    assert found["CRS-1"].references == ("A summary.\n\nIn two parts.",)
    assert document(found["CRS-1"]) == "Top\n\nBelow."
    assert found["validation-3"].references == ("Plain.",)
    assert document(found["show-1"]) == "[Door]\nAnn: Hello."
    assert document(found["validation-1-general-0"]) == "A: Hi .\nB: Buy it ."
    assert of_parts(found["validation-1-specific-0"].parts).query == "Query:\nWhat did B say?\n\n"
    assert (found["p1-1"].references, found["p1-1"].remarks) == (("One.", "Two."), ("a blank reference",))
    assert found["q1"].references == ("Unanswerable", "a, b", "No", "both")
    assert document(found["q1"]) == "A title\n\nAbstract\nWe do it.\n\nIntro\nFirst.\nSecond."
    assert found["d1-1"].references == ("once", "upon a time")
    assert found["a1_1"].references == ("C",)
    assert "Why?\n\n(A) w\n(B) x\n(C) y\n(D) z\n\nAnswer:" in found["a1_1"].parts["input"]
    assert found["a1_2"].remarks == ("no reference",)
    assert found["2hop__1"].references == ("Paris", "City of Paris")
    assert found["2hop__2-unanswerable"].references == ("unanswerable",)
    assert document(found["2hop__1"]) == "Paragraph 1: Paris\nA city."


def test_narrative_qa_reads_stories_beside_its_table(tmp_path: Path) -> None:
    folder = tmp_path / "narrative_qa"
    asked = {"set": "test", "question": "Who?", "answer1": "Ann", "answer2": "Ann Lee"}
    put_table(folder / "qaps.csv", [{"document_id": id, **asked} for id in ("d1", "d2", "../d1")])
    put_table(folder / "documents.csv", [{"document_id": "d1", "kind": "movie"}])
    (folder / "tmp").mkdir()
    (folder / "tmp" / "d1.content").write_text("Ann Lee walks.")
    *odd, kept = load(tmp_path)
    assert isinstance(kept, Record)
    assert (kept.id, kept.references, document(kept)) == ("d1-2", ("Ann", "Ann Lee"), "Ann Lee walks.")
    reasons = [one.reason for one in odd if isinstance(one, Refused)]
    assert reasons == [
        "no file d2.content with the story",
        "the document_id '../d1' is no name of a file",
    ]


@pytest.mark.parametrize(
    ("task", "changed", "reason"),
    [
        ("gov_report", {"report": " "}, "the document is blank"),
        ("qmsum", {"general_query_list": [{"query": " ", "answer": "x"}]}, "the query is blank"),
        ("qmsum", {"general_query_list": [], "specific_query_list": []}, "no questions"),
        ("quality", {"questions": [{"question": "Q", "options": ["a"]}]}, "has not four options"),
        (
            "quality",
            {"questions": [{"question": "Q", "options": list("abcd"), "gold_label": 5}]},
            "'5', not 1 to 4",
        ),
    ],
)
def test_rows_of_source_sets_that_are_refused(
    tmp_path: Path, task: str, changed: dict[str, Any], reason: str
) -> None:
    put(tmp_path / task / "a.jsonl", [{**SOURCES[task][0], **changed}])
    assert reason in refused(tmp_path)[0].reason


def test_space_digest_draws_50_reviews_without_a_rating_of_3(tmp_path: Path) -> None:
    made = hotels(reviews=63)
    put_table(tmp_path / "space_digest" / "a.csv", made)
    (one,) = records(tmp_path).values()
    texts = [text.split("\n", 1)[1] for text in document(one).split("\n\n")]
    rating = {it["review"]: it["rating"] for it in made}
    assert len(texts) == len(set(texts)) == 50
    assert 3 not in {rating[text] for text in texts}
    positive = sum(rating[text] > 3 for text in texts)
    assert one.references == (f"{2 * positive}%",)
    assert list(load(tmp_path)) == list(load(tmp_path))


def test_the_files_of_space_give_the_examples_of_a_table(tmp_path: Path) -> None:
    made = hotels(("Sea View", "Hill"), reviews=70)
    put_table(tmp_path / "table" / "space_digest" / "a.csv", made)
    entities = [
        {
            "entity_id": name,
            "reviews": [
                {
                    "review_id": f"{at}",
                    "rating": it["rating"],
                    "sentences": [it["review"].split(" of ")[0], f" of {name}."],
                }
                for at, it in enumerate(made)
                if it["hotel"] == name
            ],
        }
        for name in ("Sea View", "Hill")
    ]
    put(tmp_path / "space" / "space_digest" / "a.json", [json.dumps(entities)])
    parts = [
        {name: (it.parts, it.references) for name, it in records(tmp_path / of).items()}
        for of in ("space", "table")
    ]
    assert len(parts[0]) == 2 and parts[0] == parts[1]


def test_space_digest_has_the_500_most_rated_hotels_of_all_files(tmp_path: Path) -> None:
    """Every sixth of 600 hotels has one rating less; the ratings of 3 count, though their reviews are not drawn."""
    for name, numbers in (("a", range(400)), ("b", range(400, 600))):
        rows = [
            {"hotel": f"h{number}", "rating": 3 if it == 50 else 5, "review": f"r{it}"}
            for number in numbers
            for it in range(50 if number % 6 == 4 else 51)
        ]
        put_table(tmp_path / "space_digest" / f"{name}.csv", rows)
    assert list(records(tmp_path)) == [f"h{number}" for number in range(600) if number % 6 != 4]


def test_500_examples_are_those_of_a_task_not_of_a_file(tmp_path: Path) -> None:
    answered, without = SOURCES["musique"]
    for name in ("a", "b"):
        rows = [{"id": f"{name}{number}", "report": "A report.", "summary": "x"} for number in range(300)]
        put(tmp_path / "gov_report" / f"{name}.jsonl", rows)
        both = [{**row, "id": f"{name}{number}"} for number in range(240) for row in (answered, without)]
        put(tmp_path / "musique" / f"{name}.jsonl", both)
        put_table(tmp_path / "book_sum_sort" / f"{name}.csv", books(3, [f"{name}{n}" for n in range(70)]))
        # A file of the benchmark has been drawn already.
        put(tmp_path / "qasper" / f"{name}.jsonl", [row(id=f"{name}{number}") for number in range(300)])
    found = [one for one in load(tmp_path) if isinstance(one, Record)]
    counts = Counter((one.task_id, one.references == ("unanswerable",)) for one in found)
    assert counts == {
        ("gov_report", False): 500,
        ("musique", False): 400,
        ("musique", True): 100,
        ("book_sum_sort", False): 500,
        ("qasper", False): 600,
    }
    reports = [one.id for one in found if one.task_id == "gov_report"]
    assert reports == sorted(reports, key=lambda id: (id[0], int(id[1:]))) and reports[:300] != [
        f"a{number}" for number in range(300)
    ]
    assert list(load(tmp_path)) == found
    orders = Counter(one.id.rpartition("-")[0] for one in found if one.task_id == "book_sum_sort")
    assert len(orders) == 125 and set(orders.values()) == {4}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"rating": "six"}, "the rating is 'six', not 1 to 5"),
        ({"rating": "4.5"}, "not 1 to 5"),
        ({"rating": "nan"}, "not 1 to 5"),
        ({"review": " "}, "review is blank"),
        ({"hotel": ""}, "hotel is blank"),
    ],
)
def test_reviews_that_are_refused(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    put_table(tmp_path / "space_digest" / "a.csv", [{**hotels()[0], **changed}, *hotels(reviews=63)])
    (odd,) = refused(tmp_path)
    assert reason in odd.reason
    assert len(list(load(tmp_path))) == 2


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (hotels(["Inn"], 60), "the hotel has 48 reviews with 1, 2, 4 or 5 points, not 50"),
        ("one,2\n", "2 cells, not 3"),
    ],
)
def test_hotels_and_rows_of_tables_that_are_refused(tmp_path: Path, more: Any, reason: str) -> None:
    broken = isinstance(more, str)
    path = put_table(tmp_path / "space_digest" / "a.csv", hotels(reviews=63) + ([] if broken else more))
    path.write_text(path.read_text(encoding="utf-8") + (more if broken else ""), encoding="utf-8")
    assert [one.reason for one in refused(tmp_path)] == [reason]


def test_book_sum_sort_makes_four_orders_whose_reference_restores_the_book(tmp_path: Path) -> None:
    put_table(tmp_path / "book_sum_sort" / "a.tsv", books(12))
    found = records(tmp_path)
    assert list(found) == [f"Emma-{number}" for number in range(4)]
    assert len({one.references for one in found.values()}) == 4
    for one in found.values():
        texts = [text.split("\n", 1)[1] for text in document(one).split("\n\n")]
        order = [int(id) for id in one.references[0].split(", ")]
        assert [texts[id - 1] for id in order] == [f"Emma, part {number}." for number in range(1, 13)]
        assert one.parts["input"].startswith("You are given 12 summaries of chapters")
        assert "writing a list of length 12 of" in one.parts["input"]
    named = [dict(it, chapter=f"ch. {it['chapter']}") for it in books(3)]  # the order is the table's
    put_table(tmp_path / "book_sum_sort" / "a.tsv", named)
    one = records(tmp_path)["Emma-0"]
    texts = [text.split("\n", 1)[1] for text in document(one).split("\n\n")]
    order = [int(id) for id in one.references[0].split(", ")]
    assert [texts[id - 1] for id in order] == [f"Emma, part {number}." for number in (3, 2, 1)]


def test_a_table_of_summaries_is_read_whatever_its_name(tmp_path: Path) -> None:
    """NarrativeQA has a table of that name without questions, which is not read."""
    put_table(tmp_path / "book_sum_sort" / "summaries.csv", books(3))
    put_table(tmp_path / "narrative_qa" / "summaries.csv", [{"document_id": "d1", "summary": "Ann walks."}])
    assert {one.task_id for one in load(tmp_path) if isinstance(one, Record)} == {"book_sum_sort"}
    assert refused(tmp_path) == []


def test_books_that_are_refused(tmp_path: Path) -> None:
    rows = [*books(2), *books(87, ["Ulysses"]), *books(3, ["Dune"]), books(3, ["Dune"])[0]]
    put(tmp_path / "book_sum_sort" / "a.jsonl", [*rows, {"book": "Dune", "chapter": 9}])
    assert [one.reason for one in refused(tmp_path)] == [
        "the chapter '3' of 'Dune' occurs twice",
        "no summary",
        "the book has 2 summaries, not 3 to 86",
        "the book has 87 summaries, not 3 to 86",
    ]
    assert sum(isinstance(one, Record) for one in load(tmp_path)) == 4
    assert 86 in SUMMARIES


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [
        ("space_digest/a.csv", b"hotel\n\x80", "not UTF-8"),
        ("qmsum/a.txt", b"", r"no folder of a task with files .*make folders such as gov_report"),
    ],
)
def test_what_is_an_error(tmp_path: Path, file: str, content: bytes, what: str) -> None:
    put(tmp_path / file, [])
    (tmp_path / file).write_bytes(content)
    with pytest.raises(NightjarError, match=what):
        list(load(tmp_path))


def test_real_files(tmp_path: Path, real_data: Path) -> None:
    for task in ("qmsum", "squality", "musique"):
        (tmp_path / task).symlink_to(real_data / "long-documents" / task)
    found = list(load(tmp_path))
    assert not [one for one in found if isinstance(one, Refused)]
    counts: dict[str, int] = {}
    for one in found:
        counts[one.file] = counts.get(one.file, 0) + 1
        assert isinstance(one, Record) and one.references
    # 260 is the size of the benchmark's test set of SQuALITY.
    assert counts.pop("qmsum/test.jsonl") + counts.pop("qmsum/val.jsonl") == 500
    assert counts == {
        "squality/dev.jsonl": 125,
        "squality/test.jsonl": 260,
        "musique/sample200.json": 200,
    }
