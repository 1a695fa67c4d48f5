"""PGRA's tasks in the report: how many passages have their question's label, who answers right with them, and cases."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.sections import (
    Cell,
    Evaluated,
    PlotAxis,
    PlotPoint,
    Points,
    ReportRow,
    ReportTable,
    Section,
    TableRow,
    cut,
    initial,
    numbered,
    texts,
)
from nightjar.core import contracts, paths, tables
from nightjar.core.display import number
from nightjar.search.rankings import Passages, read_rankings
from nightjar.statistics import Bootstrap, percent, too_few

if TYPE_CHECKING:
    from nightjar.search.rankings import Passages, Ranking

# The folders of the stages that rank passages, and what the report calls their rankings.
STAGES = {"retrieve": (paths.RETRIEVED, "first stage"), "rerank": (paths.RERANKED, "reranked")}
# Points of a line in the drawing, at most, beside the one of no consistent passage.
POINTS = 8
# Questions of a task, and passages of a ranking, that are shown as cases; characters of a question and of a passage.
CASES, PASSAGES = 2, 5
_QUESTION, _PASSAGE = 280, 140

# A question is identified by its task and id.
Key = tuple[str, str]


@dataclass(frozen=True)
class Ranked:
    """The rankings by stage and question, and their labels; `depth` passages of each have one.

    `rows` are of contracts.CONSISTENCY. `readers` are the systems that read the passages of a stage, in the order of
    the parameters, `right` whether a system answered a question right, and `answers` what it answered.
    """

    depth: int
    rows: Sequence[Mapping[str, Any]]
    rankings: Mapping[str, Mapping[Key, Ranking]]
    passages: Passages
    readers: Mapping[str, Sequence[str]]
    right: Mapping[str, Mapping[Key, bool]]
    answers: Mapping[str, Mapping[Key, str]]


def ranked(evaluated: Evaluated) -> Ranked | None:
    """The rankings of the benchmark; None if the parameters have no consistency for it."""
    params, card = evaluated.params, evaluated.card
    if card.name not in params.consistency.benchmarks:
        return None
    folders = {stage: path / card.name for stage, (path, _) in STAGES.items()}
    systems = [one for one in params.predict.systems.values() if one.benchmark == card.name]
    readers = {
        stage: [one.system for one in systems if one.evidence == path] for stage, path in folders.items()
    }
    for path in (*folders.values(), paths.CONSISTENCY / card.name, paths.INDEX):
        evaluated.reads(path)
    scores = {one.system: one for one in evaluated.scores}
    right, answers = {}, {}
    for system in (system for stage_systems in readers.values() for system in stage_systems):
        keys = [key.instance for key in scores[system].keys]
        values = scores[system].parts[card.right].tolist()
        right[system] = {key: value == 1 for key, value in zip(keys, values, strict=True)}
        rows = evaluated.predictions(system, ["task_id", "id", "answers"])
        answers[system] = {(row["task_id"], row["id"]): next(iter(row["answers"]), "") for row in rows}
    return Ranked(
        params.consistency.passages,
        tables.read_rows(paths.CONSISTENCY / card.name, contracts.CONSISTENCY),
        {stage: read_rankings(path, "test") for stage, path in folders.items()},
        Passages(paths.INDEX),
        readers,
        right,
        answers,
    )


def sections(evaluated: Evaluated) -> list[Section]:
    """Label consistency and cases; none without rankings."""
    retrieval = ranked(evaluated)
    if retrieval is None:
        return []
    return [
        *([consistency(evaluated.card, retrieval)] if retrieval.rows else []),
        cases(evaluated, retrieval),
    ]


def consistency(card: Benchmark, retrieval: Ranked) -> Section:
    """Label consistency (Guo et al. 2023): the shares of passages, and right answers by them."""
    lines = [
        (system, stage, points(retrieval, stage, system))
        for stage, systems in retrieval.readers.items()
        for system in systems
    ]
    values = {
        "depth": retrieval.depth,
        "shares": shares(card, retrieval),
        "plot": _plot(card, [(system, system_points) for system, _, system_points in lines]),
        "rows": [
            (system, STAGES[stage][1], f"{100 * it.share:.0f}", it.n, number(it.right, 1), it.interval)
            for system, stage, system_points in lines
            for it in system_points
        ],
    }
    return Section(
        "consistency", "Label consistency", Path(__file__).with_name("consistency.html.j2"), values
    )


@dataclass(frozen=True)
class Share:
    """Questions with about the same share of consistent passages, and how many of them were answered right.

    `share` is the greatest that belongs here (0 to 1). Numbers in percent; the ends of the interval are None for too
    few questions.
    """

    share: float
    n: int
    right: float
    low: float | None
    high: float | None

    @property
    def interval(self) -> str:
        """The interval, or why there is none."""
        if self.low is None or self.high is None:
            return too_few(self.n)
        return f"[{number(self.low, 1)}, {number(self.high, 1)}]"


def points(retrieval: Ranked, stage: str, system: str) -> list[Share]:
    """The questions of all tasks by the share of consistent passages among those that `system` read, the least first.

    Of at most POINTS equal steps, a share belongs to the one that ends with it or after it; 0 has a point of its own.
    """
    steps = min(retrieval.depth, POINTS)
    bins: dict[int, list[float]] = {}
    for row in retrieval.rows:
        right = retrieval.right[system].get((row["task_id"], row["id"]))
        if row["ranking"] == stage and right is not None:
            bins.setdefault(ceil(round(steps * row["consistent"], 9)), []).append(float(right))
    result = []
    for step, values in sorted(bins.items()):
        low, high = Bootstrap().percent_interval(np.array(values))
        result.append(Share(step / steps, len(values), percent(values), low, high))
    return result


def shares(card: Benchmark, retrieval: Ranked) -> ReportTable:
    """The mean share in percent by track, beside the published ones, in the layout of the paper's tables."""
    by: dict[tuple[str, str], list[float]] = {}
    for row in retrieval.rows:
        by.setdefault((row["ranking"], row["task_id"]), []).append(row["consistent"])
    tasks = [task for task in card.tracks if any(name == task for _, name in by)]
    tasks += sorted({name for _, name in by} - set(tasks))

    def cell(value: float | None) -> str | None:
        return None if value is None else number(value, 1)

    rows: list[TableRow] = [
        ReportRow((f"reranked by {model}", *(cell(values.get(task)) for task in tasks)), published=True)
        for model, values in card.papers.numbers.get("consistency", {}).items()
    ]
    for stage, (_, title) in STAGES.items():
        means = (
            100 * sum(values) / len(values) if (values := by.get((stage, task))) else None for task in tasks
        )
        rows.append((title, *map(cell, means)))
    counts = (len(by.get(("retrieve", task), by.get(("rerank", task), []))) for task in tasks)
    titles = (initial(card.track_title(task)) for task in tasks)
    heads = (f"{title}, n = {n:,}" for title, n in zip(titles, counts, strict=True))
    return ReportTable(texts("ranking") + numbered(*heads), rows)


def _plot(card: Benchmark, lines: Sequence[tuple[str, Sequence[Share]]]) -> Points:
    """Right answers by the share of consistent passages, a line a system."""
    return Points(
        f"consistency-{card.name}",
        "Right answers by the share of passages with the label of the question",
        PlotAxis("passages with the label of the question (%)", 0, 100),
        PlotAxis("right answers (%)", 0, 100),
        {
            system: [
                PlotPoint(
                    100 * it.share,
                    it.right,
                    f"{system}: {number(it.right, 1)}% of {it.n} questions, {100 * it.share:.0f}% consistent",
                    it.low,
                    it.high,
                )
                for it in system_points
            ]
            for system, system_points in lines
        },
        ("system", "consistent (%)", "n", "right (%)", "low", "high"),
        [
            (system, 100 * it.share, it.n, it.right, it.low, it.high)
            for system, system_points in lines
            for it in system_points
        ],
        joined=True,
    )


def cases(evaluated: Evaluated, retrieval: Ranked) -> Section:
    """The passages of a few questions before and after reranking (the paper's table 3); a block a task."""
    systems = compared(retrieval)
    chosen = choose(retrieval, systems, evaluated.params.seed)
    by_key = {one.key: one for one in evaluated.questions}
    listed = list(evaluated.card.tracks)
    tasks = sorted(chosen, key=lambda task: (listed.index(task) if task in listed else len(listed), task))
    values = {
        "passages": PASSAGES,
        "tasks": [
            (
                initial(evaluated.card.task(task).title or task),
                [case(evaluated.card, retrieval, by_key[key], systems) for key in chosen[task]],
            )
            for task in tasks
        ],
    }
    return Section(
        "cases", "Passages before and after reranking", Path(__file__).with_name("cases.html.j2"), values
    )


def compared(retrieval: Ranked) -> list[str]:
    """The last system that reads the first stage's passages and the first that reads reranked ones, if any."""
    return [*retrieval.readers["retrieve"][-1:], *retrieval.readers["rerank"][:1]]


def choose(retrieval: Ranked, systems: Sequence[str], seed: int) -> dict[str, list[Key]]:
    """At most CASES questions of each task with both rankings.

    One that reranking turns from wrong to right comes first, then one that it turns from right to wrong; others fill
    the rest. Of equal candidates the seed decides.
    """

    def order(key: Key) -> str:
        return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()

    by_task: dict[str, list[Key]] = {}
    for key in sorted(
        set.intersection(*(set(ranking) for ranking in retrieval.rankings.values())), key=order
    ):
        by_task.setdefault(key[0], []).append(key)
    chosen = {}
    for task, keys in by_task.items():
        turns = {key: _turn(retrieval, systems, key) for key in keys}
        first = [next((key for key in keys if turns[key] == turn), None) for turn in (1, -1)]
        ordered = [*(key for key in first if key), *sorted(keys, key=lambda key: -abs(turns[key]))]
        chosen[task] = list(dict.fromkeys(ordered))[:CASES]
    return chosen


def _turn(retrieval: Ranked, systems: Sequence[str], key: Key) -> int:
    """1 from wrong to right, -1 from right to wrong, else 0."""
    if len(systems) < 2:
        return 0
    before, after = (retrieval.right[system].get(key, False) for system in systems)
    return int(after) - int(before)


def case(card: Benchmark, retrieval: Ranked, question: Question, systems: Sequence[str]) -> dict[str, Any]:
    """The first passages of both rankings of a question, with their labels where a reader gave them one."""
    key, gold = question.key, question.references[0]
    labelled = {row["ranking"]: row for row in retrieval.rows if (row["task_id"], row["id"]) == key}
    before = {number: rank for rank, number in enumerate(retrieval.rankings["retrieve"][key][0].tolist(), 1)}
    sides = [_passages(retrieval, stage, key, gold, labelled.get(stage)) for stage in STAGES]
    rows: list[TableRow] = []
    for rank, (first, second) in enumerate(zip_longest(*sides), 1):
        first_cells = (None, None, None) if first is None else first[1:]
        second_cells = (None,) * 4 if second is None else (second[1], before.get(second[0]), *second[2:])
        rows.append((rank, *first_cells, *second_cells))
    return {
        "id": question.id,
        "question": cut(card.query(question.parts), _QUESTION),
        "label": gold,
        "answers": [
            (system, cut(retrieval.answers[system].get(key, "")), retrieval.right[system].get(key))
            for system in systems
        ],
        "consistent": {
            title: f"{100 * labelled[stage]['consistent']:.0f}%"
            for stage, (_, title) in STAGES.items()
            if stage in labelled
        },
        "rows": rows,
    }


def _passages(
    retrieval: Ranked, stage: str, key: Key, gold: str, labelled: Mapping[str, Any] | None
) -> list[tuple[int, Cell, Cell, Cell]]:
    """The number of each passage, and its cells: text, score and label."""
    numbered, scored = retrieval.rankings[stage][key]
    numbers, scores = numbered[:PASSAGES], scored[:PASSAGES]
    of = dict(zip(labelled["passages"], labelled["labels"], strict=True)) if labelled else {}
    texts = retrieval.passages.texts(numbers)
    return [
        (
            number,
            cut(text, _PASSAGE),
            f"{score:.3f}",
            f"{'✓' if of[number] == gold else '✗'} {of[number]}" if number in of else None,
        )
        for number, score, text in zip(numbers.tolist(), scores.tolist(), texts, strict=True)
    ]
