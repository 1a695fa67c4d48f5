"""python -m stages.augment_merge: data/augment_merge, the texts that carry tool calls, and the documents held out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nightjar.core import contracts, paths, tables
from nightjar.core.errors import NightjarError
from nightjar.params.augment import Augment
from nightjar.prompts.tool_prompts import CALL_NAMES
from nightjar.tools.syntax import find, write
from stages._runtime.held_out import held_out
from stages._runtime.stage import StageRun, main
from stages.augment_merge.merge import (
    Body,
    Chosen,
    Key,
    Rules,
    call_names,
    call_of,
    choose,
    examples,
    key_of,
    merged_texts,
    read_bodies,
)

SOURCES = ("corpus", "train")
# The filter thresholds of table 2 of the paper.
THRESHOLDS = (0.5, 1.0, 2.0)
ROWS_PER_PART = 10_000


def run(stage: StageRun) -> None:
    settings = stage.params.augment
    _check(settings)
    # By the parameters: the artifact of a tool that they no longer name may still be there.
    candidates = [
        row
        for tool in settings.tools
        for row in tables.read_rows(paths.CANDIDATES / tool, contracts.CANDIDATES)
        if row["gain"] is not None
    ]
    kept_candidates = [row for row in candidates if settings.tools[row["tool"]].keeps(row["gain"])]
    held = held_out(_documents(), settings.held_out_documents, stage.params.seed)
    keys, names = set(map(key_of, candidates)), call_names(candidates)
    bodies: dict[Key, Body] = {}
    held_out_texts: list[dict[str, Any]] = []
    counts = {source: Counter[str]() for source in SOURCES}
    for key, body in read_bodies(paths.CORPUS, paths.SPLIT):
        source, _, id_, _ = key
        is_held_out, calls_already = source == "corpus" and id_ in held, bool(find(body.text, names))
        counts[source].update(texts=1, held_out=int(is_held_out), with_own_calls=int(calls_already))
        if key in keys:
            bodies[key] = body
        if is_held_out and not calls_already:
            held_out_texts.append({"id": id_, "text": body.text})
    prices = {name: tool.price for name, tool in settings.tools.items()}
    rules = Rules(
        guarded=frozenset(settings.look_ahead_guard),
        answering=frozenset(settings.answer_guard),
        prices=prices,
        max_texts=settings.examples_per_tool,
    )
    chosen = choose(kept_candidates, bodies, rules)
    merged = merged_texts(chosen.calls, bodies)
    _write(merged, held_out_texts, chosen)

    stage.reads(*(paths.CANDIDATES / tool for tool in settings.tools), paths.CORPUS, paths.SPLIT)
    stage.writes(paths.CALLS)
    # Rows here are the calls that the filter keeps.
    stage.count(rows_in=len(kept_candidates), rows_out=len(chosen.calls), rejected=len(chosen.rejected))
    stage.details["reasons"] = dict(Counter(reason for _, reason in chosen.rejected))
    for source, count in counts.items():
        count["with_calls"] = sum(row["source"] == source for row in merged)
        count["left_out"] = count["texts"] - count["with_calls"] - count["held_out"]
    stage.details["texts"] = {source: dict(count) for source, count in counts.items()}
    stage.details["below_threshold"] = len(candidates) - len(kept_candidates)
    stage.details["examples"] = _examples(candidates, bodies, rules)


def _documents() -> list[str]:
    return [
        id
        for batch in tables.batches(paths.CORPUS, contracts.DOCUMENTS, ["id"])
        for id in batch["id"].to_pylist()
    ]


def _check(settings: Augment) -> None:
    """Raise NightjarError for a tool of the guard that no one has."""
    tool_names = [*dict.fromkeys([*CALL_NAMES, *settings.tools])]
    for tool in settings.look_ahead_guard:
        if tool not in tool_names:
            where = "params.yaml: augment.look_ahead_guard"
            raise NightjarError(f"there is no tool {tool!r}", where, f"tools are {', '.join(tool_names)}")


def _write(merged: Sequence[dict[str, Any]], held: Sequence[dict[str, Any]], chosen: Chosen) -> None:
    with tables.ArtifactWriter(paths.CALLS) as writer:
        # The tables are there even if they are empty.
        if not merged:
            writer.write(contracts.CALLS_MERGED, [])
        for source in SOURCES:
            rows = [row for row in merged if row["source"] == source]
            for number in range(0, len(rows), ROWS_PER_PART):
                part = f"{source}-{number // ROWS_PER_PART:05d}"
                writer.write(contracts.CALLS_MERGED, rows[number : number + ROWS_PER_PART], part=part)
        writer.write(contracts.HELD_OUT, held)
        for row, reason in chosen.rejected:
            raw = write(call_of(row), row["result"]).strip()
            writer.reject(row["source"], str(paths.CANDIDATES / row["tool"]), reason, raw, row["id"])


def _examples(
    candidates: Sequence[Mapping[str, Any]], bodies: Mapping[Key, Body], rules: Rules
) -> dict[str, dict[str, dict[str, int]]]:
    """The texts with calls of each tool, by source and tool, if all tools had a threshold of table 2.

    As in the paper, before the limit of examples of a tool (appendix B).
    """
    rules = replace(rules, max_texts=None)
    example_counts: dict[str, dict[str, dict[str, int]]] = {source: {} for source in SOURCES}
    for threshold in THRESHOLDS:
        calls = choose((row for row in candidates if row["gain"] >= threshold), bodies, rules).calls
        for source in SOURCES:
            for tool, number in examples(calls, source).items():
                example_counts[source].setdefault(tool, {})[str(threshold)] = number
    return example_counts


if __name__ == "__main__":
    main("augment_merge", run)
