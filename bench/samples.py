"""Samples a second of one prompt against one sample at a time without a shared cache, in one run.

    python -m bench.samples [--model models/base/language_model] [--samples 300] [--plain 12] [--threads 1]

The prompts are the published statements of three questions, each with `--samples` samples of at most ten tokens, the
published temperature and nucleus, ended by a full stop, in float32. One sample at a time: transformers reads the
prompt and each token with a cache of the sample's own, and the same random numbers draw; it does the first `--plain`
samples of each prompt, which must be the same texts. Printed: samples a processor second of both ways and their ratio,
and how many tokens were read of those that were drawn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from bench.ratios import record
from nightjar.benchmarks.protoqa.prompts import statement
from nightjar.models import samples as engine
from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.rows import Pool, Segment
from nightjar.models.samples import Ends, Sample, Sampling, generator_for, samples

QUESTIONS = (
    "Name something that people take on a long walk.",
    "What makes a good neighbour?",
    "Tell me a reason why a train might be late.",
)
TEMPERATURE, TOP_P, ENDS = 0.69, 0.9, Ends(10, (".",))


def by_number(text: str) -> Sampling:
    return Sampling(TEMPERATURE, lambda number: generator_for(42, f"{text} {number}"), TOP_P)


@torch.inference_mode()
def alone(lm: LanguageModel, ids: Sequence[int], sampling: Sampling, number: int, ends: Ends) -> Sample:
    """One sample: the prompt is read anew, then each token, with transformers' own cache."""
    generator, written = sampling.generator(number), list[int]()
    cache: Any = None
    read = list(ids)
    while True:
        result = lm.model(
            input_ids=torch.tensor([read], device=lm.device),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache = result.past_key_values
        (token,) = sampling.draw(result.logits[0].float(), [generator])
        written.append(token)
        if token == lm.tokenizer.end:
            return Sample(lm.tokenizer.decode(written[:-1]), None, len(written))
        text = lm.tokenizer.decode(written)
        found = [stop for stop in ends.stop if stop in text]
        if found or len(written) == ends.max_new_tokens:
            stop = min(found, key=text.index) if found else None
            return Sample(text[: text.index(stop)] if stop else text, stop, len(written))
        read = [token]


class Counted:
    """`advance` that counts the tokens it reads."""

    def __init__(self) -> None:
        self.tokens, self.advance = 0, engine.advance

    def __call__(
        self, lm: LanguageModel, pool: Pool, reads: Sequence[tuple[Segment, Sequence[int]]]
    ) -> torch.Tensor:
        self.tokens += sum(len(ids) for _, ids in reads)
        return self.advance(lm, pool, reads)


def seconds(run: Callable[[], list[Sample]]) -> tuple[float, list[Sample]]:
    started = time.process_time()
    found = run()
    return time.process_time() - started, found


def main() -> None:
    """Print the samples a processor second of both ways."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=Path("models/base/language_model"))
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--plain", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    prepare(42, asked.threads)
    lm = load(asked.model)
    counted = Counted()
    engine.advance = counted
    ours = theirs = 0.0
    drawn = same = prompts = 0
    for question in QUESTIONS:
        ids, sampling = lm.tokenizer.encode(statement(question)), by_number(question)
        alone(lm, ids, sampling, 0, ENDS)  # warm
        used, found = seconds(lambda: samples(lm, ids, asked.samples, sampling, ENDS))  # noqa: B023
        plain_used, plain = seconds(
            lambda: [alone(lm, ids, sampling, number, ENDS) for number in range(asked.plain)]  # noqa: B023
        )
        ours, theirs = ours + used, theirs + plain_used
        prompts += len(ids)
        drawn += sum(one.tokens for one in found)
        same += sum(one == other for one, other in zip(plain, found, strict=False))
    count, few = asked.samples * len(QUESTIONS), asked.plain * len(QUESTIONS)
    print(f"{len(QUESTIONS)} prompts, {asked.samples} samples each, {torch.get_num_threads()} threads")
    print(f"together:        {count / ours:7.2f} samples a processor second")
    print(f"one at a time:   {few / theirs:7.2f} samples a processor second ({few} samples)")
    print(f"ratio:           {count / ours / (few / theirs):7.2f}")
    agreed = f"{same} of {few} samples the same"
    record(
        "samples of one prompt", "one sample at a time", "processor", count / ours / (few / theirs), agreed
    )
    print(f"same samples:    {same} of {few}")
    print(f"tokens read:     {counted.tokens - prompts} behind the prompts of {drawn} drawn")


if __name__ == "__main__":
    main()
