"""The losses on the dev split that trainings have recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from stages.report import curves
from stages.report.facts import Node


def plot(nodes: Iterable[Node], order: Mapping[str, int]) -> Markup | None:
    """The losses of every recipe by step; None if no training recorded any.

    `order` is the place of each system among all; a recipe that is no system has a place after them.
    """
    lines = []
    for at, node in enumerate(node for node in nodes if node.stage == "train"):
        losses = [(int(one["step"]), float(one["loss"])) for one in node.details.get("dev_losses") or []]
        if losses:
            place = order.get(node.item, len(order) + at)
            lines.append((node.item, place, losses, node.details.get("chosen_step")))
    return curves.losses(lines) if lines else None
