"""Answers a second of the decode engine, of transformers' own generate, and of a machine without overheads, in one run.

    python -m bench.decode [--model models/base/language_model] [--prompts 200] [--batch 16] [--threads 2]

The prompts are pieces of the sample corpus, whose documents are joined to one text: of 20 to 1,000 tokens, the
logarithm of the length drawn evenly, from places drawn evenly, with a fixed seed; no two begin alike. Each is continued
greedily in float32 until a line break, the end token, or 64 tokens, so answers end at different lengths. transformers'
generate gets the prompts in their order, in batches of the same size, padded on the left, with the same stop string.
Printed: answers a second by the clock and a processor second, their
ratio, in how many answers all tokens are the same, and the floor: the operations of reading the prompts at the speed of
a matrix product measured here, and the bytes of the weights for each step of full batches at the measured bandwidth.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from bench.ratios import record
from nightjar import params
from nightjar.models.generate import BATCH, generate
from nightjar.models.load import LanguageModel, load, prepare

CORPUS = Path("data/sample/corpus/documents.jsonl")
SHORTEST, LONGEST, NEW, STOP = 20, 1000, 64, "\n"


def pieces(lm: LanguageModel, count: int) -> list[list[int]]:
    """The prompts."""
    documents = [json.loads(line)["text"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    ids = lm.tokenizer.encode("\n\n".join(documents))
    source = random.Random(7)
    lengths = [round(math.exp(source.uniform(math.log(SHORTEST), math.log(LONGEST)))) for _ in range(count)]
    starts = [source.randrange(len(ids) - length) for length in lengths]
    return [ids[start : start + length] for start, length in zip(starts, lengths, strict=True)]


class Padded:
    """transformers' generate, as its documentation has it for a batch."""

    def __init__(self, path: Path, end: int) -> None:
        self.model: Any = AutoModelForCausalLM.from_pretrained(str(path), dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(str(path))
        self.end = end

    def answers(self, prompts: Sequence[list[int]], size: int) -> list[list[int]]:
        found: list[list[int]] = []
        for first in range(0, len(prompts), size):
            batch = prompts[first : first + size]
            width = max(map(len, batch))
            ids = torch.tensor([[self.end] * (width - len(own)) + own for own in batch])
            mask = torch.tensor([[0] * (width - len(own)) + [1] * len(own) for own in batch])
            with torch.inference_mode():
                written = self.model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    max_new_tokens=NEW,
                    do_sample=False,
                    stop_strings=[STOP],
                    tokenizer=self.tokenizer,
                    pad_token_id=self.end,
                )
            found += [self._own(row) for row in written[:, width:].tolist()]
        return found

    def _own(self, ids: list[int]) -> list[int]:
        """Without what pads an answer that ended before the others of its batch."""
        return ids[: ids.index(self.end)] if self.end in ids else ids


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """What `run` gives, seconds by the clock and of the processor."""
    clock, used = time.perf_counter(), sum(os.times()[:2])
    result = run()
    return result, time.perf_counter() - clock, sum(os.times()[:2]) - used


def best(run: Callable[[], Any], times: int = 5) -> tuple[float, float]:
    """The least seconds by the clock and of the processor."""
    run()
    taken = [timed(run)[1:] for _ in range(times)]
    return min(clock for clock, _ in taken), min(used for _, used in taken)


def floor(
    lm: LanguageModel, prompts: Sequence[list[int]], answers: Sequence[Sequence[int]], size: int
) -> tuple[float, float]:
    """Seconds for the matrix products of the prompts and for reading the weights once a step of full batches.

    By the clock and of the processor.
    """
    large = torch.rand(2048, 2048)
    product = best(lambda: large @ large)
    weights = [part for part in lm.model.parameters() if part.dim() == 2]
    read = sum(part.numel() * part.element_size() for part in weights)
    # As many bytes, read as a product with one row reads them.
    rows = torch.rand(read // 4096, 1024)
    reading = best(lambda: rows @ rows[0])
    embedding = lm.model.get_input_embeddings().weight.numel()
    # Every prompt token passes all weights but the vocabulary's; attention is left out.
    operations = 2 * (read / 4 - embedding) * sum(map(len, prompts))
    steps = math.ceil(sum(len(ids) + 1 for ids in answers) / size)
    rate, bandwidth = 2 * 2048**3 / product[0], read / reading[0]
    print(
        f"floor: {operations / 1e12:.2f} T operations at {rate / 1e9:.0f} G a second, "
        f"{steps} steps of {read / 1e6:.0f} MB at {bandwidth / 1e9:.1f} GB a second"
    )
    one_product = operations / (2 * 2048**3)
    return one_product * product[0] + steps * reading[0], one_product * product[1] + steps * reading[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("models/base/language_model"))
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    prepare(params.load().seed, asked.threads)
    lm = load(asked.model)
    other = Padded(asked.model, lm.tokenizer.end)
    prompts = pieces(lm, asked.prompts)
    tokens = sorted(map(len, prompts))
    print(
        f"{len(prompts)} prompts of {tokens[0]} to {tokens[-1]} tokens, {sum(tokens)} in all; "
        f"batches of {asked.batch}, {torch.get_num_threads()} threads"
    )
    warm = prompts[: asked.batch]
    generate(lm, warm, 2), other.answers(warm, asked.batch)
    ours, clock, used = timed(lambda: generate(lm, prompts, NEW, [STOP], batch_size=asked.batch))
    theirs, other_clock, other_used = timed(lambda: other.answers(prompts, asked.batch))
    count = len(prompts)
    print(f"engine: {count / clock:.2f} answers a second, {count / used:.2f} a processor second")
    print(
        f"generate: {count / other_clock:.2f} answers a second, {count / other_used:.2f} a processor second"
    )
    print(f"ratio: {other_clock / clock:.2f} by the clock, {other_used / used:.2f} of the processor")
    same = sum(list(own.ids) == ids for own, ids in zip(ours, theirs, strict=True))
    lengths = sorted(len(own.ids) for own in ours)
    print(f"same tokens: {same} of {count} answers, of {lengths[0]} to {lengths[-1]} tokens")
    least, least_used = floor(lm, prompts, [own.ids for own in ours], asked.batch)
    beside = f"{same} of {count} answers the same; {100 * least / clock:.0f}% of the floor by the clock"
    record("greedy answers", "transformers' generate", "processor", other_used / used, beside)
    print(
        f"share of the floor: {100 * least / clock:.0f}% by the clock ({least:.1f} of {clock:.1f} s), "
        f"{100 * least_used / used:.0f}% of the processor"
    )


if __name__ == "__main__":
    main()
