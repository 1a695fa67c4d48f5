"""Our scores against the published program, in one run.

    python -m bench.score_speed --input FOLDER [--pairs 100000]

ROUGE-1, ROUGE-L and exact match against rouge_score called pair by pair. FOLDER has task files of
Super-NaturalInstructions. Pairs are real, drawn with a fixed seed: for a reference output the answer is by turns
another instance's output and the instance's input. Ours is timed cold.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import numpy as np
from rouge_score import rouge_scorer

from bench.harness import options, report, task_files, timed
from nightjar.text import rouge


def copied(folder: Path, count: int) -> tuple[list[str], list[list[str]]]:
    """`count` answers with one reference each, as the copying baselines give them."""
    source, answer_pairs = random.Random(7), list[tuple[str, str]]()
    for file in task_files(folder):
        instances = json.loads(file.read_bytes())["Instances"]
        outputs = [
            instance["output"] if isinstance(instance["output"], list) else [instance["output"]]
            for instance in instances
        ]
        for number, instance in enumerate(instances):
            copied_output = source.choice(outputs)[-1]
            answer_pairs.append((instance["input"] if number % 2 else copied_output, outputs[number][0]))
    chosen = source.sample(answer_pairs, min(count, len(answer_pairs)))
    return [answer for answer, _ in chosen], [[reference] for _, reference in chosen]


def main() -> int:
    """Print the ratio; 1 if a value differs."""
    parser = options(__doc__)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=100_000)
    arguments = parser.parse_args()
    answers, references = copied(arguments.input, arguments.pairs)
    ours = timed(lambda: rouge.score(answers, references))
    plain = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    theirs = timed(lambda: [plain.score(r[0], text) for text, r in zip(answers, references, strict=True)])
    difference = max(
        float(np.abs(getattr(ours.result, name) - [one[name].fmeasure for one in theirs.result]).max())
        for name in ("rouge1", "rougeL")
    )
    equal = [
        rouge.normalise(text) == rouge.normalise(group[0])
        for text, group in zip(answers, references, strict=True)
    ]
    same = difference <= 1e-12 and np.array_equal(ours.result.exact_match, equal)
    beside = f"{len(answers):,} pairs, {'the same values' if same else 'values DIFFER'}"
    for measure in ("clock", "processor"):
        ratio = getattr(theirs, measure) / getattr(ours, measure)
        report("ROUGE-1, ROUGE-L and exact match", "rouge_score", measure, ratio, beside)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
