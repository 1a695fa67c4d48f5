"""A project with one benchmark's own data and systems, and predictions that no model made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml

ROOT = Path(__file__).parents[3]


def configure(
    folder: Path,
    benchmark: str,
    systems: Iterable[str] = (),
    source: str = "source",
    encodings: Mapping[str, str] = {},
    **settings: Any,
) -> None:
    """Write the sample's parameters, with `systems` in place of the benchmark's own, and copy its code."""
    values = read_yaml(ROOT / "params.yaml")
    code = f"nightjar/benchmarks/{benchmark}"
    values["ingest"][benchmark] = {"path": source, "code": code, "encodings": dict(encodings)}
    values["benchmarks"][benchmark] = {
        "code": code,
        "data": f"data/ingest/{benchmark}",
        "split": "data/none",
        "encoder": "data/none",
    } | settings
    known = values["predict"]["systems"]
    own = {"kind": "model", "weights": "models/base/language_model"}
    own |= {"evidence": "data/none", "tools": "none", "index": "data/none"}
    values["predict"]["systems"] = {
        name: it for name, it in known.items() if it["benchmark"] != benchmark
    } | {f"{benchmark}-{name}": {"benchmark": benchmark, "system": name, **own} for name in systems}
    (folder / "params.yaml").write_text(json.dumps(values))
    shutil.copytree(ROOT / code, folder / code, dirs_exist_ok=True)


def write_predictions(
    system: str, questions: Sequence[Question], answers: Callable[[Question], list[str]]
) -> None:
    """Write the artifact of the stage predict with these answers to the questions."""
    names = ("benchmark", "track", "category", "task_id", "id")
    same = {"prompt": "p", "prompt_sha256": "0", "prompt_tokens": 1, "new_tokens": 1, "model_sha256": "0"}
    same |= {"system": system, "text": "", "calls": [], "adapter_sha256": None}
    rows = [
        same | {name: getattr(one, name) for name in names} | {"answers": answers(one)} for one in questions
    ]
    with tables.ArtifactWriter(Path("data/predict", questions[0].benchmark, system)) as writer:
        writer.write(contracts.PREDICTIONS, rows)
