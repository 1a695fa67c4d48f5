"""Samples a second of one prompt against one sample at a time without a shared cache, in one run.

    python -m bench.samples [--model models/base/language_model] [--samples 300] [--plain 12] [--threads 1]

The prompts are the published statements of three questions, each with `--samples` samples of at most ten tokens, the
published temperature and nucleus, ended by a full stop, in float32. One sample at a time: transformers reads the
prompt and each token with a cache of the sample's own, and the same random numbers draw; it does the first `--plain`
samples of each prompt, which must be the same texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from bench.harness import MODEL, options, report, timed
from nightjar.benchmarks.protoqa.questions import statement
from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.model import Text
from nightjar.models.row import Prompt
from nightjar.models.samples import Sampling, generator_for, stream_samples

QUESTIONS = (
    "Name something that people take on a long walk.",
    "What makes a good neighbour?",
    "Tell me a reason why a train might be late.",
)
TEMPERATURE, TOP_P, TOKENS, STOP = 0.69, 0.9, 10, (".",)


def by_number(text: str) -> Sampling:
    return Sampling(TEMPERATURE, lambda number: generator_for(42, f"{text} {number}"), TOP_P)


def together_of(lm: LanguageModel, prompt: Prompt, count: int, sampling: Sampling) -> list[Text]:
    """All samples of one prompt, by the engine."""
    ((_, found),) = stream_samples(lm, [prompt], count, sampling)
    return found


@torch.inference_mode()
def alone(lm: LanguageModel, prompt: Prompt, sampling: Sampling, number: int) -> Text:
    """One sample: the prompt is read, then each token, with transformers' own cache."""
    generator, written = sampling.generator(number), list[int]()
    cache: Any = None
    read = list(prompt.ids)
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
            return Text(lm.tokenizer.decode(written[:-1]), tokens=len(written))
        text = lm.tokenizer.decode(written)
        found = [stop for stop in prompt.stop if stop in text]
        if found or len(written) == prompt.max_new_tokens:
            stop = min(found, key=text.index) if found else None
            return Text(text[: text.index(stop)] if stop else text, not stop, len(written), stop=stop)
        read = [token]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--plain", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    prepare(42, given.threads)
    lm = load(given.model)
    together = single = 0.0
    same = 0
    for question in QUESTIONS:
        sampling = by_number(question)
        prompt = Prompt(0, lm.tokenizer.encode(statement(question)), TOKENS, STOP)

        def plain(number: int, prompt: Prompt = prompt, sampling: Sampling = sampling) -> Text:
            return alone(lm, prompt, sampling, number)

        plain(0)  # warm
        ours = timed(lambda one=prompt, by=sampling: together_of(lm, one, given.samples, by))  # type: ignore[misc]
        theirs = timed(lambda plain=plain: [plain(number) for number in range(given.plain)])  # type: ignore[misc]
        together, single = together + ours.processor, single + theirs.processor
        same += sum(one == other for one, other in zip(theirs.result, ours.result, strict=False))
    rate = given.samples * len(QUESTIONS) / together
    few = given.plain * len(QUESTIONS)
    print(f"{rate:.2f} samples a processor second, {few / single:.2f} one at a time")
    beside = f"{same} of {few} samples the same"
    report("samples of one prompt", "one sample at a time", "processor", rate * single / few, beside)


if __name__ == "__main__":
    main()
