"""Cases (the paper's table 3): what was retrieved for a question, and what reranking made of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.core import contracts, tables
from stages.report import numbers
from stages.report.benchmark.answers import cut
from stages.report.read.rankings import STAGES, Key, Ranked

# Questions of a task, and passages of a ranking, that are shown.
CASES, PASSAGES = 2, 5
# Characters of a question and of a passage.
_QUESTION, _PASSAGE = 280, 140

# Rows of contracts.CONSISTENCY by ranking and question.
Labelled = Mapping[tuple[str, Key], Mapping[str, Any]]


def context(card: Card, found: Ranked, asked: Path, seed: int) -> list[dict[str, Any]]:
    """What the templates show: a block a task with its cases. `asked` is an artifact of the stage questions."""
    systems = compared(found)
    chosen = choose(found, systems, seed)
    columns = ["task_id", "id", "parts", "references"]
    rows = tables.read_rows(asked, contracts.QUESTIONS, columns)
    questions = {(row["task_id"], row["id"]): row for row in rows}
    labelled = {(row["ranking"], (row["task_id"], row["id"])): row for row in found.rows}
    listed = list(card.tracks)
    tasks = sorted(chosen, key=lambda task: (listed.index(task) if task in listed else len(listed), task))
    return [
        {
            "title": numbers.initial(card.task(task).title or task),
            "cases": [_case(card, found, questions[key], systems, labelled) for key in chosen[task]],
        }
        for task in tasks
    ]


def compared(found: Ranked) -> list[str]:
    """The last system that reads the first stage's passages and the first that reads reranked ones, if any."""
    return [*found.readers["retrieve"][-1:], *found.readers["rerank"][:1]]


def choose(found: Ranked, systems: Sequence[str], seed: int) -> dict[str, list[Key]]:
    """At most CASES questions of each task with both rankings.

    One that reranking turns from wrong to right comes first, then one that it turns from right to wrong; others fill
    the rest. Of equal candidates the seed decides.
    """
    by_task: dict[str, list[Key]] = {}
    for key in sorted(
        set.intersection(*(set(some) for some in found.rankings.values())), key=lambda key: _order(key, seed)
    ):
        by_task.setdefault(key[0], []).append(key)
    chosen = {}
    for task, keys in by_task.items():
        moves = {key: _move(found, systems, key) for key in keys}
        first = [next((key for key in keys if moves[key] == move), None) for move in (1, -1)]
        ordered = [*(key for key in first if key), *sorted(keys, key=lambda key: -abs(moves[key]))]
        chosen[task] = list(dict.fromkeys(ordered))[:CASES]
    return chosen


def _move(found: Ranked, systems: Sequence[str], key: Key) -> int:
    """1 from wrong to right, -1 from right to wrong, else 0."""
    if len(systems) < 2:
        return 0
    before, after = (found.right[system].get(key, False) for system in systems)
    return int(after) - int(before)


def _case(
    card: Card, found: Ranked, question: Mapping[str, Any], systems: Sequence[str], labelled: Labelled
) -> dict[str, Any]:
    key, gold = (question["task_id"], question["id"]), question["references"][0]
    ranked = {stage: _ranked(found, stage, key, gold, labelled) for stage in STAGES}
    before = {number: rank for rank, number in enumerate(found.rankings["retrieve"][key][0].tolist(), 1)}
    for passage in ranked["rerank"]:
        passage["before"] = before.get(passage["number"], "–")
    return {
        "id": question["id"],
        "input": cut(card.query(json.loads(question["parts"])), _QUESTION),
        "label": gold,
        "answers": [
            {
                "system": system,
                "text": cut(found.answers[system].get(key, "")),
                "right": "right" if found.right[system].get(key) else "wrong",
            }
            for system in systems
        ],
        "shares": [
            {"ranking": title, "share": f"{100 * labelled[stage, key]['consistent']:.0f}%"}
            for stage, title in STAGES.items()
            if (stage, key) in labelled
        ],
        "rows": [
            {"rank": rank, "first": first, "second": second}
            for rank, (first, second) in enumerate(zip_longest(*ranked.values()), 1)
        ],
    }


def _ranked(found: Ranked, stage: str, key: Key, gold: str, labelled: Labelled) -> list[dict[str, Any]]:
    """The first passages of a question, with their labels where a reader gave them one."""
    numbered, scored = found.rankings[stage][key]
    passages, scores = numbered[:PASSAGES], scored[:PASSAGES]
    row = labelled.get((stage, key), {"passages": (), "labels": ()})
    labels = dict(zip(row["passages"], row["labels"], strict=True))
    return [
        {
            "number": number,
            "text": cut(text, _PASSAGE),
            "score": f"{score:.3f}",
            "label": labels.get(number, ""),
            "same": labels.get(number) == gold,
        }
        for number, score, text in zip(
            passages.tolist(), scores.tolist(), found.passages.texts(passages), strict=True
        )
    ]


def _order(key: Key, seed: int) -> str:
    return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()
