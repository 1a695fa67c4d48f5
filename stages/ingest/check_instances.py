"""The contributors' check 3 of a task's instances, one by one (test_all.py), and their texts for the other checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nightjar.core.contracts import STRINGS
from nightjar.core.json_text import is_text
from stages.ingest.check_head import printable
from stages.ingest.findings import Found

REPEATED_ID = "an id that an earlier instance has"
# Older forms, which ingest takes all the same.
NO_ID, ONE_OUTPUT = "no id", "output is not a list"
TAKEN = frozenset({NO_ID, ONE_OUTPUT})


@dataclass
class Rows:
    """The inputs that are strings, with the names of their instances; likewise the outputs that are lists of
    strings, or one string, which counts as a list of it.
    """

    names: pa.Array
    inputs: pa.Array
    output_names: pa.Array
    outputs: pa.Array


def name_of(instance: Any, index: int) -> str:
    """What an instance is called: its id, or its position where it has none."""
    given = instance.get("id") if isinstance(instance, dict) else None
    return given if is_text(given) and given.strip() else f"#{index}"


def check_instances(instances: Sequence[Any], found: Found) -> Rows:
    """Check 3, instance by instance; their texts, and word to the checks that ask texts of how many have none."""
    wrong: dict[str, list[str]] = {}
    let_pass: dict[str, list[str]] = {}
    seen: set[Any] = set()
    inputs: list[tuple[str, str]] = []
    outputs: list[tuple[str, list[str]]] = []
    for index, item in enumerate(instances):
        name = name_of(item, index)
        for problem in _problems(item):
            wrong.setdefault(problem, []).append(name)
        if not isinstance(item, dict):
            continue
        given, text = item.get("id"), item.get("input")
        texts: list[str] = []
        if isinstance(text, str):
            texts.append(text)
            inputs.append((name, printable(text)))
        if (answers := _answers(item.get("output"))) is not None:
            texts += answers
            outputs.append((name, [printable(answer) for answer in answers]))
        if "id" in item and not isinstance(given, list | dict):
            blank = given is None or (isinstance(given, str) and not given.strip())
            if given in seen:
                again = f"{REPEATED_ID}, blank" if blank else REPEATED_ID
                wrong.setdefault(again, []).append(name)
            seen.add(given)
            if blank:
                what = "an id that is null or blank; it only has to be unique (ingest makes one in its place)"
                let_pass.setdefault(what, []).append(name)
            elif not isinstance(given, str):
                what = "an id that is not a string; it only has to be unique (ingest refuses them)"
                let_pass.setdefault(what, []).append(name)
            else:
                texts.append(given)
        if not all(map(is_text, texts)):
            what = "half a character; any string is enough (ingest refuses them)"
            let_pass.setdefault(what, []).append(name)
    for problem, where in wrong.items():
        refuse(problem, where, found)
    for what, where in let_pass.items():
        found.allowed(3, what, where)
    count = len(instances)
    if len(inputs) < count:
        found.partly((6, 7, 10), f"no text as input in {count - len(inputs):,} of {count:,} instances")
    if len(outputs) < count:
        found.partly((8, 9), f"no texts as output in {count - len(outputs):,} of {count:,} instances")
    return Rows(*_columns(inputs, pa.string()), *_columns(outputs, STRINGS))


def _columns(pairs: Sequence[tuple[str, Any]], kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    return pa.array([name for name, _ in pairs], pa.string()), pa.array([value for _, value in pairs], kind)


def _answers(value: Any) -> list[str] | None:
    """The outputs, if all are strings."""
    listed = [value] if isinstance(value, str) else value
    return listed if isinstance(listed, list) and all(isinstance(it, str) for it in listed) else None


def _problems(item: Any) -> Iterator[str]:
    if not isinstance(item, dict):
        yield "not an object"
        return
    yield from (f"no {key}" for key in ("id", "input", "output") if key not in item)
    if isinstance(item.get("id"), list | dict):
        yield "id is a list or an object"
    if "input" in item and not isinstance(item["input"], str):
        yield "input is not a string"
    if item.get("input") == "":
        yield "input is empty"
    if "output" not in item:
        return
    if isinstance(item["output"], str):
        yield ONE_OUTPUT
    elif not isinstance(item["output"], list):
        yield "output is neither a list nor a string"
    elif not item["output"]:
        yield "output is empty"
    elif not all(isinstance(text, str) for text in item["output"]):
        yield "output has an entry that is not a string"


def refuse(problem: str, names: Sequence[str], found: Found) -> None:
    """An error of check 3 in these instances, if there are any, and what ingest does with them."""
    if not names:
        return
    if problem == f"{REPEATED_ID}, blank":
        problem += " (ingest makes one in its place)"
    elif problem not in TAKEN:
        problem += " (ingest refuses them)"
    found.error(3, problem, names)


def named(names: pa.Array, mask: np.ndarray) -> list[str]:
    """The names where the mask is set."""
    chosen: list[str] = names.filter(pa.array(mask)).to_pylist()
    return chosen
