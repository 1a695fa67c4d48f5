"""Prompts of several questions on one document, read once against every prompt by itself; and the memory they take.

    python -m bench.long_inputs [--data FOLDER] [--model models/base/language_model] [--lengths 1024 2048]

FOLDER has the folders `qmsum` and `squality` of real files, as for the ingest of zeroscrolls; without it, nothing is
measured. The first documents of each, with the same number of questions, are asked in bfloat16 on one thread, in
prompts trimmed to each length. Both ways run by turns in one process; prompts are counted by processor second. Answers
must be the same.

Peak memory is that of a process of its own, which reads the prompts of one document together: the growth of its
largest resident size since a short prompt was answered, beside what keys and values take (tokens times bytes). It is
read from /proc, because getrusage counts what loading took, and what the parent process had.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from bench.ratios import record
from nightjar.benchmarks.question import Record
from nightjar.benchmarks.zeroscrolls.formats import load as examples
from nightjar.benchmarks.zeroscrolls.prompts import Example, of_parts, prompt
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from nightjar.models.generate import arrange, generate
from nightjar.models.load import LanguageModel, load, prepare

T = TypeVar("T")
# Few new tokens: what is measured is reading.
SETS, DOCUMENTS, QUESTIONS, NEW = ("qmsum", "squality"), 1, 5, 8


def chosen(folder: Path) -> list[tuple[str, list[Example]]]:
    """The first documents of each set that have enough questions, and these questions, with the name of their set."""
    found: dict[tuple[str, str], list[Example]] = {}
    for one in examples(folder):
        if isinstance(one, Record) and one.task_id in SETS:
            example = of_parts(one.parts)
            document = example.input[example.document_start_index : example.document_end_index]
            found.setdefault((one.task_id, document), []).append(example)
    full = [(task, own[:QUESTIONS]) for (task, _), own in found.items() if len(own) >= QUESTIONS]
    return [it for task in SETS for it in [one for one in full if one[0] == task][:DOCUMENTS]]


def prompts_of(
    lm: LanguageModel, documents: Sequence[tuple[str, list[Example]]], length: int
) -> list[list[int]]:
    return [
        lm.tokenizer.encode(prompt(TASKS[task], example, lm.tokenizer, length))
        for task, own in documents
        for example in own
    ]


def token_bytes(lm: LanguageModel) -> int:
    """Bytes of the keys and values of a token."""
    config = lm.model.config
    size: int = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * config.num_key_value_heads * size * lm.model.dtype.itemsize)


def seconds(run: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    result = run()
    return time.process_time() - started, result


def resident(key: str) -> int:
    """A size of this process in bytes: VmRSS now, VmHWM the largest since the last reset."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:")) * 1024


def measure_memory(lm: LanguageModel, prompts: Sequence[Sequence[int]]) -> None:
    generate(lm, [prompts[0][:512]], 2)
    gc.collect()
    # Resets the largest resident size.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    generate(lm, prompts, 2, batch_tokens=sum(len(one) + 2 for one in prompts))
    tokens = sum(len(one) + 2 for one in prompts) + max(arrange(lm, prompts)[1])
    size, most = tokens * token_bytes(lm), resident("VmHWM")
    print(
        f"{len(prompts)} prompts of {max(map(len, prompts))} tokens together: {tokens} tokens x {token_bytes(lm)} "
        f"bytes = {size / 1e6:.0f} MB of keys and values; measured peak {(most - before) / 1e6:.0f} MB above the "
        f"{before / 1e6:.0f} MB before"
    )


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    real = os.environ.get("NIGHTJAR_REAL_DATA")
    parser.add_argument("--data", type=Path, default=Path(real) / "long-documents" if real else None)
    parser.add_argument("--model", type=Path, default=Path("models/base/language_model"))
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 2048])
    parser.add_argument(
        "--memory-only", action="store_true", help="used for the process that memory is measured in"
    )
    options = parser.parse_args(words)
    if options.data is None:
        print("long inputs: not measured, because there is no --data and no NIGHTJAR_REAL_DATA")
        return
    prepare(seed=0, threads=1)
    lm = load(options.model, "bfloat16")
    documents = chosen(options.data)
    if options.memory_only:
        measure_memory(lm, prompts_of(lm, documents[:1], options.lengths[0]))
        return
    for length in options.lengths:
        compare(lm, prompts_of(lm, documents, length), length, len(documents))
        command = [sys.executable, "-m", "bench.long_inputs", "--memory-only", "--lengths", str(length)]
        subprocess.run([*command, "--data", options.data, "--model", options.model], check=True)


def compare(lm: LanguageModel, prompts: Sequence[Sequence[int]], length: int, documents: int) -> None:
    slow, wanted = seconds(lambda: [generate(lm, [one], NEW)[0] for one in prompts])
    fast, found = seconds(lambda: generate(lm, prompts, NEW))
    same = sum(one.ids == two.ids for one, two in zip(found, wanted, strict=True))
    agreed = f"{same} of {len(found)} answers the same"
    record(
        f"questions on one document, {length} tokens",
        "each prompt by itself",
        "processor",
        slow / fast,
        agreed,
    )
    print(
        f"{len(found)} prompts of at most {length} tokens, {documents} documents: {len(found) / fast:.3f} prompts a "
        f"processor second with shared documents, {len(found) / slow:.3f} by themselves ({slow / fast:.2f} times as "
        f"fast), {same} of {len(found)} answers the same",
        flush=True,
    )
    if same < len(found):
        raise SystemExit("the answers differ")


if __name__ == "__main__":
    main()
