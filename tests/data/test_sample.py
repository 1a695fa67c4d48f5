"""The sample's tasks and corpus: forms, licences, counts, no leak, and answers that the corpus has."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
TASK_FILES = sorted((SAMPLE / "natural_instructions" / "tasks").glob("*.json"))
TEST_CATEGORIES = {
    "Textual Entailment", "Cause Effect Classification", "Coreference Resolution", "Dialogue Act Recognition",
    "Answerability Classification", "Overlap Extraction", "Word Analogy", "Keyword Tagging", "Question Rewriting",
    "Title Generation", "Data to Text", "Grammar Error Correction",
}  # fmt: skip
KEYS = [
    "Contributors", "Source", "URL", "Categories", "Reasoning", "Definition", "Input_language",
    "Output_language", "Instruction_language", "Domains", "Positive Examples", "Negative Examples",
    "Instances", "Instance License",
]  # fmt: skip
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
Task = dict[str, Any]


@cache
def tasks() -> dict[str, Task]:
    """Each task by the name of its file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in TASK_FILES}


@cache
def documents() -> list[dict[str, str]]:
    lines = (SAMPLE / "corpus" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def is_english(t: Task) -> bool:
    return {*t["Input_language"], *t["Output_language"]} == {"English"}


def is_test(t: Task) -> bool:
    return bool(TEST_CATEGORIES & set(t["Categories"]))


def shares_source(t: Task, others: list[Task]) -> bool:
    return any(set(t["Source"]) & set(other["Source"]) for other in others)


@pytest.mark.parametrize("name", [path.stem for path in TASK_FILES])
def test_form_of_a_task(name: str) -> None:
    t = tasks()[name]
    assert list(t) == KEYS and re.fullmatch(r"task\d{4}_[a-z0-9_]+", name)
    assert t["Instance License"] == ["Apache-2.0"]
    assert 40 <= len(t["Instances"]) <= 120
    for i in t["Instances"]:
        assert set(i) == {"id", "input", "output"} and re.fullmatch(rf"{name[:8]}-[0-9a-f]{{32}}", i["id"])
        assert all(isinstance(o, str) and o == o.strip() != "" for o in (i["input"], *i["output"]))
        assert len(set(i["output"])) == len(i["output"]) > 0
    assert len({i["id"] for i in t["Instances"]}) == len(t["Instances"])
    assert 2 <= len(t["Positive Examples"]) <= 4 and 1 <= len(t["Negative Examples"]) <= 3
    for example in (*t["Positive Examples"], *t["Negative Examples"]):
        assert list(example) == ["input", "output", "explanation"] and all(example.values())


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
    assert f"corpus of {len(documents())} documents" in readme
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


def test_form_of_the_corpus() -> None:
    docs = documents()
    assert all(list(d) == ["id", "title", "text", "url"] for d in docs)
    assert all(len({d[key] for d in docs}) == len(docs) for key in ("id", "text", "url"))
    lengths = [len(d["text"].split()) for d in docs]
    assert min(lengths) >= 6 and max(lengths) <= 100
    # Articles are longer than what the default profile annotates.
    assert 150 <= sum(n > 48 for n in lengths) <= 200


def test_answers_of_tasks_are_in_the_corpus() -> None:
    texts = {d["title"]: d["text"] for d in documents()}
    endings = ("landmark_opening_year", "biography_short_question", "firms_and_museums_question")
    asked = [i for name, t in tasks().items() if name.endswith(endings) for i in t["Instances"]]
    assert len(asked) >= 120
    for i in asked:
        told = [text for title, text in texts.items() if title in i["input"]]
        assert any(o in text for text in told for o in i["output"]), i["input"]


def asked_in_documents(title: str) -> list[tuple[str, str]]:
    """The text before the answer, and the answer, of the short documents with this title."""
    pattern = r"(.+\? The answer is|.+ factually correct: .+ (?:by|of|in|was|is|makes)) (.+)\."
    parts = [re.fullmatch(pattern, d["text"]) for d in documents() if d["title"] == title]
    assert all(parts)
    return [(part[1], part[2]) for part in parts if part]


def test_word_problems_of_the_corpus() -> None:
    problems = asked_in_documents("Word Problem")
    assert len(problems) >= 60
    for text, answer in problems:
        b, a = sorted(map(int, re.findall(r"\d+", text)))
        assert [a + b, a - b, a * b, a / b].count(int(answer)) == 1, text


def test_questions_of_the_corpus_are_answered_by_other_documents() -> None:
    asked = asked_in_documents("Question")
    assert len(asked) >= 160
    texts = {d["title"]: d["text"] for d in documents()}
    for text, answer in asked:
        (about,) = [t for t in texts if re.search(rf"\b{re.escape(t)}\b", text)]
        assert re.sub("^an? ", "", answer) in texts[about], text


def test_questions_of_the_day_agree_with_the_url() -> None:
    docs = [d for d in documents() if d["title"] == "Question of the Day"]
    assert len(docs) >= 40
    for d, (text, answer) in zip(docs, asked_in_documents("Question of the Day"), strict=True):
        day = date(*map(int, re.findall(r"/(\d{4})/(\d{2})/(\d{2})/", d["url"])[0]))
        shift = 1 if "tomorrow" in text else -1 if "yesterday" in text else 0
        month = f"{day:%B}"
        dates = (month, str(day.year), f"{month} {day.day}, {day.year}")
        assert answer == WEEKDAYS[(day.weekday() + shift) % 7] or answer in dates, text
