"""Tokens a second of training, reading and writing, and the share of the device's rate of matrix products that each is.

    python -m bench.rates [--model models/base/language_model] [--precision bfloat16] [--length 1024] [--rows 4]

Random tokens, on the GPU if there is one, else on the processor. Training: forward and backward passes of all weights
on packed rows of LENGTH tokens, 6 operations a parameter and token (docs/scaling.md). Reading: prompts of LENGTH
tokens, 2 operations a parameter and token. On the GPU training is measured with attention by blocks as well as with a
dense mask. Writing: one token after another for 16 ROWS at a time; its floor is the
bytes of the weights, read once a step, at the bandwidth measured. The rate of the device is that of a matrix product of
4,096 rows (GPU) or 1,024 in the same precision, measured in the same run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from bench.harness import MODEL, options, timed
from bench.harness import report as report_ratio
from nightjar.models.engine.generation import generate
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import device_name, load, prepare
from stages.train.model import loss_of, to
from stages.train.packing import Packed, pack

# New tokens of a written answer, and how many answers are written at a time for each row.
NEW, AT_ONCE = 64, 16
ROUNDS = 3


def seconds(run: Callable[[], object], device: torch.device) -> float:
    """The shortest of some runs, by the clock, to the end of what the device was given."""

    def once() -> None:
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()

    once()
    return min(timed(once).clock for _ in range(ROUNDS))


def product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of a matrix product."""
    size = 4096 if device.type == "cuda" else 1024
    first, second = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return 2 * size**3 * 10 / seconds(lambda: [first @ second for _ in range(10)], device)


def bandwidth(device: torch.device) -> float:
    """Bytes a second that are read from memory: a sum over a tensor far larger than the caches."""
    tensor = torch.ones(2**28, dtype=torch.int8, device=device)
    return tensor.numel() / seconds(lambda: tensor.view(torch.int64).sum(), device)


def training(lm: LanguageModel, rows: Sequence[Sequence[int]], dtype: torch.dtype, blocks: bool) -> None:
    """One pass forward and back over packed rows."""
    packed = to(pack([[(row[:1], row[1:])] for row in rows]), lm.device)
    assert isinstance(packed, Packed)
    loss_of(lm.model, replace(packed, blocks=blocks), dtype).backward()
    lm.model.zero_grad()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    prepare(seed=0, threads=arguments.threads)
    lm = load(arguments.model, arguments.precision)
    device, dtype = lm.device, lm.model.dtype
    weights = sum(one.numel() for one in lm.model.parameters())
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(
        10, lm.model.config.vocab_size, (arguments.rows, arguments.length), generator=draw
    ).tolist()
    product, read = product_rate(device, dtype), bandwidth(device)
    print(
        f"{device_name()}, {dtype}: matrix product {product / 1e12:.2f} TFLOP/s, memory {read / 1e9:.0f} GB/s, "
        f"{weights / 1e6:.0f}M parameters"
    )
    tokens = arguments.rows * arguments.length
    lm.model.train()
    for blocks in (False, True) if device.type == "cuda" else (False,):
        learnt = seconds(partial(training, lm, ids, dtype, blocks), device)
        what = "training, attention by blocks" if blocks else "training"
        report(what, tokens, learnt, 6 * weights * tokens / product)
    lm.model.eval()
    prompted = seconds(lambda: generate(lm, ids, 1), device)
    report("reading", tokens, prompted, 2 * weights * tokens / product)
    short = [row[:16] for row in ids for _ in range(AT_ONCE)]
    started = seconds(lambda: generate(lm, short, 1, batch_size=len(short)), device)
    written = seconds(lambda: generate(lm, short, NEW, batch_size=len(short)), device) - started
    steps = weights * dtype.itemsize * (NEW - 1) / read
    work = 2 * weights * len(short) * (NEW - 1) / product
    report(f"writing, {len(short)} at a time", len(short) * (NEW - 1), written, max(steps, work))


def report(what: str, tokens: int, took: float, floor: float) -> None:
    report_ratio(
        what, "the floor", "clock", floor / took, f"{tokens / took:,.0f} tokens/s on {device_name()}"
    )


if __name__ == "__main__":
    main()
