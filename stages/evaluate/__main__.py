"""python -m stages.evaluate BENCHMARK: data/evaluate/BENCHMARK, the scores of every system, and their differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightjar.benchmarks import aggregate, registry
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_set import check_settings
from nightjar.benchmarks.records import read_questions
from nightjar.benchmarks.scores import match_rows, nothing_to_score, score
from nightjar.core import contracts, paths
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import read_object
from nightjar.core.tables import ArtifactWriter, read_rows
from nightjar.statistics.bootstrap import Bootstrap
from stages._runtime import stage as harness

PACKAGES = ("numpy", "rapidfuzz", "scikit-learn", "scipy", "tokenizers")


def run(stage: harness.StageRun, systems: list[str] | None = None) -> None:
    """Score `systems`; None: those of data/systems."""
    card = registry.load_benchmark(stage.item)
    group = stage.params.benchmarks[card.name]
    settings = check_settings(card, group.settings())
    source, out = (stage.folder / it / card.name for it in (paths.QUESTIONS, paths.SCORES))
    if group.encoder:
        card = card.with_encoder(group.encoder)
        stage.reads(group.encoder)
    if systems is None:
        systems = read_systems(stage.folder / paths.SYSTEMS / f"{card.name}.json")
    predicted = {system: stage.folder / paths.PREDICTIONS / card.name / system for system in systems}
    stage.reads(source, *predicted.values())
    questions = read_questions(source)
    # No fault of a rebuild of all benchmarks: the predictions are made, and are what a leaderboard takes.
    if nothing := nothing_to_score(card, questions):
        stage.details["nothing_to_score"] = str(nothing)
        harness.log.warning("warning: %s", nothing)
    elif without := sum(not question.references for question in questions):
        harness.log.warning(
            "warning: %s: questions without a reference, which get no score: %d", card.name, without
        )

    baselines = {} if nothing else card.baselines(settings)
    scores = [
        score(card, name, questions, [[answer(question, stage.params.seed)] for question in questions])
        for name, answer in baselines.items()
    ]
    matched: list[dict[str, Any]] = []
    missing = {}
    for system, folder in predicted.items():
        answers, missing[system] = read_answers(questions, folder)
        if not nothing:
            scores.append(score(card, system, questions, answers))
            matched += match_rows(card, system, questions, answers)

    bootstrap = Bootstrap()
    compared = aggregate.compare(
        card,
        scores,
        [] if nothing else aggregate.pairs(systems, list(baselines)),
        bootstrap,
        ("overall", "category"),
    )
    rows = [row for one in scores for row in one.rows(card.name)]
    table = aggregate.aggregate(card, scores, bootstrap)
    stage.details |= {} if nothing else card.evaluation_facts(scores, bootstrap)
    stage.details |= {
        "card": {"name": card.name, "version": card.version},
        "comparisons": [row for row in compared if row["level"] == "overall"],
        "confidence": bootstrap.confidence,
        "missing_predictions": missing,
    }
    with ArtifactWriter(out) as writer:
        writer.write(contracts.INSTANCE_SCORES, rows)
        writer.write(contracts.SCORES, table)
        writer.write(contracts.COMPARISONS, compared)
        if card.similarities:
            writer.write(contracts.MATCHES, matched)
        writer.write(contracts.IMPROVEMENTS, aggregate.improvements(card, scores, list(baselines), bootstrap))
    scored = len(questions) * len(scores)
    stage.count(scored, scored)
    main: dict[str, str] = {}  # the first metric of each track
    for row in table:
        main.setdefault(row["track"], row["metric"])
    stage.details["scores"] = {
        f"{row['track']}/{row['system']}": {row["metric"]: row["value"], "n": row["n"]}
        for row in table
        if row["level"] == "overall" and row["metric"] == main[row["track"]]
    }
    stage.writes(out)


def read_systems(file: Path) -> list[str]:
    """The names of a benchmark's systems, in the order of predict.systems. Raises NightjarError for a damaged file."""
    names: list[str] = read_object(file, "run: nightjar rebuild systems").get("systems", [])
    return names


def read_answers(questions: list[Question], folder: Path) -> tuple[list[list[str] | None], int]:
    """The predicted answers to each question, None for a question without a prediction; and how many those are.

    Raises NightjarError if a prediction belongs to no question: then predictions and questions are of different runs.
    """
    rows = read_rows(folder, contracts.PREDICTIONS, ["task_id", "id", "answers"])
    answers = {(row["task_id"], row["id"]): row["answers"] for row in rows}
    question_keys = {question.key for question in questions}
    if unknown := sorted(answers.keys() - question_keys):
        what = f"{len(unknown)} predictions belong to no question, the first is {unknown[0]}"
        raise NightjarError(what, folder, "predict again on the present questions")
    return [answers.get(question.key) for question in questions], len(question_keys) - len(answers)


if __name__ == "__main__":
    harness.main(
        "evaluate",
        run,
        packages=PACKAGES,
        benchmarks=True,
    )
