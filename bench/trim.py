"""What encoding.trim_input changes: how many prompts are cut at all, and the untuned model's scores on those.

    python -m bench.trim --input FOLDER [--lengths 1024,512,384] [--scored 1024,512] [--adapter FOLDER]

Without --scored the prompts are counted and no model answers.
FOLDER has tasks/*.json and splits/default/*_tasks.txt. Prompts are definition and two positive examples; of a test
task the first 100 instances count, of a training task the first 64. The scores are those of the test instances whose
prompt is cut, the same ones published (the end is lost) and trimmed, with a 95% bootstrap interval of the paired
difference: of greedy answers, and the loss of the first reference in nats a token. The loss tells more of an untuned
model, which may end at once after the cue when no example shows what to do. Needs models/base; one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from nightjar.benchmarks.text.metrics import score
from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.score import continuation_logprobs
from nightjar.params.data import Encoding
from nightjar.prompts.encoding import CUE, encode
from nightjar.prompts.encodings import NAMED
from nightjar.prompts.model_text import model_input, model_target
from nightjar.prompts.remember import remembering
from nightjar.statistics.bootstrap import Bootstrap
from nightjar.tools import answer
from stages.ingest.task_file import read_task

INSTANCES = {"test": 100, "train": 64}
BATCH, NEW_TOKENS, STOP = 4, 64, ("\n\n",)

# A task and one of its instances, as ingest reads them.
Row = tuple[dict[str, Any], dict[str, Any]]


def options(length: int, trim: bool) -> Encoding:
    return Encoding(
        **NAMED["def_pos2"],
        trim_input=trim,
        max_source_length=length,
        max_target_length=128,
    )


def read(folder: Path, side: str) -> list[Row]:
    rows: list[Row] = []
    for name in (folder / "splits" / "default" / f"{side}_tasks.txt").read_text().split():
        file = folder / "tasks" / f"{name}.json"
        if file.is_file():
            task = read_task(file.read_bytes(), "natural_instructions", file.name, name)
            instances = task.instances.slice(0, INSTANCES[side]).to_pylist()
            rows += [(task.head, instance) for instance in instances]
    return rows


def cut(rows: list[Row], length: int, tokenizer: Any) -> list[Row]:
    return [
        row for row in rows if encode(row[0], row[1]["input"], options(length, False), tokenizer).truncated
    ]


def count(side: str, rows: list[Row], length: int, tokenizer: Any) -> None:
    """Print how many prompts are cut, how many of them lose the cue, and what of the input trimming keeps."""
    lost, kept = 0, []
    affected = cut(rows, length, tokenizer)
    for task, instance in affected:
        published = encode(task, instance["input"], options(length, False), tokenizer).source
        lost += not published.rstrip().endswith("Output:")
        suffix = encode(task, instance["input"], options(length, True), tokenizer).suffix
        text = suffix.removeprefix(f"{CUE}\nInput: ").removesuffix("\nOutput: ")
        kept.append(len(text) / len(instance["input"].strip()))
    tasks = len({task["task_id"] for task, _ in affected})
    share = f"; trimmed inputs keep {statistics.median(kept):.0%} (median)" if kept else ""
    print(
        f"{side} at {length}: of {len(rows)} prompts {len(affected)} cut (in {tasks} tasks), {lost} lose the cue{share}"
    )


def prompts_of(lm: LanguageModel, rows: list[Row], length: int, trim: bool) -> list[list[int]]:
    texts = [
        model_input(task, instance["input"], options(length, trim), lm.tokenizer, (), lm.encoder_decoder)
        for task, instance in rows
    ]
    return [lm.tokenizer.fit(lm.tokenizer.encode(text), length) for text in texts]


def losses(lm: LanguageModel, rows: list[Row], prompts: list[list[int]]) -> np.ndarray:
    targets = [
        lm.tokenizer.encode(model_target(instance["outputs"][0], False))[:NEW_TOKENS] for _, instance in rows
    ]
    found = continuation_logprobs(lm, list(zip(prompts, targets, strict=True)))
    return np.array([-np.mean(one) for one in found])


def answers(lm: LanguageModel, prompts: list[list[int]]) -> list[str]:
    given: list[str] = []
    for start in range(0, len(prompts), BATCH):
        batch = prompts[start : start + BATCH]
        found = answer(lm, batch, calls="off", max_new_tokens=NEW_TOKENS, stop=STOP)
        given += [one.prediction for one in found]
    return given


def compare(lm: LanguageModel, rows: list[Row], length: int) -> None:
    started = time.perf_counter()
    references = [instance["outputs"] for _, instance in rows]
    prompts = [prompts_of(lm, rows, length, trim) for trim in (False, True)]
    given = [answers(lm, one) for one in prompts]
    scores = [score(one, references) for one in given]
    values = {name: [100 * getattr(one, name) for one in scores] for name in ("rougeL", "exact_match")}
    if not lm.encoder_decoder:
        values["loss"] = [losses(lm, rows, one) for one in prompts]
    print(f"\nat {length}, n = {len(rows)} ({time.perf_counter() - started:.0f} s):")
    print("  empty answers: published {}, trimmed {}".format(*(one.count("") for one in given)))
    for name, (published, trimmed) in values.items():
        difference = trimmed - published
        low, high = Bootstrap().interval_of_difference(trimmed, published)
        print(
            f"  {name}: published {published.mean():.2f}, trimmed {trimmed.mean():.2f}, difference "
            f"{difference.mean():+.2f} [{low:+.2f}, {high:+.2f}], moved {np.count_nonzero(difference)}"
        )


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The arguments: of the command line, or `words`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", type=Path, required=True, help="a folder with tasks/ and splits/default/")
    parser.add_argument(
        "--lengths", type=_numbers, default=[1024, 512, 384], help="maximum source lengths to count at"
    )
    parser.add_argument(
        "--scored", type=_numbers, default=[], help="maximum source lengths to answer at; none if not given"
    )
    parser.add_argument(
        "--adapter", type=Path, help="a fine-tuned model's folder; the untuned model if not given"
    )
    return parser.parse_args(words)


def main() -> None:
    given = parse()
    prepare(42, 1)
    lm = load(Path("models/base/language_model"), adapter=given.adapter)
    tokenizer = remembering(lm.tokenizer, lm.tokenizer.backend)
    sides = {side: read(given.input, side) for side in INSTANCES}
    for length in given.lengths:
        for side, rows in sides.items():
            count(side, rows, length, tokenizer)
    for length in given.scored:
        affected = cut(sides["test"], length, tokenizer)
        if affected:
            compare(lm, affected, length)


if __name__ == "__main__":
    main()
