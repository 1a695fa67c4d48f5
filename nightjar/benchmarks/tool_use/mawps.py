"""MAWPS (Koncel-Kedziorski et al. 2016): word problems of several collections, a JSON file each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import JsonObject, Unfit, json_records, text
from nightjar.benchmarks.tool_use.svamp import number
from nightjar.core.errors import NightjarError

NAME = FOLDER = "mawps"


def load(folder: Path) -> Iterator[Record | Refused]:
    """The problems of the files folder/mawps/*.json, such as AddSub.json: lists of {iIndex, sQuestion, lSolutions}.

    An id is FILE-INDEX, such as AddSub-12. The reference is the solution; of several, all are in one text, of which
    the first counts. `lEquations`, where given, become a part of the record; other keys are not read. Raises
    NightjarError if there is no file, or one cannot be read.
    """
    paths = sorted((folder / FOLDER).glob("*.json"))
    if not paths:
        raise NightjarError(
            "no files *.json of MAWPS", folder / FOLDER, "put at least one in it, such as AddSub.json"
        )
    for path in paths:
        file = path.relative_to(folder).as_posix()
        yield from json_records(folder, file, partial(_id, path.stem), partial(_record, file))


def _id(stem: str, row: JsonObject) -> str:
    index = row.get("iIndex")
    if isinstance(index, str):
        return f"{stem}-{text(index, 'iIndex')}"
    return f"{stem}-{number(index, 'iIndex')}"


def _record(file: str, row: JsonObject, id: str) -> Record:
    parts: dict[str, Any] = {"question": text(row.get("sQuestion"), "sQuestion")}
    solutions = row.get("lSolutions")
    if not isinstance(solutions, list) or not solutions:
        raise Unfit("lSolutions is not a list of at least one number")
    if (equations := row.get("lEquations")) is not None:
        if not isinstance(equations, list):
            raise Unfit("lEquations is not a list")
        parts["equations"] = [text(one, "an equation") for one in equations]
    return Record(NAME, id, file, parts, ("; ".join(number(one, "solution") for one in solutions),))
