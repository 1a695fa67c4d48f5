"""The questions that are asked, and the pairs that a model trains on, from the ingested records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, Literal

from nightjar.benchmarks.protoqa.formats import clusters_of
from nightjar.benchmarks.protoqa.prompts import statement
from nightjar.benchmarks.protoqa.readers import NAME
from nightjar.benchmarks.question import Asking, Question, Sources, drawn
from nightjar.core import contracts
from nightjar.core.config import Limit, Model
from nightjar.core.errors import NightjarError


class Settings(Model):
    """`evaluated`, `train` and `dev` are names of files of the dataset without their ending: questions to be answered,
    and the pairs of both sides of the training, or questions whose strings these are. `train` and `dev` are None if no
    system trains on pairs.

    `questions`, `train_pairs`, `dev_pairs`: at most so many, drawn by the seed; None means all.
    """

    evaluated: str = "dev.crowdsourced"
    train: str | None = None
    dev: str | None = None
    questions: Limit = None
    train_pairs: Limit = None
    dev_pairs: Limit = None


def questions(sources: Sources, settings: Settings, seed: int) -> Iterator[Question]:
    """The questions of the file `evaluated` that have clusters; their references are the list with the largest score.

    If none has clusters, as of the published test questions, all are asked, without references.

    Raises NightjarError if the file was not ingested or has no such questions.
    """
    known = [one for one in _ingested(sources, settings.evaluated, "evaluated") if "clusters" in one.parts]
    found = [one for one in known if one.parts["clusters"]] or known
    if not found:
        what = f"{settings.evaluated} has no questions to answer"
        raise NightjarError(what, sources.data, "set benchmarks.protoqa.evaluated to another file")
    yield from drawn(found, settings.questions, seed, attrgetter("key"))


def training(
    sources: Sources, settings: Settings, seed: int
) -> Iterator[tuple[Literal["train", "dev"], Question]]:
    """The pairs of the files `train` and `dev`: those of a file of pairs, or one for each string of each cluster.

    The reference is the answer. Raises NightjarError if a file was not ingested or has no answers.
    """
    sides: tuple[tuple[Literal["train", "dev"], str | None, int | None], ...] = (
        ("train", settings.train, settings.train_pairs),
        ("dev", settings.dev, settings.dev_pairs),
    )
    for side, file, most in sides:
        if file is None:
            continue
        pairs = [pair for one in _ingested(sources, file, side) for pair in _pairs(one)]
        if not pairs:
            what = f"no question of {file} has an answer"
            raise NightjarError(what, sources.data, f"set benchmarks.protoqa.{side} to another file")
        for one in drawn(pairs, most, seed, attrgetter("key")):
            yield side, one


def query(parts: Mapping[str, Any]) -> str:
    """What evidence is searched by: the question."""
    return str(parts["question"])


def prompt(question: Question, asking: Asking) -> str:
    """The beginning of a statement that an answer completes; that of a file for fine-tuning as it is."""
    return str(question.parts.get("statement") or statement(query(question.parts)))


def target(question: Question) -> str:
    """The answer of a training pair in the published form: in lower case, with a full stop (ProtoQA_GPT2)."""
    return f"{question.references[0].lower()}."


def _pairs(question: Question) -> Iterator[Question]:
    if "clusters" not in question.parts:
        yield from [question] if question.references else []
        return
    strings = [string for cluster in clusters_of(question.parts) for string in cluster.answers]
    for number, string in enumerate(strings):
        parts = {"question": question.parts["question"]}
        yield question._replace(id=f"{question.id}/{number}", parts=parts, references=(string,))


def _ingested(sources: Sources, file: str, key: str) -> Iterator[Question]:
    # Here, not above: Parquet takes long to load, and scoring files does without it.
    from nightjar.core.tables import read_rows

    present = set()
    for row in read_rows(sources.data, contracts.RECORDS):
        present.add(row["task_id"])
        if row["task_id"] == file:
            references = tuple(row["references"])
            parts = json.loads(row["parts"])
            yield Question(NAME, file, row["id"], parts, references, dataset=row["dataset"], file=row["file"])
    if file not in present:
        what = f"benchmarks.protoqa.{key} is {file}, which is not in it"
        raise NightjarError(what, sources.data, f"files are {', '.join(sorted(present))}")
