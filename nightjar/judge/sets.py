"""The two sets of answers that judges compare, and the texts of the instances they answer.

A set is a predictions artifact (data/predict/supernatinst-tk_instruct), a JSON Lines file of {id, prediction}, or
the word `references`: the gold answers, which the paper compares its models with (section 6.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightjar.benchmarks.answers_and_references import check_reference, json_lines
from nightjar.core import paths, tables
from nightjar.core.arguments import AnyPath
from nightjar.core.contracts import INSTANCES, PREDICTIONS, TASKS
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError

REFERENCES = "references"
PREDICTION = 'write {"id": "...", "prediction": "..."}'
REFERENCE = (
    'write {"id": "...", "references": ["..."], "task_id": "...", "task_category": "...", "input": "...", '
    '"definition": "..."}, as `nightjar references` does'
)

Key = tuple[str, str]  # task_id, id


@dataclass(frozen=True)
class AnswerSet:
    """A set as read: its name, and its answers by (task_id or None, id); `gold` has none of its own."""

    name: str
    answers: dict[tuple[str | None, str], str] = field(default_factory=dict)
    gold: bool = False


@dataclass(frozen=True)
class Instance:
    """The texts of an instance that a judge sees beside the answers. `gold` is the first of its references."""

    task_id: str
    id: str
    category: str
    input: str
    gold: str


@dataclass(frozen=True)
class JudgedTask:
    """The texts of a task that a judge sees; examples have input, output and explanation (a text or None)."""

    definition: str
    positive: list[dict[str, Any]]
    negative: list[dict[str, Any]]


def read_set(name: str) -> AnswerSet:
    """The answers of the set `name`."""
    if name == REFERENCES:
        return AnswerSet(name, gold=True)
    path = Path(name)
    if not path.is_dir():
        lines = json_lines(path, PREDICTION)
        return AnswerSet(name, {(None, row["id"]): _text(row, "prediction", where) for where, row in lines})
    rows = tables.read_rows(path, PREDICTIONS, ["system", "task_id", "id", "answers"])
    systems = sorted({row["system"] for row in rows})
    if len(systems) > 1:
        raise NightjarError(f"it holds the systems {', '.join(systems)}", path, "name a set of one system")
    return AnswerSet(name, {(row["task_id"], row["id"]): (row["answers"] or [""])[0] for row in rows})


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise NightjarError(f"{name} is missing or not a text", where, PREDICTION)
    return value


class Texts:
    """The instances and tasks that answers belong to: those of an ingest artifact, or of a file of references.

    The rows of the file have `input` (a text) and `definition` (a text or a list of texts), as those of `nightjar
    references`; a task of the file has no examples. An id may be written as TASK:ID.
    """

    def __init__(
        self, ingested: AnyPath = paths.NATURAL_INSTRUCTIONS, references: AnyPath | None = None
    ) -> None:
        self.where = Path(ingested if references is None else references)
        self._rows: dict[Key, dict[str, Any]] | None = None
        if references is not None:
            self._rows = {}
            for where, row in json_lines(self.where, REFERENCE):
                key = _reference(row, where)
                if key in self._rows:
                    raise NightjarError(f"{':'.join(key)} occurs twice", where, "give every id once")
                self._rows[key] = row
            if not self._rows:
                raise NightjarError("no references", self.where, REFERENCE)

    def keys(self, ids: Iterable[str] | None = None) -> list[Key]:
        """The (task_id, id) of all instances, or of those with one of `ids`."""
        if self._rows is not None:
            requested_ids = None if ids is None else set(ids)
            return [key for key in self._rows if requested_ids is None or key[1] in requested_ids]
        chosen = None if ids is None else tables.among(INSTANCES, "id", ids)
        table = tables.read(self.where, INSTANCES, ["task_id", "id"], chosen)
        return list(zip(table["task_id"].to_pylist(), table["id"].to_pylist(), strict=True))

    def instances(self, keys: Iterable[Key]) -> list[Instance]:
        """The instances `keys`, in that order."""
        listed = list(keys)
        if self._rows is not None:
            rows = [self._rows[key] for key in listed]
            return [
                Instance(*key, row["task_category"], row["input"], row["references"][0])
                for key, row in zip(listed, rows, strict=True)
            ]
        columns = ["task_id", "id", "input", "outputs"]
        chosen = tables.among(INSTANCES, "id", (id for _, id in listed))
        stored = tables.read(self.where, INSTANCES, columns, chosen).to_pylist()
        instance_rows = {(row["task_id"], row["id"]): row for row in stored}
        categories = {
            task: (row["categories"] or ["unknown"])[0]
            for task, row in self._tasks({task for task, _ in listed}).items()
        }
        return [
            Instance(*key, categories[key[0]], instance_rows[key]["input"], instance_rows[key]["outputs"][0])
            for key in listed
        ]

    def tasks(self, instances: Iterable[Instance]) -> dict[str, JudgedTask]:
        """The tasks of `instances` by their names."""
        if self._rows is None:
            return {
                # The model is given the first definition only, so that is what the judges see.
                name: JudgedTask(row["definition"][0], row["positive_examples"], row["negative_examples"])
                for name, row in self._tasks({instance.task_id for instance in instances}).items()
            }
        tasks: dict[str, JudgedTask] = {}
        for instance in instances:
            definition = self._rows[instance.task_id, instance.id]["definition"]
            text = definition if isinstance(definition, str) else "\n\n".join(definition)
            tasks.setdefault(instance.task_id, JudgedTask(text, [], []))
        return tasks

    def _tasks(self, names: set[str]) -> dict[str, dict[str, Any]]:
        """The ingested tasks of these names."""
        columns = ["task_id", "definition", "categories", "positive_examples", "negative_examples"]
        rows = tables.read(self.where, TASKS, columns, tables.among(TASKS, "task_id", names)).to_pylist()
        return {row["task_id"]: row for row in rows}


def _reference(row: Mapping[str, Any], where: str) -> Key:
    check_reference(row, where, REFERENCE, "task_id", "task_category")
    if not isinstance(row.get("input"), str):
        raise NightjarError("input is missing or not a text", where, REFERENCE)
    definition = row.get("definition")
    texts = definition if isinstance(definition, list) else [definition]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise NightjarError("definition is missing, or neither a text nor a list of texts", where, REFERENCE)
    task: str = row["task_id"]
    return task, row["id"].removeprefix(f"{task}:")


def match(sets: tuple[AnswerSet, AnswerSet], texts: Texts) -> list[dict[Key, str] | None]:
    """For each set its answers by (task_id, id), None for the gold answers."""
    matched = [None if one.gold else _match(one, texts) for one in sets]
    first, second = matched
    if first is not None and second is not None and first.keys() != second.keys():
        for (answers, other_answers), name, lacking in (
            ((first, second), sets[0].name, sets[1].name),
            ((second, first), sets[1].name, sets[0].name),
        ):
            if only := sorted(answers.keys() - other_answers.keys()):
                what = f"{counted_as(len(only), 'instance')} missing in {lacking}, the first is {':'.join(only[0])}"
                raise NightjarError(what, name, "compare two sets that answer the same instances")
    return matched


def _match(answer_set: AnswerSet, texts: Texts) -> dict[Key, str]:
    if not answer_set.answers:
        raise NightjarError("no answers", answer_set.name, PREDICTION)
    by_id: dict[str, list[Key]] = {}
    # An id may be written as TASK:ID.
    for key in texts.keys({form for _, id in answer_set.answers for form in (id, id.partition(":")[2])}):
        for form in (key[1], ":".join(key)):
            by_id.setdefault(form, []).append(key)
    matched = {}
    for (task, id), answer in answer_set.answers.items():
        keys = [key for key in by_id.get(id, []) if task in (None, key[0])]
        if len(keys) != 1:
            what = f"the id {id!r} is of {len(keys)} instances in {texts.where}"
            fix = (
                "name a set of one task's ids only once"
                if keys
                else "check that sets and instances belong together"
            )
            raise NightjarError(what, answer_set.name, fix)
        if keys[0] in matched:
            raise NightjarError(f"{':'.join(keys[0])} has two answers", answer_set.name, "give every id once")
        matched[keys[0]] = answer
    return matched
