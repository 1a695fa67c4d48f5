"""The sample's questions for tool use: their forms, their arithmetic, and their answers in the corpus."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from tests.data.sample import SAMPLE, corpus, lines, tasks


def plain(text: str) -> str:
    """Words in small letters, between single spaces."""
    return f" {re.sub('[^0-9a-z]+', ' ', text.lower()).strip()} "


def about(name: str) -> dict[str, Any]:
    """The one article with this title, with or without `The`."""
    (found,) = [it for it in corpus() if plain(it["title"]).removeprefix(" the") == plain(name)]
    return found


def names_in(text: str) -> list[str]:
    """The titles of the corpus that a text names, without the article."""
    titles = {re.sub("^The ", "", it["title"]) for it in corpus()}
    return [title for title in titles if plain(title) in plain(text)]


@cache
def instances() -> list[tuple[str, list[str]]]:
    """Inputs in small letters and outputs of the tasks about the corpus."""
    asked = [i for t in tasks().values() if "Question Answering" in t["Categories"] for i in t["Instances"]]
    return [(i["input"].lower(), i["output"]) for i in asked]


def asked_in_training(name: str, answer: str) -> bool:
    return any(name.lower() in question and answer in answers for question, answers in instances())


def statements() -> list[tuple[str, str]]:
    """(statement, label) of the three parts of LAMA."""
    found = [
        (row["masked_sentences"][0], row["obj_label"])
        for path in ("Squad/test", "Google_RE/date_of_birth_test", "Google_RE/place_of_birth_test")
        for row in lines(f"tool_use/lama/{path}.jsonl")
    ]
    return found + [
        (row["evidences"][-1]["masked_sentence"], row["obj_label"])
        for relation in ("P159", "P571")
        for row in lines(f"tool_use/lama/TREx/{relation}.jsonl")
    ]


def test_statements_of_lama_are_completed_by_the_corpus() -> None:
    asked = statements()
    assert len(asked) == len(set(asked)) == 24
    texts = [it["text"] for it in corpus()]
    for statement, label in asked:
        assert re.fullmatch(r"[^\[]+ \[MASK\] ?\.", statement)
        known = [
            name for name in names_in(statement) if any(name in text and label in text for text in texts)
        ]
        assert known, (statement, label)
        assert not any(asked_in_training(name, label) for name in known), statement


def test_open_questions_are_answered_by_the_corpus_and_by_no_training_task() -> None:
    asked = [(row["question"], row["answer"][0]) for row in lines("tool_use/nq-open/NQ-open.dev.jsonl")]
    web = json.loads((SAMPLE / "tool_use/webquestions/test.json").read_text(encoding="utf-8"))
    whole = json.loads((SAMPLE / "tool_use/triviaqa/unfiltered-web-dev.json").read_text(encoding="utf-8"))
    assert len(asked) == len(whole["Data"]) == 8
    assert len(web) == 24 and all(list(row) == ["qId", "answers", "qText"] for row in web)
    for question, answer in asked + [(row["qText"], row["answers"][0]) for row in web]:
        (name,) = names_in(question)
        assert answer in about(name)["text"] and not asked_in_training(name, answer), question
    for row in whole["Data"]:
        town, year = re.fullmatch(r"Which firm in (\w+), founded in (\d+), is .+\?", row["Question"]).groups()  # type: ignore[union-attr]
        article = about(row["Answer"]["Value"])["text"]
        assert town in article and year in article


def test_validated_out_texts_are_not_in_the_corpus() -> None:
    known = {it["text"] for it in corpus()}
    texts = [it["text"] for it in lines("tool_use/held_out/documents.jsonl")]
    assert len(texts) == len(set(texts)) == 24 and not known & set(texts)
    spaced = {" ".join(re.findall(r"[^\W_]+|[^\w\s]", text)) for text in known}
    tokens = (SAMPLE / "tool_use/wikitext/wiki.test.tokens").read_text(encoding="utf-8")
    articles = [line.strip() for line in tokens.splitlines() if line.strip() and not line.startswith(" = ")]
    assert len(articles) == 6 and not spaced & set(articles)


def evaluated() -> str:
    """All that the evaluations ask, in small letters; the texts for perplexity are not asked."""
    folders = ("asdiv", "lama", "mawps", "mlqa", "nq-open", "svamp", "templama", "triviaqa", "webquestions")
    paths = [p for folder in folders for p in sorted((SAMPLE / "tool_use" / folder).rglob("*.*"))]
    assert len(paths) >= 19
    return "\n".join(p.read_text(encoding="utf-8") for p in paths).lower()


def test_no_document_asks_what_is_evaluated() -> None:
    """No question, no pair of numbers, and no name of a person, building, museum or firm."""
    whole = evaluated()
    names = [it["title"] for it in corpus() if it["title"].lower() in whole and it["title"][0].isupper()]
    short = [
        it["text"] for it in corpus() if it["title"] in ("Word Problem", "Question", "Question of the Day")
    ]
    assert len(short) >= 240
    articles = {it["title"] for it in corpus() if len(it["text"].split()) > 48}
    named = [name for name in names if name in articles]
    assert len(named) >= 50
    for text in short:
        asked = re.sub(r"^[^:]+: ", "", text)
        assert asked.split("?")[0].lower() not in whole, text
        # The answer may have such a name.
        subject = asked.split("?")[0] if "?" in asked else re.split(" (?:was|is|makes|can) ", asked)[0]
        assert not [name for name in named if re.search(rf"\b{re.escape(name)}\b", subject)], text
    taken = {frozenset(re.findall(r"\d+", line)) for line in whole.splitlines()}
    for text in (it["text"] for it in corpus() if it["title"] == "Word Problem"):
        pair = set(re.findall(r"\d+", text.split("?")[0]))
        assert len(pair) == 2 and not any(pair <= numbers for numbers in taken), text


def test_no_document_asks_a_question_of_dateset() -> None:
    from nightjar.benchmarks.tool_use.dateset import generate

    questions = {it.question.lower() for it in generate(42)}
    for it in corpus():
        text = it["text"].lower()
        assert not any(f"{part}?" in questions for part in re.split(r"[?.:] ?", text)), text
