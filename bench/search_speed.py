"""Our search against plain references, each pair in one run, in seconds of processor time on one thread.

    OMP_NUM_THREADS=1 python -m bench.search_speed lexical --tasks FOLDER [--count 100000] [--queries 100]
    OMP_NUM_THREADS=1 python -m bench.search_speed encode --tasks FOLDER [--encoder DIR] [--count 400]
    OMP_NUM_THREADS=1 python -m bench.search_speed exact [--count 100000] [--queries 200]
    OMP_NUM_THREADS=1 python -m bench.search_speed kinds [--count 10000] [--dimension 384] [--vectors FILE.npy]

lexical   BM25 of sentences of task inputs, against rank_bm25, and against bm25s where it and numba are installed
encode    task inputs to vectors, against transformers in batches of 64 in the order of the files
exact     the best 150 of clustered vectors, against a matrix product and a partition in numpy
kinds     flat, hnsw and ivfpq: recall of the best 150, queries a second, seconds to build, bytes

FOLDER has task files of Super-NaturalInstructions (tasks/*.json). Results are checked: the same scores, vectors or
passages as the reference.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi
from transformers import AutoModel, AutoTokenizer

from bench.harness import options as parser_of
from bench.harness import report, task_files, timed
from nightjar.search.dense import DenseIndex, Kind
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.lexical import LexicalIndex, blank_separated
from nightjar.search.passages import cut_sentences
from nightjar.search.words import words

BEST, BATCH = 150, 64


def inputs(tasks: Path, every: int) -> list[str]:
    """Every so many inputs of all tasks, in the order of the files."""
    return [
        one["input"]
        for file in task_files(tasks)
        for one in json.loads(file.read_text(encoding="utf-8"))["Instances"][::every]
    ]


def sentences(tasks: Path, count: int) -> list[str]:
    """`count` different sentences of at least three words, drawn by a fixed seed."""
    distinct = {
        text
        for input_text in inputs(tasks, 4)
        for _, text in cut_sentences(input_text, 200)
        if text.count(" ") > 1
    }
    drawn = sorted(distinct)
    random.Random(0).shuffle(drawn)
    return drawn[:count]


def lexical(options: argparse.Namespace) -> None:
    drawn = sentences(options.tasks, options.count + options.queries)
    corpus, queries = drawn[options.queries :], drawn[: options.queries]
    print(f"{len(corpus)} sentences, {len(queries)} queries, best {BEST}")
    for mode, split in (("words", words), ("published", blank_separated)):
        index = LexicalIndex.build(corpus, mode)  # type: ignore[arg-type]
        reference = BM25Okapi([split(text) for text in corpus])
        ours = timed(lambda index=index: index.search(queries, BEST))  # type: ignore[misc]
        few, worst, ranking_result = (
            queries[:: max(1, len(queries) // 20)],
            0.0,
            ours.result,
        )  # the reference is slow
        theirs = timed(lambda: [reference.get_scores(split(query)) for query in few])  # noqa: B023
        scores = theirs.result
        ranking = timed(lambda: [np.argsort(row)[::-1][:BEST] for row in scores])  # noqa: B023
        for row, query in enumerate(few):
            place = queries.index(query)
            # Passages with score 0 share no word, or words that say nothing: their order is the mode's.
            nonzero = ranking_result.scores[place] > 0
            our_scores, expected = (
                ranking_result.scores[place][nonzero],
                np.sort(scores[row])[::-1][: nonzero.sum()],
            )
            for their_scores in (scores[row][ranking_result.ids[place][nonzero]], expected):
                worst = max(worst, np.abs(their_scores - our_scores).max(initial=0))
        agreed = f"scores differ by at most {worst:.0e}"
        seconds = (theirs.processor + ranking.processor) / len(few)
        ratio = seconds * len(queries) / ours.processor
        report(f"bm25 {mode}", "rank_bm25", "processor", ratio, agreed)
        if mode == "words" and find_spec("bm25s") and find_spec("numba"):
            compiled(index, corpus, queries)


def compiled(index: LexicalIndex, corpus: list[str], queries: list[str]) -> None:
    """The same queries by bm25s in float64, compiled by numba before it is timed. Its idf is another variant's."""
    their_index = importlib.import_module("bm25s").BM25(method="atire", dtype="float64", backend="numba")
    their_index.index([words(text) for text in corpus], show_progress=False)

    def retrieve(limit: int) -> None:
        query_words = [[word for word in words(query) if word in their_index.vocab_dict] for query in queries]
        their_index.retrieve(query_words, k=limit, show_progress=False, n_threads=1)

    for limit in (10, BEST):
        retrieve(limit)
        ratios = []
        for _ in range(5):
            theirs = timed(lambda limit=limit: retrieve(limit))  # type: ignore[misc]
            ours = timed(lambda limit=limit: index.search(queries, limit))  # type: ignore[misc]
            ratios.append(theirs.processor / ours.processor)
        report(f"bm25 best {limit}", "bm25s with numba", "processor", ratios)


def encode(options: argparse.Namespace) -> None:
    every = inputs(options.tasks, 1)
    texts = every[:: max(1, len(every) // options.count)][: options.count]
    encoder = SentenceEncoder(options.encoder)
    encoder.encode(texts[:8])
    ours = timed(lambda: encoder.encode(texts))

    tokenizer = AutoTokenizer.from_pretrained(options.encoder, local_files_only=True)
    model = AutoModel.from_pretrained(options.encoder, local_files_only=True).eval()

    def in_order() -> NDArray[np.float32]:
        vectors = []
        for at in range(0, len(texts), BATCH):
            batch = tokenizer(
                texts[at : at + BATCH],
                truncation=True,
                max_length=encoder.max_length,
                padding=True,
                return_tensors="pt",
            )
            with torch.inference_mode():
                states = model(**batch).last_hidden_state
            mask = batch["attention_mask"][:, :, None]
            vectors.append(torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1).numpy())
        return np.concatenate(vectors)

    theirs = timed(in_order)
    agreed = f"vectors differ by at most {np.abs(ours.result - theirs.result).max():.0e}"
    against = "transformers in the order of the files"
    report("encode", against, "processor", theirs.processor / ours.processor, agreed)


def clustered(count: int, dimension: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Unit vectors around count / 1000 centres; a few directions vary more than the others, as in those of texts."""
    scale = np.arange(1, dimension + 1, dtype=np.float32) ** -0.5
    centres = rng.standard_normal((max(10, count // 1000), dimension), dtype=np.float32)
    rows = centres[rng.integers(0, len(centres), count)]
    rows = (rows + rng.standard_normal((count, dimension), dtype=np.float32)) * scale
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows, dtype=np.float32)


def product(queries: NDArray[np.float32], corpus: NDArray[np.float32]) -> NDArray[np.int64]:
    """The best of `corpus` for each query, in order, by numpy alone."""
    scores = queries @ corpus.T
    best = np.argpartition(-scores, BEST, axis=1)[:, :BEST]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.asarray(np.take_along_axis(best, order, axis=1))


def recall(ids: NDArray[np.int64], expected: NDArray[np.int64]) -> float:
    pairs = zip(ids.tolist(), expected.tolist(), strict=True)
    return float(np.mean([len(set(ours) & set(theirs)) / BEST for ours, theirs in pairs]))


def exact(options: argparse.Namespace) -> None:
    drawn = clustered(options.count + options.queries, options.dimension, np.random.default_rng(1))
    corpus, queries = drawn[options.queries :], drawn[: options.queries]
    index = DenseIndex.build([corpus])
    ours = timed(lambda: index.search(queries, BEST))
    theirs = timed(lambda: product(queries, corpus))
    agreed = f"{recall(ours.result.ids, theirs.result):.2%} of the best {BEST}"
    report(f"exact, {len(corpus)}", "numpy", "processor", theirs.processor / ours.processor, agreed)


def kinds(options: argparse.Namespace) -> None:
    if options.vectors:
        drawn = np.load(options.vectors)[: options.count + options.queries]
    else:
        drawn = clustered(options.count + options.queries, options.dimension, np.random.default_rng(1))
    queries, corpus = drawn[: options.queries], drawn[options.queries :]
    expected = DenseIndex.build([corpus]).search(queries, BEST).ids
    print(f"{len(corpus)} vectors of {corpus.shape[1]} numbers, {len(queries)} queries")
    print(f"{'kind':<8}{f'recall@{BEST}':>12}{'queries/s':>12}{'build s':>10}{'bytes a vector':>16}")
    for kind in options.kinds:
        built = timed(lambda kind=kind: DenseIndex.build([corpus], kind))  # type: ignore[misc]
        with tempfile.TemporaryDirectory() as folder:
            built.result.save(Path(folder), {})
            size = (Path(folder) / "vectors.faiss").stat().st_size / len(corpus)
            loaded = DenseIndex.load(Path(folder), {})
            searched = timed(lambda loaded=loaded: loaded.search(queries, BEST))  # type: ignore[misc]
        share, speed = recall(searched.result.ids, expected), len(queries) / searched.processor
        print(f"{kind:<8}{share:>12.3f}{speed:>12.0f}{built.processor:>10.1f}{size:>16.0f}", flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parts = {"lexical": lexical, "encode": encode, "exact": exact, "kinds": kinds}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--tasks", type=Path, default=Path("data/sample/natural_instructions"))
    parser.add_argument("--encoder", type=Path, default=Path("models/base/sentence_encoder"))
    parser.add_argument("--count", type=int)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=get_args(Kind), default=get_args(Kind))
    options = parser.parse_args()
    defaults = {"lexical": 100_000, "encode": 400, "exact": 100_000, "kinds": 10_000}
    options.count = options.count or defaults[options.part]
    parts[options.part](options)


if __name__ == "__main__":
    main()
