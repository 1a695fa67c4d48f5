"""The rankings of a benchmark's test questions, their label consistency, and who answers right with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.benchmarks.card import Card
from nightjar.core import contracts, paths, tables
from nightjar.params import Params
from nightjar.search.rankings import Passages, Ranking, read_rankings

# The stages that rank passages, with what the report calls their rankings.
STAGES = {"retrieve": "first stage", "rerank": "reranked"}

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


def read(card: Card, params: Params, scored: Path, predicted: Path) -> Ranked | None:
    """The rankings of a benchmark; None if the parameters have no consistency for it.

    Raises NightjarError if a table is missing.
    """
    if card.name not in params.consistency.benchmarks:
        return None
    folders = {stage: folder(stage, card.name) for stage in STAGES}
    readers = {
        stage: [
            one.system
            for one in params.predict.systems.values()
            if one.benchmark == card.name and one.evidence == path
        ]
        for stage, path in folders.items()
    }
    known = [system for systems in readers.values() for system in systems]
    return Ranked(
        params.consistency.passages,
        tables.read_rows(paths.CONSISTENCY / card.name, contracts.CONSISTENCY),
        {stage: read_rankings(path, "test") for stage, path in folders.items()},
        Passages(paths.INDEX),
        readers,
        {system: _right(card, scored, system) for system in known},
        {system: _answers(predicted / system) for system in known},
    )


def folder(stage: str, benchmark: str) -> Path:
    """The artifact of a stage that ranks passages."""
    return paths.DATA / stage / benchmark


def _right(card: Card, scored: Path, system: str) -> dict[Key, bool]:
    where = (pc.field("metric") == card.right) & (pc.field("system") == system)
    rows = tables.read(scored, contracts.INSTANCE_SCORES, ["task_id", "id", "value"], where).to_pylist()
    return {(row["task_id"], row["id"]): row["value"] == 1 for row in rows}


def _answers(artifact: Path) -> dict[Key, str]:
    rows = tables.read_rows(artifact, contracts.PREDICTIONS, ["task_id", "id", "answers"])
    return {(row["task_id"], row["id"]): next(iter(row["answers"]), "") for row in rows}
