"""MLQA (Lewis et al. 2020): questions in seven languages about English paragraphs, a task a language."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import FIX, JsonObject, Unfit, json_value, objects, text
from nightjar.core.errors import NightjarError

FOLDER = "mlqa"
LANGUAGES = {
    "en": "English",
    "es": "Spanish",
    "de": "German",
    "hi": "Hindi",
    "vi": "Vietnamese",
    "zh": "Chinese",
    "ar": "Arabic",
}
TASKS = {f"mlqa_{code}": title for code, title in LANGUAGES.items()}


def load(folder: Path) -> Iterator[Record | Refused]:
    """The questions of folder/mlqa/test-context-en-question-LANGUAGE.json; a missing language is skipped.

    The files have the form of SQuAD: {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}.
    References are the texts of the answers, which are English as the paragraphs are. Raises NightjarError if no file is
    there, or one cannot be read or has another form.
    """
    files = {code: f"{FOLDER}/test-context-en-question-{code}.json" for code in LANGUAGES}
    present = {code: file for code, file in files.items() if (folder / file).exists()}
    if not present:
        fix = f"put at least one of them in it, such as {Path(files['es']).name}"
        raise NightjarError("no files of MLQA", folder / FOLDER, fix)
    for code, file in present.items():
        yield from objects(file, _questions(folder / file), "id", partial(_record, f"mlqa_{code}", file))


def _questions(path: Path) -> Iterator[Any]:
    """Every question with its paragraph under the key "context". Raises NightjarError for another form."""
    for article in _list(json_value(path), "data", path):
        for paragraph in _list(article, "paragraphs", path):
            for question in _list(paragraph, "qas", path):
                yield (
                    {**question, "context": paragraph.get("context")}
                    if isinstance(question, dict)
                    else question
                )


def _list(value: Any, key: str, path: Path) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise NightjarError(f"not in the form of SQuAD: no list {key}", path, FIX)
    return found


def _record(task: str, file: str, row: JsonObject, id: str) -> Record:
    answers = row.get("answers")
    if not isinstance(answers, list) or not answers or not all(isinstance(one, dict) for one in answers):
        raise Unfit("answers is not a list of at least one object")
    parts = {name: text(row.get(name), name) for name in ("context", "question")}
    references = tuple(dict.fromkeys(text(one.get("text"), "text") for one in answers))
    return Record(task, id, file, parts, references)
