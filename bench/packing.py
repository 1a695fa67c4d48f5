"""Texts packed into rows against padded texts: tokens of text a second of forward and backward passes, in one run.

    python -m bench.packing [--texts 6] [--rounds 2] [--threads 2]

The documents of the corpus, drawn with the seed, are trained on as the recipe toolformer does, in passes of the same
number of tokens (`sequence_tokens`), padding included, by turns:

- packed: several texts in a row, none of which sees another;
- padded to the limit: a text a row, each as long as the limit, which is how a fixed length is usually trained with;
- padded to the longest: rows as long as the longest text of their pass, texts in the order drawn.

Padded passes go through transformers' own loss with an attention mask. The floor is the tokens that each way computes.
The losses of the three ways must agree. Needs a rebuilt project (data/ingest/corpus, models/base).
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from nightjar.core import contracts, params, tables
from nightjar.lm.load import load, prepare
from stages.encode.texts import windows
from stages.train.model import learner, loss_of
from stages.train.packing import IGNORED, pack
from stages.train.plan import fill

# Between the mean losses a token of the three ways, in nats: bfloat16 rounds sums of other lengths differently.
LARGEST_DIFFERENCE = 0.02
Ids = list[int]


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(words)


def padded(texts: Sequence[Ids], end: int, width: int | None) -> dict[str, torch.Tensor]:
    """Rows of texts for transformers' own loss, padded behind to `width`, or to the longest; each begins with `end`."""
    width = width or max(map(len, texts))
    # The row reads `end` and all of the text but its last token, from which nothing is predicted; labels are shifted by
    # the model, so that the last token is a label without being read.
    rows = [[end, *text] for text in texts]
    ids = torch.full((len(rows), width + 1), end)
    seen, labels = torch.zeros_like(ids), torch.full_like(ids, IGNORED)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
        seen[place, : len(row)] = 1
        labels[place, 1 : len(row)] = torch.tensor(row[1:])
    return {"input_ids": ids, "attention_mask": seen, "labels": labels}


def padded_passes(texts: Sequence[Ids], end: int, length: int, full: bool) -> list[dict[str, torch.Tensor]]:
    """Passes of at most `length` tokens, padding included, of texts in their order."""
    made: list[list[Ids]] = []
    for text in texts:
        width = length if full else max(map(len, [*(made[-1] if made else []), text]))
        if not made or (len(made[-1]) + 1) * width > length:
            made.append([])
        made[-1].append(text)
    return [padded(group, end, length if full else None) for group in made]


def main(words: Sequence[str] | None = None) -> None:
    options = parse(words)
    settings = params.load()
    recipe = settings.train.recipe("toolformer")
    length = recipe.sequence_tokens or recipe.batch_tokens
    prepare(settings.seed, options.threads)
    lm = load(Path("models/base/language_model"), recipe.precision)
    rows = tables.read_rows(Path("data/ingest/corpus"), contracts.DOCUMENTS, ["id", "text"])
    drawn = random.Random(settings.seed).sample(rows, min(options.texts, len(rows)))
    end = lm.tokenizer.end
    texts = [ids for row in drawn for ids in windows(lm.tokenizer, row["text"].strip(), length)]
    model = learner(lm.model, recipe, encoder_decoder=False).train()
    dtype: torch.dtype = getattr(torch, recipe.precision)
    packed = [pack([[([end], texts[at]) for at in row]]) for row in fill(list(map(len, texts)), length)]
    ways: dict[str, tuple[list[Any], int]] = {"packed": (packed, sum(one.ids.numel() for one in packed))}
    for name, full in (("padded to the limit", True), ("padded to the longest", False)):
        passes = padded_passes(texts, end, length, full)
        ways[name] = passes, sum(one["input_ids"].numel() for one in passes)

    def run(passes: Sequence[Any]) -> float:
        """The summed loss; gradients are computed and dropped."""
        total = 0.0
        for one in passes:
            if isinstance(one, dict):
                loss = model(**one).loss * int((one["labels"] != IGNORED).sum())
            else:
                loss = loss_of(model, one, dtype)
            loss.backward()
            total += loss.item()
        model.zero_grad()
        return total

    tokens = sum(map(len, texts))
    print(f"{len(texts)} texts of {min(map(len, texts))} to {max(map(len, texts))} tokens, limit {length}")
    run(packed)
    losses: dict[str, float] = {}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, (passes, _computed) in ways.items():
            started = time.perf_counter()
            losses[name] = run(passes) / tokens
            seconds[name].append(time.perf_counter() - started)
    if max(losses.values()) - min(losses.values()) > LARGEST_DIFFERENCE:
        raise SystemExit(f"the losses differ: {losses}")
    for name, (passes, computed) in ways.items():
        ratios = sorted(other / own for other, own in zip(seconds[name], seconds["packed"], strict=True))
        rate = tokens / min(seconds[name])
        print(
            f"{name}: {rate:.0f} tokens of text/s, {len(passes)} passes, {computed:,} tokens computed; packed is "
            f"{ratios[0]:.2f} to {ratios[-1]:.2f} times as fast over {options.rounds} rounds "
            f"(floor {computed / ways['packed'][1]:.2f})"
        )


if __name__ == "__main__":
    main()
