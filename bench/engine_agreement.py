"""The engine against transformers' own forward, on the GPU if there is one, in float32 and in bfloat16.

    python -m bench.engine_agreement [--model models/base/language_model] [--prompts 50] [--families 200]
                                     [--threads 2]

The models are tiny ones of every family of transformers (`tests.tiny_families`), and MODEL with pieces of the sample
corpus. Each prompt has a continuation scored and is continued greedily, and a text has its loss taken. transformers
reads each text alone, from its beginning, a token at a time. Printed: the largest differences, in nats a token; the
greedy texts that are the same; and how much likelier the other token was, at most, where one differs. Exit status 1
if one differs by more than rounding (`equality.TOLERANCES`), or a family runs in transformers alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from bench.decode_speed import pieces
from bench.harness import MODEL, options
from nightjar.core.errors import first_line
from nightjar.models.engine.equality import TOLERANCES, choose_engine
from nightjar.models.engine.generation import generate
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.loading import device_name, load, prepare
from nightjar.models.engine.log_probabilities import Continuation, continuation_sums, text_loss
from tests.tiny_families import build, families
from tests.tiny_models import language_model

# They read both ways and are no decoders.
ENCODERS = frozenset({"cpmant", "xlm", "xlnet"})
PROMPTS = [[5, 6, 7, 8, 9, 10, 11, 12, 13], [5, 6, 14, 15], [16, 17, 18, 19, 20, 21, 22, 23]]
# Tokens of a scored continuation, and of the text whose loss is taken.
SCORED, TEXT = 3, 512


@dataclass(frozen=True)
class Agreement:
    """The largest differences of choices and of a text's loss in nats a token, and of `texts` greedy ones `same`.

    `margin`: the largest difference of log-probabilities of two tokens where the texts differ.
    """

    choices: float
    loss: float
    same: int
    texts: int
    margin: float

    def within(self, tolerance: float) -> bool:
        return max(self.choices, self.loss, self.margin) <= tolerance


def plain(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """Log-probabilities behind each id."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([list(ids)], device=model.device)).logits[0]
    return logits.float().log_softmax(-1)


def total(model: Any, ids: Sequence[int], first: int) -> float:
    """The sum of log-probabilities of the ids from the place `first` on."""
    table = plain(model, ids)
    return sum(float(table[place - 1, ids[place]]) for place in range(first, len(ids)))


def margin(
    model: Any, prompt: Sequence[int], written: Sequence[int], end_token: int, count: int
) -> float | None:
    """None if `written` is the model's greedy text; else how far apart the two tokens are where it first differs."""
    for place in range(min(len(written) + 1, count)):
        row = plain(model, [*prompt, *written[:place]])[-1]
        token = written[place] if place < len(written) else end_token
        if token != (best := int(row.argmax())):
            return float(row[best] - row[token])
    return None


def compare(lm: LanguageModel, model: Any, prompts: Sequence[list[int]], new: int) -> Agreement:
    """The engine of `lm` against `model`, which has the same weights."""
    groups = [[Continuation(tuple(ids), len(ids) - SCORED)] for ids in prompts]
    choices = [
        abs(sums[0] - total(model, groups[number][0].ids, groups[number][0].first)) / SCORED
        for number, sums in continuation_sums(lm, groups)
    ]
    text = [token for ids in prompts for token in ids][:TEXT]
    read = [*lm.tokenizer.begin, *text]
    expected = -total(model, read, len(lm.tokenizer.begin) + 1)
    loss = abs(text_loss(lm, text, TEXT + 1) - expected) / (len(text) - 1)
    written = [one.ids for one in generate(lm, prompts, new)]
    pairs = zip(prompts, written, strict=True)
    margins = [margin(model, prompt, ids, lm.tokenizer.end, new) for prompt, ids in pairs]
    differing = [one for one in margins if one is not None]
    same = len(margins) - len(differing)
    return Agreement(max(choices), loss, same, len(margins), max(differing, default=0.0))


def of_families(lm: LanguageModel, names: Sequence[str], dtype: torch.dtype) -> bool:
    """Compare tiny models of these families and print how far they agree. `lm` lends its tokenizer."""
    results, engines, faults = list[Agreement](), Counter[Engine](), list[str]()
    for name in names:
        model, reference = (build(name).to(lm.device, dtype) for _ in range(2))
        adapted = replace(lm, model=model, engine=Engine.PADDED)
        try:
            plain(reference, PROMPTS[0])
        except Exception as error:
            print(f"transformers itself does not run {name} in {dtype}: {first_line(error)}")
            continue
        try:
            adapted = replace(adapted, engine=choose_engine(adapted, Path(name)))
            results.append(compare(adapted, reference, PROMPTS, 5))
        except Exception as error:  # a model of any kind fails in its own way
            faults.append(f"{name}: {first_line(error)}")
            continue
        engines[adapted.engine] += 1
        if not results[-1].within(TOLERANCES[dtype]):
            faults.append(f"{name} ({adapted.engine}): {results[-1]}")
    worst = Agreement(
        max((adapted.choices for adapted in results), default=0.0),
        max((adapted.loss for adapted in results), default=0.0),
        sum(adapted.same for adapted in results),
        sum(adapted.texts for adapted in results),
        max((adapted.margin for adapted in results), default=0.0),
    )
    report(f"{len(results)} families ({', '.join(f'{engines[it]} {it}' for it in Engine)})", dtype, worst)
    for fault in faults:
        print(f"  {fault}")
    return not faults


def report(what: str, dtype: torch.dtype, agreed: Agreement) -> None:
    print(
        f"{what}, {dtype}: choices {agreed.choices:.1e}, loss {agreed.loss:.1e}, {agreed.same} of {agreed.texts} "
        f"texts the same, margin {agreed.margin:.1e}",
        flush=True,
    )


def main(words: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--families", type=int, default=200, help="the first so many")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args(words)
    prepare(seed=0, threads=arguments.threads)
    print(f"{device_name()}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        tiny = load(language_model(Path(folder) / "model"))
    names = [name for name in families() if name not in ENCODERS][: arguments.families]
    good = True
    for dtype in TOLERANCES:
        good = of_families(tiny, names, dtype) and good
    for dtype in TOLERANCES:
        lm = load(arguments.model, str(dtype).removeprefix("torch."))
        model: Any = AutoModelForCausalLM.from_pretrained(str(arguments.model), dtype=dtype)
        agreed = compare(lm, model.to(lm.device).eval(), pieces(lm, arguments.prompts, 400), 32)
        report(f"{arguments.model} ({lm.engine})", dtype, agreed)
        good = agreed.within(TOLERANCES[dtype]) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
