"""Natural Questions in its open form (Kwiatkowski et al. 2019, Lee et al. 2019): its 3,610 development questions.

The paper names no part. The development part is the one that question answering systems report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import JsonObject, line_records, text, texts

NAME, FOLDER = "natural_questions", "nq-open"
FILE = "nq-open/NQ-open.dev.jsonl"


def load(folder: Path) -> Iterator[Record | Refused]:
    """The questions of folder/nq-open/NQ-open.dev.jsonl: lines {question, answer}; an id is the number of the line.

    Raises NightjarError if the file cannot be read.
    """
    return line_records(folder, FILE, None, _record)


def _record(row: JsonObject, id: str) -> Record:
    question = text(row.get("question"), "question")
    return Record(NAME, id, FILE, {"question": question}, texts(row.get("answer"), "answer"))
