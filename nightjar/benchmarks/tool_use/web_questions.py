"""WebQuestions (Berant et al. 2013): its 2,032 test questions, test.json.

The paper names no part. The test part is the one that question answering systems report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import JsonObject, json_records, text, texts

NAME, FOLDER = "web_questions", "webquestions"
FILE = "webquestions/test.json"


def load(folder: Path) -> Iterator[Record | Refused]:
    """The questions of folder/webquestions/test.json: a list of {qId, qText, answers}, other keys are not read.

    Raises NightjarError if the file cannot be read.
    """
    return json_records(folder, FILE, "qId", _record)


def _record(row: JsonObject, id: str) -> Record:
    return Record(
        NAME, id, FILE, {"question": text(row.get("qText"), "qText")}, texts(row.get("answers"), "answers")
    )
