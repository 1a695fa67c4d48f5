"""Score every system on the Super-NaturalInstructions test instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.supernatinst.baselines import NAMES
from nightjar.benchmarks.text import metrics
from nightjar.core.errors import NightjarError

BENCHMARK = "supernatinst"
# The last is the upper bound: trained on other instances of the test tasks.
MODELS = ("untuned", "tk_instruct", "combined", "supervised")
# What the report compares: does tuning help, do calls and evidence help beyond tuning, and how far is the bound?
COMPARISONS = (
    ("tk_instruct", "untuned"),
    ("combined", "untuned"),
    ("combined", "tk_instruct"),
    ("supervised", "tk_instruct"),
)
# The upper bound with every other system: where one is above it, the report says by how much.
BOUND_COMPARISONS = tuple(
    (MODELS[-1], other) for other in (*NAMES, *MODELS[:-1]) if (MODELS[-1], other) not in COMPARISONS
)

Key = tuple[str, str]


def answers(
    test: Sequence[Mapping[str, Any]], predictions: Sequence[Mapping[str, Any]], where: object
) -> tuple[dict[Key, tuple[str, int]], int]:
    """For each test instance (task_id, id) its prediction and number of tool calls; and how many had none.

    A missing prediction is the empty text, as published. Raises NightjarError if a prediction belongs to no
    test instance: then predictions and split are of different runs.
    """
    wanted = {(row["task_id"], row["id"]) for row in test}
    found = {(row["task_id"], row["id"]): (row["prediction"], len(row["calls"])) for row in predictions}
    if unknown := sorted(found.keys() - wanted):
        what = f"{len(unknown)} predictions belong to no test instance, the first is {unknown[0]}"
        raise NightjarError(what, where, "predict again on the present split")
    return {key: found.get(key, ("", 0)) for key in wanted}, len(wanted) - len(found)


def baseline_answers(
    test: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    copy: Callable[[Mapping[str, Any], Mapping[str, Any]], str],
    where: object,
) -> dict[Key, tuple[str, int]]:
    """The answers of a copying baseline. Raises NightjarError for a test instance whose task is not there."""
    copied = {}
    for row in test:
        if row["task_id"] not in tasks:
            raise NightjarError(
                f"no task {row['task_id']}", where, "split and ingest are of different runs: rebuild"
            )
        copied[row["task_id"], row["id"]] = (copy(row, tasks[row["task_id"]]), 0)
    return copied


def score_system(
    system: str, test: Sequence[Mapping[str, Any]], given: Mapping[Key, tuple[str, int]]
) -> list[dict[str, Any]]:
    """One system's rows of contracts.INSTANCE_SCORES in the order of `test`, each track in its own form."""
    rows: dict[Key, dict[str, Any]] = {}
    for track in sorted({row["track"] for row in test}):
        chosen = [row for row in test if row["track"] == track]
        texts = [given[row["task_id"], row["id"]][0] for row in chosen]
        scores = metrics.score(texts, [row["outputs"] for row in chosen], track)
        for number, row in enumerate(chosen):
            key = (row["task_id"], row["id"])
            rows[key] = {
                "benchmark": BENCHMARK,
                "system": system,
                "track": track,
                "category": row["category"],
                "task_id": row["task_id"],
                "id": row["id"],
                **{metric: float(getattr(scores, metric)[number]) for metric in metrics.METRICS},
                "calls": given[key][1],
            }
    return [rows[row["task_id"], row["id"]] for row in test]
