"""The training and dev questions of each task, as ids that a reader reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.question import Question, questions_of
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.benchmarks.reader_inputs import (
    Read,
    check_answers,
    check_form,
    pool_of,
    with_demonstrations,
    with_passages,
)
from nightjar.core import contracts, paths, tables
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short
from nightjar.models.reader.reader_tokens import ReaderTokenizer
from nightjar.params.readers import ReaderInputs, ReaderRecipe
from nightjar.search.rankings import Side


@dataclass(frozen=True)
class ReaderExamples:
    """Questions of one side of a task: the ids of their inputs, ln p of each input, and the places of their answers."""

    inputs: list[list[list[int]]]
    priors: list[NDArray[np.float64]]
    answers: list[int]

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True)
class ReaderTask:
    """A task, the text that each answer is written as, and its sides."""

    name: str
    targets: Mapping[str, str]
    train: ReaderExamples
    dev: ReaderExamples


def read_tasks(
    card: QuestionSet, inputs: ReaderInputs, recipe: ReaderRecipe, seed: int, tokens: ReaderTokenizer
) -> tuple[list[ReaderTask], int]:
    """The tasks with training questions, in their order, and the number of training and dev questions in all.

    Raises NightjarError for a benchmark without training questions, for an answer that a task does not have or that no
    training question has, for missing passages, and for a task of the recipe's that the benchmark does not have.
    """
    source = paths.QUESTIONS / card.name
    if not card.has_training_questions:
        raise NightjarError(f"{card.name} has no training questions", "params.yaml", "use another benchmark")
    check_form(card, recipe.form)
    sides: dict[Side, list[Question]] = {
        "train": questions_of(tables.read_rows(source, contracts.TRAIN_QUESTIONS)),
        "dev": questions_of(tables.read_rows(source, contracts.DEV_QUESTIONS)),
    }
    count = sum(map(len, sides.values()))
    tasks = list(dict.fromkeys(question.task_id for question in sides["train"]))
    if unknown := sorted({question.task for question in recipe.by_task} - card.tasks.keys() - set(tasks)):
        fix = f"tasks are {', '.join(card.tasks or tasks)}"
        raise NightjarError(f"by_task has {quote_short(unknown[0])}, which is no task", card.name, fix)
    targets = {task: card.reader_targets(task) for task in tasks}
    pools: dict[str, dict[str, list[Question]]] = {}
    drawn: set[tuple[str, tuple[str, str]]] = set()
    for task in tasks:
        train, dev = _of(sides["train"], [task]), _of(sides["dev"], [task])
        check_answers(card, task, train, dev, list(targets[task]))
        if recipe.shots_per_label:
            # As in LM-BFF, the dev side is as small as the training side.
            pool_sides = {
                side: pool_of(side_questions, list(targets[task]), recipe.shots_per_label, seed)
                for side, side_questions in (("train", train), ("dev", dev))
            }
            pools[task] = pool_sides["train"]
            drawn |= {
                (side, question.key)
                for side in pool_sides
                for side_questions in pool_sides[side].values()
                for question in side_questions
            }
    examples: dict[tuple[str, Side], ReaderExamples] = {}
    for side, questions in sides.items():
        chosen = [
            question for question in _of(questions, tasks) if not pools or (side, question.key) in drawn
        ]
        if pools:
            text_maxlength = recipe.text_maxlength
            read = with_demonstrations(card, recipe.form, chosen, pools, seed, tokens, text_maxlength)
        else:
            evidence = inputs.evidence if recipe.passages else None
            read = with_passages(
                card,
                recipe.form,
                chosen,
                evidence,
                inputs.index,
                side,
                recipe.passages,
                recipe.temperature,
            )
        for task in tasks:
            pairs = [pair for pair in zip(chosen, read, strict=True) if pair[0].task_id == task]
            examples[task, side] = _examples(pairs, list(targets[task]), tokens, recipe.text_maxlength)
    return [
        ReaderTask(task, targets[task], examples[task, "train"], examples[task, "dev"]) for task in tasks
    ], count


def _of(questions: Sequence[Question], tasks: Sequence[str]) -> list[Question]:
    return [one for one in questions if one.task_id in tasks]


def _examples(
    pairs: Sequence[tuple[Question, Read]], names: Sequence[str], tokens: ReaderTokenizer, text_maxlength: int
) -> ReaderExamples:
    return ReaderExamples(
        [read.ids(tokens, text_maxlength) for _, read in pairs],
        [read.prior for _, read in pairs],
        [names.index(question.references[0]) for question, _ in pairs],
    )
