"""The file of ranked lists that a leaderboard takes, made or checked: a benchmark's own form of predictions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nightjar.benchmarks.capabilities import Leaderboard
from nightjar.benchmarks.readers import Readers, once
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_output
from nightjar.core.json_text import is_text, shown


@dataclass(frozen=True)
class Lists(Leaderboard):
    """`site`: where the file is handed in. `keys`: those of the id and the answers in a line of NAME.jsonl.

    NAME.json is one object {id: [answers]}.
    """

    ending: ClassVar[str] = ".jsonl"
    site: str
    keys: tuple[str, str]


Answers = Mapping[str, Sequence[str]]


def read(readers: Readers, path: Path) -> Answers:
    """The lists by the questions' ids. Raises NightjarError for a doubled id, and for what the reader refuses."""
    if path.is_dir():
        # Here, not above: Parquet takes long to load.
        from nightjar.core import contracts
        from nightjar.core.tables import read_rows

        rows = read_rows(path, contracts.PREDICTIONS, ["id", "answers"])
        return {
            id: answers for _, id, answers in once((str(path), row["id"], row["answers"]) for row in rows)
        }
    return {id: answers for _, id, answers in once(readers.predictions(path))}


def check(answers: Answers, where: object, ids: Sequence[str]) -> None:
    """Raise NightjarError for an empty list, an answer that is no text, and other ids than `ids`; none: not known."""
    for id, found in answers.items():
        if not found:
            what = f"the list of {shown(id)} is empty, and the published program fails on it"
            raise NightjarError(what, where, "give at least one answer")
        if not all(map(is_text, found)):
            raise NightjarError(f"an answer to {shown(id)} is not valid Unicode", where, "change it")
    for name, odd in (("missing", set(ids) - set(answers)), ("redundant", set(answers) - set(ids))):
        if ids and odd:
            what = f"{len(odd)} ids are {name}, such as {shown(min(odd))}"
            raise NightjarError(what, where, "give one list for each question, and no others")


def check_name(path: Path, inputs: Sequence[Path | None]) -> None:
    """Raise NightjarError if a file of lists must not be written to `path`."""
    check_output(path, inputs)
    if path.suffix not in (".json", ".jsonl"):
        raise NightjarError("it ends neither in .jsonl nor in .json", path, "name a file .jsonl")


def write(form: Lists, path: Path, answers: Answers, inputs: Sequence[Path | None]) -> None:
    """Write the file whole or not at all, in the form of its ending."""
    if path.suffix == ".json":
        text = json.dumps(answers, indent=1, ensure_ascii=False) + "\n"
    else:
        lines = (dict(zip(form.keys, one, strict=True)) for one in answers.items())
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_output(path, text, inputs)
