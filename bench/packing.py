"""Texts packed into rows against padded texts: tokens of text a second of forward and backward passes, in one run.

    python -m bench.packing [--texts 10] [--rounds 2] [--threads 2]

The documents of the corpus, drawn with the seed, are trained on as the recipe toolformer does, in passes of the same
number of tokens (`sequence_tokens`), padding included, by turns:

- packed: several texts in a row, none of which sees another;
- padded to the limit: a text a row, each as long as the limit, which is how a fixed length is usually trained with; all
  its passes take equally long, so only the first texts are run;
- padded to the longest: rows as long as the longest text of their pass, texts in the order drawn.

Padded passes go through transformers' own loss with an attention mask. The floor is the tokens that each way computes
for a token of text. The losses of the ways that run all texts must agree. Needs a rebuilt project (data/ingest/corpus,
models/base).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bench.harness import MODEL, options, report, timed
from nightjar import params
from nightjar.core import contracts, tables
from nightjar.models.load import load, prepare
from stages.encode.texts import windows
from stages.train.model import learner, loss_of
from stages.train.packing import IGNORED, pack
from stages.train.plan import fill

# Texts that are run padded to the limit.
AT_LIMIT = 2
# Between the mean losses a token of two ways, in nats: bfloat16 rounds sums of other lengths differently.
LARGEST_DIFFERENCE = 0.02
Ids = list[int]


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


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    settings = params.load()
    recipe = settings.train.recipe("toolformer")
    length = recipe.sequence_tokens or recipe.batch_tokens
    prepare(settings.seed, given.threads)
    lm = load(MODEL, recipe.precision)
    rows = tables.read_rows(Path("data/ingest/corpus"), contracts.DOCUMENTS, ["id", "text"])
    drawn = random.Random(settings.seed).sample(rows, min(given.texts, len(rows)))
    end = lm.tokenizer.end
    texts = [ids for row in drawn for ids in windows(lm.tokenizer, row["text"].strip(), length)]
    model = learner(lm.model, recipe, encoder_decoder=False).train()
    dtype: torch.dtype = getattr(torch, recipe.precision)
    packed = [pack([[([end], texts[at]) for at in row]]) for row in fill(list(map(len, texts)), length)]
    # For each way its texts and its passes.
    ways: dict[str, tuple[list[Ids], list[Any]]] = {
        "packed": (texts, packed),
        "padded to the limit": (texts[:AT_LIMIT], padded_passes(texts[:AT_LIMIT], end, length, True)),
        "padded to the longest": (texts, padded_passes(texts, end, length, False)),
    }

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

    print(f"{len(texts)} texts of {min(map(len, texts))} to {max(map(len, texts))} tokens, limit {length}")
    run([pack([[([end], texts[0])]])])
    losses: dict[str, float] = {}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, (own, passes) in ways.items():
            tokens, done = sum(map(len, own)), timed(lambda passes=passes: run(passes))  # type: ignore[misc]
            losses[name] = done.result / tokens
            rates[name].append(tokens / done.clock)
    if abs(losses["packed"] - losses["padded to the longest"]) > LARGEST_DIFFERENCE:
        raise SystemExit(f"the losses differ: {losses}")
    floors = {name: _computed(passes) / sum(map(len, own)) for name, (own, passes) in ways.items()}
    for name in ways:
        print(f"{name}: {max(rates[name]):.0f} tokens of text/s, {floors[name]:.2f} tokens computed for each")
        if name != "packed":
            ratios = [packed / other for packed, other in zip(rates["packed"], rates[name], strict=True)]
            floor = f"floor {floors[name] / floors['packed']:.2f}"
            report("training on packed rows", name, "clock", ratios, floor)


def _computed(passes: Sequence[Any]) -> int:
    """The tokens that passes compute, padding included."""
    return sum((one["input_ids"] if isinstance(one, dict) else one.ids).numel() for one in passes)


if __name__ == "__main__":
    main()
