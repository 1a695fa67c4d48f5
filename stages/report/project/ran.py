"""What ran: the graph of the stages, rejected rows, what made the report, and what trainings recorded on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stages.report.plots import curves, drawings
from stages.report.plots.svg import Plot
from stages.report.read.facts import Edges, Node

# Reasons of one stage that get a line of their own.
_REASONS = 12


def context(nodes: Sequence[Node], sources: Edges) -> dict[str, Any]:
    """What the template shows; `sources` are the edges without those that a longer way implies."""
    return {
        "graph": drawings.graph(nodes, sources),
        "nodes": nodes,
        "rejected": list(_rejected(nodes)),
        "remarks": [
            {"stage": node.name, "remark": remark, "count": count}
            for node in nodes
            for remark, count in (node.details.get("remarks") or {}).items()
        ],
    }


def footer(nodes: Iterable[Node]) -> str:
    """The seeds and the versions of the libraries."""
    versions: dict[str, str] = {}
    seeds = set()
    for node in nodes:
        versions |= node.details.get("versions", {})
        seeds |= {str(node.details["seed"])} if "seed" in node.details else set()
    listed = ", ".join(f"{name} {versions[name]}" for name in sorted(versions))
    return f"Seed {', '.join(sorted(seeds))}. Made with {listed}."


def _rejected(nodes: Iterable[Node]) -> Iterable[dict[str, Any]]:
    """A line a stage and reason, from the facts; most frequent first."""
    for node in nodes:
        if not node.rows_rejected:
            continue
        reasons = dict(node.details.get("reasons") or {})
        if not reasons and node.stage == "augment":
            candidates = node.details.get("candidates", {})
            reasons = {status.replace("_", " "): n for status, n in candidates.items() if status != "kept"}
        rest = node.rows_rejected - sum(reasons.values())
        ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        if len(ordered) > _REASONS:
            rest += sum(count for _, count in ordered[_REASONS:])
            ordered = ordered[:_REASONS]
        if rest > 0:
            ordered.append(("other reasons" if reasons else "see the artifact", rest))
        for reason, count in ordered:
            yield {"stage": node.name, "reason": reason, "count": count, "kept_in": ", ".join(node.outputs)}


def training(nodes: Sequence[Node], order: Mapping[str, int]) -> dict[str, Any] | None:
    """What the template shows; None if no training recorded anything. `order` is as in `plot`."""
    losses, perplexity = plot(nodes, order), perplexity_plot(nodes, order)
    if not losses and not perplexity:
        return None
    return {"losses": losses, "perplexity": perplexity, "perplexities": perplexities(nodes)}


def plot(nodes: Iterable[Node], order: Mapping[str, int]) -> Plot | None:
    """The losses on the dev split of every recipe by step; None if no training recorded any.

    `order` is the place of each system among all; a recipe that is no system has a place after them.
    """
    return _plot("dev-losses", nodes, order, "dev_losses", "loss", "Loss on the dev split by step")


def perplexity_plot(nodes: Iterable[Node], order: Mapping[str, int]) -> Plot | None:
    """The perplexities of the held-out documents, as `plot`."""
    label = "Perplexity of the held-out documents by step"
    return _plot("perplexities", nodes, order, "perplexities", "perplexity", label)


def perplexities(nodes: Iterable[Node]) -> list[dict[str, Any]]:
    """A row for every recipe with perplexities: before the training, at the chosen step, and after the last."""
    rows = []
    for node in nodes:
        if node.stage != "train" or not (found := node.details.get("perplexities")):
            continue
        before, chosen = (node.details.get(name) for name in ("perplexity_before", "perplexity"))
        rows.append(
            {
                "recipe": node.item,
                "documents": node.details.get("dev_instances"),
                "texts": node.details.get("train_instances"),
                "values": [_shown(before), _shown(chosen), _shown(found[-1]["perplexity"])],
                "step": node.details.get("chosen_step"),
            }
        )
    return rows


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _plot(
    file: str, nodes: Iterable[Node], order: Mapping[str, int], name: str, value: str, label: str
) -> Plot | None:
    lines = []
    for at, node in enumerate(node for node in nodes if node.stage == "train"):
        found = [(int(one["step"]), float(one[value])) for one in node.details.get(name) or []]
        if found:
            place = order.get(node.item, len(order) + at)
            lines.append((node.item, place, found, node.details.get("chosen_step")))
    return curves.losses(file, lines, value, label) if lines else None
