"""From training instances to token ids: prompt, target, and what of the prompt a task's instances share."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stages.params import Encoding, Recipe
from stages.prompts.causal import prompt, target
from stages.prompts.encoding import Tokenizer

# (task_id, id): what identifies an instance.
InstanceKey = tuple[str, str]


@dataclass(frozen=True)
class Example:
    """One instance: ids of its prompt, and one list of ids, the end token last, for each of its references."""

    task_id: str
    prompt: list[int]
    targets: tuple[list[int], ...]


def build(
    instances: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    recipe: Recipe,
    options: Encoding,
    tokenizer: Tokenizer,
    end: int,
    calls: Mapping[tuple[str, str, int], str],
    evidence: Mapping[InstanceKey, Sequence[Mapping[str, Any]]],
) -> list[Example]:
    """One example an instance (contracts.TRAIN), in the same order.

    `calls`: targets with tool calls, by (task_id, id, number of the reference); used if the recipe wants calls.
    `evidence`: an instance's passages, best first; the recipe says how many are used. Targets are cut to
    `options.max_target_length` tokens, as published.
    """
    examples = []
    for row in instances:
        key = row["task_id"], row["id"]
        passages = evidence.get(key, ())[: recipe.evidence]
        text = prompt(tasks[row["task_id"]], row["input"], options, tokenizer, passages)
        targets = []
        for number, output in enumerate(row["outputs"]):
            written = calls.get((*key, number), output) if recipe.calls else output
            targets.append([*tokenizer.encode(target(written))[: options.max_target_length], end])
        examples.append(Example(row["task_id"], tokenizer.encode(text), tuple(targets)))
    return examples


def draw_targets(examples: Sequence[Example], seed: int) -> list[list[int]]:
    """One reference of each example, drawn uniformly (facts 1.8)."""
    chooser = random.Random(seed)
    return [example.targets[chooser.randrange(len(example.targets))] for example in examples]


def batches(examples: Sequence[Example], batch_size: int, group: int, seed: int) -> list[list[list[int]]]:
    """The indices of the examples, once each, as batches of groups: a group is of one task and shares its prefix.

    Tasks' instances are shuffled and cut into groups of at most `group`; groups are shuffled and filled into batches
    of `batch_size` examples (the last group of a batch may reach a little over).
    """
    chooser = random.Random(seed)
    by_task: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        by_task.setdefault(example.task_id, []).append(number)
    groups = []
    for numbers in by_task.values():
        chooser.shuffle(numbers)
        groups += [numbers[start : start + group] for start in range(0, len(numbers), group)]
    chooser.shuffle(groups)
    made: list[list[list[int]]] = []
    size = batch_size
    for numbers in groups:
        if size >= batch_size:
            made.append([])
            size = 0
        made[-1].append(numbers)
        size += len(numbers)
    return made
