"""The page of tool calls: how many were kept, table 2 of Toolformer beside ours, and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.plots import kinds
from stages.report.project.sampled_calls import STATUSES, SampledTool, best_and_worst
from stages.report.read.facts import Node

# Table 2 of Schick et al. 2023: examples, which are texts, with calls of a tool by the threshold of the filter.
THRESHOLDS = ("0.5", "1.0", "2.0")
PUBLISHED: Mapping[str, tuple[int, int, int]] = {
    "question_answering": (51_987, 18_526, 5_135),
    "wiki_search": (207_241, 60_974, 13_944),
    "calculator": (3_680, 994, 138),
    "calendar": (61_811, 20_587, 3_007),
    "machine_translation": (3_156, 1_034, 229),
}


def context(tools: Sequence[SampledTool], nodes: Sequence[Node]) -> dict[str, Any]:
    """Return the calls of each tool, counted and with examples; empty without tools."""
    if not tools:
        return {}
    merged = next((node.details for node in nodes if node.name == "augment_merge"), {})
    best, worst = best_and_worst(tools)
    return {
        "tools": tools,
        "merged": merged.get("texts"),
        "plot": kinds.histograms("calls", [(tool.name, tool.gains, tool.own_threshold) for tool in tools]),
        "example_rows": _examples(tools, merged["examples"]) if merged.get("examples") is not None else [],
        "statuses": [it.replace("_", " ") for it in STATUSES],
        "steps": [f"≥ {step:g}" for step in _steps(tools)],
        "count_rows": _counts(tools),
        "extremes": [
            (title, [(*call.cells, call.is_kept, call.fits) for call in calls])
            for title, calls in (("most", best), ("least", worst))
            if calls
        ],
    }


def _steps(tools: Sequence[SampledTool]) -> list[float]:
    return sorted({step for tool in tools for step, _ in tool.thresholds})


def _counts(tools: Sequence[SampledTool]) -> list[list[str | int | None]]:
    """A row a tool: its threshold, its calls by result of the filter, and those that save at least each step."""
    return [
        [
            tool.name,
            f"{tool.own_threshold:g}",
            *(tool.statuses[it] for it in STATUSES),
            *(dict(tool.thresholds).get(step) for step in _steps(tools)),
        ]
        for tool in tools
    ]


def _examples(
    tools: Sequence[SampledTool], counts: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> list[list[str | int | None]]:
    """The rows of table 2 of the paper beside ours, from the counts of the stage augment_merge."""
    return [
        [
            tool.name,
            *(
                counts[of].get(tool.name, {}).get(step, 0)
                for of in ("corpus", "train")
                for step in THRESHOLDS
            ),
            *PUBLISHED.get(tool.name, (None,) * len(THRESHOLDS)),
        ]
        for tool in tools
    ]
