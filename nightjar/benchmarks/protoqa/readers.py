"""The files that `nightjar score` reads: predictions in the published forms, references in the dataset's own."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nightjar.benchmarks.protoqa.formats import Asked, Unfit, asked, assessed, best_list
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import PIPE, check_input
from nightjar.core.json_text import parse_at, read_object, shown

NAME = "protoqa"
PREDICTION = (
    'write {"question_id": "...", "ranked_answers": ["...", "..."]} or {"QUESTION_ID": ["...", "..."]}'
)
REFERENCE = "give questions in the form of the dataset, such as dev.crowdsourced.jsonl"
ASSESSMENT = 'write {"question_id": "...", "assessments": {"ANSWER": "CLUSTER_ID"}}'
_LISTED, _KEYED = "question_id with ranked_answers", "the id as the key"


def predictions(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """The place, the question's id and the ranked answers of every prediction.

    A file NAME.json is one object {id: [answers]}; any other is JSON Lines of {"question_id", "ranked_answers"} or of
    {id: [answers]} with one key. Raises NightjarError for anything else, for both forms in one file, for answers that
    are no texts, and for a file without predictions.
    """
    found = _object(path) if path.suffix == ".json" else _lines(path)
    empty = True
    for where, id, answers in found:
        empty = False
        yield where, id, _checked(answers, where, id)
    if empty:
        raise NightjarError("no predictions", path, PREDICTION)


def _object(path: Path) -> Iterator[tuple[str, str, Any]]:
    check_input(path)
    for id, answers in read_object(
        path, "write {QUESTION_ID: [answers]}, or name a file of JSON Lines .jsonl"
    ).items():
        yield str(path), id, answers


def _lines(path: Path) -> Iterator[tuple[str, str, Any]]:
    first = ""
    for where, row in _rows(path, PREDICTION):
        if not isinstance(row, dict):
            raise NightjarError("not an object", where, PREDICTION)
        form = _LISTED if "question_id" in row or "ranked_answers" in row else _KEYED
        first = first or form
        if form != first:
            raise NightjarError(f"{form}, where earlier lines have {first}", where, "use one form in a file")
        if form == _KEYED:
            if len(row) != 1:
                raise NightjarError(f"{len(row)} keys and no question_id", where, PREDICTION)
            yield where, *next(iter(row.items()))
            continue
        for key in ("question_id", "ranked_answers"):
            if key not in row:
                raise NightjarError(f"{key} is missing", where, PREDICTION)
        if not isinstance(row["question_id"], str):
            what = f"the question_id {shown(str(row['question_id']), quoted=False)} is not a text"
            raise NightjarError(what, where, "put it in quotation marks")
        yield where, row["question_id"], row["ranked_answers"]


def _checked(answers: Any, where: str, id: str) -> list[str]:
    if not isinstance(answers, list):
        raise NightjarError(f"the answers to {shown(id)} are not a list", where, PREDICTION)
    for place, one in enumerate(answers, start=1):
        if not isinstance(one, str):
            what = f"answer {place} to {shown(id)} is {shown(str(one), quoted=False)}, which is not a text"
            raise NightjarError(what, where, "put it in quotation marks")
    return answers


def references(path: Path) -> Iterator[tuple[str, Question]]:
    """The place and the question of every line of a file of the dataset, in its current or an older form.

    Raises NightjarError for a line that is no such question, has no clusters, or whose counts are all 0.
    """
    for where, found in questions(path):
        if not found.references:
            raise NightjarError(f"the question {shown(found.id)} has no clusters", where, REFERENCE)
        if not any(cluster["count"] for cluster in found.parts["clusters"]):
            raise NightjarError(f"the counts of {shown(found.id)} are all 0", where, "remove the question")
        yield where, found


def questions(path: Path) -> Iterator[tuple[str, Question]]:
    """The place and the question of every line, with clusters or without. Raises NightjarError for another line."""
    for where, row in _rows(path, REFERENCE):
        try:
            yield where, question(asked(row), NAME, path.name)
        except Unfit as error:
            raise NightjarError(str(error), where, REFERENCE) from None


def assessments(path: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The place, the question's id and the assessed answers with their clusters of every line (formats.assessed).

    Raises NightjarError for another line, for an id that occurs twice, and for a file without lines.
    """
    seen = set()
    for where, row in _rows(path, ASSESSMENT):
        try:
            id, given = assessed(row)
        except Unfit as error:
            raise NightjarError(str(error), where, ASSESSMENT) from None
        if id in seen:
            raise NightjarError(f"the id {shown(id)} occurs twice", where, "give every id once")
        seen.add(id)
        yield where, id, given
    if not seen:
        raise NightjarError("no assessments", path, ASSESSMENT)


def question(found: Asked, task: str, file: str) -> Question:
    """The question of the card. Its references are the list with the largest score."""
    references = best_list(found.clusters)
    return Question(NAME, task, found.id, found.parts(), references, dataset=NAME, file=file)


def reference(question: Question) -> dict[str, Any]:
    """The line of a question in the current form of the dataset."""
    parts = question.parts
    line: dict[str, Any] = {"metadata": {"id": question.id, "source": parts.get("source", "")}}
    line["question"] = {"original": parts["original"], "normalized": parts["question"]}
    clusters = {it["id"]: {"count": it["count"], "answers": it["answers"]} for it in parts["clusters"]}
    raw = {"raw": parts["raw"]} if "raw" in parts else {}
    counts = {"answers": sum(it["count"] for it in parts["clusters"]), "clusters": len(clusters)}
    return line | {"answers": raw | {"clusters": clusters}, "num": counts}


def _rows(path: Path, wanted: str) -> Iterator[tuple[str, Any]]:
    """The place and the value of every line that is not blank. Raises NightjarError for one that is not JSON."""
    check_input(path, PIPE)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if text.strip():
                    where = f"{path}:{number}"
                    yield where, parse_at(text, where, wanted)
    except OSError as error:
        raise from_os_error(error, path) or error from None
