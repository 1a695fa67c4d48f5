"""ZeroSCROLLS in the report: lengths of prompts and answers, what was trimmed, and how often answers have the form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import (
    Cell,
    Evaluated,
    Interval,
    Intervals,
    Noted,
    ReportRow,
    Section,
    TableRow,
    Value,
    initial,
)
from nightjar.benchmarks.zeroscrolls.questions import untrimmed
from nightjar.statistics import too_few

# Metrics: words of an answer to those of its references, and shares of answers in the form.
ASKED, FORGIVING, LENGTH = "asked_form", "forgiving", "length"


def sections(evaluated: Evaluated) -> list[Section]:
    """Lengths and form, a row for each track and system; none if no track has the metrics of the form."""
    prompts = _prompts(evaluated)
    scores = {one.system: one for one in evaluated.scores}
    card = evaluated.card
    lengths: list[TableRow] = []
    forms: list[TableRow] = []
    drawn = []
    for track in evaluated.tracks:
        rows = evaluated.of_track(track)
        if not any(metric == ASKED for metric, _ in rows):
            continue
        title = initial(card.track_title(track))
        main = next(one for one in card.metrics if any(metric == one.name for metric, _ in rows))
        systems = [system for metric, system in rows if metric == main.name]
        lengths.append(ReportRow((title,), heading=True))
        forms.append(ReportRow((f"{title}: {main.title}",), heading=True))
        bars = {
            system: Interval(row["value"], row["low"], row["high"])
            for (metric, system), row in rows.items()
            if metric == LENGTH
        }
        question_count = max(row["n"] for (metric, _), row in rows.items() if metric == main.name)
        drawn.append((title, f"n = {question_count}", card.metric(LENGTH), bars))
        for system in systems:
            n = rows[ASKED, system]["n"]
            count = Noted(f"{n:,}", too_few(n) if rows[main.name, system]["low"] is None else "")
            cells: dict[str, Cell] = {}
            for name in (LENGTH, ASKED, main.name, FORGIVING):
                if row := rows.get((name, system)):
                    cells[name] = Value(card.metric(name), row["value"], row["low"], row["high"])
            trimmed = prompts.get((system, track), ["–"] * 5)
            words = _words(scores[system], track, card.metric(LENGTH).parts)
            lengths.append((system, count, *trimmed, *words, cells.get(LENGTH)))
            forms.append((system, count, *(cells.get(name) for name in (ASKED, main.name, FORGIVING))))
    if not drawn:
        return []
    length = card.metric(LENGTH).title
    plot = Intervals(f"lengths-{card.name}", f"{length}, {card.title}", drawn)
    values = {"lengths": lengths, "length": length, "plot": plot, "forms": forms}
    template = Path(__file__).with_name("forms.html.j2")
    return [Section("forms", "Lengths and form", template, values)]


def _prompts(evaluated: Evaluated) -> dict[tuple[str, str], list[str]]:
    """By system and track: mean and most tokens, how many prompts were trimmed, mean and largest part cut, in percent.

    Answers from a file have no prompts.
    """
    by_key = {question.key: question for question in evaluated.questions}
    read: dict[tuple[str, str], list[tuple[int, float | None]]] = {}
    for system in evaluated.systems:
        for row in evaluated.predictions(system, ["task_id", "id", "track", "prompt", "prompt_tokens"]):
            if row["prompt"]:
                part = cut_part(by_key[row["task_id"], row["id"]], row["prompt"])
                read.setdefault((system, row["track"]), []).append((row["prompt_tokens"], part))
    cells = {}
    for of, prompts in read.items():
        tokens = [count for count, _ in prompts]
        cut = [100 * part for _, part in prompts if part is not None]
        cells[of] = [
            f"{fmean(tokens):,.0f}",
            f"{max(tokens):,}",
            f"{len(cut):,} of {len(tokens):,}",
            f"{fmean(cut):.1f}" if cut else "–",
            f"{max(cut):.1f}" if cut else "–",
        ]
    return cells


def cut_part(question: Question, prompt: str) -> float | None:
    """The part of the words of the whole prompt that this one has not; None if it is whole.

    The words of an omission message count as its own.
    """
    full = untrimmed(question)
    return None if prompt == full else max(0.0, 1 - len(prompt.split()) / max(1, len(full.split())))


def _words(scores: SystemScores, track: str, parts: Sequence[str]) -> list[str]:
    """The mean words of the answers to the questions of a track, and of their references."""
    places = [at for at, key in enumerate(scores.keys) if key.track == track]
    return [f"{fmean(scores.parts[part][places].tolist()):,.1f}" for part in parts]
