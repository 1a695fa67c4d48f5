"""The page Contamination: test questions that share words with training texts, and with their retrieved passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.sections import ReportTable, TableRow, numbered, texts
from nightjar.core import contracts, tables
from stages.report import numbers
from stages.report.read.facts import Node
from stages.report.site import without_equal

EXAMPLES = 12
_SIDES = {
    "train": "training instances",
    "dev": "dev instances",
    "questions": "training questions of benchmarks",
    "corpus": "corpus",
    "any": "any of these",
    "supervised": "supervised bound",
}
# What a question shares with a training text.
_PARTS = ("by_input", "by_reference", "mostly", "short")


def read(path: Path) -> Mapping[str, Any] | None:
    """The tables of the artifact at `path`, all that the section shows of them; None if it is not there."""
    if not path.is_dir():
        return None
    by_task = tables.read_rows(path, contracts.TASK_OVERLAPS)
    column_names = [
        "benchmark",
        "task_id",
        "id",
        "part",
        "side",
        "kind",
        "ngrams",
        "matched",
        "text",
        "source_task_id",
        "source_id",
    ]
    overlaps = tables.read(path, contracts.OVERLAPS, column_names).to_pylist()
    evidence = tables.read_rows(path, contracts.EVIDENCE_OVERLAPS)
    return {"tasks": by_task, "overlaps": overlaps, "evidence": evidence}


def context(
    overlap_tables: Mapping[str, Any] | None, nodes: Sequence[Node], cards: Sequence[Benchmark]
) -> dict[str, Any]:
    """Return the shares of all benchmarks, then tasks and examples; empty if the stage did not run."""
    facts = next((node.details for node in nodes if node.name == "contamination"), None)
    if overlap_tables is None or facts is None:
        return {}
    shown_cards = {card.name: card for card in cards if card.name in facts["benchmarks"]}
    counts = {card.title: facts["benchmarks"][name] for name, card in shown_cards.items()}
    overlaps = [
        row for row in overlap_tables["overlaps"] if row["side"] != "supervised" and row["kind"] != "short"
    ]
    overlaps.sort(key=lambda row: (-_covered(row), row["task_id"], row["id"], row["part"], row["side"]))
    return {
        "ngram": facts["ngram"],
        "sides": [
            f"{title} (n = {numbers.count(facts['texts'][side])})" if side in facts["texts"] else title
            for side, title in _SIDES.items()
        ],
        "by_side": [
            (
                title,
                of["questions"],
                *(_share(of["sides"][it]["overlapping"], of["questions"]) for it in _SIDES),
            )
            for title, of in counts.items()
        ],
        "by_part": [
            (title, *(_share(of["sides"]["any"][it], of["questions"]) for it in _PARTS))
            for title, of in counts.items()
        ],
        "passages": _passages(overlap_tables["evidence"], shown_cards, "benchmark"),
        "passages_by_track": _passages(overlap_tables["evidence"], shown_cards, "benchmark", "track"),
        "tasks": _tasks(overlap_tables["tasks"], shown_cards),
        "overlap_count": len(overlaps),
        "examples": [_example(row) for row in overlaps[:EXAMPLES]],
    }


def _passages(
    evidence_rows: Sequence[Mapping[str, Any]], shown_cards: Mapping[str, Benchmark], *titles: str
) -> ReportTable:
    """The questions whose passages have their words or a reference, a row for each benchmark or track."""
    heads = numbered("questions", "passages, at most")
    heads += numbered(
        *(f"{part} in {which}" for part in ("question", "reference") for which in ("the first", "any"))
    )
    grouped: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in evidence_rows:
        if card := shown_cards.get(row["benchmark"]):
            names = {"benchmark": card.title, "track": card.track_title(row["track"])}
            grouped.setdefault(tuple(names[it] for it in titles), []).append(row)
    rows = [(*names, *_ranked(question_rows)) for names, question_rows in grouped.items()]
    return without_equal([*texts(*titles), *heads], rows)


def _ranked(rows: Sequence[Mapping[str, Any]]) -> list[int | str]:
    ranks = ([row[f"{part}_rank"] for row in rows] for part in ("question", "reference"))
    counts = [count for of in ranks for count in (of.count(1), len(of) - of.count(None))]
    return [len(rows), max(row["passages"] for row in rows), *(_share(it, len(rows)) for it in counts)]


def _share(count: int, n: int) -> str:
    return f"{numbers.count(count)} ({100 * count / n:.0f}%)" if count else "0"


def _tasks(task_rows: Sequence[Mapping[str, Any]], shown_cards: Mapping[str, Benchmark]) -> list[TableRow]:
    """The test tasks with an overlap, those with the largest shares first."""
    overlapping = [
        row
        for row in task_rows
        if row["side"] == "any" and row["overlapping"] and row["benchmark"] in shown_cards
    ]
    overlapping.sort(key=lambda row: (-row["share"], row["benchmark"], row["task_id"]))
    rows: list[TableRow] = []
    for row in overlapping:
        card = shown_cards[row["benchmark"]]
        of = ", ".join(filter(None, (row["category"], card.track_title(row["track"]))))
        counts = f"{row['instances']}", f"{row['overlapping']}", f"{100 * row['share']:.0f}%"
        rows.append((row["task_id"], card.title, of, *counts))
    return rows


def _covered(row: Mapping[str, Any]) -> float:
    return 1.0 if row["kind"] == "whole" else float(row["matched"] / row["ngrams"])


def _example(row: Mapping[str, Any]) -> tuple[str, ...]:
    home = f"{row['source_task_id']}:{row['source_id']}" if row["source_task_id"] else row["source_id"]
    test, covered = f"{row['task_id']}:{row['id']}", f"{100 * _covered(row):.0f}%"
    return test, row["benchmark"], row["part"], covered, row["text"], f"{home} ({row['side']})"
