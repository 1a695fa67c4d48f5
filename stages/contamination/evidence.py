"""Which retrieved passages hold the words of the question that they were retrieved for, or a reference of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nightjar.core import tables
from nightjar.core.contracts import EVIDENCE
from nightjar.search.rankings import Passages, read_rankings
from stages.contamination.asked import Asked
from stages.contamination.held import SHORTEST
from stages.contamination.words import words


def evidence_rows(asked: Sequence[Asked], retrieved: Path, index: Path, n: int) -> Iterator[dict[str, Any]]:
    """Rows of contracts.EVIDENCE_OVERLAPS, one for each question with passages in the artifact `retrieved`.

    `index` has the texts of the passages where `retrieved` names only their numbers. A text is in a passage if they
    share n words in a row, or if all words of the shorter text are in the passage in a row; a question needs SHORTEST
    words for that.
    """
    found = _passages(retrieved, index)
    questions = _words([one.query for one in asked])
    references = iter(_words([text for one in asked for text in one.references]))

    @lru_cache(maxsize=4096)
    def runs(passage: str) -> frozenset[str]:
        return frozenset(_runs(passage.split(), n))

    for one, question in zip(asked, questions, strict=True):
        own = [next(references) for _ in one.references]
        passages = found.get((one.head["task_id"], one.head["id"]))
        if not passages:
            continue
        yield {
            **one.head,
            "passages": len(passages),
            "question_rank": _rank([question] if len(question) >= SHORTEST else [], passages, n, runs),
            "reference_rank": _rank(own, passages, n, runs),
        }


def _rank(
    texts: Sequence[list[str]], passages: Sequence[str], n: int, runs: Callable[[str], frozenset[str]]
) -> int | None:
    """The rank of the first passage that one of the texts is in, counted from 1."""
    short = [f" {' '.join(text)} " for text in texts if 0 < len(text) < n]
    long = {run for text in texts for run in _runs(text, n)}
    for rank, passage in enumerate(passages, start=1):
        if any(text in f" {passage} " for text in short) or (long and not long.isdisjoint(runs(passage))):
            return rank
    return None


def _runs(text: Sequence[str], n: int) -> list[str]:
    return [" ".join(text[at : at + n]) for at in range(len(text) - n + 1)]


def _words(texts: Iterable[str]) -> list[list[str]]:
    found = words(pa.array(texts, pa.string()))
    flat, ends = found.flat.to_pylist(), found.offsets.tolist()
    return [flat[start:end] for start, end in itertools.pairwise(ends)]


def _passages(retrieved: Path, index: Path) -> Mapping[tuple[str, str], list[str]]:
    """The passages of each test question, title and text as words with single blanks, best first."""
    found: dict[tuple[str, str], list[int]] = {}
    if (retrieved / EVIDENCE.name).is_dir():
        columns = ["task_id", "id", "rank", "passage", "title", "text"]
        rows = tables.read(retrieved, EVIDENCE, columns, pc.field("split") == "test")
        rows = rows.sort_by("rank").to_pylist()
        for row in rows:
            found.setdefault((row["task_id"], row["id"]), []).append(row["passage"])
    else:
        ranked = read_rankings(retrieved, "test").items()
        found = {key: numbers.tolist() for key, (numbers, _) in ranked}
        rows = Passages(index).rows(sorted({number for numbers in found.values() for number in numbers}))
    texts = {row["passage"]: f"{row['title']}\n{row['text']}" for row in rows}
    shown = dict(zip(texts, map(" ".join, _words(texts.values())), strict=True))
    return {key: [shown[number] for number in numbers] for key, numbers in found.items()}
