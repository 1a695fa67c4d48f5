"""A small project for the stages whose work can be shared: instances, tasks, documents and a tiny model."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from tests.conftest import ROOT
from tests.questions import question, write_questions

STAGES = ("augment@calculator", "encode@combined", "predict@supernatinst-untuned")
TASKS = 3
ABOUT: dict[str, Any] = {"track": "default", "category": "c", "dataset": "natural_instructions"}


def instance(task: int, number: int) -> dict[str, Any]:
    """An instance of task 0, 1 or 2, whose answer has a number and so may want the calculator."""
    return ABOUT | {
        "file": f"task{task}.json",
        "task_id": f"task{task}",
        "id": f"task{task}-{number}",
        "index": number,
        "input": f"{number} boxes of {task + 2} pens " + "and more " * (number % 5),
        "outputs": [f"There are {number * (task + 2)} pens in 3 rows of 4.", "none"],
    }


def configure(folder: Path, **groups: dict[str, Any]) -> None:
    """Write params.yaml: the sample profile with short runs and, in its groups, these values."""
    values = read_yaml(ROOT / "params.yaml")
    values["augment"].update(
        {
            "max_call_tokens": 6,
            "max_documents": None,
            "max_document_words": None,
            "max_targets": 8,
            "batch_texts": 2,
            "held_out_documents": 0,
        }
    )
    small = {"max_new_tokens": 12, "batch_size": 2, "temperature": 1.0, "top_p": 0.95}
    values["predict"]["supernatinst"].update(small)
    values["train"]["recipes"]["combined"] |= {"evidence": "data/none", "passages": 0}
    for group, changes in groups.items():
        values.setdefault(group, {}).update(changes)
    (folder / "params.yaml").write_text(json.dumps(values))


def make(folder: Path, model: Path, **groups: dict[str, Any]) -> Path:
    """Everything that STAGES read, in a new folder."""
    folder.mkdir()
    configure(folder, **groups)
    task: dict[str, Any] = {name: [] for name in contracts.TASKS.schema.names}
    with tables.ArtifactWriter(folder / "data/ingest/natural_instructions") as writer:
        about = [
            {"dataset": "natural_instructions", "file": f"task{n}.json", "task_id": f"task{n}"}
            for n in range(TASKS)
        ]
        rows = [task | one | {"definition": [f"Say {n}"]} for n, one in enumerate(about)]
        writer.write(contracts.TASKS, rows)
    with tables.ArtifactWriter(folder / "data/ingest/corpus") as writer:
        documents = [
            {"id": f"d{n}", "title": "Pens", "text": f"A box holds 12 pens, so {n} boxes hold {12 * n} pens."}
            for n in range(4)
        ]
        named: dict[str, Any] = {name: None for name in contracts.DOCUMENTS.schema.names}
        named |= {"dataset": "corpus", "file": "corpus.jsonl", "url": "", "date": date(2023, 1, 30)}
        writer.write(contracts.DOCUMENTS, [named | document for document in documents])
    with tables.ArtifactWriter(folder / "data/split") as writer:
        writer.write(contracts.TEST, [instance(task, number) for task in range(3) for number in range(4)])
        for contract in (contracts.TRAIN, contracts.DEV):
            for task_number in range(TASKS):
                made = [instance(task_number, number) for number in range(5, 8)]
                writer.write(contract, made, part=f"task{task_number}")
    tests = [question(instance(task, number)) for task in range(3) for number in range(4)]
    write_questions(folder / "data/questions/supernatinst", tests)
    with tables.ArtifactWriter(folder / "data/augment_merge") as writer:
        call = {"source": "train", "task_id": "task1", "id": "task1-6", "target": 1, "tools": ["Calculator"]}
        texts = {"text": "[Calculator(1 + 2) → 3] none", "original": "none"}
        writer.write(contracts.CALLS_MERGED, [call | texts])
    shutil.copytree(model, folder / "models/base/language_model")
    return folder


def outputs(folder: Path) -> dict[str, bytes]:
    """The bytes of what the stages made, by path; the facts too."""
    made = [folder / "data" / stage.replace("@", "/").replace("-", "/") for stage in STAGES]
    files = [file for path in made for file in path.rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
