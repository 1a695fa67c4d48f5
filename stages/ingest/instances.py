"""The instances of one task: which are taken, which are refused and why (Wang et al. 2022).

An instance is {id, input, output}: the id unique in its task, the input not blank, the output a list of
strings none of which is blank. Two forms of older files are taken too: an output that is one string, and no
id, in whose place comes one made of the task's number and a digest of the instance, the same in every run.
Other keys of an instance are ignored.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from nightjar.core.json_text import doubled_key, is_text, not_text, raw_text
from stages.ingest.accounts import Refused

# id, input, outputs
Instance = tuple[str, str, list[str]]


def make_id(number: str, input: str, outputs: list[str]) -> str:
    """An id for an instance that came without one: the task's number, then the SHA-1 of input and outputs."""
    text = json.dumps([input, outputs], ensure_ascii=False)
    return f"{number}-{hashlib.sha1(text.encode('utf-8'), usedforsecurity=False).hexdigest()}"


def check(value: Any, number: str, seen: set[str]) -> Instance | Refused:
    """One instance as it is in the file, checked; `seen` holds the ids taken so far and gets this one."""
    if not isinstance(value, dict):
        return Refused("not an object", raw_text(value))
    given = value.get("id")
    known = given if is_text(given) else None

    def refuse(reason: str, detail: str = "") -> Refused:
        return Refused(reason, raw_text(value), known, detail)

    key = doubled_key(value)
    if key is not None:
        return refuse("a key stands twice", raw_text(key))
    text = value.get("input")
    if "input" not in value:
        return refuse("no input")
    if not is_text(text):
        return refuse(f"input is {not_text(text)}")
    if _blank(text):
        return refuse("input is blank")
    if "output" not in value:
        return refuse("no output")
    outputs = [value["output"]] if isinstance(value["output"], str) else value["output"]
    if not isinstance(outputs, list):
        return refuse(f"output is {not_text(outputs)}")
    if not outputs:
        return refuse("output is empty")
    for output in outputs:
        if not is_text(output):
            return refuse(f"output is {not_text(output)}")
        if _blank(output):
            return refuse("output is blank")
    if given is None or (isinstance(given, str) and _blank(given)):
        known = make_id(number, text, outputs)
    elif known is None:
        return refuse(f"id is {not_text(given)}")
    if known in seen:
        return refuse("the same id twice", known)
    seen.add(known)
    return known, text, outputs


def _blank(text: str) -> bool:
    return not text or text.isspace()
