"""Label consistency (Guo et al. 2023): the share of a question's passages whose pseudo-label is its own label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.benchmarks.reader_inputs import check_form
from nightjar.core.contracts import CONSISTENCY
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from nightjar.core.tables import ArtifactWriter
from nightjar.models.reader import (
    AGAIN,
    PASS_TOKENS,
    all_answers,
    answer_scores,
    encode_inputs,
    load,
    read_record,
    restore_weights,
)
from nightjar.models.tokenizer import like_length
from nightjar.search.rankings import Passages, Ranking

# Gives the labels of texts of a task.
Labels = Callable[[str, Sequence[str]], Sequence[str]]
NO_PASSAGE = "no passage was found for it"


@dataclass(frozen=True)
class ConsistencyFacts:
    """Questions times rankings, rows written, those without passages, and passages that were labelled."""

    rows_in: int
    rows_out: int
    rejected: int
    labelled: int


def write_consistency(
    questions: Sequence[Question],
    rankings: Mapping[str, Mapping[tuple[str, str], Ranking]],
    passages: Passages,
    depth: int,
    labels: Labels,
    output: Path,
) -> ConsistencyFacts:
    """Write a row of contracts.CONSISTENCY for each question and ranking, over the first `depth` passages.

    `rankings` are those of the test questions by the name of their stage. A passage is labelled once for each task that
    has it. A question without passages goes to the rejected rows.
    """
    written = labelled = 0
    with ArtifactWriter(output) as writer:
        for task in dict.fromkeys(question.task_id for question in questions):
            task_questions = [question for question in questions if question.task_id == task]
            first = {
                (name, question.key): ranking[question.key][0][:depth]
                for name, ranking in rankings.items()
                for question in task_questions
                if question.key in ranking and len(ranking[question.key][0])
            }
            distinct = np.unique(np.concatenate([*first.values(), np.empty(0, np.int64)]))
            label = dict(zip(distinct.tolist(), labels(task, passages.texts(distinct)), strict=True))
            labelled += len(label)
            rows = []
            for question in task_questions:
                for name in rankings:
                    if (passage_numbers := first.get((name, question.key))) is None:
                        writer.reject(question.dataset, question.file, NO_PASSAGE, name, question.id)
                    else:
                        rows.append(_row(question, name, passage_numbers, label))
            writer.write(CONSISTENCY, rows, part=task)
            written += len(rows)
        return ConsistencyFacts(len(questions) * len(rankings), written, len(writer.rejected), labelled)


def _row(
    question: Question, ranking: str, passages: NDArray[np.int64], label: Mapping[int, str]
) -> dict[str, Any]:
    labels = [label[number] for number in passages.tolist()]
    return {
        "benchmark": question.benchmark,
        "task_id": question.task_id,
        "id": question.id,
        "ranking": ranking,
        "passages": passages.tolist(),
        "labels": labels,
        "consistent": labels.count(question.references[0]) / len(labels),
    }


def means(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """The mean share of consistent passages in percent by task and ranking."""
    task_shares: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        task_shares.setdefault((row["task_id"], row["ranking"]), []).append(row["consistent"])
    result: dict[str, dict[str, float]] = {}
    for (task, ranking), shares in task_shares.items():
        result.setdefault(task, {})[ranking] = round(100 * sum(shares) / len(shares), 4)
    return result


def labeller(card: QuestionSet, folder: Path) -> Labels:
    """A function that gives the likeliest answer of a task for each of its texts, by the readers in `folder`.

    Raises NightjarError for readers that were trained with passages or demonstrations or on another base model, for a
    task without a reader, and for missing or damaged files.
    """
    record, recipe = read_record(folder)
    if recipe.passages or recipe.shots_per_label:
        fix = f"set consistency.benchmarks.{card.name}.reader to one that reads the question alone"
        raise NightjarError("these readers were trained with passages or demonstrations", folder, fix)
    form, trains, text_maxlength = recipe.form, recipe.trains, recipe.text_maxlength
    check_form(card, form)
    base = load(Path(record["base"]), recipe.decoder_layers)
    if base.sha256 != record["base_sha256"]:
        raise NightjarError("the readers were trained on another base model", record["base"], AGAIN)

    @torch.inference_mode()
    def labels(task: str, texts: Sequence[str]) -> list[str]:
        if not texts:
            return []
        if task not in record["tasks"]:
            raise NightjarError(f"no reader of the task {task}", folder, AGAIN)
        restore_weights(base.reader, trains, folder / safe_name(task))
        targets = base.tokens.targets(card.reader_targets(task), base.reader.start).to(base.device)
        read = [card.reader_text(task, text, form) for text in texts]
        ids = [base.tokens.input(text, text, text_maxlength) for text in read]
        answers = [""] * len(texts)
        for batch in like_length([len(token_ids) for token_ids in ids], PASS_TOKENS):
            states = [
                [token_ids] for token_ids in encode_inputs(base.reader, [ids[place] for place in batch])
            ]
            scores = answer_scores(base.reader, states, None, targets, all_answers(targets, len(batch)))
            for place, best in zip(batch, scores.argmax(dim=1).tolist(), strict=True):
                answers[place] = targets.names[best]
        return answers

    return labels
