"""Answers a second of the decode engine, of transformers' own generate, and of a machine without overheads, in one run.

    python -m bench.decode_speed [--model models/base/language_model] [--precision float32] [--prompts 200] [--batch 16]
                           [--threads 2]

The prompts are pieces of the sample corpus of 20 to 1,000 tokens, the logarithm of the length drawn evenly, with a
fixed seed; no two begin alike. Each is continued greedily, on the GPU if there is one, until a line break, the end
token, or 64 tokens. transformers' generate gets the prompts in their order, in batches of the same size, padded on the
left, with the same stop string. Printed: the ratio, how many answers are the same, and the share of the floor: the
operations of reading the prompts at the speed of a matrix product measured here, and the bytes of the weights for each
step of full batches at the measured bandwidth.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from bench.harness import MODEL, ROOT, options, report, timed
from bench.rates import bandwidth, product_rate
from nightjar import params
from nightjar.models.engine.generation import BATCH, generate
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import device_name, load, prepare

CORPUS = ROOT / "data/sample/corpus/documents.jsonl"
SHORTEST, LONGEST, NEW, STOP = 20, 1000, 64, "\n"


def pieces(lm: LanguageModel, count: int, longest: int = LONGEST) -> list[list[int]]:
    """The prompts."""
    documents = [json.loads(line)["text"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    ids = lm.tokenizer.encode("\n\n".join(documents))
    source = random.Random(7)
    lengths = [round(math.exp(source.uniform(math.log(SHORTEST), math.log(longest)))) for _ in range(count)]
    starts = [source.randrange(len(ids) - length) for length in lengths]
    return [ids[start : start + length] for start, length in zip(starts, lengths, strict=True)]


class TransformersGenerate:
    """transformers' generate, as its documentation has it for a batch."""

    def __init__(self, path: Path, lm: LanguageModel) -> None:
        """The same weights as those of `lm`, in its precision and on its device."""
        model: Any = AutoModelForCausalLM.from_pretrained(str(path), dtype=lm.model.dtype)
        self.model, self.device = model.to(lm.device).eval(), lm.device
        self.tokenizer = AutoTokenizer.from_pretrained(str(path))
        self.end = lm.tokenizer.end

    def answers(self, prompts: Sequence[list[int]], size: int, stop: str = STOP) -> list[list[int]]:
        answer_rows: list[list[int]] = []
        for first in range(0, len(prompts), size):
            batch = prompts[first : first + size]
            width = max(map(len, batch))
            ids = self._tensor([[self.end] * (width - len(prompt)) + prompt for prompt in batch])
            mask = self._tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in batch])
            with torch.inference_mode():
                written = self.model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    max_new_tokens=NEW,
                    do_sample=False,
                    stop_strings=[stop],
                    tokenizer=self.tokenizer,
                    pad_token_id=self.end,
                )
            answer_rows += [self._unpadded(row) for row in written[:, width:].tolist()]
        return answer_rows

    def _tensor(self, rows: list[list[int]]) -> torch.Tensor:
        return torch.tensor(rows, device=self.device)

    def _unpadded(self, token_ids: list[int]) -> list[int]:
        """Without what pads an answer that ended before the others of its batch."""
        return token_ids[: token_ids.index(self.end)] if self.end in token_ids else token_ids


def floor(
    lm: LanguageModel, prompts: Sequence[list[int]], answers: Sequence[Sequence[int]], size: int
) -> float:
    """Seconds for the matrix products of the prompts and for reading the weights once a step of full batches."""
    product, read = product_rate(lm.device, lm.model.dtype), bandwidth(lm.device)
    weights = sum(part.numel() for part in lm.model.parameters() if part.dim() == 2)
    embedding = lm.model.get_input_embeddings().weight.numel()
    # Every prompt token passes all weights but the vocabulary's; attention is left out.
    products = 2 * (weights - embedding) * sum(map(len, prompts)) / product
    steps = math.ceil(sum(len(ids) + 1 for ids in answers) / size)
    return products + steps * weights * lm.model.dtype.itemsize / read


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="float32")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    prepare(params.load().seed, arguments.threads)
    lm = load(arguments.model, arguments.precision)
    reference = TransformersGenerate(arguments.model, lm)
    prompts = pieces(lm, arguments.prompts)
    warm = prompts[: arguments.batch]
    generate(lm, warm, 2), reference.answers(warm, arguments.batch)
    ours = timed(lambda: generate(lm, prompts, NEW, [STOP], batch_size=arguments.batch))
    theirs = timed(lambda: reference.answers(prompts, arguments.batch))
    answers = [list(answer.ids) for answer in ours.result]
    same = sum(answer == ids for answer, ids in zip(answers, theirs.result, strict=True))
    share = floor(lm, prompts, answers, arguments.batch) / ours.clock
    print(f"{device_name()}, {arguments.precision}, {len(prompts)} prompts, {arguments.batch} at a time")
    print(f"{len(prompts) / ours.clock:.2f} answers a second, {len(prompts) / theirs.clock:.2f} by generate")
    beside = f"{same} of {len(prompts)} answers the same; {100 * share:.0f}% of the floor by the clock"
    for measure in ("clock", "processor"):
        ratio = getattr(theirs, measure) / getattr(ours, measure)
        report("greedy answers", "transformers' generate", measure, ratio, beside)


if __name__ == "__main__":
    main()
