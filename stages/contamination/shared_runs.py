"""Writes data/contamination: which test questions share runs of words with what is trained on, and with evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core import tables
from nightjar.core.contracts import (
    DEV,
    DOCUMENTS,
    EVIDENCE_OVERLAPS,
    OVERLAPS,
    STRINGS,
    SUPERVISED,
    TASK_OVERLAPS,
    TRAIN,
)
from stages.contamination.overlaps import Overlap, OverlapFinder, TrainingText
from stages.contamination.tested_questions import QuestionTexts, evidence_rows, questions, training

CORPUS, QUESTIONS = "corpus", "questions"
SPLIT_SIDES = (TRAIN, DEV, SUPERVISED)
SIDES = (TRAIN.name, DEV.name, QUESTIONS, SUPERVISED.name, CORPUS)
# What `any` is about: the supervised bound is trained on the test tasks themselves, the compared systems are not.
ANY, OF_ANY = "any", frozenset(SIDES) - {SUPERVISED.name}
# Letters of training texts that are looked at in one go.
_BATCH = 4_000_000


@dataclass(frozen=True)
class BenchmarkTexts:
    """A benchmark's card, the artifact with its questions, and that with the passages retrieved for them, if any."""

    card: QuestionSet
    questions: Path
    retrieved: Path | None = None


def build(
    benchmarks: Sequence[BenchmarkTexts], split: Path, corpus: Path, index: Path, output: Path, n: int
) -> dict[str, Any]:
    """Write the artifact `output`; returns the facts: texts of each side and distinct n-grams looked at, and for each
    benchmark its questions, those with an overlap by side, and those whose passages hold them or their references
    (None: no passages are retrieved for it). Raises NightjarError if a table is missing."""
    tested = {it.card.name: questions(it.card, it.questions) for it in benchmarks}
    rows = [one for of in tested.values() for one in of]
    inputs, references = ([one.texts for one in rows], [one.references for one in rows])
    finder = OverlapFinder(pa.array(inputs, STRINGS), pa.array(references, STRINGS), n)
    texts = {side.name: _compare(finder, side.name, _instances(split, side)) for side in SPLIT_SIDES}
    texts[QUESTIONS] = _compare(finder, QUESTIONS, _questions(benchmarks))
    texts[CORPUS] = _compare(finder, CORPUS, _documents(corpus))
    heads = [one.head for one in rows]
    overlaps = finder.overlaps()
    by_task = task_rows(heads, overlaps)
    evidence = {
        it.card.name: list(evidence_rows(tested[it.card.name], it.retrieved, index, n))
        for it in benchmarks
        if it.retrieved is not None
    }
    with tables.ArtifactWriter(output) as writer:
        writer.write(OVERLAPS, [_row(heads[it.row], it) for it in overlaps])
        writer.write(TASK_OVERLAPS, by_task)
        writer.write(EVIDENCE_OVERLAPS, [row for of in evidence.values() for row in of])
    by_benchmark = {name: _facts(name, len(of), by_task, evidence.get(name)) for name, of in tested.items()}
    return {"ngram": n, "texts": texts, "ngrams": len(finder.grams[n]), "benchmarks": by_benchmark}


def _facts(
    name: str, number: int, by_task: Sequence[Mapping[str, Any]], evidence: Sequence[Mapping[str, Any]] | None
) -> dict[str, Any]:
    sides = {
        side: {
            count: sum(row[count] for row in by_task if row["benchmark"] == name and row["side"] == side)
            for count in _COUNTS
        }
        for side in (*SIDES, ANY)
    }
    return {"questions": number, "sides": sides, "evidence": None if evidence is None else counts(evidence)}


def counts(evidence: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Of rows of contracts.EVIDENCE_OVERLAPS: how many, and in how many the first passage, or any, has what."""
    question_counts = {"questions": len(evidence)}
    for part in ("question", "reference"):
        ranks = [row[f"{part}_rank"] for row in evidence]
        question_counts |= {f"{part}_first": ranks.count(1), part: len(ranks) - ranks.count(None)}
    return question_counts


_TASK = ("benchmark", "track", "category", "task_id")
_COUNTS = ("by_input", "by_reference", "overlapping", "mostly", "short")


def task_rows(rows: list[dict[str, Any]], overlaps: list[Overlap]) -> list[dict[str, Any]]:
    """For every test task and side how many of its instances have an overlap, by what.

    A reference shorter than an n-gram that equals a training text is most often a label: that is counted apart and is
    no overlap.
    """
    instances = Counter(tuple(row[name] for name in _TASK) for row in rows)
    side_rows: dict[tuple[str, str, str], dict[str, set[int]]] = {}
    for overlap in overlaps:
        if overlap.kind == "short":
            names = ["short"]
        elif overlap.part == "input":
            names = ["by_input", "overlapping", *(["mostly"] if overlap.mostly else [])]
        else:
            names = ["by_reference", "overlapping"]
        for side in (overlap.side, *([ANY] if overlap.side in OF_ANY else [])):
            row = rows[overlap.row]
            key = (row["benchmark"], row["task_id"], side)
            of_side = side_rows.setdefault(key, {name: set() for name in _COUNTS})
            for name in names:
                of_side[name].add(overlap.row)
    result = []
    for task, number in instances.items():
        head = dict(zip(_TASK, task, strict=True))
        for side in (*SIDES, ANY):
            of_side = side_rows.get((head["benchmark"], head["task_id"], side), {})
            counted = {name: len(of_side.get(name, ())) for name in _COUNTS}
            share = counted["overlapping"] / number
            result.append({**head, "side": side, "instances": number, **counted, "share": share})
    return result


def _row(instance: dict[str, Any], overlap: Overlap) -> dict[str, Any]:
    names = ("part", "side", "kind", "ngrams", "matched", "text")
    source = {
        "source_task_id": overlap.source.task_id,
        "source_id": overlap.source.id,
        "source_part": overlap.source.part,
    }
    return {**instance, **{name: getattr(overlap, name) for name in names}, **source}


def _compare(finder: OverlapFinder, side: str, batches: Iterator[tuple[pa.Array, list[TrainingText]]]) -> int:
    """Compare all texts of a side with the test side; returns how many there were."""
    finder.add(side, pa.array([], pa.string()), list[TrainingText]().__getitem__)
    number = 0
    for texts, sources in batches:
        finder.add(side, texts, sources.__getitem__)
        number += len(texts)
    return number


def _instances(split: Path, side: Any) -> Iterator[tuple[pa.Array, list[TrainingText]]]:
    """Inputs and outputs of a side's instances, many tasks in a batch: tasks are small and every batch has a price."""
    columns = ["task_id", "id", "input", "outputs"]
    for table in _gathered(tables.batches(split, side, columns)):
        outputs = _single_chunk(table["outputs"])
        tasks, ids = table["task_id"].to_pylist(), table["id"].to_pylist()
        sources = [TrainingText(task, id, "input") for task, id in zip(tasks, ids, strict=True)]
        parents = pc.list_parent_indices(outputs).to_pylist()
        sources += [TrainingText(tasks[row], ids[row], "output") for row in parents]
        yield pa.concat_arrays([_single_chunk(table["input"]), pc.list_flatten(outputs)]), sources


def _questions(benchmarks: Iterable[BenchmarkTexts]) -> Iterator[tuple[pa.Array, list[TrainingText]]]:
    """The questions that systems of any benchmark train on, and their references."""
    for benchmark in benchmarks:
        for question_group in training(benchmark.card, benchmark.questions):
            texts = [(text, question, "input") for question in question_group for text in question.texts]
            texts += [
                (text, question, "output") for question in question_group for text in question.references
            ]
            yield pa.array([text for text, _, _ in texts], pa.string()), [_source(*of[1:]) for of in texts]


def _source(question: QuestionTexts, part: str) -> TrainingText:
    return TrainingText(f"{question.head['benchmark']}/{question.head['task_id']}", question.head["id"], part)


def _documents(corpus: Path) -> Iterator[tuple[pa.Array, list[TrainingText]]]:
    for table in _gathered(tables.batches(corpus, DOCUMENTS, ["id", "text"])):
        yield _single_chunk(table["text"]), [TrainingText(None, id, "text") for id in table["id"].to_pylist()]


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        for start in range(0, len(batch), 2048):
            piece = batch.slice(start, 2048)
            waiting.append(piece)
            size += piece.nbytes
            if size >= _BATCH:
                yield pa.Table.from_batches(waiting)
                waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _single_chunk(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined
