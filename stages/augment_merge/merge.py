"""From kept candidate calls to texts that carry them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from nightjar.tools.syntax import insert, parse

# Identifies a text: source, task_id, id, target.
Key = tuple[str, str | None, str, int]


def key_of(row: Mapping[str, Any]) -> Key:
    return row["source"], row["task_id"], row["id"], row["target"]


def best_calls(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of the kept calls of one tool at one position of a text, the one with the largest gain.

    How to choose is not stated in the paper; of equal gains the first in the order of the rows is taken.
    """
    best: dict[tuple[str, Key, int], Mapping[str, Any]] = {}
    for row in rows:
        place = (row["tool"], key_of(row), row["token"])
        if row["status"] == "kept" and (place not in best or row["gain"] > best[place]["gain"]):
            best[place] = row
    return list(best.values())


def limit_texts(rows: list[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """At most `most` texts for each tool (facts 3.4), those with the largest gains."""
    gains: dict[str, dict[Key, float]] = defaultdict(dict)
    for row in rows:
        texts = gains[row["tool"]]
        texts[key_of(row)] = max(row["gain"], texts.get(key_of(row), row["gain"]))
    allowed = {
        tool: set(sorted(texts, key=lambda text: -texts[text])[:most]) for tool, texts in gains.items()
    }
    return [row for row in rows if key_of(row) in allowed[row["tool"]]]


def merged_texts(rows: Iterable[Mapping[str, Any]], bodies: Mapping[Key, str]) -> list[dict[str, Any]]:
    """Rows of contracts.CALLS_MERGED: every text that has calls, with them, in the order of `bodies`.

    Calls of several tools are interleaved; at one position they are in the order of their tools' names. Texts without
    any kept call are not among the results (facts 3.4). Offsets are those of " " + body, as the model reads it: a call
    before everything else is so followed by the first word's blank.
    """
    calls: dict[Key, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        calls[key_of(row)].append(row)
    merged = []
    for key, body in bodies.items():
        if key not in calls:
            continue
        own = sorted(calls[key], key=lambda row: (row["offset"], row["tool"]))
        written = []
        for row in own:
            call = parse(row["call"].removeprefix("[").removesuffix("]"), names=None)
            assert call is not None, "a kept call is well-formed"
            written.append((row["offset"], call, row["result"]))
        source, task_id, id_, target = key
        merged.append(
            {
                "source": source,
                "task_id": task_id,
                "id": id_,
                "target": target,
                "text": insert(f" {body}", written).removeprefix(" "),
                "tools": [row["tool"] for row in own],
            }
        )
    return merged
