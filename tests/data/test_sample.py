"""The sample's tasks and corpus: forms, licences, counts, no leak, and answers that the corpus has."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tests.data.sample import SAMPLE, corpus, tasks

TEST_CATEGORIES = {
    "Textual Entailment", "Cause Effect Classification", "Coreference Resolution", "Dialogue Act Recognition",
    "Answerability Classification", "Overlap Extraction", "Word Analogy", "Keyword Tagging", "Question Rewriting",
    "Title Generation", "Data to Text", "Grammar Error Correction",
}  # fmt: skip
Task = dict[str, Any]


def is_english(t: Task) -> bool:
    return {*t["Input_language"], *t["Output_language"]} == {"English"}


def is_test(t: Task) -> bool:
    return bool(TEST_CATEGORIES & set(t["Categories"]))


def shares_source(t: Task, others: list[Task]) -> bool:
    return any(set(t["Source"]) & set(other["Source"]) for other in others)


def test_no_text_is_in_two_instances_or_a_demonstration() -> None:
    inputs = [i["input"] for t in tasks().values() for i in t["Instances"]]
    shown = {
        e["input"] for t in tasks().values() for k in ("Positive", "Negative") for e in t[f"{k} Examples"]
    }
    assert len(set(inputs)) == len(inputs) and shown.isdisjoint(inputs)
    assert len({t["Definition"][0] for t in tasks().values()}) == len(tasks())


def test_counts_are_those_of_the_readme() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    count = sum(len(t["Instances"]) for t in tasks().values())
    assert f"{len(tasks())} tasks with {count:,} instances" in readme
    assert f"corpus of {len(corpus())} documents" in readme
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) < 4_000_000


def test_every_part_of_the_split_has_tasks() -> None:
    tests = [t for t in tasks().values() if is_test(t)]
    others = [t for t in tasks().values() if not is_test(t)]
    categories = Counter(c for t in tests if is_english(t) for c in t["Categories"])
    assert all(categories[name] >= 2 for name in TEST_CATEGORIES)
    leaks = [t for t in others if shares_source(t, tests)]
    trained = [t for t in others if t not in leaks]
    assert [len(it) for it in (leaks, trained)] == [2, 33] and all(map(is_english, leaks))
    assert sum(map(is_english, trained)) == 30
    foreign = [t for t in tests if not is_english(t)]
    languages = {t["Input_language"][0] for t in foreign if t["Input_language"] == t["Output_language"]}
    assert len(foreign) == len(languages) == 4 and not any(shares_source(t, others) for t in foreign)
    # The default profile takes six test instances a task, and others for the upper bound.
    assert all(len(t["Instances"]) >= 16 for t in foreign)


def test_answers_of_tasks_are_in_the_corpus() -> None:
    texts = {d["title"]: d["text"] for d in corpus()}
    endings = ("landmark_opening_year", "biography_short_question", "firms_and_museums_question")
    asked = [i for name, t in tasks().items() if name.endswith(endings) for i in t["Instances"]]
    assert len(asked) >= 120
    for i in asked:
        told = [text for title, text in texts.items() if title in i["input"]]
        assert any(o in text for text in told for o in i["output"]), i["input"]


def asked_in_documents(title: str) -> list[tuple[str, str]]:
    """The text before the answer, and the answer, of the short documents with this title."""
    pattern = r"(.+\? The answer is|.+ factually correct: .+ (?:by|of|in|was|is|makes)) (.+)\."
    parts = [re.fullmatch(pattern, d["text"]) for d in corpus() if d["title"] == title]
    assert all(parts)
    return [(part[1], part[2]) for part in parts if part]


def test_questions_of_the_corpus_are_answered_by_other_corpus() -> None:
    asked = asked_in_documents("Question")
    assert len(asked) >= 160
    texts = {d["title"]: d["text"] for d in corpus()}
    for text, answer in asked:
        (about,) = [t for t in texts if re.search(rf"\b{re.escape(t)}\b", text)]
        assert re.sub("^an? ", "", answer) in texts[about], text
