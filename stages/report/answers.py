"""Answers of the systems at test time: some right and wrong ones of every category, and the tool calls in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.core import contracts, tables
from nightjar.core.params import Params, Recipe
from stages.report.results import TRACK_NAMES

# Instances of a category that are shown, and calls of a system.
MOST = 4
MOST_CALLS = 12
# Characters of a text that are shown.
_INPUT, _ANSWER = 280, 160
_REFERENCES = 3
_COLUMNS = ["task_id", "id", "prediction", "calls"]

# An instance is known by its task and id.
Key = tuple[str, str]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Answers:
    """What the section shows: the chosen instances by track and category, in order, and what the systems made of them.

    `scores` and `given` are by system and instance; `tests` holds the rows of contracts.TEST of the chosen instances.
    `called` holds, by system, the predictions with a call, in a fixed order; `counts` the number of answers.
    """

    chosen: Mapping[tuple[str, str], Sequence[Key]]
    scores: Mapping[str, Mapping[Key, Mapping[str, Any]]]
    given: Mapping[str, Mapping[Key, Mapping[str, Any]]]
    tests: Mapping[Key, Mapping[str, Any]]
    called: Mapping[str, Rows]
    counts: Mapping[str, int]


def read(predicted: Path, scored: Path, split: Path, seed: int, benchmark: str = "supernatinst") -> Answers:
    """The answers of all systems with predictions in the folder `predicted`.

    Raises NightjarError if a table is not there.
    """
    rows = tables.read_rows(scored, contracts.INSTANCE_SCORES)
    systems = [
        system
        for system in dict.fromkeys(row["system"] for row in rows)
        if (predicted / f"{benchmark}-{system}").is_dir()
    ]
    chosen = choose(rows, systems, seed)
    wanted = {key for keys in chosen.values() for key in keys}
    given, called, counts = {}, {}, {}
    for system in systems:
        found = tables.read_rows(predicted / f"{benchmark}-{system}", contracts.PREDICTIONS, _COLUMNS)
        given[system] = {_key(row): row for row in found if _key(row) in wanted}
        called[system] = sorted(
            (row for row in found if row["calls"]), key=lambda row: _order(_key(row), seed)
        )
        counts[system] = len(found)
    shown = wanted | {_key(row) for some in called.values() for row in some}
    scores: dict[str, dict[Key, Mapping[str, Any]]] = {system: {} for system in systems}
    for row in rows:
        if row["system"] in scores and _key(row) in shown:
            scores[row["system"]][_key(row)] = row
    tests: dict[Key, Mapping[str, Any]] = {}
    if ids := sorted({id for _, id in wanted}):
        columns = ["task_id", "id", "input", "outputs"]
        rows = tables.read(split, contracts.TEST, columns, pc.field("id").isin(ids)).to_pylist()
        tests = {_key(row): row for row in rows}
    return Answers(chosen, scores, given, tests, called, counts)


def choose(rows: Rows, systems: Sequence[str], seed: int) -> dict[tuple[str, str], list[Key]]:
    """By track and category at most MOST instances, so that each system has a right and a wrong answer among them.

    `rows` are of contracts.INSTANCE_SCORES; right is an exact match. One after the other, the instance is taken that
    shows most of what is still missing (a system right, a system wrong); of equal ones the first in an order that the
    seed draws. Nothing is chosen by hand, and the order of `rows` does not matter.
    """
    shows: dict[tuple[str, str], dict[Key, set[tuple[str, bool]]]] = {}
    for row in rows:
        if row["system"] in systems:
            instances = shows.setdefault((row["track"], row["category"]), {})
            instances.setdefault(_key(row), set()).add((row["system"], row["exact_match"] == 1))
    chosen = {}
    for category in sorted(shows):
        instances = shows[category]
        order = sorted(instances, key=lambda key: _order(key, seed))
        missing = set().union(*instances.values())
        taken: list[Key] = []
        while missing and len(taken) < MOST:
            best = max(order, key=lambda key: len(instances[key] & missing))  # the first of equal ones
            taken.append(best)
            missing -= instances[best]
        chosen[category] = taken
    return chosen


def context(found: Answers | None, params: Params, systems: Sequence[str]) -> dict[str, Any]:
    """What the templates show: `answers`, a block a track and category, and `test_calls`; None without answers."""
    if found is None or not found.given:
        return {"answers": None, "test_calls": None}
    names = [system for system in systems if system in found.given]
    return {
        "answers": [
            {
                "title": category.replace("_", " ").capitalize(),
                "track": TRACK_NAMES.get(track, track),
                "examples": [_example(key, found, names) for key in keys],
            }
            for (track, category), keys in found.chosen.items()
        ],
        "answers_most": MOST,
        "test_calls": _calls(found, params, names),
    }


def _example(key: Key, found: Answers, systems: Iterable[str]) -> dict[str, Any]:
    test = found.tests.get(key) or {"input": "", "outputs": []}
    more = len(test["outputs"]) - _REFERENCES
    return {
        "task": key[0],
        "id": key[1],
        "input": cut(test["input"], _INPUT),
        "references": [cut(text) for text in test["outputs"][:_REFERENCES]]
        + ([f"{more} more"] if more > 0 else []),
        "answers": [
            {
                "system": system,
                "text": cut(found.given[system].get(key, {}).get("prediction", "")),
                "right": bool(score["exact_match"]),
                "rougeL": 100 * score["rougeL"],
                "calls": score["calls"],
            }
            for system in systems
            if (score := found.scores[system].get(key)) is not None
        ],
    }


def _calls(found: Answers, params: Params, systems: Sequence[str]) -> dict[str, Any]:
    """A line a system with its counts, and some calls of each: those with a result first."""
    lines, shown = [], []
    total = with_result = 0
    for system in systems:
        calls = [(row, call) for row in found.called[system] for call in row["calls"]]
        results = sum(call["result"] is not None for _, call in calls)
        tools = sorted({call["tool"] for _, call in calls})
        by_tool = [f"{tool} {sum(call['tool'] == tool for _, call in calls):,}" for tool in tools]
        right = sum(bool(found.scores[system][_key(row)]["exact_match"]) for row in found.called[system]
                    if _key(row) in found.scores[system])  # fmt: skip
        lines.append(
            {
                "system": system,
                "may_call": "yes" if _may_call(system, params) else "no",
                "answers": found.counts[system],
                "calls": len(calls),
                "answers_with_calls": len(found.called[system]),
                "with_result": results,
                "right": right,
                "by_tool": ", ".join(by_tool),
            }
        )
        total, with_result = total + len(calls), with_result + results
        calls.sort(key=lambda pair: pair[1]["result"] is None)
        for row, call in calls[:MOST_CALLS]:
            score = found.scores[system].get(_key(row))
            shown.append(
                {
                    "system": system,
                    "id": row["id"],
                    "call": f"{call['tool']}({cut(call['input'])})",
                    "result": "no result" if call["result"] is None else cut(call["result"]),
                    "answer": cut(row["prediction"]),
                    "right": score is not None and bool(score["exact_match"]),
                }
            )
    return {"lines": lines, "shown": shown, "total": total, "with_result": with_result}


def _may_call(system: str, params: Params) -> bool:
    recipe = getattr(params.train, system, None)
    settings = params.predict.supernatinst
    return isinstance(recipe, Recipe) and bool(recipe.calls and settings.call_top_k and settings.max_calls)


def cut(text: str, most: int = _ANSWER) -> str:
    """The text on one line, at most `most` characters of it, cut between words where there is a blank."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    start = text[:most]
    return (start.rpartition(" ")[0] or start) + " …"


def _key(row: Mapping[str, Any]) -> Key:
    return row["task_id"], row["id"]


def _order(key: Key, seed: int) -> str:
    return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()
