"""The texts of a real run of Toolformer, from made data sets: reading pairs and dated documents."""

from __future__ import annotations

import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import reading_pairs, toolformer_texts
from bench.dated_texts import plain
from bench.public_sets import trained
from nightjar import tools
from nightjar.core.contracts import DOCUMENTS
from nightjar.core.tables import read
from stages.augment.annotated_texts import from_documents, suited
from stages.ingest.corpus import ingest_corpus

SAMPLE = Path(__file__).parents[2] / "data/sample/tool_use"
TRAINED = [f"Q{number}" for number in range(200) if trained(f"Q{number}")][:40]
EVALUATED = [f"Q{number}" for number in range(200) if not trained(f"Q{number}")][:10]
CITIES = ("Norwood", "Easton", "Port Skerry", "Weston")
NEWS = """\
Norwood farmers deny danger .
NORWOOD 1996-08-22
Farmers of Norwood denied on Thursday that there was any danger to people from their sheep , and asked for calm .
" We have sold sheep here for ninety years , " said Ada Brock , who speaks for the farmers of the whole county .
Easton ferry late .
Tom Pell
EASTON 1996-08-23
The ferry ( 60 seats ) from Easton to Skerry was late again on Friday , because a cow stood on the pier for an hour .
Its captain said that tickets for $ 12 would be paid back until Monday , and that he did n't know whose cow it was .
""".splitlines()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    write(path, "".join(json.dumps(row) + "\n" for row in rows))


def write_task(source: Path, name: str, instances: list[tuple[str, str]]) -> None:
    rows = [{"input": given, "output": [output]} for given, output in instances]
    write(source / f"natural-instructions/tasks/{name}.json", json.dumps({"Instances": rows}))


def fact(uri: str, object: str, *masked: str, surface: str = "") -> dict[str, Any]:
    """A row of T-REx about the subject `Person URI`; its sentences call the object `surface`."""
    sentences = [
        {"obj_surface": surface or object, "masked_sentence": one.format(f"Person {uri}")} for one in masked
    ]
    return {"sub_uri": uri, "sub_label": f"Person {uri}", "obj_label": object, "evidences": sentences}


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source, lama = tmp_path / "public", tmp_path / "public/tool-benchmarks/lama"
    born, plays = "{} was born in 1901 in [MASK] .", "{} plays the [MASK] in a small band ."
    painter = "In Paris lived the [MASK] {} ."
    everyone = TRAINED + EVALUATED
    places = [(uri, CITIES[number % 4]) for number, uri in enumerate(everyone)]
    write_lines(lama / "TREx/P19.jsonl", [fact(uri, city, born) for uri, city in places])
    write_lines(
        lama / "TREx/P106.jsonl",
        [fact(uri, "painter", painter, surface="old painter") for uri in everyone[::2]],
    )
    write_lines(lama / "TREx/P1303.jsonl", [fact(uri, "fiddle", plays) for uri in everyone])
    person = {
        "sub_label": f"Person {TRAINED[0]}",
        "evidences": [{"snippet": "Born on 3 May 1901 in Norwood."}],
    }
    write_lines(lama / "Google_RE/place_of_birth_test.jsonl", [person])
    stories = [
        ("statement: An otter eats fish, question: What eats fish?", "An otter"),
        ("statement: Rain fills the lake, question: What fills the lake?", "rain"),
        ("statement: Rain fills the lake, question: Why?", "nobody knows"),
    ]
    write_task(source, "task1581_made", stories)
    write_task(source, "task610_made", [(line, "") for line in NEWS])
    for name in ("asdiv", "svamp"):
        (source / "tool-benchmarks" / name).symlink_to(SAMPLE / name)
    questions = [{"qText": "What eats fish?", "answers": ["otters"]}]
    for name in ("trainmodel", "test"):
        write(source / f"tool-benchmarks/webquestions/{name}.json", json.dumps(questions))
    for name in ("valid", "test"):
        write(source / f"corpora/wikitext-2/{name}.txt", " = Otter = \n")
    write(source / "natural-instructions/splits/default/train_tasks.txt", "")
    monkeypatch.setattr(reading_pairs, "DEV", 16)
    given = ["toolformer_texts", "--input", str(source), "--output", str(tmp_path / "texts")]
    monkeypatch.setattr(sys, "argv", given)
    toolformer_texts.main()
    return tmp_path / "texts"


def pairs(output: Path, part: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Relation or task, passage and question of each pair."""
    data = json.loads((output / f"reading/{part}.json").read_text("utf-8"))["data"]
    paragraphs = [paragraph for article in data for paragraph in article["paragraphs"]]
    return [(one["qas"][0]["id"].split("-")[2], one["context"], one["qas"][0]) for one in paragraphs]


def subject(text: str) -> str:
    """The subject of T-REx that a question or a sentence names."""
    (found,) = re.findall(r"Person (Q\d+)", text)
    return str(found)


def test_an_answer_stands_in_its_passage_and_an_unanswerable_question_has_none(output: Path) -> None:
    for part, counts in (("train", None), ("dev", (12, 4)), ("test", (39, 0))):
        own = pairs(output, part)
        for _, passage, asked in own:
            assert asked["is_impossible"] == (not asked["answers"])
            for answer in asked["answers"]:
                assert passage[answer["answer_start"] :].startswith(answer["text"])
        silent = sum(asked["is_impossible"] for *_, asked in own)
        assert counts in (None, (len(own) - silent, silent))
        assert part == "test" or silent == (len(own) - silent) // 3


def test_no_relation_that_is_held_out_and_no_evaluated_subject_is_trained(output: Path) -> None:
    train, dev, test = (pairs(output, part) for part in ("train", "dev", "test"))
    assert {relation for relation, *_ in test} == {"P1303"}
    assert {relation for relation, *_ in train} == {"P19", "P106", "task1581"}
    asked = {
        name: {subject(asked["question"]) for relation, _, asked in own if relation.startswith("P")}
        for name, own in (("train", train), ("dev", dev), ("test", test))
    }
    # The first is a person of Google-RE.
    assert asked["test"] == set(TRAINED[1:])
    assert asked["train"] and asked["dev"] and not asked["train"] & asked["dev"]
    assert asked["train"] | asked["dev"] <= set(TRAINED[1:])
    shown = {subject(passage) for relation, passage, _ in train + dev + test if relation.startswith("P")}
    assert shown <= set(TRAINED[1:])


def test_an_unanswerable_question_has_a_passage_without_its_object(output: Path) -> None:
    objects = {("P19", uri): CITIES[number % 4] for number, uri in enumerate(TRAINED)}
    for relation, passage, asked in pairs(output, "train") + pairs(output, "dev"):
        if asked["is_impossible"]:
            about = subject(asked["question"])
            assert objects.get((relation, about), "painter") not in passage
            assert about not in passage, "it answers for another subject"


def test_a_question_of_a_reading_task_is_left_out_if_it_is_evaluated_or_its_answer_is_not_in_the_passage(
    output: Path,
) -> None:
    ((_, passage, asked),) = [one for one in pairs(output, "train") if one[0] == "task1581"]
    assert (passage, asked["question"]) == ("Rain fills the lake", "What fills the lake?")
    assert asked["answers"] == [{"text": "Rain", "answer_start": 0}]


def test_every_name_of_the_answer_in_the_passage_is_right(output: Path) -> None:
    own = [
        asked["answers"] for kind, _, asked in pairs(output, "train") if kind == "P106" and asked["answers"]
    ]
    assert own and all([one["text"] for one in answers] == ["old painter", "painter"] for answers in own)
    found = reading_pairs.named_in("Songs by Decca-Records, of Decca.", {"decca", "decca records", "", "emi"})
    assert list(found) == [(9, "Decca"), (9, "Decca-Records")]


def test_a_long_passage_is_cut_around_its_answer() -> None:
    passage = " ".join(f"w{number}" for number in range(300))
    for answer in ("w0 w1", "w150", "w299"):
        cut, start = reading_pairs.around(passage, passage.index(answer), answer)
        assert len(cut.split()) == 100 and cut[start:].startswith(answer) and cut in passage


def test_every_relation_has_wordings_that_name_the_subject_once() -> None:
    questions = yaml.safe_load(reading_pairs.QUESTIONS.read_text("utf-8"))
    assert len(questions) == 28 and set(questions) > reading_pairs.HELD_OUT
    for wordings in questions.values():
        assert 4 <= len(set(wordings)) == len(wordings) <= 8
        assert all(one.count("{}") == 1 and one.endswith("?") for one in wordings)


def test_news_has_the_date_of_its_dateline_and_suits_the_calendar(output: Path, tmp_path: Path) -> None:
    ingest_corpus(output / "documents", tmp_path / "corpus")
    sources = from_documents(read(tmp_path / "corpus", DOCUMENTS).to_pylist())
    dated = suited(tools.make("calendar"), sources, 42)
    assert {one.text.day for one in dated} == {date(1996, 8, 22), date(1996, 8, 23)}
    assert all(re.fullmatch(r"dated-\d{5}", one.id) for one in dated)
    farmers, ferry = sorted((one.text.body for one in dated), key=lambda text: "ferry" in text)
    assert farmers.startswith("Farmers of Norwood denied on Thursday") and farmers.endswith("whole county.")
    assert (
        ferry.startswith("The ferry (60 seats) from Easton")
        and "for $12 would" in ferry
        and "didn't" in ferry
    )


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ('" We ate , " he said . " It was late . "', '"We ate," he said. "It was late."'),
        ('We ate , " he said . " It was late .', 'We ate," he said. "It was late.'),
        ("the boys ' $ 12 ( C$ 15 ) , not France 's", "the boys' $12 (C$15), not France's"),
    ],
)
def test_a_sentence_of_tokens_reads_as_it_was_printed(tokens: str, text: str) -> None:
    assert plain(tokens) == text
