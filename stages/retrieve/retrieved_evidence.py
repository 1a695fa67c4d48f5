"""Evidence or rankings of questions and instances, as the retriever gives them."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core.contracts import (
    DEV,
    DEV_QUESTIONS,
    EVIDENCE,
    QUESTIONS,
    RANKINGS,
    TRAIN,
    TRAIN_QUESTIONS,
    Table,
)
from nightjar.core.tables import ArtifactWriter, batches
from nightjar.params.search import Retrieval
from nightjar.search.rankings import Rankings, Side, rankings_table
from stages.retrieve.retriever import Retriever

# Instances that are looked up together: enough for the encoder's batches, few enough to hold their evidence.
QUERIES_PER_PART = 8192

# A passage with a question and at most so many words more is a line of the question's data set: these are its label.
LABEL_WORDS = 2

log = logging.getLogger("nightjar")


@dataclass
class EvidenceFacts:
    """Instances asked for, those with a result, those without one that were rejected; rows of evidence or rankings.

    `left_out`: pairs of a text and a passage of its own (see `Retriever.rank`). `equal_to_test`: passages that are
    equal to the text of a test question.
    """

    queries: int = 0
    rejected: int = 0
    rows: int = 0
    left_out: int = 0
    equal_to_test: int = 0

    @property
    def answered(self) -> int:
        return self.queries - self.rejected


class QuestionSource(NamedTuple):
    """One side, the artifact that holds it, and its table there."""

    side: Side
    folder: Path
    table: Table


def sources(card: QuestionSet, questions: Path, split: Path | None) -> list[QuestionSource]:
    """The sides that get passages: the test questions, and those that the benchmark's systems train on.

    These are the training and dev instances of `split`, or the card's own questions of these sides, if it has any.
    """
    tests: list[QuestionSource] = [QuestionSource("test", questions, QUESTIONS)]
    if split is not None:
        return [QuestionSource("train", split, TRAIN), QuestionSource("dev", split, DEV), *tests]
    if card.has_training_questions:
        tests = [
            QuestionSource("train", questions, TRAIN_QUESTIONS),
            QuestionSource("dev", questions, DEV_QUESTIONS),
            *tests,
        ]
    return tests


def write_evidence(
    retriever: Retriever,
    card: QuestionSet,
    sides: Sequence[QuestionSource],
    output: Path,
    settings: Retrieval,
    per_part: int = QUERIES_PER_PART,
) -> EvidenceFacts:
    """Write the best `settings.passages` passages for every question and instance of `sides`, of `per_part` a part.

    The query is the instance's input, for a question the text that its card names, nothing else: neither references
    nor the task's definition. A benchmark with a reranker or a reader gets contracts.RANKINGS, a row for each question,
    and no passage that is the question itself, alone or with a label beside it. Others get contracts.EVIDENCE, a row
    for each passage, ranks from 1; what has no evidence (no word in common, with bm25) goes to the rejected rows. With
    `leaves_out` containing, no passage contains its question.
    """
    ranked, passages = card.has_reranking or bool(card.reader_forms), settings.passages
    contract, facts = RANKINGS if ranked else EVIDENCE, EvidenceFacts()
    beside = math.inf if settings.leaves_out == "containing" else LABEL_WORDS if ranked else 0
    if passages > len(retriever.passages):
        shortage = f"{passages} passages are wanted, the index has {len(retriever.passages)}"
        log.warning("retrieve: %s: no text gets more", shortage)
    equal: set[int] = set()
    with ArtifactWriter(output) as writer:
        for source in sides:
            for number, rows in enumerate(_queries(card, source, per_part)):
                texts = [row["query"] for row in rows]
                ranked_passages = retriever.rank(texts, passages, beside)
                facts.queries += len(rows)
                facts.left_out += ranked_passages.left_out
                part = f"{source.side}-{number:05d}"
                tasks, ids = [row["task_id"] for row in rows], [row["id"] for row in rows]
                if ranked:
                    writer.write(
                        contract, rankings_table(source.side, tasks, ids, ranked_passages.rankings), part
                    )
                else:
                    _reject(writer, rows, ranked_passages.rankings)
                    writer.write(
                        contract,
                        _evidence(retriever, source.side, tasks, ids, ranked_passages.rankings),
                        part,
                    )
                if source.side == "test":
                    equal.update(ranked_passages.equal.tolist())
                log.info("retrieve: %d instances", facts.queries)
        if not facts.queries:
            writer.write(contract, [])  # an empty split has an empty table, not none
        facts.rejected, facts.rows = len(writer.rejected), writer.rows(contract)
    facts.equal_to_test = len(equal)
    if equal:
        log.warning("retrieve: passages that are equal to test texts, and left out there: %d", len(equal))
    return facts


def _reject(writer: ArtifactWriter, rows: Sequence[dict[str, Any]], rankings: Rankings) -> None:
    """Reject the rows for which nothing was found."""
    for place in np.flatnonzero((rankings.ids < 0).all(axis=1)).tolist():
        row = rows[place]
        reason = "no passage but its own shares a word with it"
        writer.reject(row["dataset"], row["file"], reason, row["query"], row["id"])


def _evidence(
    retriever: Retriever, side: Side, task_ids: Sequence[str], ids: Sequence[str], rankings: Rankings
) -> pa.Table:
    """Rows of contracts.EVIDENCE."""
    rows, ranks = np.nonzero(rankings.ids >= 0)
    texts = retriever.rows(rankings.ids[rows, ranks])
    columns = {
        "split": pa.array([side] * len(rows), pa.string()),
        "task_id": _repeated(task_ids, rows),
        "id": _repeated(ids, rows),
        "rank": pa.array(ranks + 1, pa.int32()),
        **{name: texts[name] for name in ("passage", "document_id", "title", "text")},
        "score": pa.array(rankings.scores[rows, ranks].astype(np.float64)),
    }
    return pa.table(columns, schema=EVIDENCE.schema)


def _repeated(values: Sequence[str], rows: NDArray[np.int64]) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(rows))


def _queries(card: QuestionSet, source: QuestionSource, per_part: int) -> Iterator[list[dict[str, Any]]]:
    """The instances of one side, each with its `query`, in chunks of `per_part`, in the order of the table."""
    text = "input" if source.table in (TRAIN, DEV) else "parts"
    chunk: list[dict[str, Any]] = []
    columns = ["dataset", "file", "task_id", "id", text]
    for batch in batches(source.folder, source.table, columns):
        for row in batch.to_pylist():
            query = row["input"] if text == "input" else card.query(json.loads(row["parts"]))
            chunk.append(row | {"query": query})
            if len(chunk) == per_part:
                yield chunk
                chunk = []
    if chunk:
        yield chunk
