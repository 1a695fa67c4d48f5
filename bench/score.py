"""The processor time of `nightjar score` on many pairs, and of its bootstrap against the plain one, in one run.

    python -m bench.score --input FOLDER [--pairs 120000]

The pairs are made of real outputs of Super-NaturalInstructions task files, drawn with a fixed seed: a prediction is the
reference itself, the reference with words dropped and repeated, or another instance's output. They are of up to 100
tasks; instances of small tasks occur several times. The command runs as a user runs it, with and without intervals:
user and system seconds of the whole process, imports included. The plain bootstrap draws the indices of every resample
with NumPy, for the same cells except proportions; its ends must agree within the error of resampling.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.ratios import record
from nightjar.benchmarks.aggregate import group
from nightjar.benchmarks.scores import Key
from nightjar.benchmarks.text.metrics import METRICS

TASKS, SAMPLES = 100, 1000
COMMAND = "from pipelines.cli import main; main()"
# Between two ends of 1,000 resamples 0.12 standard errors are usual (one standard deviation).
LARGEST_ERROR = 0.6


def pairs(folder: Path, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """`count` references with their predictions, as many of each task."""
    source = random.Random(7)
    files = (sorted(folder.glob("task*.json")) or sorted((folder / "tasks").glob("task*.json")))[:TASKS]
    if not files:
        raise SystemExit(f"no task files in {folder}")
    for number, file in enumerate(files):
        task = json.loads(file.read_bytes())
        outputs = [one["output"] for one in task["Instances"]]
        outputs = [one if isinstance(one, list) else [one] for one in outputs]
        wanted = (number + 1) * count // len(files) - number * count // len(files)
        for place, texts in zip(range(wanted), itertools.cycle(outputs), strict=False):
            reference = {"id": f"{file.stem}-{place:06}", "references": texts, "task_id": file.stem}
            reference |= {"task_category": task["Categories"][0], "track": "default"}
            yield reference, {"id": reference["id"], "prediction": answer(texts[0], outputs, source)}


def answer(text: str, others: list[list[str]], source: random.Random) -> str:
    """The text in 3 of 10 cases, another instance's in 2, else the text with words dropped and repeated."""
    kind, words = source.random(), text.split(" ")
    if kind < 0.3:
        return text
    if kind < 0.5:
        return source.choice(others)[-1]
    kept = (word for word in words if source.random() > 0.15)
    return " ".join(source.choice(words) if source.random() < 0.2 else word for word in kept)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def command(folder: Path, *more: str) -> tuple[dict[str, Any], float, float]:
    """What `nightjar score` prints, its processor seconds and its seconds by the clock."""
    files = [
        "--predictions",
        str(folder / "predictions.jsonl"),
        "--references",
        str(folder / "references.jsonl"),
    ]
    words = [sys.executable, "-c", COMMAND, "score", "--benchmark", "supernatinst", *files, "--json", *more]
    start, before = time.perf_counter(), sum(os.times()[2:4])
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout), sum(os.times()[2:4]) - before, time.perf_counter() - start


def plain(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The ends of the plain bootstrap, in percent."""
    n, step = len(values), max(1, 2_000_000 // len(values))
    means = np.empty(SAMPLES)
    for start in range(0, SAMPLES, step):
        count = min(step, SAMPLES - start)
        means[start : start + count] = values[rng.integers(0, n, size=(count, n))].mean(axis=1)
    ends: NDArray[np.float64] = 100 * np.quantile(means, [0.025, 0.975])
    return ends


def against_plain(details: list[dict[str, Any]], intervals: dict[str, Any]) -> tuple[float, float]:
    """The processor seconds of the plain bootstrap of all cells, and the largest difference of an end from that of
    `intervals`, in standard errors.
    """
    keys = [Key(row["track"], row["task_category"], row["task_id"], row["id"]) for row in details]
    cells = group(keys, range(len(keys)), ("overall", "category", "task"))
    columns = {metric: np.array([row[metric] for row in details]) for metric in METRICS}
    rng, largest = np.random.default_rng(1), 0.0
    before = time.process_time()
    for (level, cell), members in cells.items():
        ours = intervals["metrics"] if level == "overall" else intervals[f"by_{level}"][cell]
        for metric, column in columns.items():
            values = column[members]
            if np.isin(values, (0, 1)).all():  # a proportion has an exact interval
                continue
            theirs = plain(values, rng)
            if ours[metric] is not None and values.std():
                error = 100 * values.std() / np.sqrt(len(values))
                largest = max(largest, float(np.abs(theirs - ours[metric]).max() / error))
    return time.process_time() - before, largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", type=Path, required=True, help="A folder of task files.")
    parser.add_argument("--pairs", type=int, default=120_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = list(pairs(arguments.input, arguments.pairs))
        write(folder / "predictions.jsonl", [prediction for _, prediction in made])
        random.Random(8).shuffle(made)
        write(folder / "references.jsonl", [reference for reference, _ in made])
        size = sum(path.stat().st_size for path in folder.iterdir())
        _, bare, _ = command(folder, "--samples", "0")
        result, whole, clock = command(folder, "--samples", str(SAMPLES))
        command(folder, "--samples", "0", "--details", f"{name}/details.jsonl")
        details = [json.loads(line) for line in (folder / "details.jsonl").open(encoding="utf-8")]
    slow, largest = against_plain(details, result["intervals"])
    tasks, categories = len(result["by_task"]), len(result["by_category"])
    print(f"pairs:           {len(details):,} of {tasks} tasks, {categories} categories; {size / 1e6:.0f} MB")
    print(f"command:         {whole:6.2f} processor seconds, {clock:.2f} by the clock")
    print(f"no intervals:    {bare:6.2f} processor seconds")
    print(f"plain bootstrap: {slow:6.2f} processor seconds, {slow / max(whole - bare, 0.01):.1f} times ours")
    agreed = f"ends at most {largest:.2f} standard errors apart"
    record(
        "bootstrap of all intervals",
        "drawing indices with NumPy",
        "processor",
        slow / max(whole - bare, 0.01),
        agreed,
    )
    print(f"interval ends:   at most {largest:.2f} standard errors apart; allowed is {LARGEST_ERROR}")
    sys.exit(0 if largest <= LARGEST_ERROR else 1)


if __name__ == "__main__":
    main()
