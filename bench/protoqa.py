"""The WordNet scores of ranked lists against the published way, which recomputes every pair for every metric.

    python -m bench.protoqa [--references FILE] [--questions 4]

FILE holds questions of ProtoQA, such as dev.crowdsourced.jsonl; without it, questions are made of WordNet's own words.
Each question gets 20 answers with a fixed seed: strings of its clusters, the same with a word added or dropped, strings
of other questions. The eight metrics are max answers 1, 3, 5 and 10, max incorrect 1, 3 and 5, and unlimited. The plain
way lists all partitions of both strings of each pair and matches them with scipy, for every metric and for the best
list of every metric. Its synsets are those that ours looked up before, so that it is faster here than the published
program. The values must be equal. It takes seconds a question: `--questions` bounds those that it computes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from bench.harness import options, report, timed
from nightjar.benchmarks.protoqa.clusters import Cluster, best_list, clusters_of
from nightjar.benchmarks.protoqa.formats import references
from nightjar.benchmarks.protoqa.metrics import RULES, Rule, cleaned, shares, similarities
from nightjar.benchmarks.protoqa.similarity import WordNetSimilarity, tokens
from nightjar.benchmarks.protoqa.wordnet import WordNet, wordnet

ANSWERS, MADE = 20, 52
EIGHT = tuple(rule for rule in RULES if rule.by_count)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--questions", type=int, default=4)
    given = parser.parse_args()
    database = wordnet()
    known: Sequence[Sequence[Cluster]] = made(database)
    if given.references:
        known = [clusters_of(question.parts) for _, question in references(given.references)]
    lists = [answers(place, known) for place in range(len(known))]
    tokens("load the tokenizer")
    few = range(0, len(known), max(1, len(known) // given.questions))[: given.questions]
    mine = timed(lambda: [ours(lists[place], known[place]) for place in few])
    whole = timed(lambda: [ours(one, it) for one, it in zip(lists, known, strict=True)])
    theirs = timed(lambda: [plain(lists[place], known[place], database) for place in few])
    if not np.allclose(mine.result, theirs.result, rtol=0, atol=1e-12):
        raise SystemExit("the scores differ")
    print(f"{len(EIGHT)} metrics of {len(known)} questions: {whole.processor:.3f} processor seconds")
    ratio = theirs.processor / mine.processor
    report("ProtoQA with WordNet", "every pair anew", "processor", ratio, f"the same scores of {len(few)}")


def ours(answers: Sequence[str], clusters: Sequence[Cluster]) -> list[float]:
    """The scores with a similarity that remembers nothing of other questions."""
    similarity = WordNetSimilarity(wordnet())
    own, best = (np.round(similarities(it, clusters, similarity)) for it in (answers, best_list(clusters)))
    return list(shares(own, best, clusters, EIGHT).values())


def plain(answers: Sequence[str], clusters: Sequence[Cluster], database: WordNet) -> list[float]:
    """The scores with every pair computed anew for every metric."""
    return [
        _value(answers, clusters, rule, database) / _value(best_list(clusters), clusters, rule, database)
        for rule in EIGHT
    ]


def _value(answers: Sequence[str], clusters: Sequence[Cluster], rule: Rule, database: WordNet) -> float:
    """What a list is worth by a rule, with everything computed anew."""
    kept = [cleaned(answer) for answer in answers[: rule.max_answers]]
    rows = [
        [np.round(max(_similarity(answer, one, database) for one in cluster.answers)) for cluster in clusters]
        for answer in kept
    ]
    if rule.max_incorrect is not None:
        wrong = [place for place, row in enumerate(rows) if max(row) == 0]
        rows = rows[: wrong[rule.max_incorrect - 1] + 1] if len(wrong) >= rule.max_incorrect else rows
    matrix = np.array(rows) * [cluster.count for cluster in clusters]
    return float(matrix[linear_sum_assignment(-matrix)].sum())


def _similarity(answer: str, string: str, database: WordNet) -> float:
    best = 0.0
    for one, other in product(_partitions(answer), _partitions(string)):
        matrix = np.zeros((len(one), len(other)))
        for (i, group), (j, rest) in product(enumerate(one), enumerate(other)):
            synsets = database.synsets(rest)
            matrix[i, j] = group == rest or any(it in synsets for it in database.synsets(group))
        best = max(best, matrix[linear_sum_assignment(-matrix)].sum() / max(matrix.shape))
    return best


def _partitions(text: str) -> list[list[str]]:
    words = tokens(text)
    inner = range(1, len(words))
    cuts = [(0, *cut, len(words)) for size in range(len(words) or 1) for cut in combinations(inner, size)]
    return [[" ".join(words[i:j]) for i, j in pairwise(cut)] for cut in cuts]


def made(database: WordNet) -> list[tuple[Cluster, ...]]:
    """Questions of nine clusters of up to fifteen strings of one to three words."""
    source = random.Random(11)
    words = [word.replace("_", " ") for word in database.lemmas("n")]
    return [
        tuple(
            Cluster(f"{question}.{number}", source.randint(1, 40), _strings(words, source))
            for number in range(9)
        )
        for question in range(MADE)
    ]


def _strings(words: Sequence[str], source: random.Random) -> tuple[str, ...]:
    return tuple(
        " ".join(source.choices(words, k=source.randint(1, 2))) for _ in range(source.randint(1, 15))
    )


def answers(seed: int, known: Sequence[Sequence[Cluster]], place: int | None = None) -> list[str]:
    """Answers to the question at `place` (None: at `seed`)."""
    source, place = random.Random(seed), seed if place is None else place
    own = [string for cluster in known[place] for string in cluster.answers]
    others = [string for cluster in known[place - 1] for string in cluster.answers]
    found = []
    for _ in range(ANSWERS):
        text, chance = source.choice(own), source.random()
        if chance < 0.3:
            text = source.choice(others)
        elif chance < 0.5:
            text = f"{text} {source.choice(others)}"
        elif chance < 0.6:
            text = text.split()[-1] if text.split() else text
        found.append(text)
    return found


if __name__ == "__main__":
    main()
