"""A small project for the stage predict, and what it predicted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from tests.conftest import ROOT
from tests.questions import write_questions


def project(
    folder: Path,
    model: Path,
    questions: Sequence[Question],
    settings: Mapping[str, Any],
    systems: Mapping[str, Mapping[str, Any]] | None = None,
    **groups: Mapping[str, Any],
) -> Path:
    """The sample's parameters with these changes, the questions of one benchmark and a language model."""
    values, benchmark = read_yaml(ROOT / "params.yaml"), questions[0].benchmark
    predict = values["predict"]
    predict[benchmark] = predict.get(benchmark, predict["tool_use"]) | settings
    for name, changes in (systems or {}).items():
        own = {
            "benchmark": benchmark,
            "system": name,
            "kind": "model",
            "weights": "models/base/language_model",
        }
        own |= {"evidence": "data/none", "tools": "all", "index": "data/none"}
        predict["systems"][f"{benchmark}-{name}"] = own | changes
    for group, changes in groups.items():
        values[group].update(changes)
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(json.dumps(values))
    write_questions(folder / "data/questions" / benchmark, questions)
    shutil.copytree(model, folder / "models/base/language_model")
    return folder


def predictions(folder: Path, benchmark: str, system: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tables.read_rows(
        folder / "data/predict" / benchmark / system, contracts.PREDICTIONS
    )
    return rows
