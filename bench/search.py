"""Our BM25 against rank_bm25, and our dense search against numpy's brute force, each pair in one run.

    python -m bench.search [--passages 10000] [--queries 50]

Words follow Zipf's law and vectors come in clumps, as those of texts do. Each line is checked: the same best
passages as the reference gives (a share of them for the approximate index).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from nightjar.search.dense import DenseIndex
from nightjar.search.fuse import Rankings
from nightjar.search.lexical import LexicalIndex, words

BEST, DIMENSION = 10, 384
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds and result of one call."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def texts(count: int, length: int, rng: np.random.Generator) -> list[str]:
    """`count` texts of `length` words out of some 30,000."""
    return [" ".join(f"w{rank}" for rank in rng.zipf(1.2, length) if rank < 30_000) for _ in range(count)]


def vectors(count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """`count` unit vectors around `count` / 50 centres."""
    centres = rng.normal(size=(max(1, count // 50), DIMENSION))
    rows = centres[rng.integers(0, len(centres), count)] + 0.7 * rng.normal(size=(count, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def agreement(ours: Rankings, theirs: list[list[int]]) -> float:
    """The share of the reference's best passages that we found too."""
    pairs = zip(ours.ids.tolist(), theirs, strict=True)
    return float(np.mean([len(set(mine) & set(reference)) / BEST for mine, reference in pairs]))


def report(name: str, theirs: float, ours: float, count: int, agreed: float) -> None:
    print(
        f"{name:<22}{count / theirs:>12.0f} /s{count / ours:>12.0f} /s{theirs / ours:>9.1f} x"
        f"{agreed:>11.1%} of the best {BEST}"
    )


def bm25(passages: int, queries: int, rng: np.random.Generator) -> None:
    corpus, asked = texts(passages, 100, rng), texts(queries, 12, rng)
    build_theirs, reference = timed(lambda: BM25Okapi([words(text) for text in corpus]))
    build_ours, index = timed(lambda: LexicalIndex.build(corpus))

    def rank(query: str) -> list[int]:
        best: list[int] = np.argsort(-reference.get_scores(words(query)).round(9), kind="stable")[
            :BEST
        ].tolist()
        return best

    theirs, expected = timed(lambda: [rank(query) for query in asked])
    ours, found = timed(lambda: index.search(asked, BEST))
    agreed = agreement(found, expected)
    report("bm25 build", build_theirs, build_ours, passages, agreed)
    report("bm25 search", theirs, ours, queries, agreed)


def dense(passages: int, queries: int, rng: np.random.Generator) -> None:
    corpus = vectors(passages, rng)
    asked = corpus[rng.integers(0, passages, queries)]

    def rank() -> list[list[int]]:
        cosines = asked @ corpus.T
        best: list[list[int]] = np.argpartition(-cosines, BEST, axis=1)[:, :BEST].tolist()
        return best

    theirs, expected = timed(rank)
    for kind in ("flat", "ivf"):
        index = DenseIndex.build([corpus], kind)
        ours, found = timed(lambda index=index: index.search(asked, BEST))  # type: ignore[misc]
        report(f"dense {kind} search", theirs, ours, queries, agreement(found, expected))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=50)
    arguments = parser.parse_args()
    print(f"{'':<22}{'reference':>15}{'ours':>15}{'faster':>11}{'agreement':>12}")
    bm25(arguments.passages, arguments.queries, np.random.default_rng(1))
    dense(arguments.passages, arguments.queries, np.random.default_rng(2))


if __name__ == "__main__":
    main()
