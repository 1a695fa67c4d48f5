"""Our scores against the published program, and our intervals against the plain bootstrap, in one run.

    python -m bench.score rouge --input FOLDER [--pairs 100000]
    python -m bench.score intervals --input FOLDER [--pairs 120000]

rouge       ROUGE-1, ROUGE-L and exact match against rouge_score called pair by pair. Pairs are real: for a reference
            output the answer is by turns another instance's output and the instance's input. Ours is timed cold.
intervals   the processor seconds of `nightjar score` with and without intervals, as a user runs it, and of a bootstrap
            that draws the indices of every resample with NumPy, for the same cells except proportions. A prediction is
            the reference itself, the reference with words dropped and repeated, or another instance's output, of up to
            100 tasks. The ends must agree within the error of resampling.

FOLDER has task files of Super-NaturalInstructions. Everything is drawn with a fixed seed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rouge_score import rouge_scorer

from bench.harness import NIGHTJAR, Repository, options, report, task_files, timed
from nightjar.benchmarks.aggregate import group
from nightjar.benchmarks.scores import Key
from nightjar.benchmarks.text import metrics

TASKS, SAMPLES = 100, 1000
# Between two ends of 1,000 resamples 0.12 standard errors are usual (one standard deviation).
LARGEST_ERROR = 0.6


def _outputs(file: Path) -> tuple[dict[str, Any], list[list[str]]]:
    task = json.loads(file.read_bytes())
    outputs = [one["output"] for one in task["Instances"]]
    return task, [one if isinstance(one, list) else [one] for one in outputs]


def copied(folder: Path, count: int) -> tuple[list[str], list[list[str]]]:
    """`count` answers with one reference each, as the copying baselines give them."""
    source, found = random.Random(7), list[tuple[str, str]]()
    for file in task_files(folder):
        task, outputs = _outputs(file)
        for number, instance in enumerate(task["Instances"]):
            other = source.choice(outputs)[-1]
            found.append((instance["input"] if number % 2 else other, outputs[number][0]))
    chosen = source.sample(found, min(count, len(found)))
    return [answer for answer, _ in chosen], [[reference] for _, reference in chosen]


def rouge(given: argparse.Namespace) -> bool:
    """Print the ratio; whether all values are the same."""
    answers, references = copied(given.input, given.pairs)
    ours = timed(lambda: metrics.score(answers, references))
    plain = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    theirs = timed(lambda: [plain.score(r[0], text) for text, r in zip(answers, references, strict=True)])
    difference = max(
        float(np.abs(getattr(ours.result, name) - [one[name].fmeasure for one in theirs.result]).max())
        for name in ("rouge1", "rougeL")
    )
    equal = [
        metrics.normalise(text) == metrics.normalise(group[0])
        for text, group in zip(answers, references, strict=True)
    ]
    same = difference <= 1e-12 and np.array_equal(ours.result.exact_match, equal)
    beside = f"{len(answers):,} pairs, {'the same values' if same else 'values DIFFER'}"
    for measure in ("clock", "processor"):
        ratio = getattr(theirs, measure) / getattr(ours, measure)
        report("ROUGE-1, ROUGE-L and exact match", "rouge_score", measure, ratio, beside)
    return bool(same)


def pairs(folder: Path, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """`count` references with their predictions, as many of each task."""
    source = random.Random(7)
    files = task_files(folder)[:TASKS]
    for number, file in enumerate(files):
        task, outputs = _outputs(file)
        own = (number + 1) * count // len(files) - number * count // len(files)
        for place, texts in zip(range(own), itertools.cycle(outputs), strict=False):
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


def plain_interval(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The ends of the plain bootstrap, in percent."""
    n, step = len(values), max(1, 2_000_000 // len(values))
    means = np.empty(SAMPLES)
    for start in range(0, SAMPLES, step):
        count = min(step, SAMPLES - start)
        means[start : start + count] = values[rng.integers(0, n, size=(count, n))].mean(axis=1)
    ends: NDArray[np.float64] = 100 * np.quantile(means, [0.025, 0.975])
    return ends


def largest_error(details: list[dict[str, Any]], found: dict[str, Any]) -> float:
    """The largest difference of an end of the plain bootstrap from that of `found`, in standard errors."""
    keys = [Key(row["track"], row["task_category"], row["task_id"], row["id"]) for row in details]
    cells = group(keys, range(len(keys)), ("overall", "category", "task"))
    columns = {metric: np.array([row[metric] for row in details]) for metric in metrics.METRICS}
    rng, largest = np.random.default_rng(1), 0.0
    for (level, cell), members in cells.items():
        ours = found["metrics"] if level == "overall" else found[f"by_{level}"][cell]
        for metric, column in columns.items():
            values = column[members]
            if np.isin(values, (0, 1)).all():  # a proportion has an exact interval
                continue
            theirs = plain_interval(values, rng)
            if ours[metric] is not None and values.std():
                error = 100 * values.std() / np.sqrt(len(values))
                largest = max(largest, float(np.abs(theirs - ours[metric]).max() / error))
    return largest


def intervals(given: argparse.Namespace) -> bool:
    """Print the ratio; whether the ends agree."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        references, predictions = map(list, zip(*pairs(given.input, given.pairs), strict=True))
        write(folder / "predictions.jsonl", predictions)
        write(folder / "references.jsonl", references)
        words = [*NIGHTJAR, "score", "--benchmark", "supernatinst", "--json"]
        words += ["--predictions", "predictions.jsonl", "--references", "references.jsonl"]
        here = Repository(folder)
        bare = here.call(*words, "--samples", "0")
        whole = here.call(*words, "--samples", str(SAMPLES))
        here.call(*words, "--samples", "0", "--details", "details.jsonl")
        details = [json.loads(line) for line in (folder / "details.jsonl").open(encoding="utf-8")]
    plain = timed(lambda: largest_error(details, json.loads(whole.result.stdout)["intervals"]))
    print(f"nightjar score: {whole.processor:.2f} processor seconds, {bare.processor:.2f} without intervals")
    ratio = plain.processor / max(whole.processor - bare.processor, 0.01)
    beside = f"ends at most {plain.result:.2f} standard errors apart, allowed {LARGEST_ERROR}"
    report("bootstrap of all intervals", "drawing indices with NumPy", "processor", ratio, beside)
    return plain.result <= LARGEST_ERROR


def main() -> None:
    parser = options(__doc__)
    parts = {"rouge": rouge, "intervals": intervals}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--input", type=Path, required=True, help="A folder of task files.")
    parser.add_argument("--pairs", type=int, default=100_000)
    given = parser.parse_args()
    sys.exit(0 if parts[given.part](given) else 1)


if __name__ == "__main__":
    main()
