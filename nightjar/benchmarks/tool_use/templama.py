"""TempLAMA (Dhingra et al. 2022): statements whose completion depends on the year, from 2010 to 2020.

Chosen here, as the paper does not say: as with LAMA, statements are left out whose blank is not the final token; and
the calendar gives the first of July of the statement's year.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import JsonObject, Unfit, before_mask, line_records, text

NAME = FOLDER = "templama"
BLANK = "_X_"


def load(folder: Path) -> Iterator[Record | Refused]:
    """The statements of folder/templama/test.jsonl: lines {id, query, answer, date}.

    References are the names of the answers. Raises NightjarError if the file cannot be read.
    """
    file = f"{FOLDER}/test.jsonl"
    return line_records(folder, file, "id", partial(_record, file))


def _record(file: str, row: JsonObject, id: str) -> Record:
    answers = row.get("answer")
    if not isinstance(answers, list) or not answers or not all(isinstance(one, dict) for one in answers):
        raise Unfit("answer is not a list of at least one object")
    references = tuple(dict.fromkeys(text(one.get("name"), "name") for one in answers))
    statement = before_mask(text(row.get("query"), "query"), BLANK)
    return Record(NAME, id, file, {"text": statement}, references, day=_day(row.get("date")))


def _day(value: object) -> date:
    year = text(value, "date")
    if not (year.isascii() and year.isdigit() and len(year) == 4 and int(year)):
        raise Unfit("date is not a year of four digits")
    return date(int(year), 7, 1)
