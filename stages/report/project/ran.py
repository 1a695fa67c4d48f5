"""What ran: the graph of the stages, the rows that they rejected, and what made the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stages.report.plots import drawings
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
