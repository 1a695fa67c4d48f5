"""The explorer of a benchmark's instances: its page, the list that it searches, and what it shows of each instance.

The data are scripts, because a page from disk may load nothing else. `instances/NAME/list.js` has the list;
`instances/NAME/0.js` and so on have CHUNK instances each, and are loaded when one of these is opened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import drawn
from nightjar.benchmarks.score_table import HEADLINE
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import Evaluated, cut
from nightjar.core import contracts, paths, tables
from nightjar.core.display import printable
from nightjar.params.predict import System
from nightjar.search.rankings import read_rankings
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.benchmark.clusters import ANSWERS, Clusters
from stages.report.plots.spec import ROLES

# Instances of the list at most, which the seed draws, and of a file.
INSTANCES, CHUNK = 20_000, 100
# Of an instance: passages and references.
PASSAGES, REFERENCES = 3, 10
# Characters of a prompt, of another text, and of a passage.
_PROMPT, _TEXT, _PASSAGE = 2000, 2000, 600
# Characters that the list has, and a search finds: of the question, and of the references or an answer.
SEARCHED, _SHORT = 300, 100

# A task and an id.
Key = tuple[str, str]

_COLUMNS = ["task_id", "id", "answers", "calls", "prompt", "prompt_sha256", "prompt_tokens", "new_tokens"]


def file(card: Benchmark, system: str = "") -> str:
    """The name of the page, with a fragment for the answers of a system."""
    return f"{card.name}.instances.html" + (f"#system={system}" if system else "")


def context(evaluated: Evaluated, limit: int = INSTANCES) -> dict[str, Any]:
    """Return what the template shows beside the list of at most `limit` instances."""
    card = evaluated.card
    return {
        "right": next((metric.title for metric in card.metrics if metric.right), ""),
        "name": card.name,
        "benchmark": card.title,
        "total": len(evaluated.questions),
        "shown": min(len(evaluated.questions), limit),
        "searched": SEARCHED,
    }


def files(
    evaluated: Evaluated, named: Mapping[str, Mapping[str, str]], limit: int = INSTANCES
) -> dict[str, str]:
    """The list of at most `limit` instances, and these; `named` are the systems, as `Site` has them.

    Raises NightjarError if a table is missing.
    """
    card = evaluated.card
    chosen = drawn(evaluated.questions, limit, evaluated.params.seed, attrgetter("key"))
    scores = {item.system: item for item in evaluated.scores}
    keys = {question.key for question in chosen}
    listed = [evaluated.params.predict.systems[f"{card.name}-{name}"] for name in evaluated.systems]
    systems = [_System(evaluated, item, scores.get(item.system), keys) for item in listed]
    clusters = Clusters.read(evaluated)
    tasks = {task: place for place, task in enumerate(dict.fromkeys(item.task_id for item in chosen))}
    rows, texts = [], []
    for question in chosen:
        answers = [system.answer(question.key, ANSWERS if clusters else 1) for system in systems]
        text, references = card.display_text(question.parts), question.references[:REFERENCES]
        rows.append(
            [
                tasks[question.task_id],
                printable(question.id),
                _short(text, SEARCHED),
                _short(" | ".join(references)),
                "".join(item["verdict"] for item in answers),
                [item["scores"][0][1] if item["scores"] else "" for item in answers],
                [len(item["calls"]) for item in answers],
                [_short(" | ".join(item["answers"])) for item in answers],
            ]
        )
        prompts, passages = (_shared(answers, name) for name in ("prompt", "passages"))
        texts.append(
            {
                "prompts": prompts,
                "passages": passages,
                "input": _text(text),
                "references": [_text(system_name) for system_name in references],
                "more": len(question.references) - len(references),
                "systems": answers,
                **(clusters.of(question) if clusters else {}),
            }
        )
    listing = {
        "benchmark": card.name,
        "judged": bool(card.right),
        "systems": list(evaluated.systems),
        "named": [
            [(system_name := named[name])["role"], ROLES[system_name["role"]][1], system_name["text"]]
            for name in evaluated.systems
        ],
        "similarities": clusters.titles if clusters else [],
        "tasks": [[printable(task), card.task(task).title or printable(task)] for task in tasks],
        "chunk": CHUNK,
        "rows": rows,
        "texts": [],
    }
    folder = f"instances/{card.name}"
    parts = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
    script_files = {f"{folder}/list.js": script("window.nightjar", listing)}
    return script_files | {
        f"{folder}/{place}.js": script(f"window.nightjar.texts[{place}]", part)
        for place, part in enumerate(parts)
    }


class _System:
    """The answers of a system to these questions, their scores and passages."""

    def __init__(
        self, evaluated: Evaluated, system: System, scores: SystemScores | None, keys: Collection[Key]
    ) -> None:
        self._card = evaluated.card
        self._rows: dict[Key, dict[str, Any]] = {}
        prompts: dict[str, str] = {}
        source = evaluated.folder / paths.PREDICTIONS / evaluated.card.name / system.system
        for batch in tables.batches(source, contracts.PREDICTIONS, _COLUMNS):
            for row in batch.to_pylist():
                if (key := (row["task_id"], row["id"])) in keys:
                    # Equal prompts, of which only the ends are shown, are held once.
                    prompt = prompts.setdefault(row["prompt_sha256"], without_middle(row["prompt"], _PROMPT))
                    self._rows[key] = row | {"prompt": prompt}
        self._scores = scores or SystemScores(system.system, [], {})
        self._places = {key.instance: place for place, key in enumerate(self._scores.keys)}
        self._metrics = [
            metric for metric in evaluated.card.metrics
            if len(metric.parts) == 1 and metric.parts[0] in self._scores.parts
        ]  # fmt: skip
        self._passages = _passages(evidence(system), keys)

    def answer(self, key: Key, limit: int) -> dict[str, Any]:
        """Return what is shown of the answer to a question: at most `limit` of a ranked list."""
        row = self._rows.get(key)
        scores = self._scored(key)
        parts = {metric.parts[0]: value for metric, value in scores}
        answers = row["answers"] if row else []
        score_texts = [
            [numbers.heading(metric), numbers.value(metric, metric.scale * value)]
            for metric, value in scores[:HEADLINE]
        ]
        form = self._card.form_metric
        if form in parts:
            score_texts.append(["form", "as asked" if parts[form] == 1 else "other"])
        right = parts.get(self._card.right)
        return {
            "verdict": "x" if row is None else "-" if right is None else "1" if right == 1 else "0",
            "scores": score_texts,
            "answers": [_text(it) for it in answers[:limit]],
            "more": max(0, len(answers) - limit) if limit > 1 else 0,
            "calls": [
                [it["tool"], _text(it["input"]), it["result"] and _text(it["result"])]
                for it in (row["calls"] if row else ())
            ],
            "passages": [_text(it) for it in self._passages.get(key, ())],
            "prompt": _text(row["prompt"], 2 * _PROMPT) if row else "",
            "tokens": [row["prompt_tokens"], row["new_tokens"]] if row else [0, 0],
        }

    def _scored(self, key: Key) -> list[tuple[Metric, float]]:
        """The metrics that the question has, with their values."""
        if (place := self._places.get(key)) is None:
            return []
        values = ((metric, float(self._scores.parts[metric.parts[0]][place])) for metric in self._metrics)
        return [(metric, value) for metric, value in values if not math.isnan(value)]


def _shared(answers: list[dict[str, Any]], name: str) -> list[tuple[Any, list[int]]]:
    """The different values of `name`, which is taken out of the answers, each with the places of its systems."""
    value_places: list[tuple[Any, list[int]]] = []
    for place, answer in enumerate(answers):
        if value := answer.pop(name):
            places = next((places for value_seen, places in value_places if value_seen == value), None)
            if places is None:
                value_places.append((value, places := []))
            places.append(place)
    return value_places


def evidence(system: System) -> Path | None:
    """The artifact with the passages of a system; None for a system without evidence, or if it is not there."""
    names = (contracts.EVIDENCE.name, contracts.RANKINGS.name)
    path = system.evidence
    return path if path and any((path / name).is_dir() for name in names) else None


def _passages(artifact: Path | None, keys: Collection[Key]) -> dict[Key, list[str]]:
    """The first passages of each question."""
    if artifact is None:
        return {}
    question_passages: dict[Key, list[str]] = {}
    if (artifact / contracts.EVIDENCE.name).is_dir():
        where = (pc.field("split") == "test") & (pc.field("rank") <= PASSAGES)
        columns = ["task_id", "id", "rank", "title", "text"]
        rows = tables.read(artifact, contracts.EVIDENCE, columns, where).to_pylist()
        for row in sorted(rows, key=lambda row: row["rank"]):
            question_passages.setdefault((row["task_id"], row["id"]), []).append(_passage(row))
        return question_passages
    rankings = read_rankings(artifact, "test")
    ranked = {key: rankings[key][0][:PASSAGES].tolist() for key in keys if key in rankings}
    needed = tables.among(
        contracts.PASSAGES,
        "passage",
        (number for passage_numbers in ranked.values() for number in passage_numbers),
    )
    rows = tables.read(paths.INDEX, contracts.PASSAGES, ["passage", "title", "text"], needed).to_pylist()
    texts = {row["passage"]: _passage(row) for row in rows}
    return {key: [texts[number] for number in passage_numbers] for key, passage_numbers in ranked.items()}


def _passage(row: Mapping[str, Any]) -> str:
    return cut(f"{row['title']}: {row['text']}" if row["title"] else row["text"], _PASSAGE)


def without_middle(text: str, limit: int) -> str:
    """The text with its line ends; of a longer one the beginning and the end, `limit` characters together."""
    if len(text) <= limit:
        return text
    missing = len(text) - limit
    return f"{text[: limit // 2]}\n[… {missing:,} characters are left out …]\n{text[-(limit - limit // 2) :]}"


def _text(text: str, limit: int = _TEXT) -> str:
    """A text with its line ends, in which characters that turn or hide others are written as escapes."""
    return printable(without_middle(text, limit), keep="\n\t")


def _short(text: str, limit: int = _SHORT) -> str:
    """A text on one line."""
    return printable(cut(text, limit))


def script(name: str, value: Any) -> str:
    """A script that sets `name`. JSON is JavaScript, and no text in it can end a script or a string."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"{name} = {text.replace('<', chr(92) + 'u003c')};\n"
