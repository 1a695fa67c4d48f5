"""Runs of the stages: their graph, rejected rows, and what trainings recorded on the way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx

from nightjar.core import paths
from stages.report.plots import kinds
from stages.report.plots.spec import Plot
from stages.report.read import facts
from stages.report.read.facts import Node

# The losses of a training, beside its weights.
_STEPS = "steps.jsonl"

# Reasons of one stage that get a line of their own.
_REASONS = 12


def context(nodes: Sequence[Node]) -> dict[str, Any]:
    """Return the graph of the stages, the rows that they rejected, and those kept with a remark."""
    return {
        "graph": graph(nodes),
        "runs": [
            (it.name, it.rows_in, it.rows_out, it.rows_rejected, ", ".join(it.inputs), ", ".join(it.outputs))
            for it in nodes
        ],
        "rejected": list(_rejected(nodes)),
        "remarks": [
            (node.name, remark, count)
            for node in nodes
            for remark, count in (node.details.get("remarks") or {}).items()
        ],
    }


def graph(nodes: Sequence[Node]) -> Plot:
    """The stages with the rows of all their items; an edge where an item of one reads from an item of another.

    An edge that a longer way implies is left out. Of two stages with items that read from each other, as a dataset of
    training inputs does from the split, the one whose first item comes earlier is the upper one.
    """
    every = facts.graph(nodes)
    level, reduced = facts.levels(every), networkx.transitive_reduction(every)
    grouped: dict[str, list[Node]] = {}
    for node in nodes:
        grouped.setdefault(node.stage, []).append(node)
    first = {
        stage: (min(level[node.name] for node in stage_nodes), stage)
        for stage, stage_nodes in grouped.items()
    }
    between = {tuple(name.partition("@")[0] for name in edge) for edge in every.edges}
    reads = networkx.DiGraph([edge for edge in between if edge[0] != edge[1]])
    reads.add_nodes_from(grouped)
    back = [
        (one, stage)
        for one, stage in reads.edges
        if first[one] > first[stage] and networkx.has_path(reads, stage, one)
    ]
    reads.remove_edges_from(back)
    boxes = {}
    for stage, stage_nodes in grouped.items():
        into, out = (sum(getattr(node, f"rows_{name}") for node in stage_nodes) for name in ("in", "out"))
        items = f"{len(stage_nodes)} items" if len(stage_nodes) > 1 else stage_nodes[0].item
        boxes[stage] = [it for it in (items, f"{into:,} → {out:,}") if it]
    rows = [
        (it.name, it.rows_in, it.rows_out, it.rows_rejected, " ".join(sorted(reduced.predecessors(it.name))))
        for it in nodes
    ]
    return kinds.graph("stages", boxes, networkx.transitive_reduction(reads), rows)


def _rejected(nodes: Iterable[Node]) -> Iterable[tuple[str, str, int, str]]:
    """A line a stage and reason, from the facts; most frequent first."""
    for node in nodes:
        if not node.rows_rejected:
            continue
        reasons = dict(node.details.get("reasons") or {})
        if not reasons and node.stage == "augment":
            candidates = node.details.get("candidates", {})
            reasons = {
                status.replace("_", " "): n for status, n in candidates.items() if status != "measured"
            }
        other_count = node.rows_rejected - sum(reasons.values())
        ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        if len(ordered) > _REASONS:
            other_count += sum(count for _, count in ordered[_REASONS:])
            ordered = ordered[:_REASONS]
        if other_count > 0:
            ordered.append(("other reasons" if reasons else "see the artifact", other_count))
        for reason, count in ordered:
            yield node.name, reason, count, ", ".join(node.outputs)


def training(nodes: Sequence[Node], roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the curves of all trainings; empty if no training recorded any. `roles` are those of the systems."""
    trained = {node.item: node for node in nodes if node.stage == "train"}
    losses: dict[str, Mapping[str, Sequence[tuple[int, float]]]] = {}
    for recipe, node in trained.items():
        curves = {"training": _steps(paths.TRAINED / recipe), "dev": _values(node, "dev_losses", "loss")}
        if recorded := {name: pairs for name, pairs in curves.items() if pairs}:
            losses[recipe] = recorded
    perplexities = {
        recipe: {"held-out documents": pairs}
        for recipe, node in trained.items()
        if (pairs := _values(node, "perplexities", "perplexity"))
    }
    if not losses and not perplexities:
        return {}
    chosen_steps = {recipe: node.details.get("chosen_step") for recipe, node in trained.items()}

    def plot(name: str, label: str, heading: str, recipes: Mapping[str, Any]) -> Plot | None:
        return kinds.curves(name, label, heading, recipes, roles, chosen_steps) if recipes else None

    label = "Loss of every step of training, and on the dev split, by recipe"
    held_out = "Perplexity of the held-out documents by step"
    return {
        "losses": plot("losses", label, "loss (nats a token)", losses),
        "perplexities": plot("perplexities", held_out, "perplexity", perplexities),
        "perplexity_rows": [_perplexities(recipe, trained[recipe].details) for recipe in perplexities],
    }


def _perplexities(recipe: str, facts: Mapping[str, Any]) -> list[str | None]:
    """The perplexity before the training, at the chosen step, and after the last, with the numbers of texts."""
    last = facts["perplexities"][-1]["perplexity"]
    values = (facts.get("perplexity_before"), facts.get("perplexity"), last)
    perplexities = (None if value is None else f"{value:,.2f}" for value in values)
    counts = (facts.get(name) for name in ("train_instances", "dev_instances"))
    return [recipe, *counts, *perplexities, f"{facts.get('chosen_step')}"]


def steps_files(nodes: Iterable[Node]) -> list[Path]:
    """The weights whose training recorded its steps."""
    folders = [paths.TRAINED / node.item for node in nodes if node.stage == "train"]
    return [folder for folder in folders if (folder / _STEPS).is_file()]


def _steps(folder: Path) -> list[tuple[int, float]]:
    """The loss of every step of a training; empty if it is not there."""
    if not (folder / _STEPS).is_file():
        return []
    lines = (folder / _STEPS).read_text(encoding="utf-8").splitlines()
    return [(row["step"], row["loss"]) for row in map(json.loads, lines)]


def _values(node: Node, name: str, value: str) -> list[tuple[int, float]]:
    return [(int(one["step"]), float(one[value])) for one in node.details.get(name) or ()]
