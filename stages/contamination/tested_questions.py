"""The questions of a benchmark as texts, and which retrieved passages hold a question or a reference of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core import tables
from nightjar.core.contracts import DEV_QUESTIONS, EVIDENCE, QUESTIONS, TRAIN_QUESTIONS, Table
from nightjar.core.errors import NightjarError
from nightjar.search.rankings import Passages, read_rankings
from stages.contamination.ngrams import words
from stages.contamination.overlaps import SHORTEST

HEAD = ("benchmark", "track", "category", "task_id", "id")


@dataclass(frozen=True)
class QuestionTexts:
    """A question: its columns HEAD, the text that evidence is searched by, all its texts, and its references."""

    head: dict[str, Any]
    query: str
    texts: list[str]
    references: list[str]


def questions(card: QuestionSet, folder: Path) -> list[QuestionTexts]:
    """The test questions of the card's artifact `folder`. Raises NightjarError if they are missing."""
    return [one for many in _read(card, folder, QUESTIONS) for one in many]


def training(card: QuestionSet, folder: Path) -> Iterator[list[QuestionTexts]]:
    """The questions that systems of this benchmark may train on, in batches; none if it has no such table."""
    for table in (TRAIN_QUESTIONS, DEV_QUESTIONS):
        if (folder / table.name).is_dir():
            yield from _read(card, folder, table)


def _read(card: QuestionSet, folder: Path, table: Table) -> Iterator[list[QuestionTexts]]:
    for batch in tables.batches(folder, table, [*HEAD, "parts", "references"]):
        yield [_question_texts(card, row) for row in batch.to_pylist()]


def _question_texts(card: QuestionSet, row: dict[str, Any]) -> QuestionTexts:
    parts, references = json.loads(row.pop("parts")), row.pop("references")
    query = _query(card, parts)
    return QuestionTexts(row, query, _long_texts(query, parts.values()), references)


def _query(card: QuestionSet, parts: Mapping[str, Any]) -> str:
    try:
        return card.query(parts)
    except (KeyError, NightjarError):  # a card need not say by what evidence is searched where none is
        return ""


def _long_texts(query: str, parts: Iterable[Any]) -> list[str]:
    """The query, and the question's other texts of SHORTEST words or more: less may be a label, or a source's name."""
    long = (part for part in parts if isinstance(part, str) and len(part.split()) >= SHORTEST)
    return list({text.casefold(): text for text in (query, *long)}.values())


def evidence_rows(
    tested: Sequence[QuestionTexts], retrieved: Path, index: Path, n: int
) -> Iterator[dict[str, Any]]:
    """Rows of contracts.EVIDENCE_OVERLAPS, one for each question with passages in the artifact `retrieved`.

    `index` has the texts of the passages where `retrieved` names only their numbers. A text is in a passage if they
    share n words in a row, or if all words of the shorter text are in the passage in a row; a question needs SHORTEST
    words for that.
    """
    question_passages = _passages(retrieved, index)
    queries = _words([question.query for question in tested])
    references = iter(_words([text for question in tested for text in question.references]))

    @lru_cache(maxsize=4096)
    def runs(passage: str) -> frozenset[str]:
        return frozenset(_runs(passage.split(), n))

    for question, query in zip(tested, queries, strict=True):
        question_references = [next(references) for _ in question.references]
        passages = question_passages.get((question.head["task_id"], question.head["id"]))
        if not passages:
            continue
        yield {
            **question.head,
            "passages": len(passages),
            "question_rank": _rank([query] if len(query) >= SHORTEST else [], passages, n, runs),
            "reference_rank": _rank(question_references, passages, n, runs),
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
    split_words = words(pa.array(texts, pa.string()))
    flat, ends = split_words.flat.to_pylist(), split_words.offsets.tolist()
    return [flat[start:end] for start, end in itertools.pairwise(ends)]


def _passages(retrieved: Path, index: Path) -> Mapping[tuple[str, str], list[str]]:
    """The passages of each test question, title and text as words with single blanks, best first."""
    passage_numbers: dict[tuple[str, str], list[int]] = {}
    if (retrieved / EVIDENCE.name).is_dir():
        columns = ["task_id", "id", "rank", "passage", "title", "text"]
        rows = tables.read(retrieved, EVIDENCE, columns, pc.field("split") == "test")
        rows = rows.sort_by("rank").to_pylist()
        for row in rows:
            passage_numbers.setdefault((row["task_id"], row["id"]), []).append(row["passage"])
    else:
        ranked = read_rankings(retrieved, "test").items()
        passage_numbers = {key: numbers.tolist() for key, (numbers, _) in ranked}
        rows = Passages(index).rows(
            sorted({number for numbers in passage_numbers.values() for number in numbers})
        )
    texts = {row["passage"]: f"{row['title']}\n{row['text']}" for row in rows}
    passage_texts = dict(zip(texts, map(" ".join, _words(texts.values())), strict=True))
    return {key: [passage_texts[number] for number in numbers] for key, numbers in passage_numbers.items()}
