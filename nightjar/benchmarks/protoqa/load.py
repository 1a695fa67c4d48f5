"""Reads the published files of a folder into records (protoqa-data, DATAFORMAT.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nightjar.benchmarks.protoqa.filters import labels
from nightjar.benchmarks.protoqa.formats import Unfit, asked, assessed, best_list
from nightjar.benchmarks.question import Record, Refused
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import NotJson, doubled_key, exact, shown

# What a file holds, by a part of its name; any other *.jsonl holds questions.
PREDICTIONS, ASSESSMENTS, PAIRS, FINETUNE = ".predictions.", "assessments", "pairs", "finetune"


def load(folder: Path) -> Iterator[Record | Refused]:
    """The rows of the files in `folder`: *.jsonl are questions, or assessments if their name has that word, and *.txt
    with `pairs` or `finetune` in their name are training pairs. Predictions (.predictions.) are not read.

    A line of `pairs` is "question TAB answer". One of `finetune` has the prompt itself and a full stop at the end,
    as ProtoQA_GPT2's finetune_train.txt: the prompt is the part `statement`.

    The task of a record is the name of its file without the ending. A question's parts are those of formats.Asked with
    `remarks`, what is odd in it, and `labels`, the filters that it meets; its references are the list with the largest
    score. Raises NightjarError if there is no such file, or one cannot be read.
    """
    files = {path: read for path in sorted(folder.iterdir()) if (read := _reader(path))}
    if not files:
        raise NightjarError(
            "no questions", folder, "put dev.crowdsourced.jsonl or another file of ProtoQA in it"
        )
    for path, read in files.items():
        seen: set[str] = set()
        for number, line in _lines(path):
            raw = line.decode("utf-8", "backslashreplace")
            id = None
            try:
                record = read(path, number, line)
                id = record.id
                if id in seen:
                    raise Unfit(f"the id {shown(id)} occurs twice")
                seen.add(id)
                yield record
            except Unfit as error:
                yield Refused(path.name, str(error), raw, id)


def _reader(path: Path) -> Callable[[Path, int, bytes], Record] | None:
    if PREDICTIONS in path.name:
        return None
    if path.suffix == ".txt" and FINETUNE in path.name:
        return _finetune
    if path.suffix == ".txt" and PAIRS in path.name:
        return _pair
    if path.suffix != ".jsonl":
        return None
    return _assessment if ASSESSMENTS in path.name else _question


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The number and the bytes of every line that is not blank."""
    check_input(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise from_os_error(error, path) or error from None
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number, line.removesuffix(b"\r")


def _value(line: bytes) -> Any:
    try:
        value = exact(line)
    except NotJson as error:
        raise Unfit(str(error)) from None
    if (key := doubled_key(value)) is not None:
        raise Unfit(f"the key {shown(key)} occurs twice")
    return value


def _question(path: Path, number: int, line: bytes) -> Record:
    found = asked(_value(line))
    parts = found.parts() | {"remarks": list(found.remarks), "labels": list(labels(found))}
    remarks = (*found.remarks, *(f"label: {label}" for label in parts["labels"]))
    return Record(path.stem, found.id, path.name, parts, best_list(found.clusters), remarks=remarks)


def _assessment(path: Path, number: int, line: bytes) -> Record:
    id, given = assessed(_value(line))
    return Record(path.stem, id, path.name, {"assessments": given}, ())


def _pair(path: Path, number: int, line: bytes) -> Record:
    question, answer = (side.strip() for side in _sides(line, number))
    return _training(path, number, {"question": question}, answer)


def _finetune(path: Path, number: int, line: bytes) -> Record:
    # A published prompt may begin or end with a blank.
    prompt, answer = _sides(line, number)
    parts = {"question": prompt.strip(), "statement": prompt}
    return _training(path, number, parts, answer.strip().removesuffix("."))


def _sides(line: bytes, number: int) -> list[str]:
    try:
        sides = line.decode("utf-8-sig" if number == 1 else "utf-8").split("\t")
    except UnicodeDecodeError as error:
        raise Unfit(f"not UTF-8: at byte {error.start}") from None
    if len(sides) != 2:
        raise Unfit(f"{len(sides) - 1} tabs, not one between question and answer")
    return sides


def _training(path: Path, number: int, parts: dict[str, str], answer: str) -> Record:
    if not parts["question"] or not answer:
        raise Unfit("the answer is blank" if parts["question"] else "the question is blank")
    return Record(path.stem, str(number), path.name, parts, (answer,))
