"""The questions of Super-NaturalInstructions, their prompts, and the two heuristic baselines.

Questions are read from the task files themselves (`load`), or they are the test instances of the split with the texts
of their tasks. The baselines are those of Tk-Instruct's run_heuristics.py; neither adds a full stop to what it copies.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from nightjar.benchmarks import records
from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources
from nightjar.benchmarks.question_set import Baseline, DescribedBaseline, Files, QuestionSet
from nightjar.benchmarks.source_rows import read_bytes, read_text
from nightjar.benchmarks.task_file import UnreadableFile, read_task
from nightjar.core import contracts
from nightjar.core.config import StrictModel
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read_rows
from nightjar.prompts.encoding import definition_of, encode
from nightjar.prompts.model_text import evidence_block, model_input
from nightjar.tools.dates import find_date

NAME = "supernatinst"
DATASET = "natural_instructions"
_TASK = ("definition", "positive_examples", "negative_examples")


class SuperNatInstSettings(StrictModel):
    """`copy_demo`: which positive example that baseline copies, the first as in the published code or a random one as
    in the paper's text.
    """

    copy_demo: Literal["first", "random"] = "first"


# Instances of a test task that are evaluated, the first ones of its file.
TESTED = 100


def copy_input(question: Question, seed: int) -> str:
    """The whole instance input, unchanged."""
    text: str = question.parts["input"]
    return text


def copy_demo(question: Question, seed: int) -> str:
    """The output of the task's first positive example, as in the published code; empty if it has none."""
    examples = question.shared["positive_examples"]
    text: str = examples[0]["output"] if examples else ""
    return text


def copy_random_demo(question: Question, seed: int) -> str:
    """The output of a positive example drawn for each instance, as the paper's text has it.

    The draw depends on the seed, the task and the instance alone, so that no other instance changes it.
    """
    examples = question.shared["positive_examples"]
    if not examples:
        return ""
    source = random.Random(f"{seed}\x1f{question.task_id}\x1f{question.id}")
    text: str = source.choice(examples)["output"]
    return text


class SuperNatInstQuestions(QuestionSet):
    """The test instances of Super-NaturalInstructions."""

    name = NAME
    version = 1
    title = "Super-NaturalInstructions"
    source = "Wang et al. 2022, arXiv 2204.07705"
    datasets = (DATASET,)
    files = Files(
        task="task_id", category="task_category", by_task=False, context_parts=("input", "definition")
    )
    Settings = SuperNatInstSettings

    def load(self, folder: Path) -> Iterator[Record | Refused]:
        """Read the first instances of the test tasks among the task files of `folder`, or of its folder tasks.

        The test tasks are those of splits/TRACK/test_tasks.txt in `folder`; without these lists every task is one.
        A task whose languages are English alone is of the track default, another of xlingual. Raises NightjarError if
        there is none.
        """
        files = sorted((folder / "tasks" if (folder / "tasks").is_dir() else folder).glob("*.json"))
        lists = sorted(folder.glob("splits/*/test_tasks.txt"))
        listed = {name.strip() for file in lists for name in read_text(file).splitlines()}
        if not (tested := [file for file in files if file.stem in listed or not lists]):
            what = (
                f"none of its {len(files)} task files is in a list test_tasks.txt"
                if files
                else "no task files"
            )
            raise NightjarError(what, folder, "give the folder with tasks/*.json, or one of these files")
        for file in tested:
            try:
                task = read_task(read_bytes(file), DATASET, file.name, file.stem)
            except UnreadableFile as error:
                yield Refused(file.name, str(error), "")
                continue
            head = task.head
            english = {*head["input_language"], *head["output_language"]} == {"English"}
            task_parts = {name: head[name] for name in _TASK} | {
                "track": "default" if english else "xlingual"
            }
            category = next(iter(head["categories"]), "none")
            yield from (Refused(file.name, it.reason, it.raw, it.id) for it in task.refused)
            for row in task.instances.to_pylist():
                if row["index"] < TESTED:
                    text = row["input"]
                    parts = {"input": text, **task_parts}
                    yield Record(
                        file.stem,
                        row["id"],
                        file.name,
                        parts,
                        tuple(row["outputs"]),
                        category,
                        find_date(text),
                    )

    def questions(self, sources: Sources, settings: Any, seed: int) -> Iterator[Question]:
        """Make a question of every test instance of the split, in its order; without one, of every record of `load`.

        Raises NightjarError if there is none, or an instance's task is not among those that were ingested.
        """
        if sources.split == sources.data:
            for question in records.questions(NAME, sources.data):
                parts = question.parts
                shared = {name: parts[name] for name in _TASK}
                yield question._replace(parts={"input": parts["input"]}, shared=shared, track=parts["track"])
            return
        test = read_rows(sources.split, contracts.TEST)
        if not test:
            fix = f"the split left no test task: see {sources.split}/rejected.parquet"
            raise NightjarError("no test instances", sources.split, fix)
        tasks = {row["task_id"]: row for row in read_rows(sources.data, contracts.TASKS, ["task_id", *_TASK])}
        for row in test:
            task = tasks.get(row["task_id"])
            if task is None:
                fix = "split and ingest are of different runs: rebuild"
                raise NightjarError(f"no task {row['task_id']}", sources.data, fix)
            yield Question(
                NAME,
                row["task_id"],
                row["id"],
                {"input": row["input"]},
                tuple(row["outputs"]),
                track=row["track"],
                category=row["category"],
                shared={name: task[name] for name in _TASK},
                day=find_date(row["input"]),
                dataset=row["dataset"],
                file=row["file"],
            )

    def prompt(self, question: Question, asking: Asking) -> str:
        """The published input text of the question (ni_collator.py), with retrieved passages where they are given."""
        task = {"task_id": question.task_id, **question.shared}
        text = question.parts["input"]
        return model_input(
            task, text, asking.encoding, asking.tokenizer, asking.evidence, asking.encoder_decoder
        )

    def turns(self, question: Question, asking: Asking) -> tuple[list[tuple[str, str]], str]:
        """The definition and the positive examples that fit as turns of a chat, each the input and the output."""
        task = {"task_id": question.task_id, **question.shared}
        text = question.parts["input"]
        encoded = encode(task, text, asking.encoding, asking.tokenizer)
        head = f"{definition_of(task)}\n\n" if asking.encoding.definition else ""
        examples = [
            (f"Input: {one['input'].strip()}", one["output"].strip())
            for one in question.shared["positive_examples"][: encoded.positive_examples]
        ]
        last = f"{evidence_block(asking.evidence)}Input: {text.strip()}"
        if not examples:
            return [], head + last
        (first, answer), *others = examples
        return [(head + first, answer), *others], last

    def baselines(self, settings: Any) -> Mapping[str, Baseline]:
        """The baselines by name, under the card's settings."""
        first = (
            "The output of the task's first positive example, as in the published code; empty if it has none."
        )
        drawn = "The output of a positive example drawn for each instance, as the paper's text has it."
        return {
            "copy_input": DescribedBaseline(copy_input, "The whole instance input, unchanged."),
            "copy_demo": DescribedBaseline(copy_demo, first)
            if settings.copy_demo == "first"
            else DescribedBaseline(copy_random_demo, drawn),
        }

    def query(self, parts: Mapping[str, Any]) -> str:
        """Return the instance input."""
        return str(parts["input"])


QUESTION_SET = SuperNatInstQuestions()
