"""Our ROUGE-1, ROUGE-L and exact match against rouge_score called pair by pair, in one run.

    python -m bench.rouge --input FOLDER [--pairs 100000] [--processes N]

Pairs are real: for a reference output of a Super-NaturalInstructions task file the answer is by turns another
instance's output and the instance's input, as the copying baselines give them; a sample drawn with a fixed seed
over all tasks. Ours is timed cold, at its first call, with the start of helper processes. The floor is what it
takes only to cut the texts of all pairs into words with a compiled expression. Processor seconds, the helpers'
included, say more than the clock where others use the machine too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from pathlib import Path

import numpy as np
from rouge_score import rouge_scorer

from bench.ratios import record
from nightjar.benchmarks.text import metrics


def pairs(folder: Path, count: int) -> tuple[list[str], list[list[str]]]:
    """`count` answers with one reference each, from the task files in `folder` or its tasks/."""
    source = random.Random(7)
    files = sorted(folder.glob("task*.json")) or sorted((folder / "tasks").glob("task*.json"))
    found: list[tuple[str, str]] = []
    for file in files:
        instances = json.loads(file.read_bytes())["Instances"]
        outputs = [one["output"] if isinstance(one["output"], list) else [one["output"]] for one in instances]
        for number, instance in enumerate(instances):
            other = source.choice(outputs)[-1]
            found.append((instance["input"] if number % 2 else other, outputs[number][0]))
    if not found:
        raise SystemExit(f"no task files in {folder}")
    chosen = source.sample(found, min(count, len(found)))
    return [answer for answer, _ in chosen], [[reference] for _, reference in chosen]


def processor() -> float:
    """Processor seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", type=Path, required=True, help="A folder of task files.")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--processes", type=int, help="At most so many; all cores if not given.")
    arguments = parser.parse_args()
    answers, references = pairs(arguments.input, arguments.pairs)
    count = len(answers)
    long = np.quantile([len(text) for text in answers], [0.5, 0.99])
    print(
        f"pairs:        {count:,}; answers of {long[0]:.0f} letters (median), {long[1]:.0f} (99th percentile)"
    )

    start, before = time.perf_counter(), processor()
    ours = metrics.score(answers, references, processes=arguments.processes)
    fast, fast_cpu = time.perf_counter() - start, processor() - before
    plain = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    start, before = time.perf_counter(), processor()
    theirs = [plain.score(group[0], text) for text, group in zip(answers, references, strict=True)]
    slow, slow_cpu = time.perf_counter() - start, processor() - before
    word = re.compile("[a-z0-9]+")
    start = time.perf_counter()
    for text, group in zip(answers, references, strict=True):
        word.findall(text.lower()), word.findall(group[0].lower())
    floor = time.perf_counter() - start

    difference = max(
        float(np.abs(getattr(ours, name) - [one[name].fmeasure for one in theirs]).max())
        for name in ("rouge1", "rougeL")
    )
    equal = [
        metrics.normalise(text) == metrics.normalise(group[0])
        for text, group in zip(answers, references, strict=True)
    ]
    same = difference <= 1e-12 and np.array_equal(ours.exact_match, equal)
    print(
        f"rouge_score:  {slow:6.2f} s, {slow_cpu:6.2f} processor, {count / slow:,.0f} pairs/s (without exact match)"
    )
    print(f"ours:         {fast:6.2f} s, {fast_cpu:6.2f} processor, {count / fast:,.0f} pairs/s")
    print(f"words only:   {floor:6.2f} s")
    print(f"ratio:        {slow / fast:.1f} by the clock, {slow_cpu / fast_cpu:.1f} by processor seconds")
    checked = f"{count:,} pairs, the same values" if same else "values DIFFER"
    record("ROUGE-1, ROUGE-L and exact match", "rouge_score", "processor", slow_cpu / fast_cpu, checked)
    print(f"values:       {'the same' if same else 'DIFFERENT'}; largest difference of ROUGE {difference:g}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
