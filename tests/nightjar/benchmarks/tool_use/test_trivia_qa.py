"""TriviaQA: an object with a list of questions, their answers with aliases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.tool_use.formats import load_trivia_qa as load
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.tool_use.files import kept, put, reasons

ANSWER = {
    "Aliases": ["Sunset Blvd", "Sunset Boulevard"], "MatchedWikiEntityName": "", "NormalizedAliases": ["sunset blvd"],
    "NormalizedValue": "sunset boulevard", "Type": "WikipediaEntity", "Value": "Sunset Boulevard",
}  # fmt: skip
ROW = {
    "Answer": ANSWER,
    "EntityPages": [],
    "Question": "Which musical?",
    "QuestionId": "tc_33",
    "SearchResults": [],
}

FILE = "triviaqa/unfiltered-web-dev.json"


def trivia(folder: Path, *rows: Any) -> None:
    put(
        folder,
        FILE,
        json.dumps({"Data": rows, "Domain": "unfiltered-web", "Split": "dev", "Version": 1.0}),
    )


def test_value_and_aliases_are_references(tmp_path: Path) -> None:
    trivia(tmp_path, ROW)
    references = ("Sunset Boulevard", "Sunset Blvd", "sunset blvd")
    assert list(load(tmp_path)) == [
        Record(
            "trivia_qa",
            "tc_33",
            FILE,
            {"question": "Which musical?"},
            references,
        )
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"QuestionId": ""}, "QuestionId is blank"),
        ({"Question": None}, "no Question"),
        ({"Answer": None}, "no Answer"),
        ({"Answer": "Ann"}, "Answer is not an object"),
        ({"Answer": {"Aliases": ["a"]}}, "no Value"),
        ({"Answer": ANSWER | {"Aliases": "a"}}, "Aliases is not a list"),
        ({"Answer": ANSWER | {"NormalizedAliases": [7]}}, "an alias is not a string"),
    ],
)
def test_refused_rows(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    trivia(tmp_path, ROW | {"QuestionId": "good"}, ROW | change, 7)
    rows = list(load(tmp_path))
    assert [it.id for it in kept(rows)] == ["good"] and reasons(rows) == [reason, "not an object"]


@pytest.mark.parametrize("content", ["[]", '{"Data": {}}', "{"])
def test_files_of_another_form(tmp_path: Path, content: str) -> None:
    put(tmp_path, FILE, content)
    with pytest.raises(NightjarError):
        list(load(tmp_path))
