"""What the recipe `combined` has learnt of tools, where they can help.

    python -m bench.calls [--instances 8]

Takes the training tasks whose targets carry calls, and of each some instances that were not trained on; answers them
with calls allowed and with calls disabled. Prints calls by tool, exact matches both ways, and the answers that hold
a call. Needs a rebuilt project.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.text.metrics import normalise
from nightjar.core import contracts, params, tables
from nightjar.lm.load import load, prepare
from nightjar.lm.weights import read_recipe
from nightjar.predict.answers import answering, ask
from nightjar.tools import Calls, Toolbox, make
from nightjar.tools.calendar import find_date

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
            chosen.append(row)
    return chosen


def _question(row: Mapping[str, Any], task: Mapping[str, Any]) -> Question:
    shared = {name: task[name] for name in ("definition", "positive_examples", "negative_examples")}
    return Question(
        "supernatinst",
        row["task_id"],
        row["id"],
        {"input": row["input"]},
        tuple(row["outputs"]),
        shared=shared,
        day=find_date(row["input"]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--instances", type=int, default=8, help="instances a task")
    settings = params.load()
    instances = held_out(parser.parse_args().instances)
    tasks = {row["task_id"]: row for row in tables.read_rows(INGEST, contracts.TASKS)}
    questions = [_question(row, tasks[row["task_id"]]) for row in instances]
    toolbox = Toolbox(make(name, Path(tool.resource)) for name, tool in settings.augment.tools.items())
    prepare(settings.seed, settings.threads)
    card = registry.card("supernatinst")
    benchmark = settings.predict.benchmark(card.name)
    recipe = read_recipe(ADAPTER)
    lm = load(Path("models/base/language_model"), benchmark.precision, ADAPTER)
    modes: tuple[Calls, ...] = ("on", "disabled") if recipe["calls"] else ("off",)
    for calls in modes:
        # No evidence was retrieved for these instances.
        asked = ask(card, lm.tokenizer, questions, {}, 0, settings.encoding)
        answer = answering(lm, card, asked, benchmark, toolbox, calls, settings.seed)
        found = dict(answer(range(len(asked))))
        rows = [found[number] for number in range(len(asked))]
        right = sum(
            normalise(row["answers"][0]) in map(normalise, question.references)
            for row, question in zip(rows, questions, strict=True)
        )
        tools = Counter(call["tool"] for row in rows for call in row["calls"])
        print(f"calls {calls}: {right} of {len(rows)} exact, calls by tool {dict(tools)}")
        for row, question in zip(rows, questions, strict=True):
            if row["calls"]:
                print(f"  {row['text'].strip()}   (wanted: {question.references[0]})")


if __name__ == "__main__":
    main()
