"""The tool calls that a benchmark's systems made in their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Card
from stages.report import numbers
from stages.report.benchmark.answers import Answers, cut, first, is_right

# Calls of a system that are shown, at most.
MOST = 12


def context(card: Card, found: Answers, may_call: Mapping[str, bool]) -> dict[str, Any]:
    """A line a system with its counts, and some calls of each: those with a result first.

    `may_call` says of each system whether its decoding calls tools.
    """
    lines = [_line(card, found, system, may_call[system]) for system in found.given]
    shown = [call for system in found.given for call in _calls(card, found, system)[:MOST]]
    total = sum(line["calls"] for line in lines)
    return {
        "judged": bool(card.right),
        "lines": lines,
        "shown": shown,
        "none": _sentence(lines),
        "extent": "All" if len(shown) == total else f"{numbers.count(len(shown))} of {numbers.count(total)}",
    }


def _line(card: Card, found: Answers, system: str, may_call: bool) -> dict[str, Any]:
    answers = found.called[system]
    calls = [call for row in answers for call in row["calls"]]
    tools = sorted({call["tool"] for call in calls})
    return {
        "system": system,
        "may_call": "yes" if may_call else "no",
        "answers": found.counts[system],
        "calls": len(calls),
        "answers_with_calls": len(answers),
        "with_result": sum(call["result"] is not None for call in calls),
        "right": sum(_right(card, found, system, row) == "right" for row in answers),
        "by_tool": ", ".join(f"{tool} {sum(call['tool'] == tool for call in calls):,}" for tool in tools),
    }


def _calls(card: Card, found: Answers, system: str) -> list[dict[str, Any]]:
    calls = [(row, call) for row in found.called[system] for call in row["calls"]]
    calls.sort(key=lambda pair: pair[1]["result"] is None)
    return [
        {
            "system": system,
            "id": row["id"],
            "call": f"{call['tool']}({cut(call['input'])})",
            "result": "no result" if call["result"] is None else cut(call["result"]),
            "answer": cut(first(row["answers"])),
            "right": _right(card, found, system, row),
        }
        for row, call in calls
    ]


def _right(card: Card, found: Answers, system: str, row: Mapping[str, Any]) -> str:
    return is_right(card, found.scores.get((system, row["task_id"], row["id"]), {}))


def _sentence(lines: Sequence[Mapping[str, Any]]) -> str:
    """A sentence for the case that no call was made, or none had a result; else empty."""
    if not any(line["calls"] for line in lines):
        return "No system called a tool."
    if not any(line["with_result"] for line in lines):
        return "No call gave a result, so no score comes from a tool."
    return ""
