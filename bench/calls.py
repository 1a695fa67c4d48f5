"""What the recipe `combined` has learnt of tools, where they can help.

    python -m bench.calls [--instances 8]

Takes the training tasks whose targets carry calls, and of each some instances that were not trained on; answers them
with calls allowed and with calls disabled. Prints calls by tool, exact matches both ways, and the answers that hold
a call. Needs a rebuilt project.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from nightjar.benchmarks.text.metrics import normalise
from nightjar.core import contracts, params, tables
from nightjar.lm.load import load, prepare, read_recipe
from stages.predict.answers import answering, ask, in_order
from stages.predict.batches import plan

INGEST, ADAPTER = Path("data/ingest/natural_instructions"), Path("models/train/combined")


def held_out(each: int) -> list[dict[str, Any]]:
    """Instances of tasks whose targets carry calls, none of them trained on."""
    merged = tables.read_rows(Path("data/augment_merge"), contracts.CALLS_MERGED)
    with_calls = {row["task_id"] for row in merged if row["source"] == "train"}
    trained = {(row["task_id"], row["id"]) for row in tables.read_rows(Path("data/split"), contracts.TRAIN)}
    chosen: list[dict[str, Any]] = []
    taken: Counter[str] = Counter()
    for row in tables.read_rows(INGEST, contracts.INSTANCES):
        task_id = row["task_id"]
        if task_id in with_calls and (task_id, row["id"]) not in trained and taken[task_id] < each:
            taken[task_id] += 1
            chosen.append(row | {"track": "default", "category": "held out"})
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--instances", type=int, default=8, help="instances a task")
    settings = params.load()
    instances = held_out(parser.parse_args().instances)
    tasks = {row["task_id"]: row for row in tables.read_rows(INGEST, contracts.TASKS)}
    prepare(settings.seed, settings.threads)
    benchmark = settings.predict.supernatinst
    recipe = read_recipe(ADAPTER)
    lm = load(Path("models/base/language_model"), benchmark.precision, ADAPTER)
    for calls in ["on", "disabled"] if recipe["calls"] else ["off"]:
        # No evidence was retrieved for these instances.
        questions = ask(lm.tokenizer, instances, tasks, {}, 0, settings.encoding)
        batches = plan([q.ids for q in questions], [q.task_id for q in questions], benchmark, False)
        answer = answering(lm, questions, batches, benchmark, calls, settings.seed)
        rows = in_order(batches, map(answer, range(len(batches))))
        right = sum(
            normalise(row["prediction"]) in map(normalise, asked["outputs"])
            for row, asked in zip(rows, instances, strict=True)
        )
        tools = Counter(call["tool"] for row in rows for call in row["calls"])
        print(f"calls {calls}: {right} of {len(rows)} exact, calls by tool {dict(tools)}")
        for row, asked in zip(rows, instances, strict=True):
            if row["calls"]:
                print(f"  {row['text'].strip()}   (wanted: {asked['outputs'][0]})")


if __name__ == "__main__":
    main()
