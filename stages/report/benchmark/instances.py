"""A page of the instances of a system: what was asked, answered, called and retrieved, and how it was scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from nightjar.benchmarks.capabilities import Matching
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.question import Question, drawn
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import cut
from nightjar.core import contracts, paths, tables
from nightjar.params.predict import System
from nightjar.search.rankings import read_rankings
from stages.report import numbers
from stages.report.benchmark.answers import Key, first, is_right
from stages.report.read.results import HEADLINE

# What is shown at most: instances of a system, passages and references of an instance, and answers of a list.
INSTANCES, PASSAGES, REFERENCES, ANSWERS = 300, 3, 5, 10
# Characters of a prompt, of an input or an answer, of a passage, and of a text in the table.
_PROMPT, _TEXT, _PASSAGE, _CELL = 1500, 600, 300, 90

Rows = Mapping[Key, Mapping[str, Any]]


@dataclass(frozen=True)
class Instances:
    """The questions that are shown, of `total`; the predictions and the passages by system and question."""

    questions: Sequence[Question]
    total: int
    given: Mapping[str, Rows]
    passages: Mapping[str, Mapping[Key, Sequence[str]]]


def read(systems: Sequence[System], predicted: Path, questions: Sequence[Question], seed: int) -> Instances:
    """The same questions for all systems, drawn by the seed. Raises NightjarError if a table is missing."""
    chosen = drawn(questions, INSTANCES, seed, attrgetter("key"))
    keys = {question.key for question in chosen}
    ids = tables.among(contracts.PREDICTIONS, "id", (id for _, id in keys))
    columns = ["task_id", "id", "answers", "calls", "prompt", "prompt_tokens", "new_tokens"]
    given, passages = {}, {}
    for system in systems:
        rows = tables.read(predicted / system.system, contracts.PREDICTIONS, columns, ids).to_pylist()
        given[system.system] = {key: row for row in rows if (key := (row["task_id"], row["id"])) in keys}
        passages[system.system] = _passages(evidence(system), keys)
    return Instances(chosen, len(questions), given, passages)


def evidence(system: System) -> Path | None:
    """The artifact with the passages of a system; None for a system without evidence, or if it is not there."""
    names = (contracts.EVIDENCE.name, contracts.RANKINGS.name)
    path = system.evidence
    return path if path and any((path / name).is_dir() for name in names) else None


def _passages(artifact: Path | None, keys: set[Key]) -> dict[Key, list[str]]:
    """The first passages of each question."""
    if artifact is None:
        return {}
    found: dict[Key, list[str]] = {}
    if (artifact / contracts.EVIDENCE.name).is_dir():
        where = (pc.field("split") == "test") & (pc.field("rank") <= PASSAGES)
        columns = ["task_id", "id", "rank", "title", "text"]
        rows = tables.read(artifact, contracts.EVIDENCE, columns, where).to_pylist()
        for row in sorted(rows, key=lambda row: row["rank"]):
            found.setdefault((row["task_id"], row["id"]), []).append(_passage(row))
        return found
    rankings = read_rankings(artifact, "test")
    ranked = {key: rankings[key][0][:PASSAGES].tolist() for key in keys if key in rankings}
    wanted = tables.among(
        contracts.PASSAGES, "passage", (number for some in ranked.values() for number in some)
    )
    rows = tables.read(paths.INDEX, contracts.PASSAGES, ["passage", "title", "text"], wanted).to_pylist()
    texts = {row["passage"]: _passage(row) for row in rows}
    return {key: [texts[number] for number in some] for key, some in ranked.items()}


def _passage(row: Mapping[str, Any]) -> str:
    return cut(f"{row['title']}: {row['text']}" if row["title"] else row["text"], _PASSAGE)


def file(card: Card, system: str) -> str:
    """The name of the page."""
    return f"{card.name}.{system}.html"


def context(card: Card, found: Instances, scores: SystemScores) -> dict[str, Any]:
    """What the template shows of one system."""
    places = {key.instance: place for place, key in enumerate(scores.keys)}
    metrics = [
        metric for metric in card.metrics if len(metric.parts) == 1 and metric.parts[0] in scores.parts
    ]
    lines = [
        _instance(card, found, scores, question, places.get(question.key), metrics) | {"number": number}
        for number, question in enumerate(found.questions, start=1)
    ]
    return {
        "name": card.name,
        "benchmark": card.title,
        "system": scores.system,
        "others": [(name, file(card, name)) for name in found.given if name != scores.system],
        "judged": bool(card.right),
        "total": found.total,
        "passages": PASSAGES,
        "instances": lines,
    }


def _instance(
    card: Card,
    found: Instances,
    scores: SystemScores,
    question: Question,
    place: int | None,
    metrics: Sequence[Metric],
) -> dict[str, Any]:
    row = found.given[scores.system].get(question.key)
    parts = {} if place is None else {name: float(values[place]) for name, values in scores.parts.items()}
    shown = [metric for metric in metrics if not np.isnan(parts.get(metric.parts[0], np.nan))][:HEADLINE]
    answers = row["answers"] if row else []
    listed = answers[:ANSWERS] if card.capability(Matching) else answers[:1]
    return {
        "id": question.id,
        "task": card.task(question.task_id).title or question.task_id,
        "input": cut(card.query(question.parts), _TEXT),
        "short_input": cut(card.query(question.parts), _CELL),
        "references": [cut(text, _TEXT) for text in question.references[:REFERENCES]],
        "more_references": max(0, len(question.references) - REFERENCES),
        "missing": row is None,
        "answers": [cut(text, _TEXT) for text in listed],
        "more_answers": max(0, len(answers) - len(listed)) if card.capability(Matching) else 0,
        "short_answer": cut(first(answers), _CELL),
        "right": is_right(card, parts),
        "scores": [
            {"title": numbers.heading(it), "value": numbers.value(it, it.scale * parts[it.parts[0]])}
            for it in shown
        ],
        "calls": [
            {"call": f"{it['tool']}({cut(it['input'])})", "result": it["result"] and cut(it["result"])}
            for it in (row["calls"] if row else ())
        ],
        "passages": found.passages[scores.system].get(question.key, ()),
        "prompt": shortened(row["prompt"], _PROMPT) if row else "",
        "tokens": (row["prompt_tokens"], row["new_tokens"]) if row else (0, 0),
    }


def shortened(text: str, most: int) -> str:
    """The text with its line ends; of a longer one the beginning and the end, `most` characters together."""
    if len(text) <= most:
        return text
    left = len(text) - most
    return f"{text[: most // 2]}\n[… {left:,} characters are left out …]\n{text[-(most - most // 2) :]}"
