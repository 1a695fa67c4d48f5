"""Our ROUGE against rouge_score, pair by pair in one run.

    python benchmarks/rouge.py [--pairs 4000] [--distinct]

Pairs look like an evaluation's: short answers, half of them labels that occur again and again. With
`--distinct` no text is a label, so that only the memory of stems helps.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from rouge_score import rouge_scorer

from stages.evaluate import metrics

STARTS = [
    "nation",
    "relat",
    "quick",
    "beauti",
    "organ",
    "decis",
    "cause",
    "answer",
    "city",
    "river",
    "teach",
    "move",
]
ENDS = ["", *["s", "al", "ally", "ing", "ed", "ful", "fulness", "ation", "er", "ers", "ive", "iveness", "ly"]]


def pairs(count: int, distinct: bool) -> tuple[list[str], list[list[str]]]:
    """`count` predictions with one reference each."""
    source = random.Random(7)
    words = [a + b for a in STARTS for b in ENDS] + [str(number) for number in range(40)]

    def sentence() -> str:
        return " ".join(source.choices(words, k=source.randint(1, 30))) + source.choice([".", "!", ""])

    def text(number: int) -> str:
        label = not distinct and source.random() < 0.5
        return source.choice(["Yes", "No", "entailment", "neutral"]) if label else sentence()

    predictions = [text(number) for number in range(count)]
    return predictions, [[text(number)] for number in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--distinct", action="store_true")
    arguments = parser.parse_args()
    predictions, references = pairs(arguments.pairs, arguments.distinct)
    plain = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)

    start = time.perf_counter()
    theirs = [plain.score(group[0], text) for text, group in zip(predictions, references, strict=True)]
    slow = time.perf_counter() - start
    start = time.perf_counter()
    ours = metrics.score(predictions, references)
    fast = time.perf_counter() - start

    same = all(
        their["rougeL"].fmeasure == longest and their["rouge1"].fmeasure == single
        for their, longest, single in zip(theirs, ours.rougeL, ours.rouge1, strict=True)
    )
    print(f"rouge_score: {arguments.pairs / slow:,.0f} pairs/s")
    print(f"ours:        {arguments.pairs / fast:,.0f} pairs/s (with exact match)")
    print(f"ratio:       {slow / fast:.1f}, values {'the same' if same else 'DIFFERENT'}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
