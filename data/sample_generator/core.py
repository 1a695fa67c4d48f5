"""What a task is, and how its instances are drawn and written, in the Super-NaturalInstructions format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd
from random import Random
from typing import TypeVar

T = TypeVar("T")
Example = tuple[str, str, str]
"""(input, output, explanation) of a demonstration."""

Pair = tuple[str, list[str]]
"""(input, accepted outputs) of an instance."""

Maker = Callable[[Random, int], Pair | None]
"""Draws one instance. The number counts the instances made so far: a maker takes its label from it, so that
labels stay balanced. None means "this draw is no good, try again"."""

ENGLISH = ["English"]


@dataclass(frozen=True)
class TaskSpec:
    """One task before its instances are drawn; `name` is the part of the file name after the number."""

    name: str
    categories: Sequence[str]
    source: str
    definition: str
    make: Maker
    size: int
    positive: Sequence[Example]
    negative: Sequence[Example]
    domains: Sequence[str] = ("Miscellaneous",)
    reasoning: Sequence[str] = ()
    input_language: Sequence[str] = field(default_factory=lambda: list(ENGLISH))
    output_language: Sequence[str] = field(default_factory=lambda: list(ENGLISH))


def draw_instances(spec: TaskSpec, rng: Random, taken: set[str]) -> list[Pair]:
    """Draw `spec.size` instances whose inputs occur nowhere else in the sample.

    `taken` holds the inputs used so far, of every task; it is added to. Raises ValueError when the templates
    of the task are too few for its size, which is a mistake in this package and not in anybody's data.
    """
    pairs: list[Pair] = []
    for _ in range(spec.size * 400):
        if len(pairs) == spec.size:
            return pairs
        pair = spec.make(rng, len(pairs))
        if pair is None or pair[0] in taken:
            continue
        taken.add(pair[0])
        pairs.append((pair[0], list(dict.fromkeys(pair[1]))))
    if len(pairs) == spec.size:
        return pairs
    raise ValueError(f"{spec.name}: only {len(pairs)} distinct instances of {spec.size}")


def balanced(pairs: list[Pair], rng: Random) -> list[Pair]:
    """The pairs in random order, but so that any first few hold each answer about as often as any other.

    The benchmark's test files are ordered like this, because only their first instances are used.
    """
    rng.shuffle(pairs)
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair[1][0], []).append(pair)
    ordered: list[Pair] = []
    while groups:
        turn = [group.pop() for group in groups.values()]
        rng.shuffle(turn)
        ordered += turn
        groups = {answer: group for answer, group in groups.items() if group}
    return ordered


def task_document(spec: TaskSpec, number: int, rng: Random, taken: set[str]) -> dict[str, object]:
    """The task file's content as a dictionary, keys in the benchmark's order."""
    pairs = balanced(draw_instances(spec, rng, taken), rng)
    return {
        "Contributors": ["The Nightjar authors"],
        "Source": [spec.source],
        "URL": [f"https://example.org/nightjar-sample/{spec.source}"],
        "Categories": list(spec.categories),
        "Reasoning": list(spec.reasoning),
        "Definition": [spec.definition],
        "Input_language": list(spec.input_language),
        "Output_language": list(spec.output_language),
        "Instruction_language": list(ENGLISH),
        "Domains": list(spec.domains),
        "Positive Examples": [_example(e) for e in spec.positive],
        "Negative Examples": [_example(e) for e in spec.negative],
        "Instances": [
            {"id": f"task{number:04d}-{rng.getrandbits(128):032x}", "input": text, "output": outputs}
            for text, outputs in pairs
        ],
        "Instance License": ["Apache-2.0"],
    }


def as_json(document: dict[str, object]) -> str:
    """The text of a task file."""
    return json.dumps(document, indent=4, ensure_ascii=False) + "\n"


def _example(example: Example) -> dict[str, str]:
    return dict(zip(("input", "output", "explanation"), example, strict=True))


def cap(text: str) -> str:
    """First letter upper case, the rest as it is."""
    return text[:1].upper() + text[1:]


def an(noun: str) -> str:
    """The noun with its indefinite article; the vocabularies hold no word whose sound belies its spelling."""
    return ("an " if noun[0].lower() in "aeiou" else "a ") + noun


def listing(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def two(rng: Random, items: Sequence[str]) -> tuple[str, str]:
    """Two different items."""
    first, second = rng.sample(list(items), 2)
    return first, second


def cycle(items: Sequence[str] | Iterable[str], index: int) -> str:
    """The item for the index-th instance when items take turns."""
    sequence = list(items)
    return sequence[index % len(sequence)]


def turn(items: Sequence[T], index: int, labels: int = 1) -> T:
    """The item for the index-th instance: each comes once before any comes twice.

    With `labels`, an item that comes again meets another remainder of the index divided by that number.
    """
    rounds = index // len(items) if gcd(len(items), labels) > 1 else 0
    return items[(index + rounds) % len(items)]
