"""An evaluation of any model (`nightjar evaluate`): its folder, and some of a benchmark's questions as an artifact."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nightjar.benchmarks.question import Question, QuestionSelection
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.benchmarks.records import read_questions
from nightjar.core import contracts, paths, tables
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from nightjar.core.identity import safe_name
from nightjar.core.json_text import read_object, recorded
from nightjar.params.predict import prompting

RECORD = "evaluation.json"


class EvaluationRecord(BaseModel):
    """The parts of evaluation.json that are read: the arguments (its key `asked`), an identity of all that decides the
    results, the name of the system, and the tasks that are left out of each benchmark with the reason.
    """

    model_config = ConfigDict(strict=True, extra="ignore")

    arguments: dict[str, Any] = Field({}, alias="asked")
    identity: str = ""
    name: str = Field(pattern="^[a-z0-9_]{1,200}$")
    left_out: dict[str, dict[str, str]] = {}


def read(folder: Path) -> EvaluationRecord:
    """The record of the evaluation in a folder. Raises NightjarError if it is missing or damaged."""
    path, fix = folder / RECORD, "restore it, or evaluate into another folder"
    try:
        return EvaluationRecord.model_validate(read_object(path, fix))
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise NightjarError(what, path, fix) from None


def predictions(path: Path, benchmark: str) -> Path:
    """The predictions of a benchmark if `path` is the folder of an evaluation; any other path as it is."""
    if not (path / RECORD).is_file():
        return path
    folder = path / paths.PREDICTIONS / benchmark / read(path).name
    if not folder.is_dir():
        raise NightjarError(f"it has no predictions of {benchmark}", path, "evaluate this benchmark")
    return folder


def questions(path: Path, benchmark: str) -> Path | None:
    """The questions of a benchmark if `path` is the folder of an evaluation, else None."""
    return path / paths.QUESTIONS / benchmark if (path / RECORD).is_file() else None


def left_out(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """The tasks of each benchmark that an evaluation left out, with the reason; none in any other folder."""
    return read(folder).left_out if (folder / RECORD).is_file() else {}


def prompting_of(predictions: Path) -> str | None:
    """The form of the prompts (`params.predict.prompting`), by the facts of the stage predict beside an artifact with
    predictions; None for other predictions.
    """
    facts = _facts_of(predictions)
    return prompting(facts) if facts else None


def _facts_of(predictions: Path) -> Mapping[str, Any]:
    """The facts of the stage predict beside an artifact with predictions; none beside other predictions."""
    place = predictions.absolute()
    file = paths.metrics_file(f"predict@{place.parent.name}-{place.name}").relative_to(paths.DATA)
    return recorded(place.parents[2] / file) if len(place.parents) > 2 else {}


# Tables beside the test questions, which are copied as they are.
_SIDES = ("train_questions", "dev_questions", "card")
# In an artifact that was replaced by a subset of itself: the artifact as it was.
WHOLE = "whole"


def tasks_of(questions: Sequence[Question]) -> list[str]:
    """The tasks of questions, in their order."""
    return list(dict.fromkeys(one.task_id for one in questions))


def tasks_left_out(card: QuestionSet, tasks: Sequence[str], lacking: Mapping[str, str]) -> dict[str, str]:
    """The tasks that cannot be answered, and why: `lacking` has the reasons by kind of task."""
    return {task: lacking[kind] for task in tasks if (kind := card.task(task).kind) in lacking}


def write_subset(source: Path, output: Path, selection: QuestionSelection) -> dict[str, int]:
    """Write an artifact with the chosen test questions of the artifact `source`; returns how many each task has.

    Training and dev questions are those of `source`.
    """
    counts = {}
    chosen = selection.apply(read_questions(source))
    with tables.ArtifactWriter(output) as writer:
        for name in _SIDES:
            if (source / name).is_dir():
                shutil.copytree(source / name, writer.folder(name), dirs_exist_ok=True)
        for task in tasks_of(chosen):
            rows = [one.row() for one in chosen if one.task_id == task]
            counts[task] = writer.write(contracts.QUESTIONS, rows, part=safe_name(task))
    return counts


def ledger_rows(evaluated: Path) -> list[dict[str, Any]]:
    """Rows of contracts.LEDGER_INSTANCES, without `content`, of an artifact of the stage evaluate.

    The table instance_scores of an earlier version, which had the names of the ledger for its columns, is read as well.
    """
    columns = [name for name in contracts.LEDGER_INSTANCES.schema.names if name != "content"]
    renamed = {"part": "metric", "unscaled": "value"}
    if renamed.keys() & set(tables.column_names(evaluated, contracts.INSTANCE_SCORES)):
        present = {name: earlier for earlier, name in renamed.items()}
        table = tables.read(
            evaluated, contracts.INSTANCE_SCORES, [present.get(name, name) for name in columns]
        )
    else:
        earlier_version = replace(contracts.LEDGER_INSTANCES, name=contracts.INSTANCE_SCORES.name)
        table = tables.read(evaluated, earlier_version, columns)
    rows: list[dict[str, Any]] = table.rename_columns(columns).to_pylist()
    return rows


def write_samples(folder: Path, benchmark: str, system: str, output: Path) -> None:
    """Write one JSON line a question: its prompt, references, answer and scores, in the order of the questions.

    `doc_id`, `target`, `resps` (as written) and `filtered_resps` (as scored) are those of lm-evaluation-harness,
    `id`, `input`, `target` and `scores` those of inspect_ai.
    """
    questions = read_questions(folder / paths.QUESTIONS / benchmark)
    rows = tables.read_rows(folder / paths.PREDICTIONS / benchmark / system, contracts.PREDICTIONS)
    answered = {(row["task_id"], row["id"]): [row] for row in rows}
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for row in tables.read_rows(folder / paths.SCORES / benchmark, contracts.INSTANCE_SCORES):
        if row["system"] == system:
            scores.setdefault((row["task_id"], row["id"]), {})[row["part"]] = row["unscaled"]
    lines: list[Mapping[str, Any]] = [
        {
            "doc_id": number,
            "id": one.id,
            "task": one.task_id,
            "input": row["prompt"],
            "target": one.references,
            "resps": [[row["text"] or "\n".join(row["answers"])]],
            "filtered_resps": row["answers"],
            "calls": row["calls"],
            "scores": scores.get(one.key, {}),
        }
        for number, one in enumerate(questions)
        for row in answered.get(one.key, [])
    ]
    write_text(output, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def replace_by_subset(path: Path, selection: QuestionSelection) -> None:
    """Replace an artifact by what `write_subset` writes of it; the artifact as it was is in the folder WHOLE there."""
    original = path.with_name(f"{path.name}.{WHOLE}")
    path.rename(original)
    write_subset(original, path, selection)
    original.rename(path / WHOLE)
