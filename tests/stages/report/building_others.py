"""Add benchmarks of the tests' own to the project of building.py."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.scores import match_rows, score
from tests.stages.report import made, made_lists
from tests.stages.report.building import (
    NAME,
    add_system,
    change_params,
    facts,
    prediction,
    write_evaluated,
)


def add_benchmark(card: Card, systems: Sequence[str]) -> None:
    """List a benchmark of the tests' own, its dataset and its systems in params.yaml; facts of its first stages."""
    (dataset,) = card.datasets
    data = f"data/ingest/{dataset}"

    def change(values: dict[str, Any]) -> None:
        values["benchmarks"][card.name] = {"code": card.name, "data": data} | dict.fromkeys(
            ("split", "encoder"), "data/none"
        )
        values["predict"][card.name] = copy.deepcopy(values["predict"][NAME])
        values["ingest"][dataset] = {"path": f"my/{card.name}", "code": f"my/{card.name}"}
        for system in systems:
            add_system(values, card.name, system)

    change_params(change)


def add_made() -> None:
    """Add the benchmark of made.py to the project: parameters, facts and artifacts."""
    add_benchmark(made.CARD, made.SYSTEMS)
    facts("ingest@made_files", ["my/made"], ["data/ingest/made_files"], 33, 32, files=1)
    source = [f"data/questions/{made.NAME}"]
    facts(f"questions@{made.NAME}", ["data/ingest/made_files"], source, 32, 32)
    questions = list(made.questions(None, None, 0))  # type: ignore[arg-type]
    predicted, scores = {}, []
    for number, system in enumerate(made.SYSTEMS):
        answers = [
            one.references[0] if at % 4 <= number else f"{system} is wrong about {one.id}"
            for at, one in enumerate(questions)
        ]
        predicted[system] = [
            prediction(system, *pair, made.CALLS if system == made.CALLS_TOOL and at == 24 else [])
            for at, pair in enumerate(zip(questions, answers, strict=True))
        ]
        scores.append(score(made.CARD, system, questions, [[answer] for answer in answers]))
    write_evaluated(made.CARD, questions, scores, made.SYSTEMS, predicted)


def add_lists() -> None:
    """Add the benchmark of made_lists.py to the project: parameters, facts and artifacts."""
    card, asked = made_lists.CARD, list(made_lists.questions(None, None, 0))  # type: ignore[arg-type]
    add_benchmark(card, list(made_lists.ANSWERS))
    source = [f"data/questions/{card.name}"]
    remarks = {"label: easy": 9, "odd <b>": 2}
    facts(f"ingest@{made_lists.DATASET}", ["my/lists"], ["data/ingest/made_lists"], 24, 24, remarks=remarks)
    facts(f"questions@{card.name}", ["data/ingest/made_lists"], source, 24, 24)
    predicted, scores, matches = {}, [], []
    for system, answer in made_lists.ANSWERS.items():
        given = [answer(number) for number in range(len(asked))]
        scores.append(score(card, system, asked, [some or [] for some in given]))
        matches += match_rows(card, system, asked, given)
        predicted[system] = [
            {**prediction(system, one, "", []), "answers": some}
            for one, some in zip(asked, given, strict=True)
            if some is not None
        ]
    write_evaluated(card, asked, scores, list(made_lists.ANSWERS), predicted, matches)
