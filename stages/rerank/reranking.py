"""The work of the rerank stage: vectors of the texts of every task, and the rankings that follow from them."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.question import Question, questions_of
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core.contracts import DEV_QUESTIONS, QUESTIONS, RANKINGS, TRAIN_QUESTIONS
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from nightjar.core.tables import ArtifactWriter, read_rows
from nightjar.models.engine.language_model import LanguageModel
from nightjar.params.search import Rerank
from nightjar.search.rankings import Passages, Ranking, Rankings, Side, rankings_table, read_rankings
from nightjar.search.reranker import Prompts, embed, prompts, reorder, shared_prefix

SIDES: Mapping[Side, Any] = {"train": TRAIN_QUESTIONS, "dev": DEV_QUESTIONS, "test": QUESTIONS}
# Texts whose vectors are recorded together: what a run loses that is killed.
TEXTS_PER_UNIT = 256
# Tokens of a forward pass, cached ones included: they bound the memory.
BATCH_TOKENS = 8192

log = logging.getLogger("nightjar")


@dataclass(frozen=True)
class Query:
    """A question of one side, and its candidates; `place` and `places` are those of their texts in the task's."""

    side: Side
    question: Question
    place: int
    candidates: NDArray[np.int64]
    places: NDArray[np.int64]


@dataclass(frozen=True)
class RerankedTask:
    """The questions of a task, and every text of them and of their candidates once, the short ones first."""

    name: str
    queries: list[Query]
    texts: list[str]

    @property
    def units(self) -> list[range]:
        """The places of the texts of each unit."""
        starts = range(0, len(self.texts), TEXTS_PER_UNIT)
        return [range(start, min(start + TEXTS_PER_UNIT, len(self.texts))) for start in starts]


def read_tasks(
    card: QuestionSet, questions: Path, rankings: Path, index: Path, candidates: int | None
) -> list[RerankedTask]:
    """The tasks of the questions of all sides, with the first `candidates` passages of their rankings.

    Raises NightjarError if an artifact is missing or damaged, or a question has no ranking.
    """
    passages = Passages(index)
    sides: Mapping[Side, Any] = SIDES if card.has_training_questions else {"test": QUESTIONS}
    task_questions: dict[str, list[tuple[Side, Question, NDArray[np.int64]]]] = {}
    for side, table in sides.items():
        ranked = read_rankings(rankings, side)
        for question in questions_of(read_rows(questions, table)):
            numbers = _ranking(ranked, question, rankings)[0][:candidates]
            task_questions.setdefault(question.task_id, []).append((side, question, numbers))
    return [_task(card, name, task_questions[name], passages) for name in sorted(task_questions)]


def _ranking(ranked: Mapping[tuple[str, str], Ranking], question: Question, where: Path) -> Ranking:
    if question.key not in ranked:
        what = f"no ranking of the question {question.id} of {question.task_id}"
        raise NightjarError(what, where, "run: nightjar rebuild retrieve")
    return ranked[question.key]


def _task(
    card: QuestionSet,
    name: str,
    side_questions: Sequence[tuple[Side, Question, NDArray[np.int64]]],
    passages: Passages,
) -> RerankedTask:
    numbers = np.unique(np.concatenate([passage_numbers for _, _, passage_numbers in side_questions]))
    candidates = passages.texts(numbers)
    queries = [card.query(question.parts) for _, question, _ in side_questions]
    texts = sorted({*queries, *candidates}, key=lambda text: (len(text), text))
    places = {text: place for place, text in enumerate(texts)}
    of_number = np.array([places[text] for text in candidates], np.int64)
    return RerankedTask(
        name,
        [
            Query(
                side,
                question,
                places[text],
                passage_numbers,
                of_number[np.searchsorted(numbers, passage_numbers)],
            )
            for (side, question, passage_numbers), text in zip(side_questions, queries, strict=True)
        ],
        texts,
    )


def embedded(
    lm: LanguageModel, card: QuestionSet, tasks: Sequence[RerankedTask], settings: Rerank, todo: Sequence[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The units `todo`, numbered through all tasks: vectors of their texts, and how the task's prompts were made.

    `vectors` are float32, in Base64: JSON's digits take three times as much. `tokens` are those that were not shared.
    """
    remaining, first = set(todo), 0
    for task in tasks:
        numbers = range(first, first + len(task.units))
        first = numbers.stop
        if remaining.isdisjoint(numbers):
            continue
        prompt_rows = _prompts(lm, card, task, settings.max_tokens)
        base = shared_prefix(lm, prompt_rows.rows)
        shared = len(base.ids) if base else 0
        for number, places in zip(numbers, task.units, strict=True):
            if number in remaining:
                rows = [prompt_rows.rows[place] for place in places]
                vectors = embed(lm, rows, base, BATCH_TOKENS)
                yield (
                    number,
                    {
                        "vectors": base64.b64encode(vectors.tobytes()).decode(),
                        "size": vectors.shape[1],
                        "tokens": sum(map(len, rows)) - shared * len(rows),
                        "shared": shared,
                        "left_out": prompt_rows.left_out,
                        "cut": sum(place in places for place in prompt_rows.cut),
                    },
                )


def _prompts(lm: LanguageModel, card: QuestionSet, task: RerankedTask, max_tokens: int) -> Prompts:
    prefixes = card.reranking_prefixes(task.queries[0].question)
    rows = prompts(
        lm.tokenizer, lambda text: card.reranking_prompt(task.name, text), prefixes, task.texts, max_tokens
    )
    demonstrations = len(prefixes) - 1
    if rows.left_out:
        what = (
            f"{rows.left_out} of {demonstrations} demonstrations are left out, most texts need their tokens"
        )
        log.warning("rerank: %s: %s", task.name, what)
    if rows.cut:
        what = f"texts cut to {max_tokens} tokens, with {demonstrations - rows.left_out} demonstrations"
        log.warning("rerank: %s: %s: %d of %d", task.name, what, len(rows.cut), len(task.texts))
    return rows


def write(
    tasks: Sequence[RerankedTask], units: Iterable[Mapping[str, Any]], keep: int | None, output: Path
) -> dict[str, Any]:
    """Write the rankings of all questions in the new order, at most `keep` passages each; returns facts by task.

    `units` has a value for every unit of `tasks`, in their order. Scores sum to 1 over all that was compared.
    """
    values, facts = iter(units), {}
    with ArtifactWriter(output) as writer:
        for task in tasks:
            task_units = [next(values) for _ in task.units]
            vectors = np.concatenate(
                [
                    np.frombuffer(base64.b64decode(unit["vectors"]), np.float32).reshape(-1, unit["size"])
                    for unit in task_units
                ]
            )
            for side in SIDES:
                if queries := [query for query in task.queries if query.side == side]:
                    table = rankings_table(
                        side,
                        [task.name] * len(queries),
                        [query.question.id for query in queries],
                        _reordered(queries, vectors, keep),
                    )
                    writer.write(RANKINGS, table, part=f"{safe_name(task.name)}-{side}")
            facts[task.name] = {
                "texts": len(task.texts),
                "tokens": sum(unit["tokens"] for unit in task_units),
                "shared_tokens": task_units[0]["shared"],
                "demonstrations_left_out": task_units[0]["left_out"],
                "texts_cut": sum(unit["cut"] for unit in task_units),
            }
    return facts


def _reordered(queries: Sequence[Query], vectors: NDArray[np.float32], keep: int | None) -> Rankings:
    longest = max(len(query.candidates) for query in queries)
    reordered = Rankings.empty(len(queries), longest if keep is None else min(keep, longest))
    for row, query in enumerate(queries):
        order, scores = reorder(vectors[query.place], vectors, query.places)
        count = min(len(order), reordered.ids.shape[1])
        reordered.ids[row, :count], reordered.scores[row, :count] = (
            query.candidates[order[:count]],
            scores[:count],
        )
    return reordered
