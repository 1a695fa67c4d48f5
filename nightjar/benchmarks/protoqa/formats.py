"""The file formats of ProtoQA: those that `load` reads (protoqa-data, DATAFORMAT.md), and those of `nightjar score`."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nightjar.benchmarks.protoqa.answer_clusters import (
    DatasetQuestion,
    best_list,
    parse_assessments,
    parse_question,
    question_id,
)
from nightjar.benchmarks.protoqa.filters import labels
from nightjar.benchmarks.question import Question, Record, Refused
from nightjar.benchmarks.source_rows import InvalidRow, SourceRow, json_lines, lines, records
from nightjar.core.errors import NightjarError
from nightjar.core.files import PIPE, check_input
from nightjar.core.json_text import parse_at, quote_short, read_object

NAME = "protoqa"
PREDICTION = (
    'write {"question_id": "...", "ranked_answers": ["...", "..."]} or {"QUESTION_ID": ["...", "..."]}'
)
REFERENCE = "give questions in the form of the dataset, such as dev.crowdsourced.jsonl"
ASSESSMENT = 'write {"question_id": "...", "assessments": {"ANSWER": "CLUSTER_ID"}}'


def load(folder: Path) -> Iterator[Record | Refused]:
    """The rows of the files in `folder`: *.jsonl are questions, or assessments if their name has that word, and *.txt
    with `pairs` or `finetune` in their name are training pairs. Predictions (.predictions.) are not read.

    A line of `pairs` is "question TAB answer". One of `finetune` has the prompt itself and a full stop at the end,
    as ProtoQA_GPT2's finetune_train.txt: the prompt is the part `statement`.

    The task of a record is the name of its file without the ending. A question's parts are those of DatasetQuestion
    with `remarks`, what is odd in it, and `labels`, the filters that it meets; its references are the list with the
    largest score. Raises NightjarError if there is no such file, or one cannot be read.
    """
    files = [(path, read) for path in sorted(folder.iterdir()) if (read := _reader(path))]
    if not files:
        fix = "put dev.crowdsourced.jsonl or another file of ProtoQA in it"
        raise NightjarError("no questions", folder, fix)
    for path, read in files:
        yield from read(path)


def _reader(path: Path) -> Callable[[Path], Iterator[Record | Refused]] | None:
    """The function that reads a file of that name; None for a file that is not read."""
    if ".predictions." in path.name:
        return None
    if path.suffix == ".jsonl":
        return _assessments if "assessments" in path.name else _questions
    if path.suffix == ".txt" and ("finetune" in path.name or "pairs" in path.name):
        return partial(_pairs, finetune="finetune" in path.name)
    return None


def _questions(path: Path) -> Iterator[Record | Refused]:
    def record(row: dict[str, Any], id: str) -> Record:
        parsed = parse_question(row)
        parts = parsed.parts() | {"remarks": list(parsed.remarks), "labels": list(labels(parsed))}
        remarks = (*parsed.remarks, *(f"label: {label}" for label in parts["labels"]))
        return Record(path.stem, id, path.name, parts, best_list(parsed.clusters), remarks=remarks)

    return records(path.name, json_lines(path), question_id, record)


def _assessments(path: Path) -> Iterator[Record | Refused]:
    def record(row: dict[str, Any], id: str) -> Record:
        return Record(path.stem, id, path.name, {"assessments": parse_assessments(row)[1]}, ())

    return records(path.name, json_lines(path), lambda row: parse_assessments(row)[0], record)


def _pairs(path: Path, finetune: bool) -> Iterator[Record | Refused]:
    def record(line: bytes, id: str) -> Record:
        question, answer = _cells(line.removeprefix(codecs.BOM_UTF8) if id == "1" else line)
        parts = {"question": question.strip()}
        if finetune:  # a published prompt may begin or end with a blank
            parts["statement"] = question
        answer = answer.strip().removesuffix(".") if finetune else answer.strip()
        if not parts["question"] or not answer:
            raise InvalidRow("the answer is blank" if parts["question"] else "the question is blank")
        return Record(path.stem, id, path.name, parts, (answer,))

    rows = (SourceRow(number, line, line.decode("utf-8", "backslashreplace")) for number, line in lines(path))
    return records(path.name, rows, None, record)


def _cells(line: bytes) -> list[str]:
    try:
        cells = line.decode().split("\t")
    except UnicodeDecodeError as error:
        raise InvalidRow(f"not UTF-8: at byte {error.start}") from None
    if len(cells) != 2:
        raise InvalidRow(f"{len(cells) - 1} tabs, not one between question and answer")
    return cells


def predictions(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """The place, the question's id and the ranked answers of every prediction.

    A file NAME.json is one object {id: [answers]}; any other is JSON Lines of {"question_id", "ranked_answers"} or of
    {id: [answers]} with one key.
    """
    rows = _object(path) if path.suffix == ".json" else _lines(path)
    empty = True
    for where, id, answers in rows:
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
    for where, row in _rows(path, PREDICTION):
        if not isinstance(row, dict):
            raise NightjarError("not an object", where, PREDICTION)
        if "question_id" not in row and "ranked_answers" not in row:
            if len(row) != 1:
                raise NightjarError(f"{len(row)} keys and no question_id", where, PREDICTION)
            yield where, *next(iter(row.items()))
            continue
        for key in ("question_id", "ranked_answers"):
            if key not in row:
                raise NightjarError(f"{key} is missing", where, PREDICTION)
        if not isinstance(row["question_id"], str):
            what = f"the question_id {quote_short(str(row['question_id']), quoted=False)} is not a text"
            raise NightjarError(what, where, "put it in quotation marks")
        yield where, row["question_id"], row["ranked_answers"]


def _checked(answers: Any, where: str, id: str) -> list[str]:
    if not isinstance(answers, list):
        raise NightjarError(f"the answers to {quote_short(id)} are not a list", where, PREDICTION)
    for place, answer in enumerate(answers, start=1):
        if not isinstance(answer, str):
            text = quote_short(str(answer), quoted=False)
            what = f"answer {place} to {quote_short(id)} is {text}, which is not a text"
            raise NightjarError(what, where, "put it in quotation marks")
    return answers


def references(path: Path) -> Iterator[tuple[str, Question]]:
    """The place and the question of every line of a file of the dataset, in its current or an older form."""
    for where, question in questions(path):
        if not question.references:
            raise NightjarError(f"the question {quote_short(question.id)} has no clusters", where, REFERENCE)
        if not any(cluster["count"] for cluster in question.parts["clusters"]):
            raise NightjarError(
                f"the counts of {quote_short(question.id)} are all 0", where, "remove the question"
            )
        yield where, question


def questions(path: Path) -> Iterator[tuple[str, Question]]:
    """The place and the question of every line, with clusters or without. Raises NightjarError for another line."""
    for where, row in _rows(path, REFERENCE):
        try:
            yield where, question(parse_question(row), NAME, path.name)
        except InvalidRow as error:
            raise NightjarError(str(error), where, REFERENCE) from None


def assessments(path: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The place, the question's id and the assessed answers with their clusters of every line."""
    ids = set()
    for where, row in _rows(path, ASSESSMENT):
        try:
            id, clusters = parse_assessments(row)
        except InvalidRow as error:
            raise NightjarError(str(error), where, ASSESSMENT) from None
        if id in ids:
            raise NightjarError(f"the id {quote_short(id)} occurs twice", where, "give every id once")
        ids.add(id)
        yield where, id, clusters
    if not ids:
        raise NightjarError("no assessments", path, ASSESSMENT)


def question(parsed: DatasetQuestion, task: str, file: str) -> Question:
    """The question of the card. Its references are the list with the largest score."""
    references = best_list(parsed.clusters)
    return Question(NAME, task, parsed.id, parsed.parts(), references, dataset=NAME, file=file)


def reference(question: Question) -> dict[str, Any]:
    """The line of a question in the current form of the dataset."""
    parts = question.parts
    line: dict[str, Any] = {"metadata": {"id": question.id, "source": parts.get("source", "")}}
    line["question"] = {"original": parts["original"], "normalized": parts["question"]}
    clusters = {it["id"]: {"count": it["count"], "answers": it["answers"]} for it in parts["clusters"]}
    raw = {"raw": parts["raw"]} if "raw" in parts else {}
    counts = {"answers": sum(it["count"] for it in parts["clusters"]), "clusters": len(clusters)}
    return line | {"answers": raw | {"clusters": clusters}, "num": counts}


def _rows(path: Path, fix: str) -> Iterator[tuple[str, Any]]:
    """The place and the value of every line that is not blank."""
    for number, line in lines(path, PIPE):
        where = f"{path}:{number}"
        yield where, parse_at(line, where, fix)
