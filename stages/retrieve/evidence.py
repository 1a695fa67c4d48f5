"""Evidence for questions and instances: what the retriever finds for their texts, one row a passage."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.registry import card
from nightjar.core.contracts import DEV, EVIDENCE, QUESTIONS, TRAIN, Table
from nightjar.core.tables import ArtifactWriter, batches
from stages.retrieve.retriever import Retriever

# Instances that are looked up together: enough for the encoder's batches, few enough to hold their evidence.
QUERIES_PER_PART = 8192

log = logging.getLogger("nightjar")


@dataclass(frozen=True)
class Facts:
    """Instances asked for, those with evidence, those without; rows of evidence."""

    queries: int
    answered: int
    rejected: int
    evidence: int


def write_evidence(
    retriever: Retriever, questions: Path, split: Path | None, output: Path, passages: int
) -> Facts:
    """Write the `passages` best passages for every question, and for every TRAIN and DEV instance of `split`.

    The query is the instance's input, for a question the text that its card names, nothing else: neither references
    nor the task's definition. Ranks count from 1; questions have the split "test". What has no evidence (no word in
    common, with bm25) goes to the rejected rows.
    """
    queries = 0
    sides = [("test", questions, QUESTIONS)]
    if split is not None:
        sides = [("train", split, TRAIN), ("dev", split, DEV), *sides]
    with ArtifactWriter(output) as writer:
        for name, folder, contract in sides:
            for number, rows in enumerate(_queries(folder, contract)):
                found = retriever.rank([row["query"] for row in rows], passages)
                wanted = sorted({hit for ranking in found for hit, _ in ranking})
                texts = dict(zip(wanted, retriever.passages(wanted), strict=True))
                evidence: list[dict[str, Any]] = []
                for row, ranking in zip(rows, found, strict=True):
                    if not ranking:
                        reason = "no passage shares a word with it"
                        writer.reject(row["dataset"], row["file"], reason, row["query"], row["id"])
                    key = {"split": name, "task_id": row["task_id"], "id": row["id"]}
                    for rank, (hit, score) in enumerate(ranking, start=1):
                        evidence.append({**key, "rank": rank, "score": score, **texts[hit]})
                writer.write(EVIDENCE, evidence, part=f"{name}-{number:05d}")
                queries += len(rows)
                log.info("retrieve: %d instances", queries)
        if not queries:
            writer.write(EVIDENCE, [])  # an empty split has an empty table, not none
        rejected = len(writer.rejected)
        return Facts(queries, queries - rejected, rejected, writer.rows(EVIDENCE))


def _queries(folder: Path, contract: Table) -> Iterator[list[dict[str, Any]]]:
    """The instances of one table, each with its `query`, in chunks of QUERIES_PER_PART, in the order of the table."""
    text = "parts" if contract is QUESTIONS else "input"
    chunk: list[dict[str, Any]] = []
    columns = ["dataset", "file", "task_id", "id", text, *(["benchmark"] if contract is QUESTIONS else [])]
    for batch in batches(folder, contract, columns):
        for row in batch.to_pylist():
            query = (
                row["input"] if text == "input" else card(row["benchmark"]).query(json.loads(row["parts"]))
            )
            chunk.append(row | {"query": query})
            if len(chunk) == QUERIES_PER_PART:
                yield chunk
                chunk = []
    if chunk:
        yield chunk
