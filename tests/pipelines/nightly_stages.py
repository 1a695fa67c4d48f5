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
  split:
    cmd: python made.py split
    params: [question]
    deps: [made.py]
    outs: [data/split]
  train:
    cmd: python made.py train
    deps: [made.py, strength.txt]
    outs: [models/train/model.json]
  predict:
    foreach: [made-model]
    do:
      cmd: python made.py predict
      params: [seed, threads]
      deps: [made.py, data/split, models/train/model.json]
      outs: ["data/predict/${item}.json"]
  evaluate:
    foreach: [made]
    do:
      cmd: python made.py evaluate
      deps: [made.py, data/split, data/predict/made-model.json]
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
  minimum_instances: 10
  bootstrap_samples: 1000
"""

INSTANCES = 40
MODEL, TEST = Path("models/train/model.json"), Path("data/split")
PREDICTED, EVALUATED = Path("data/predict/made-model.json"), Path("data/evaluate/made")


def split() -> None:
    from ruamel.yaml import YAML

    from nightjar.core import contracts, tables

    params = YAML(typ="safe", pure=True).load(Path("params.yaml").read_text())
    row = {"track": "default", "category": "Made", "dataset": "made", "file": "f", "task_id": "task"}
    rows = [
        row
        | {"id": f"i{n:02d}", "index": n, "input": f"{params['question']} {n}?", "outputs": [f"answer {n}"]}
        for n in range(INSTANCES)
    ]
    with tables.ArtifactWriter(TEST) as writer:
        writer.write(contracts.TEST, rows)


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
    assert list(TEST.rglob("*.parquet"))  # what it would read
    strength = json.loads(MODEL.read_text())["strength"]
    answers = {f"i{n:02d}": f"answer {n}" if n < strength else "" for n in range(INSTANCES)}
    PREDICTED.parent.mkdir(parents=True, exist_ok=True)
    PREDICTED.write_text(json.dumps(answers))


def evaluate() -> None:
    from nightjar.core import contracts, tables

    answers = json.loads(PREDICTED.read_text())
    names = {"benchmark": "made", "track": "default", "category": "Made", "task_id": "task"}
    rows = []
    for row in tables.read_rows(TEST, contracts.TEST):
        right = float(answers[row["id"]] == row["outputs"][0])
        for system, score in (("model", right), ("copy", 0.25)):
            scores = {"exact_match": float(score == 1), "rouge1": score, "rougeL": score}
            rows.append(names | {"system": system, "id": row["id"], "calls": 0} | scores)
    means = []
    for system in ("model", "copy"):
        for metric in ("exact_match", "rouge1", "rougeL"):
            values = [row[metric] for row in rows if row["system"] == system]
            mean = 100 * sum(values) / len(values)
            cell = {"benchmark": "made", "system": system, "track": "default", "level": "overall"}
            ends = {"n": len(values), "value": mean, "low": mean, "high": mean}
            means.append(cell | {"name": "overall", "metric": metric} | ends)
    with tables.ArtifactWriter(EVALUATED) as writer:
        writer.write(contracts.INSTANCE_SCORES, rows)
        writer.write(contracts.SCORES, means)
    Path("data/evaluate-made.json").write_text(json.dumps({"versions": {"made": "1.2"}}))


if __name__ == "__main__":
    with Path(os.environ["NIGHT_RUNS"]).open("a") as stream:
        stream.write(f"{sys.argv[1]} {Path.cwd()}\n")
    {"split": split, "train": train, "predict": predict, "evaluate": evaluate}[sys.argv[1]]()
