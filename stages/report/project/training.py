"""What trainings have recorded on texts that they did not train on: losses on the dev split, and perplexities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stages.report.plots import curves
from stages.report.plots.plot import Plot
from stages.report.read.facts import Node


def context(nodes: Sequence[Node], order: Mapping[str, int]) -> dict[str, Any] | None:
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
