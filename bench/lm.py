"""Shared prefixes against computing every prompt whole: training steps and greedy answers on the sample data.

    python -m bench.lm

Both ways run in one process on the same instances, by turns; what is printed is the ratio of their times and, as the
floor, the ratio of the tokens that have to be read. Needs a rebuilt project (data/split, models/base).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch

from bench.ratios import record
from nightjar import params
from nightjar.core import contracts, tables
from nightjar.models.generate import generate
from nightjar.models.load import load, prepare
from stages.encode.build import Encoder
from stages.train.model import learner, loss_of
from stages.train.packing import pack

ROUNDS, INSTANCES = 3, 4


def timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    settings = params.load()
    prepare(settings.seed, settings.threads)
    lm = load(Path("models/base/language_model"), "bfloat16")
    ingested = tables.read_rows(Path("data/ingest/natural_instructions"), contracts.TASKS)
    tasks = {row["task_id"]: row for row in ingested}
    rows = tables.read_rows(Path("data/split"), contracts.TRAIN)
    chosen = [row for row in rows if row["task_id"] == rows[0]["task_id"]][:INSTANCES]
    recipe = settings.train.recipe("tk_instruct")
    encoder = Encoder(settings.encoding, 0, lm.tokenizer)
    prompts = [encoder.prompts(tasks[row["task_id"]], row["input"], ())[0] for row in chosen]
    targets = [encoder.target(row["outputs"][0]) for row in chosen]
    pairs = list(zip(prompts, targets, strict=True))

    def answers_shared() -> None:
        generate(lm, prompts, max_new_tokens=8)

    def answers_whole() -> None:
        width = max(map(len, prompts))
        pad = [[lm.tokenizer.end] * (width - len(prompt)) for prompt in prompts]
        ids = torch.tensor([before + prompt for before, prompt in zip(pad, prompts, strict=True)])
        mask = torch.tensor([[0] * len(b) + [1] * len(p) for b, p in zip(pad, prompts, strict=True)])
        with torch.inference_mode():
            lm.model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=8, do_sample=False)

    report("greedy answers (transformers' generate)", answers_shared, answers_whole)

    model = learner(lm.model, recipe, encoder_decoder=False).train()

    def step_packed() -> None:
        loss_of(model, pack([pairs]), torch.bfloat16).backward()

    def step_alone() -> None:
        for pair in pairs:
            loss_of(model, pack([[pair]]), torch.bfloat16).backward()

    def step_rows() -> None:
        loss_of(model, pack([[pair] for pair in pairs]), torch.bfloat16).backward()

    report("training steps (one instance at a time)", step_packed, step_alone)
    report("training steps (a batch of whole prompts)", step_packed, step_rows)
    read = pack([pairs]).tokens
    whole = sum(len(prompt) + len(target) - 1 for prompt, target in zip(prompts, targets, strict=True))
    record("tokens read of a step", "whole prompts", "tokens", whole / read, "the floor of the rows above")
    print(f"floor: {read} tokens to read instead of {whole}, {whole / read:.2f} times fewer")


def report(what: str, ours: Callable[[], None], other: Callable[[], None]) -> None:
    ours()
    other()
    pairs = [(timed(ours), timed(other)) for _ in range(ROUNDS)]
    ratios = sorted(slow / fast for fast, slow in pairs)
    name, _, against = what.removesuffix(")").partition(" (")
    record(name, against, "clock", ratios)
    print(
        f"{what}: {ratios[0]:.2f} to {ratios[-1]:.2f} times as fast over {ROUNDS} rounds, {INSTANCES} instances"
    )


if __name__ == "__main__":
    main()
