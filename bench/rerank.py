"""Reranking against one whole prompt at a time, by processor time in one run.

    python -m bench.rerank [--model models/base/language_model] [--precision float32 ...] [--texts 60]

Texts are real where NIGHTJAR_REAL_DATA names a folder with classification/ and corpora/, else they are random words.
Both ways must find the same. The floor is the matrix products of the tokens behind the shared prefix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from bench.harness import MODEL, options, report, timed
from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import PRECISIONS, load, prepare
from nightjar.search.reranker import Ids, embed, prompts, reorder, shared_prefix

FIRST, SHOTS = 16, 8
# Of a product of unit vectors in float32.
ROUNDING = 1e-6
Vectors = NDArray[np.float32]


def random_texts(count: int, length: int, rng: np.random.Generator) -> list[str]:
    """`count` texts of `length` words out of some 30,000."""
    return [" ".join(f"w{rank}" for rank in rng.zipf(1.2, length) if rank < 30_000) for _ in range(count)]


def sentences(count: int) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Labelled training sentences of SST-2, so many test sentences, and so many sentences of WikiText."""
    root = os.environ.get("NIGHTJAR_REAL_DATA")
    if not root:
        rng = np.random.default_rng(4)
        labels = ["positive", "negative"] * (SHOTS // 2)
        demonstrations = list(zip(random_texts(SHOTS, 20, rng), labels, strict=True))
        return demonstrations, random_texts(count, 20, rng), random_texts(count, 25, rng)

    def lines(name: str) -> list[tuple[str, str]]:
        with (Path(root) / "classification" / name).open(encoding="utf-8") as stream:
            rows = (line.rstrip("\n").split(" ", 1) for line in islice(stream, 4 * count + SHOTS))
            return [(text, "positive" if label == "1" else "negative") for label, text in rows]

    with (Path(root) / "corpora/wikitext-2/valid.txt").open(encoding="utf-8") as stream:
        pieces = (piece.strip() for line in stream for piece in re.split(r"(?<=[.!?]) ", line))
        # As in the stage, every text once: equal ones would be a tie that rounding decides.
        corpus = list(islice(dict.fromkeys(piece for piece in pieces if 40 < len(piece) < 300), count))
    return lines("stsa.binary.train")[:SHOTS], [text for text, _ in lines("stsa.binary.test")[:count]], corpus


def plain_embed(lm: LanguageModel, rows: Sequence[Ids]) -> Vectors:
    """The vectors of whole prompts, one at a time."""
    vectors = []
    for row in rows:
        with torch.inference_mode():
            states = lm.model.base_model(input_ids=torch.tensor([row.tolist()]), use_cache=False)
        vectors.append(torch.nn.functional.normalize(states.last_hidden_state[0, -1].float(), dim=0).numpy())
    return np.stack(vectors)


def tied(order: Sequence[int], vectors: Vectors, question: int, places: NDArray[np.int64]) -> bool:
    """Tell whether `order`, the best places by other vectors, is one by `vectors` too but for ROUNDING."""
    products = vectors[places].astype(np.float64) @ vectors[question].astype(np.float64)
    ordered = products[list(order)]
    absent = np.delete(products, list(order))
    return bool(np.all(np.diff(ordered) <= ROUNDING) and absent.max() - ordered.min() <= ROUNDING)


def floor(lm: LanguageModel, tokens: int) -> float:
    """Seconds in which matrix products of the model's size take as many operations as so many tokens."""
    size = int(lm.model.config.hidden_size)
    states, weight_matrix = (torch.randn(1024, size, dtype=lm.model.dtype) for _ in range(2))
    states @ weight_matrix.T
    seconds = timed(lambda: [states @ weight_matrix.T for _ in range(50)]).processor
    weights = sum(it.numel() for name, it in lm.model.base_model.named_parameters() if "embed" not in name)
    return 2 * tokens * weights * seconds / (50 * 2 * 1024 * size * 1024)


def reranking(model: Path, precision: str, count: int, batch_tokens: int) -> None:
    """`count` questions, each with the same `count` candidates: every text once, both ways."""
    lm = load(model, precision)
    labelled_texts, question_texts, corpus = sentences(count)
    benchmark = registry.load_benchmark("classification")
    demonstrations = [
        {"id": str(n), "text": it, "label": label} for n, (it, label) in enumerate(labelled_texts)
    ]
    question = Question("classification", "sst2", "0", {}, (), shared={"demonstrations": demonstrations})
    ask, prefixes = benchmark.reranking_prompt, benchmark.reranking_prefixes(question)

    def ours() -> tuple[int, int, Vectors]:
        prompt_rows = prompts(
            lm.tokenizer, lambda it: ask("sst2", it), prefixes, [*question_texts, *corpus], 512
        )
        base = shared_prefix(lm, prompt_rows.rows)
        shared = len(base.ids) if base else 0
        return (
            shared,
            sum(len(row) - shared for row in prompt_rows.rows),
            embed(lm, prompt_rows.rows, base, batch_tokens),
        )

    def plain() -> Vectors:
        prefix = prefixes[
            prompts(
                lm.tokenizer, lambda it: ask("sst2", it), prefixes, [*question_texts, *corpus], 512
            ).left_out
        ]
        rows = [
            np.array(lm.tokenizer.encode(prefix + ask("sst2", it)), np.int32)
            for it in (*question_texts, *corpus)
        ]
        return plain_embed(lm, rows)

    fast, slow = timed(ours), timed(plain)
    (shared, tokens, fast_vectors), expected = fast.result, slow.result
    places = np.arange(len(question_texts), len(question_texts) + len(corpus))
    orders = [
        [reorder(it[n], it, places)[0][:FIRST].tolist() for n in range(len(question_texts))]
        for it in (fast_vectors, expected)
    ]
    same = float(np.mean([a == b for a, b in zip(*orders, strict=True)]))
    ties = float(np.mean([tied(order, expected, n, places) for n, order in enumerate(orders[0])]))
    print(
        f"{precision}: {len(fast_vectors)} texts, {shared} tokens shared, {tokens / len(fast_vectors):.1f} of their own"
    )
    share = f"{100 * floor(lm, tokens) / fast.processor:.0f}% of the floor"
    ratio = slow.processor / fast.processor
    report(f"reranking, {precision}", "one whole prompt at a time", "processor", ratio, share)
    difference = np.abs(fast_vectors - expected).max()
    print(f"  vectors differ by {difference:.1e}, the same first {FIRST} in {same:.1%} of questions,")
    print(f"  and in {ties:.1%} but for exchanges of candidates whose products differ by at most {ROUNDING}")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--precision", nargs="*", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--texts", type=int, default=60, help="questions, and as many candidates")
    parser.add_argument("--batch-tokens", type=int, default=8192)
    arguments = parser.parse_args()
    prepare(seed=0, threads=1)
    for precision in arguments.precision:
        reranking(arguments.model, precision, arguments.texts, arguments.batch_tokens)


if __name__ == "__main__":
    main()
