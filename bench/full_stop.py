"""The published rule that a sample without a full stop is an empty answer: what it changes, from the same samples.

    python -m bench.full_stop [--benchmark protoqa] [--system untuned]

Reads data/questions and data/predict of a rebuilt project. The samples of each question are ranked twice, with the rule
and without; no model runs. Printed: the share of samples without a full stop, lists with the empty answer, and each
metric both ways with the p of a paired permutation test over the questions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nightjar import params
from nightjar.benchmarks import registry
from nightjar.benchmarks.card import Card, Floats
from nightjar.benchmarks.files import read_questions
from nightjar.benchmarks.question import Question
from nightjar.core import contracts
from nightjar.core.tables import read_rows
from nightjar.params.predict import PredictBenchmark
from nightjar.predict.ranked import ranked_again
from nightjar.statistics.paired import p_value


def with_rule(settings: PredictBenchmark, required: bool) -> PredictBenchmark:
    return settings.model_copy(update={"require_full_stop": required, "cut_at_full_stop": True})


def both(
    card: Card, questions: Sequence[Question], texts: Sequence[str], settings: PredictBenchmark
) -> tuple[list[list[str]], list[list[str]], dict[str, Floats]]:
    """The lists without and with the rule, and for each metric the (2, questions) scores of both."""
    kept, published = (
        [ranked_again(card, text, with_rule(settings, required)) for text in texts]
        for required in (False, True)
    )
    first, second = card.score(questions, kept), card.score(questions, published)
    return kept, published, {name: np.stack([first[name], second[name]]) for name in first}


def main() -> None:
    """Print both scores of every metric."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--benchmark", default="protoqa")
    parser.add_argument("--system", default="untuned")
    asked = parser.parse_args()
    known = params.load()
    card = registry.card(asked.benchmark)
    questions = read_questions(Path("data/questions") / card.name)
    folder = Path("data/predict") / card.name / asked.system
    rows = {
        (row["task_id"], row["id"]): row["text"]
        for row in read_rows(folder, contracts.PREDICTIONS, ["task_id", "id", "text"])
    }
    texts = [rows[question.key] for question in questions]
    kept, published, scores = both(card, questions, texts, known.predict.benchmark(card.name))
    found = [json.loads(text) for text in texts]
    samples = sum(sum(one["texts"].values()) for one in found)
    without = sum(one["without_full_stop"] for one in found)
    changed = sum(one != other for one, other in zip(kept, published, strict=True))
    print(f"{card.name} {asked.system}: {len(questions)} questions, {samples:.0f} samples")
    print(f"samples without a full stop: {100 * without / max(1, samples):.1f}%")
    print(f"lists with the empty answer: {sum('' in one for one in published)}; lists that differ: {changed}")
    print(f"{'metric':40} {'kept':>8} {'published':>10} {'p':>8}")
    for name, (first, second) in scores.items():
        scored = ~np.isnan(first)
        p = p_value(second[scored] - first[scored], np.random.default_rng(known.seed))
        print(f"{name:40} {first[scored].mean():8.4f} {second[scored].mean():10.4f} {p:8.4f}")


if __name__ == "__main__":
    main()
