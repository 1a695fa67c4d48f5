"""The stages of a made graph with the real names, quick and without a model: what a study's tests run.

An answer is right for as many instances of each test task as there were training tasks (or as the encoding and the
model allow), so every score is known beforehand. Tables are imported where they are needed: a process without them
starts in a third of the time.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from pathlib import Path

from ruamel.yaml import YAML

SPLIT, MODEL = Path("data/split"), Path("models/base/language_model")
QUESTIONS = Path("data/questions/supernatinst")
TEST_INSTANCES = 16
TRAIN_TASKS = 12
OWN = {"def": 6, "pos2": 4, "def_pos2": 8}


def note(what: str) -> None:
    with Path(os.environ["STUDY_RUNS"]).open("a") as stream:
        stream.write(what + "\n")


def instance(task: str, number: int) -> dict[str, object]:
    row = {"dataset": "made", "file": f"{task}.json", "task_id": task, "id": f"{task}-{number}"}
    return row | {"index": number, "input": f"question {number}", "outputs": [f"answer{number}"]}


def base_model(params: dict) -> None:
    size = int(params["models"]["language_model"]["source"].rsplit("-", 1)[-1])
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": [size, 2], "data_offsets": [0, 8 * size]}, "__metadata__": {}}
    ).encode()
    MODEL.mkdir(parents=True)
    (MODEL / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8 * size))


def ingest(params: dict) -> None:
    from nightjar.core import contracts, tables

    assert Path("data/raw/tasks.txt").read_text() == "raw\n"  # an input that Git ignores
    with tables.ArtifactWriter(Path("data/ingest/natural_instructions")) as writer:
        for task in range(TRAIN_TASKS):
            name = f"train{task:02d}"
            writer.write(contracts.INSTANCES, [instance(name, n) for n in range(10)], part=name)


def split(params: dict) -> None:
    from nightjar.core import contracts, tables

    settings = params["split"]
    roles = [("default", f"train{n:02d}", "train") for n in range(TRAIN_TASKS + 1)] + [
        ("default", "test", "test")
    ]
    limit = settings["train_tasks"] or TRAIN_TASKS
    each = min(settings["train_instances_per_task"] or 10, 10)
    with tables.ArtifactWriter(SPLIT) as writer:
        names = ("track", "task_id", "role")
        rows = [dict(zip(names, role, strict=True)) | {"reason": "made"} for role in roles]
        writer.write(contracts.SPLIT_TASKS, rows)
        for n in range(limit):
            name = f"train{n:02d}"
            writer.write(contracts.TRAIN, [instance(name, k) for k in range(each)], part=name)
        # A dev task has the role of a training task, but does not train.
        held_out = f"train{TRAIN_TASKS:02d}"
        writer.write(contracts.DEV, [instance(held_out, 0)], part=held_out)
        test = [
            instance("test", n) | {"track": "default", "category": "Word Analogy"}
            for n in range(TEST_INSTANCES)
        ]
        writer.write(contracts.TEST, test, part="test")


def questions(params: dict) -> None:
    from nightjar.core import contracts, tables

    names = ("track", "category", "dataset", "file", "task_id", "id")
    rows = [
        {name: row[name] for name in names}
        | {"benchmark": "supernatinst", "shared": "{}", "parts": json.dumps({"input": row["input"]})}
        | {"references": row["outputs"], "day": None}
        for row in tables.read_rows(SPLIT, contracts.TEST)
    ]
    with tables.ArtifactWriter(QUESTIONS) as writer:
        writer.write(contracts.QUESTIONS, rows, part="test")


def train(params: dict) -> None:
    tasks = len(list((SPLIT / "train").glob("*.parquet")))
    checkpoint = Path(".nightjar/checkpoints") / f"made-{tasks}"
    note(f"train {tasks} {'goes on' if checkpoint.exists() else 'begins'}")
    note(f"notes: {Path('notes.txt').read_text().strip()}")
    checkpoint.write_text("half")
    source = params["models"]["language_model"]["source"]
    if Path("fail.txt").exists() and Path("fail.txt").read_text() == source:
        raise SystemExit("the training broke")
    edited = Path(os.environ["STUDY_RUNS"] + ".edit")
    if edited.exists():  # somebody works in the project meanwhile
        root = Path(edited.read_text())
        (root / "notes.txt").write_text("edited meanwhile")
        text = (root / "params.yaml").read_text()
        (root / "params.yaml").write_text(text.replace("definition: true", "definition: false"))
    slow = Path(os.environ["STUDY_RUNS"] + ".slow")
    if slow.exists() and int(slow.read_text()) == tasks:
        note(f"pid {os.getpid()}")
        deadline = time.monotonic() + 600
        while slow.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    flags = params["encoding"]
    out = Path("models/train/tk_instruct")
    out.mkdir(parents=True)
    told = {"tasks": tasks, "definition": flags["definition"], "examples": flags["positive_examples"]}
    (out / "model.json").write_text(json.dumps(told | {"source": source}))
    checkpoint.unlink()


def predict(params: dict) -> None:
    from nightjar.core import contracts, tables

    made = json.loads(Path("models/train/tk_instruct/model.json").read_text())
    encoding = (params["predict"]["defaults"] | params["predict"]["supernatinst"])["encoding"]
    size = made["source"].rsplit("-", 1)[-1]
    right = OWN[encoding] + made["examples"] if encoding else made["tasks"]
    right = int(size) if size.isdigit() and int(size) > 1 else right
    rows = [
        {
            "benchmark": "supernatinst",
            "system": "tk_instruct",
            "track": row["track"],
            "category": row["category"],
            "task_id": row["task_id"],
            "id": row["id"],
            "answers": [row["references"][0] if number < right else "wrong"],
            "text": "",
            "calls": [],
            "prompt": "",
            "prompt_sha256": "",
            "prompt_tokens": 1,
            "new_tokens": 1,
            "model_sha256": "",
            "adapter_sha256": None,
        }
        for number, row in enumerate(tables.read_rows(QUESTIONS, contracts.QUESTIONS))
    ]
    with tables.ArtifactWriter(Path("data/predict/supernatinst/tk_instruct")) as writer:
        writer.write(contracts.PREDICTIONS, rows)


if __name__ == "__main__":
    values = YAML(typ="safe", pure=True).load(Path("params.yaml").read_text())
    stages = {it.__name__: it for it in (base_model, ingest, split, questions, train, predict)}
    stages[sys.argv[1]](values)
