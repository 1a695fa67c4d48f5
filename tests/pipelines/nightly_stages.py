"""The stages of a made graph that a nightly runs: train, predict, evaluate, quick and without a model.

strength.txt says how many of the 40 instances the model answers; NIGHT_RUNS names a file that gets a line a stage.
Tables are imported where they are needed: a process without them starts in a tenth of the time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

# The graph in which they stand.
DVC = """
stages:
  questions:
    cmd: python made.py questions
    params: [question]
    deps: [made.py]
    outs: [data/questions/made]
  train:
    cmd: python made.py train
    deps: [made.py, strength.txt]
    outs: [models/train/model.json]
  predict:
    foreach: [made-model]
    do:
      cmd: python made.py predict
      params: [seed, threads]
      deps: [made.py, data/questions/made, models/train/model.json]
      outs: [data/predict/made/model.json]
  evaluate:
    foreach: [made]
    do:
      cmd: python made.py evaluate
      deps: [made.py, data/questions/made, data/predict/made]
      outs: ["data/evaluate/${item}"]
      metrics: ["data/evaluate-${item}.json"]
  never:
    cmd: exit 1
    deps: [data/evaluate/made]
    outs: [data/never]
"""
PARAMS = """
seed: 1
threads: 1
question: What is
nightly:
  ledger: ledger
  limit: 20
"""

INSTANCES = 40
METRICS = ("exact_match", "rouge1", "rougeL")
MODEL, QUESTIONS = Path("models/train/model.json"), Path("data/questions/made")
PREDICTED, EVALUATED = Path("data/predict/made/model.json"), Path("data/evaluate/made")


def questions() -> None:
    from ruamel.yaml import YAML

    from nightjar.core import contracts, tables

    params = YAML(typ="safe", pure=True).load(Path("params.yaml").read_text())
    row = {"benchmark": "made", "track": "default", "category": "Made", "dataset": "made", "file": "f"}
    row |= {"task_id": "task", "shared": "{}", "day": None}
    rows = []
    for n in range(INSTANCES):
        parts = json.dumps({"input": f"{params['question']} {n}?"})
        rows.append(row | {"id": f"i{n:02d}", "parts": parts, "references": [f"answer {n}"]})
    with tables.ArtifactWriter(QUESTIONS) as writer:
        writer.write(contracts.QUESTIONS, rows)


def train() -> None:
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    MODEL.write_text(json.dumps({"strength": int(Path("strength.txt").read_text())}))


def predict() -> None:
    if Path("broken.txt").exists():
        print("the model broke", flush=True)
        raise SystemExit(3)
    slow = Path(os.environ["NIGHT_RUNS"] + ".slow")
    if slow.exists():
        slow.with_suffix(".pid").write_text(str(os.getpid()))
        deadline = time.monotonic() + 600
        while slow.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    assert list(QUESTIONS.rglob("*.parquet"))  # what it would read
    strength = json.loads(MODEL.read_text())["strength"]
    answers = {f"i{n:02d}": f"answer {n}" if n < strength else "" for n in range(INSTANCES)}
    PREDICTED.parent.mkdir(parents=True, exist_ok=True)
    PREDICTED.write_text(json.dumps(answers))


def evaluate() -> None:
    from nightjar.core import contracts, tables

    time.sleep(0.65)  # on any machine longer than the 0.6 s that a night has in one of the tests
    answers = json.loads(PREDICTED.read_text())
    names = {"benchmark": "made", "track": "default"}
    rows, means = [], []
    for system in ("model", "copy"):
        for metric in METRICS:
            values = []
            for question in tables.read_rows(QUESTIONS, contracts.QUESTIONS):
                right = float(answers[question["id"]] == question["references"][0])
                value = right if system == "model" else 0.25 * (metric != "exact_match")
                key = {"category": "Made", "task_id": "task", "id": question["id"]}
                rows.append(names | key | {"system": system, "part": metric, "unscaled": value})
                values.append(value)
            mean = 100 * sum(values) / len(values)
            cell = {"system": system, "level": "overall", "name": "overall", "metric": metric}
            means.append(names | cell | {"n": len(values), "value": mean, "low": mean, "high": mean})
    with tables.ArtifactWriter(EVALUATED) as writer:
        writer.write(contracts.INSTANCE_SCORES, rows)
        writer.write(contracts.SCORES, means)
    Path("data/evaluate-made.json").write_text(json.dumps({"versions": {"made": "1.2"}}))


if __name__ == "__main__":
    with Path(os.environ["NIGHT_RUNS"]).open("a") as stream:
        stream.write(f"{sys.argv[1]} {Path.cwd()}\n")
    {"questions": questions, "train": train, "predict": predict, "evaluate": evaluate}[sys.argv[1]]()
