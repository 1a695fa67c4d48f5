"""Label consistency (Guo et al. 2023): the share of a question's passages whose pseudo-label is its own label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.question import Question
from nightjar.core.contracts import CONSISTENCY
from nightjar.core.tables import ArtifactWriter
from nightjar.search.rankings import Passages, Ranking

# Gives the labels of texts of a task.
Labels = Callable[[str, Sequence[str]], Sequence[str]]
NO_PASSAGE = "no passage was found for it"


@dataclass(frozen=True)
class Facts:
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
) -> Facts:
    """Write a row of contracts.CONSISTENCY for each question and ranking, over the first `depth` passages.

    `rankings` are those of the test questions by the name of their stage. A passage is labelled once for each task that
    has it. A question without passages goes to the rejected rows.
    """
    written = labelled = 0
    with ArtifactWriter(output) as writer:
        for task in dict.fromkeys(question.task_id for question in questions):
            own = [question for question in questions if question.task_id == task]
            first = {
                (name, question.key): ranking[question.key][0][:depth]
                for name, ranking in rankings.items()
                for question in own
                if question.key in ranking and len(ranking[question.key][0])
            }
            wanted = np.unique(np.concatenate([*first.values(), np.empty(0, np.int64)]))
            label = dict(zip(wanted.tolist(), labels(task, passages.texts(wanted)), strict=True))
            labelled += len(label)
            rows = []
            for question in own:
                for name in rankings:
                    if (found := first.get((name, question.key))) is None:
                        writer.reject(question.dataset, question.file, NO_PASSAGE, name, question.id)
                    else:
                        rows.append(_row(question, name, found, label))
            writer.write(CONSISTENCY, rows, part=task)
            written += len(rows)
        return Facts(len(questions) * len(rankings), written, len(writer.rejected), labelled)


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
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        found.setdefault((row["task_id"], row["ranking"]), []).append(row["consistent"])
    result: dict[str, dict[str, float]] = {}
    for (task, ranking), shares in found.items():
        result.setdefault(task, {})[ranking] = round(100 * sum(shares) / len(shares), 4)
    return result
