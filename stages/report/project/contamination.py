"""The page Contamination: test questions that share words with training texts, and with their retrieved passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.sections import (
    Block,
    Fold,
    Paragraph,
    ReportColumn,
    ReportRow,
    ReportTable,
    Section,
    numbered,
    texts,
)
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


def sections(
    overlap_tables: Mapping[str, Any] | None, nodes: Sequence[Node], cards: Sequence[Benchmark]
) -> list[Section]:
    """The shares of all benchmarks, then tasks and examples; none if the stage did not run."""
    facts = next((node.details for node in nodes if node.name == "contamination"), None)
    if overlap_tables is None or facts is None:
        return []
    shown_cards = {card.name: card for card in cards if card.name in facts["benchmarks"]}
    counts = {name: facts["benchmarks"][name] for name in shown_cards}
    return [
        Section("about", "", [Paragraph(_EXPLANATION.format(ngram=facts["ngram"])), Paragraph(_NOT_CHECKED)]),
        Section("training", "Training texts", _training(shown_cards, counts, facts["texts"])),
        Section(
            "passages",
            "Retrieved passages",
            [Paragraph(_COPIED, note=True), *_passages(overlap_tables, shown_cards)],
        ),
        Section(
            "more", "Tasks and examples", [*_tasks(overlap_tables, shown_cards), *_examples(overlap_tables)]
        ),
    ]


_EXPLANATION = (
    "Test questions that share {ngram} words in a row with a training text (lower-cased, without punctuation), in "
    "their input or in a reference. A shorter input of five words or more counts if all its words are in a training "
    "text in a "
    'row. "Most of the input": at least 70% of the input\'s runs of words are shared. A shorter text, or a short '
    "reference, that is also a whole training text is most often a label, so it is counted apart."
)
_NOT_CHECKED = (
    "Not checked: what the base models were trained on before, the definitions and examples of prompts, the results of "
    "tools, and translations or paraphrases."
)
_COPIED = (
    "A system that reads passages may copy a reference that they have: that is what retrieval is for, but its score "
    "then says little of what the model knows. A label or a number may be in a passage by chance. The supervised upper "
    "bound is trained on other instances of the test tasks, which share their wording."
)


def _training(
    shown_cards: Mapping[str, Benchmark], counts: Mapping[str, Mapping[str, Any]], texts_of: Mapping[str, int]
) -> list[Block]:
    """Questions with an overlap, by where it was found, and by what of the question it is."""
    by_side, by_part = [], []
    for name, benchmark_counts in counts.items():
        n, side_counts = benchmark_counts["questions"], benchmark_counts["sides"]
        shares = (_share(side_counts[side]["overlapping"], n) for side in _SIDES)
        by_side.append(ReportRow((shown_cards[name].title, numbers.count(n), *shares)))
        parts = (
            _share(side_counts["any"][part], n) for part in ("by_input", "by_reference", "mostly", "short")
        )
        by_part.append(ReportRow((shown_cards[name].title, *parts)))
    sides = (
        f"{title} (n = {numbers.count(texts_of[side])})" if side in texts_of else title
        for side, title in _SIDES.items()
    )
    heads = [*texts("benchmark"), *numbered("questions", *sides)]
    of = [*texts("benchmark"), *numbered("input", "reference", "most of the input", "short text alone")]
    return [
        ReportTable(heads, by_side, "Questions with an overlap, by the texts where it was found"),
        ReportTable(
            of,
            by_part,
            "Questions with an overlap in any of these, the supervised bound left out, by what is shared",
        ),
    ]


def _passages(overlap_tables: Mapping[str, Any], shown_cards: Mapping[str, Benchmark]) -> list[Block]:
    """The questions whose passages have their words or a reference, a row a benchmark; folded, a row a track."""
    heads = numbered("questions", "passages, at most")
    heads += numbered(
        *(f"{part} in {which}" for part in ("question", "reference") for which in ("the first", "any"))
    )
    tables = []
    for titles in (("benchmark",), ("benchmark", "track")):
        grouped: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        for row in overlap_tables["evidence"]:
            if card := shown_cards.get(row["benchmark"]):
                names = {"benchmark": card.title, "track": card.track_title(row["track"])}
                grouped.setdefault(tuple(names[it] for it in titles), []).append(row)
        rows = [ReportRow((*names, *_ranked(track_rows))) for names, track_rows in grouped.items()]
        tables.append(without_equal([*texts(*titles), *heads], rows))
    if not tables[0].rows:
        return [Paragraph("No passages are retrieved for these questions.", note=True)]
    return [tables[0], Fold(f"By track ({len(tables[1].rows)})", [tables[1]])]


def _ranked(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    ranks = ([row[f"{part}_rank"] for row in rows] for part in ("question", "reference"))
    counts = [count for of in ranks for count in (of.count(1), len(of) - of.count(None))]
    largest = max(row["passages"] for row in rows)
    return [numbers.count(len(rows)), numbers.count(largest), *(_share(it, len(rows)) for it in counts)]


def _share(count: int, n: int) -> str:
    return f"{numbers.count(count)} ({100 * count / n:.0f}%)" if count else "0"


def _tasks(overlap_tables: Mapping[str, Any], shown_cards: Mapping[str, Benchmark]) -> list[Block]:
    """The test tasks with an overlap, those with the largest shares first."""
    by_task = [
        row
        for row in overlap_tables["tasks"]
        if row["side"] == "any" and row["overlapping"] and row["benchmark"] in shown_cards
    ]
    by_task.sort(key=lambda row: (-row["share"], row["benchmark"], row["task_id"]))
    rows = []
    for row in by_task:
        card = shown_cards[row["benchmark"]]
        of = ", ".join(filter(None, (row["category"], card.track_title(row["track"]))))
        counts = f"{row['instances']}", f"{row['overlapping']}", f"{100 * row['share']:.0f}%"
        rows.append(ReportRow((row["task_id"], card.title, of, *counts)))
    heads = [
        *texts("test task", "benchmark", "category, track"),
        *numbered("questions", "with overlap", "share"),
    ]
    title = f"{len(rows)} test tasks with an overlap in any training text but those of the supervised bound"
    return [Fold(title, [ReportTable(heads, rows)])] if rows else []


def _examples(overlap_tables: Mapping[str, Any]) -> list[Block]:
    """Overlaps, those that cover most of their text first."""
    overlaps = [
        row for row in overlap_tables["overlaps"] if row["side"] != "supervised" and row["kind"] != "short"
    ]
    overlaps.sort(key=lambda row: (-_covered(row), row["task_id"], row["id"], row["part"], row["side"]))
    heads = [*texts("test question", "benchmark", "part"), *numbered("shared")]
    heads += [ReportColumn("first shared run of words", "words"), *texts("found in")]
    title = "Examples" + (", those with the largest shared part" if len(overlaps) > EXAMPLES else "")
    rows = [_example(row) for row in overlaps[:EXAMPLES]]
    return [Fold(title, [ReportTable(heads, rows)])] if rows else []


def _covered(row: Mapping[str, Any]) -> float:
    return 1.0 if row["kind"] == "whole" else float(row["matched"] / row["ngrams"])


def _example(row: Mapping[str, Any]) -> ReportRow:
    home = f"{row['source_task_id']}:{row['source_id']}" if row["source_task_id"] else row["source_id"]
    test, covered = f"{row['task_id']}:{row['id']}", f"{100 * _covered(row):.0f}%"
    return ReportRow((test, row["benchmark"], row["part"], covered, row["text"], f"{home} ({row['side']})"))
