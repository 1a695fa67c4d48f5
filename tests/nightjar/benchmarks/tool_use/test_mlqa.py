"""MLQA: files in the form of SQuAD, a language of the questions each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.tool_use.formats import load_mlqa as load
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.tool_use.files import kept, put, reasons

CONTEXT = "The tower is made of red brick."
QUESTION = {"id": "q-1", "question": "¿De qué es?", "answers": [{"text": "red brick", "answer_start": 21}]}


def mlqa(folder: Path, code: str, *questions: Any, context: Any = CONTEXT) -> str:
    file = f"mlqa/test-context-en-question-{code}.json"
    whole = {
        "version": 1.0,
        "data": [{"title": "T", "paragraphs": [{"context": context, "qas": [one]}]} for one in questions],
    }
    put(folder, file, json.dumps(whole))
    return file


def test_a_task_for_every_language_that_is_there(tmp_path: Path) -> None:
    files = {code: mlqa(tmp_path, code, QUESTION) for code in ("zh", "es")}
    put(tmp_path, "mlqa/test-context-es-question-es.json", "not read")
    parts = {"context": CONTEXT, "question": "¿De qué es?"}
    assert list(load(tmp_path)) == [
        Record(f"mlqa_{code}", "q-1", files[code], parts, ("red brick",)) for code in ("es", "zh")
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": None}, "no id"),
        ({"question": ""}, "question is blank"),
        ({"answers": []}, "answers is not a list of at least one object"),
        ({"answers": ["red"]}, "answers is not a list of at least one object"),
        ({"answers": [{"answer_start": 1}]}, "no text"),
    ],
)
def test_refused_questions(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    mlqa(tmp_path, "ar", QUESTION | {"id": "good"}, QUESTION | change, "q")
    rows = list(load(tmp_path))
    assert [it.id for it in kept(rows)] == ["good"] and reasons(rows) == [reason, "not an object"]


def test_a_paragraph_without_a_text(tmp_path: Path) -> None:
    mlqa(tmp_path, "hi", QUESTION, context=None)
    assert reasons(list(load(tmp_path))) == ["no context"]


@pytest.mark.parametrize(
    "content", ["[]", '{"data": 1}', '{"data": [{}]}', '{"data": [{"paragraphs": [1]}]}']
)
def test_files_of_another_form(tmp_path: Path, content: str) -> None:
    put(tmp_path, "mlqa/test-context-en-question-vi.json", content)
    with pytest.raises(NightjarError, match="not in the form of SQuAD"):
        list(load(tmp_path))


def test_no_files(tmp_path: Path) -> None:
    (tmp_path / "mlqa").mkdir()
    with pytest.raises(NightjarError, match="no files of MLQA"):
        list(load(tmp_path))
