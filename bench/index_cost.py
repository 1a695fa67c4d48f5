"""What a static index saves: built once for all tasks, or again and again while a retriever is trained for each.

    .venv/bin/python -m bench.index_cost --benchmark classification --tasks 1,4,8 --refreshes 1,5,20

Reads measured seconds of stages from the history of the project in the current folder, and prints a Markdown table.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from stages._runtime import history


def seconds(index: float, retrieve: float, rerank: float, tasks: int, refreshes: int | None) -> float:
    """Seconds of indexing, retrieval and reranking for so many tasks.

    `index` are those of one index, `retrieve` and `rerank` those of one task. `refreshes`: how often a task computes
    the index anew and retrieves by it, without a reranker; None for one index of all tasks, and a reranker.
    """
    if refreshes is None:
        return index + tasks * (retrieve + rerank)
    return tasks * refreshes * (index + retrieve)


def table(
    index: float, retrieve: float, rerank: float, tasks: Sequence[int], refreshes: Sequence[int]
) -> list[str]:
    """Lines of a Markdown table: a row for each number of tasks."""
    heads = ["tasks", "one index and reranking, s", *(f"{n} refreshes a task, s" for n in refreshes)]
    lines = [f"| {' | '.join(heads)} |", f"|{'---:|' * len(heads)}"]
    for count in tasks:
        static = seconds(index, retrieve, rerank, count, None)
        cells = [seconds(index, retrieve, rerank, count, n) for n in refreshes]
        told = [f"{cell:,.0f} ({cell / static:.1f} ×)" for cell in cells]
        lines.append(f"| {count} | {static:,.0f} | {' | '.join(told)} |")
    return lines


def measured(found: Mapping[str, float], stage: str) -> float:
    """The seconds of a stage. Raises NightjarError if it has not run here."""
    if stage not in found:
        raise NightjarError(f"no run of {stage} in the history", paths.HISTORY, f"nightjar rebuild {stage}")
    return found[stage]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--benchmark-tasks", type=int, default=9, help="tasks that the stages ran for")
    parser.add_argument("--tasks", default="1,4,8")
    parser.add_argument("--refreshes", default="1,5,20")
    given = parser.parse_args()
    try:
        found = history.expected(Path())
        index = measured(found, "index")
        retrieve, rerank = (
            measured(found, f"{stage}@{given.benchmark}") / given.benchmark_tasks
            for stage in ("retrieve", "rerank")
        )
    except NightjarError as error:
        raise SystemExit(str(error)) from None
    print(f"index {index:.1f} s; of a task: retrieval {retrieve:.1f} s, reranking {rerank:.1f} s\n")
    tasks, refreshes = ([int(n) for n in text.split(",")] for text in (given.tasks, given.refreshes))
    print("\n".join(table(index, retrieve, rerank, tasks, refreshes)))


if __name__ == "__main__":
    main()
