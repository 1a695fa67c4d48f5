"""Lengths of prompts and answers, how much of prompts was trimmed, and how often answers had the form asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from nightjar.benchmarks.capabilities import Form
from nightjar.benchmarks.card import Card
from nightjar.benchmarks.question import questions_of
from nightjar.core import contracts, tables
from nightjar.statistics import too_few
from stages.report import numbers
from stages.report.plots import drawings
from stages.report.read.results import Results, Row

# A system and a track.
Of = tuple[str, str]


@dataclass(frozen=True)
class Prompts:
    """The prompts of a system's questions of one track: their tokens, and the part that was cut of each, from 0 to 1.

    A prompt that was not trimmed has no part in `cut`.
    """

    tokens: Sequence[int]
    cut: Sequence[float]


@dataclass(frozen=True)
class Forms:
    """The prompts, and the mean words of answers and references."""

    prompts: Mapping[Of, Prompts]
    words: Mapping[Of, tuple[float, float]]


def read(card: Card, systems: Sequence[str], predicted: Path, scored: Path, asked: Path) -> Forms | None:
    """From artifacts of the stages predict (a folder of systems), evaluate and questions; None for a card without form.

    Answers from a file have no prompts. Raises NightjarError if a table is missing.
    """
    if (form := card.capability(Form)) is None:
        return None
    whole = {one.key: form.whole(one) for one in questions_of(tables.read_rows(asked, contracts.QUESTIONS))}
    found: dict[Of, tuple[list[int], list[float]]] = {}
    for system in systems:
        columns = ["task_id", "id", "track", "prompt", "prompt_tokens"]
        for row in tables.read_rows(predicted / system, contracts.PREDICTIONS, columns):
            if not row["prompt"]:
                continue
            tokens, cut = found.setdefault((system, row["track"]), ([], []))
            tokens.append(row["prompt_tokens"])
            full = whole[row["task_id"], row["id"]]
            if row["prompt"] != full:
                cut.append(_cut(full, row["prompt"]))
    prompts = {of: Prompts(tokens, cut) for of, (tokens, cut) in found.items()}
    return Forms(prompts, _words(scored, card.metric(form.length).parts))


def _cut(whole: str, prompt: str) -> float:
    """The part of the words that the prompt has not; those of an omission message count as its own."""
    return max(0.0, 1 - len(prompt.split()) / max(1, len(whole.split())))


def _words(scored: Path, parts: Sequence[str]) -> dict[Of, tuple[float, float]]:
    values: dict[tuple[Of, str], list[float]] = {}
    columns = ["system", "track", "metric", "value"]
    for row in tables.read_rows(scored, contracts.INSTANCE_SCORES, columns):
        if row["metric"] in parts:
            values.setdefault(((row["system"], row["track"]), row["metric"]), []).append(row["value"])
    ours, theirs = parts
    return {of: (fmean(values[of, ours]), fmean(values[of, theirs])) for of, part in values if part == ours}


def context(card: Card, forms: Forms, found: Results, order: Mapping[str, int]) -> dict[str, Any] | None:
    """What the templates show: a row for each track and system; None if no track has the metrics of the form."""
    if (form := card.capability(Form)) is None:
        return None
    rows: list[dict[str, Any]] = []
    lengths = []
    for track in found.tracks:
        metrics = {row.metric.name: row for row in found.overall(track)}
        if form.asked not in metrics:
            continue
        title, main = numbers.initial(card.track_title(track)), found.overall(track)[0]
        lengths.append((title, f"n = {main.n}", metrics[form.length].metric, metrics[form.length].lanes))
        for at, system in enumerate(one for one in found.systems if one in main.lanes):
            (n,) = found.n(track, system, [form.asked])
            ours, theirs = forms.words.get((system, track), (0.0, 0.0))
            rows.append(
                {
                    "track": title,
                    "first": at == 0,
                    "system": system,
                    "n": numbers.count(n),
                    "few": too_few(n) if main.lanes[system].low is None else "",
                    "prompts": _prompts(forms.prompts.get((system, track))),
                    "words": f"{ours:,.1f}",
                    "reference_words": f"{theirs:,.1f}",
                    "length": _cell(metrics[form.length], system),
                    "asked": _cell(metrics[form.asked], system),
                    "metric": main.metric.title,
                    "score": _cell(main, system),
                    "forgiving": _cell(metrics.get(form.forgiving), system),
                }
            )
    if not rows:
        return None
    label = f"{card.metric(form.length).title}, {card.title}"
    plot = drawings.scores(f"lengths-{card.name}", lengths, found.systems, order, label)
    return {
        "rows": rows,
        "plot": plot,
        "length": card.metric(form.length).title,
    }


def _prompts(some: Prompts | None) -> dict[str, str]:
    """Mean and most tokens, how many prompts were trimmed, and the mean and largest part that was cut, in percent."""
    if some is None:
        return dict.fromkeys(("tokens", "most", "trimmed", "cut", "most_cut"), "–")
    cut = [100 * part for part in some.cut]
    return {
        "tokens": f"{fmean(some.tokens):,.0f}",
        "most": numbers.count(max(some.tokens)),
        "trimmed": f"{numbers.count(len(cut))} of {numbers.count(len(some.tokens))}",
        "cut": f"{fmean(cut):.1f}" if cut else "–",
        "most_cut": f"{max(cut):.1f}" if cut else "–",
    }


def _cell(row: Row | None, system: str) -> dict[str, str]:
    lane = row.lanes.get(system) if row else None
    if row is None or lane is None:
        return {"value": "–", "interval": ""}
    ends = "" if lane.low is None else numbers.interval(row.metric, lane.low, lane.high, row.n)
    return {"value": numbers.value(row.metric, lane.value), "interval": ends}
