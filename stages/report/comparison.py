"""Two reports compared: which numbers changed significantly and by how much, and which answers changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry, score_table
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.evaluation_folder import ledger_rows, prompting_of
from nightjar.benchmarks.mean_verdicts import judge_all
from nightjar.benchmarks.score_table import HEADLINE
from nightjar.benchmarks.sections import cut
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import recorded
from nightjar.statistics import verdict
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.benchmark.instances import Key
from stages.report.site import Site

# The chance, at most, that two versions of equal models differ in any number; changed answers of a system.
ALPHA, EXAMPLES = 0.05, 5
# The verdicts on a number, in the order of the page.
VERDICTS = ("worse", "better", "unchanged", "not comparable")

Rows = list[dict[str, Any]]
# The files of a comparison.
PAGE, VALUES = "index.html", "comparison.json"


def compare(now: Path, before: Path) -> dict[str, Any]:
    """The comparison of two data folders, as JSON values: `numbers`, `answers` and `prompts`.

    `numbers` has the rows of `judge_all` for the first metrics of every track and system. `answers` has a row for each
    benchmark and system that both have. The folders have the artifacts of the stages questions, predict and evaluate.
    `prompts` has a row for each system that was asked in another way (`params.predict.prompting`), as far as both
    folders have its facts.
    Raises NightjarError if a folder has no evaluation or a table is missing.
    """
    scored = [_scores(folder) for folder in (now, before)]
    ours, theirs = (verdict.cells(rows, _measures) for rows in scored)
    judged = judge_all(ours, theirs, {}, ALPHA)
    answers, prompts = [], []
    for name in _benchmarks(now):
        systems = sorted({row["system"] for row in scored[0] if row["benchmark"] == name})
        values = [_main_values(rows, name) for rows in scored]
        for system in systems:
            folders = [folder / "predict" / name / system for folder in (now, before)]
            if all(folder.is_dir() for folder in folders):
                prompting = dict(zip(("now", "before"), map(prompting_of, folders), strict=True))
                if None not in prompting.values() and prompting["now"] != prompting["before"]:
                    prompts.append({"benchmark": name, "system": system, **prompting})
                card = registry.load_benchmark(name)
                version_answers = [_answers(folder) for folder in folders]
                answers.append(
                    {"benchmark": name, "system": system}
                    | _changed(card, system, version_answers, values, now)
                )
    return {"alpha": ALPHA, "numbers": judged, "answers": answers, "prompts": prompts}


def _benchmarks(folder: Path) -> list[str]:
    """The benchmarks that have an evaluation and a card, in the order of the cards."""
    evaluated = [name for name in registry.names() if (folder / "evaluate" / name).is_dir()]
    if not evaluated:
        raise NightjarError("there is no evaluation", folder / "evaluate", "run: nightjar rebuild")
    return evaluated


def _scores(folder: Path) -> Rows:
    """Rows of contracts.LEDGER_INSTANCES: `content` is what was asked, by which a changed question is recognised."""
    ledger_score_rows: Rows = []
    for name in _benchmarks(folder):
        questions = {
            (row["task_id"], row["id"]): json.dumps([row["shared"], row["parts"], row["references"]])
            for row in tables.read_rows(folder / "questions" / name, contracts.QUESTIONS)
        }
        rows = ledger_rows(folder / "evaluate" / name)
        ledger_score_rows += [row | {"content": questions.get((row["task_id"], row["id"]))} for row in rows]
    return ledger_score_rows


def _measures(benchmark: str, names: Collection[str]) -> list[Metric]:
    """The first metrics of the card that a track has, those of the report's headline."""
    return [it for it in registry.load_benchmark(benchmark).metrics if set(it.parts) <= set(names)][:HEADLINE]


def _main_values(rows: Rows, benchmark: str) -> dict[tuple[str, str, str], tuple[str, float]]:
    """The first metric of one part of every instance, by system, task and id: its title and value."""
    order = [it for it in registry.load_benchmark(benchmark).metrics if len(it.parts) == 1]
    by_part = {it.parts[0]: (place, it) for place, it in reversed(list(enumerate(order)))}
    main_values: dict[tuple[str, str, str], tuple[int, str, float]] = {}
    for row in rows:
        if row["benchmark"] == benchmark and row["metric"] in by_part:
            place, metric = by_part[row["metric"]]
            key = row["system"], row["task_id"], row["id"]
            if key not in main_values or place < main_values[key][0]:
                main_values[key] = place, numbers.heading(metric), metric.scale * row["value"]
    return {key: (title, value) for key, (_, title, value) in main_values.items()}


def _answers(folder: Path) -> dict[Key, Sequence[str]]:
    rows = tables.read_rows(folder, contracts.PREDICTIONS, ["task_id", "id", "answers"])
    return {(row["task_id"], row["id"]): row["answers"] for row in rows}


def _changed(
    card: Benchmark,
    system: str,
    version_answers: Sequence[Mapping[Key, Sequence[str]]],
    values: Sequence[Mapping[tuple[str, str, str], tuple[str, float]]],
    folder: Path,
) -> dict[str, Any]:
    """Count how many answers of a system changed, and those whose score changed most."""
    now, before = version_answers
    both = sorted(now.keys() & before.keys())
    changed = [key for key in both if _answer_text(card, now[key]) != _answer_text(card, before[key])]
    moves = {key: [of.get((system, *key), ("", 0.0)) for of in values] for key in changed}
    changed.sort(key=lambda key: (-abs(moves[key][0][1] - moves[key][1][1]), key))
    chosen = changed[:EXAMPLES]
    rows = tables.read_rows(folder / "questions" / card.name, contracts.QUESTIONS) if chosen else []
    questions = {(row["task_id"], row["id"]): row for row in rows}
    return {
        "n": len(both),
        "changed": len(changed),
        "examples": [
            {
                "task": key[0],
                "id": key[1],
                "input": cut(card.display_text(json.loads(questions[key]["parts"])), 280)
                if key in questions
                else "",
                "references": [cut(text) for text in questions[key]["references"][:3]]
                if key in questions
                else [],
                "metric": moves[key][0][0],
                **{
                    name: {"answer": cut(_answer_text(card, of[key])), "score": round(move[1], 4)}
                    for name, of, move in zip(("now", "before"), version_answers, moves[key], strict=True)
                },
            }
            for key in chosen
        ],
    }


def _answer_text(card: Benchmark, answers: Sequence[str]) -> str:
    return " | ".join(answers) if card.similarities else next(iter(answers), "")


def lines(comparison: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The numbers as texts, the significant changes first, then other changes."""
    rows = sorted(comparison["numbers"], key=lambda row: (VERDICTS.index(row["verdict"]), not row["value"]))
    for row in rows:
        metric = _metric(row)
        yield {
            "benchmark": _title(row["benchmark"]),
            "track": score_table.track_title(row),
            "system": row["system"],
            "metric": numbers.heading(metric),
            "n": numbers.count(row["n"]),
            **{
                name: "–" if row[name] is None else numbers.value(metric, row[name])
                for name in ("before", "now")
            },
            "difference": "–" if row["value"] is None else numbers.signed(metric, row["value"]),
            "interval": "–"
            if row["low"] is None
            else numbers.signed_interval(metric, row["low"], row["high"], row["n"]),
            "p": "–" if row["p"] is None else numbers.p(row["p"]),
            "p corrected": "–" if row["p_corrected"] is None else numbers.p(row["p_corrected"]),
            "verdict": row["verdict"],
            "reason": row["reason"],
        }


def _metric(row: Mapping[str, Any]) -> Metric:
    """Return the metric of a row; that of another harness has its `unit` beside it."""
    if row["benchmark"] in registry.names():
        for metric in registry.load_benchmark(row["benchmark"]).metrics:
            if metric.name == row["metric"]:
                return metric
    if row.get("unit") == "%":
        return Metric(row["metric"], row["metric"])
    return Metric(row["metric"], row["metric"], range=(0.0, 1.0), scale=1.0)


def _title(benchmark: str) -> str:
    """Return the title of a benchmark, or the name of a task of another harness."""
    return registry.load_benchmark(benchmark).title if benchmark in registry.names() else benchmark


def other_prompts(comparison: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each system that was asked in another way."""
    for row in comparison["prompts"]:
        yield f"The prompts of {row['system']} differ. before: {row['before']}; now: {row['now']}."


def files(comparison: Mapping[str, Any], against: str, about: Sequence[str] = ()) -> dict[str, str]:
    """The page of a comparison, and its values as JSON; the lines `about` come first."""
    verdicts = Counter(row["verdict"] for row in comparison["numbers"])
    context = {
        "about": about,
        "alpha": f"{ALPHA:g}",
        "verdicts": {name: verdicts[name] for name in VERDICTS if verdicts[name]},
        "prompts": list(other_prompts(comparison)),
        "numbers": list(lines(comparison)),
        "answers": [
            row | {"benchmark": _title(row["benchmark"]), "answers": row["n"]}
            for row in comparison["answers"]
        ],
    }
    site = Site()
    site.page(PAGE, f"Compared with {against}", context, "comparison.html.j2")
    site.add({VALUES: json.dumps(comparison, indent=2, ensure_ascii=False) + "\n"})
    return site.files


def foreign(folder: Path) -> str:
    """Return what in a folder is not the page of a comparison, "" for nothing."""
    record = recorded(folder / VALUES)
    known_names = {PAGE, VALUES, "assets"} if {"numbers", "answers"} <= record.keys() else set()
    foreign_names = sorted(it.name for it in folder.iterdir() if it.name not in known_names)
    return f"{foreign_names[0]} in it is no part of a comparison" if foreign_names else ""
