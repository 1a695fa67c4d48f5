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
from stages.report.read.results import HEADLINE

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


def context(found: Evaluated, most: int = INSTANCES) -> dict[str, Any]:
    """What the template shows beside the list of at most `most` instances."""
    return {
        "name": found.card.name,
        "benchmark": found.card.title,
        "total": len(found.questions),
        "shown": min(len(found.questions), most),
        "searched": SEARCHED,
    }


def files(found: Evaluated, named: Mapping[str, Mapping[str, str]], most: int = INSTANCES) -> dict[str, str]:
    """The list of at most `most` instances, and these; `named` are the systems, as `Site` has them.

    Raises NightjarError if a table is missing.
    """
    card = found.card
    chosen = drawn(found.questions, most, found.params.seed, attrgetter("key"))
    scores = {one.system: one for one in found.scores}
    keys = {question.key for question in chosen}
    listed = [found.params.predict.systems[f"{card.name}-{name}"] for name in found.systems]
    systems = [_System(found, one, scores.get(one.system), keys) for one in listed]
    clusters = Clusters.read(found)
    tasks = {task: place for place, task in enumerate(dict.fromkeys(one.task_id for one in chosen))}
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
                "".join(one["verdict"] for one in answers),
                [one["scores"][0][1] if one["scores"] else "" for one in answers],
                [len(one["calls"]) for one in answers],
                [_short(" | ".join(one["answers"])) for one in answers],
            ]
        )
        prompts, passages = (_shared(answers, name) for name in ("prompt", "passages"))
        texts.append(
            {
                "prompts": prompts,
                "passages": passages,
                "input": _text(text),
                "references": [_text(it) for it in references],
                "more": len(question.references) - len(references),
                "systems": answers,
                **(clusters.of(question) if clusters else {}),
            }
        )
    whole = {
        "benchmark": card.name,
        "judged": bool(card.right),
        "systems": list(found.systems),
        "named": [[(it := named[name])["role"], ROLES[it["role"]][1], it["text"]] for name in found.systems],
        "similarities": clusters.titles if clusters else [],
        "tasks": [[printable(task), card.task(task).title or printable(task)] for task in tasks],
        "chunk": CHUNK,
        "rows": rows,
        "texts": [],
    }
    folder = f"instances/{card.name}"
    parts = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
    made = {f"{folder}/list.js": script("window.nightjar", whole)}
    return made | {
        f"{folder}/{place}.js": script(f"window.nightjar.texts[{place}]", part)
        for place, part in enumerate(parts)
    }


class _System:
    """The answers of a system to these questions, their scores and passages."""

    def __init__(
        self, found: Evaluated, system: System, scores: SystemScores | None, keys: Collection[Key]
    ) -> None:
        self._card = found.card
        self._rows: dict[Key, dict[str, Any]] = {}
        prompts: dict[str, str] = {}
        source = found.folder / paths.PREDICTIONS / found.card.name / system.system
        for batch in tables.batches(source, contracts.PREDICTIONS, _COLUMNS):
            for row in batch.to_pylist():
                if (key := (row["task_id"], row["id"])) in keys:
                    # Equal prompts, of which only the ends are shown, are held once.
                    prompt = prompts.setdefault(row["prompt_sha256"], shortened(row["prompt"], _PROMPT))
                    self._rows[key] = row | {"prompt": prompt}
        self._scores = scores or SystemScores(system.system, [], {})
        self._places = {key.instance: place for place, key in enumerate(self._scores.keys)}
        self._metrics = [
            metric for metric in found.card.metrics
            if len(metric.parts) == 1 and metric.parts[0] in self._scores.parts
        ]  # fmt: skip
        self._passages = _passages(evidence(system), keys)

    def answer(self, key: Key, most: int) -> dict[str, Any]:
        """What is shown of the answer to a question: at most `most` of a ranked list."""
        row = self._rows.get(key)
        scores = self._scored(key)
        parts = {metric.parts[0]: value for metric, value in scores}
        answers = row["answers"] if row else []
        shown = [
            [numbers.heading(metric), numbers.value(metric, metric.scale * value)]
            for metric, value in scores[:HEADLINE]
        ]
        form = self._card.form_metric
        if form in parts:
            shown.append(["form", "as asked" if parts[form] == 1 else "other"])
        right = parts.get(self._card.right)
        return {
            "verdict": "x" if row is None else "-" if right is None else "1" if right == 1 else "0",
            "scores": shown,
            "answers": [_text(it) for it in answers[:most]],
            "more": max(0, len(answers) - most) if most > 1 else 0,
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
    found: list[tuple[Any, list[int]]] = []
    for place, answer in enumerate(answers):
        if value := answer.pop(name):
            places = next((places for known, places in found if known == value), None)
            if places is None:
                found.append((value, places := []))
            places.append(place)
    return found


def evidence(system: System) -> Path | None:
    """The artifact with the passages of a system; None for a system without evidence, or if it is not there."""
    names = (contracts.EVIDENCE.name, contracts.RANKINGS.name)
    path = system.evidence
    return path if path and any((path / name).is_dir() for name in names) else None


def _passages(artifact: Path | None, keys: Collection[Key]) -> dict[Key, list[str]]:
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


def shortened(text: str, most: int) -> str:
    """The text with its line ends; of a longer one the beginning and the end, `most` characters together."""
    if len(text) <= most:
        return text
    left = len(text) - most
    return f"{text[: most // 2]}\n[… {left:,} characters are left out …]\n{text[-(most - most // 2) :]}"


def _text(text: str, most: int = _TEXT) -> str:
    """A text with its line ends, in which characters that turn or hide others are written as escapes."""
    return printable(shortened(text, most), keep="\n\t")


def _short(text: str, most: int = _SHORT) -> str:
    """A text on one line."""
    return printable(cut(text, most))


def script(name: str, value: Any) -> str:
    """A script that sets `name`. JSON is JavaScript, and no text in it can end a script or a string."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"{name} = {text.replace('<', chr(92) + 'u003c')};\n"
