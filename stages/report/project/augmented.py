"""The augmented corpus: table 2 of Toolformer beside ours, and what sampling and filtering took for each tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stages.report.project.calls import STATUSES, Tool
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
# Table 10: what each of its ten calls saves, in nats. The facts name no tool for five of them.
TABLE_10 = (
    "useful calls save 5.49 (WikiSearch), 2.11 (Calendar), 2.08 (QA), 1.59 (Calculator), 0.70 (MT) and 0.33, "
    "others 0.92, -0.02, -0.41 and -1.23"
)


def context(tools: Sequence[Tool], nodes: Iterable[Node]) -> dict[str, Any]:
    """What the templates show: `examples`, a row a tool of table 2, and `work` and `beyond`, a row a tool of facts.

    `examples` is empty if the stage augment_merge has counted none, `beyond` if no tool has a price and there are no
    chains.
    """
    found = {node.name: node.details for node in nodes}
    merged = found.get("augment_merge", {})
    return {
        "thresholds": THRESHOLDS,
        "table_10": TABLE_10,
        "examples": _examples([tool.name for tool in tools], merged["examples"])
        if "examples" in merged
        else [],
        "work": [_work(tool, found.get(f"augment@{tool.name}", {})) for tool in tools],
        "beyond": _beyond(tools, found),
        "merged": _merged(merged),
    }


def _examples(tools: Sequence[str], counted: Mapping[str, Any]) -> list[dict[str, Any]]:
    def cells(source: str, tool: str) -> list[str]:
        return [f"{counted[source].get(tool, {}).get(threshold, 0):,}" for threshold in THRESHOLDS]

    return [
        {
            "name": tool,
            "documents": cells("corpus", tool),
            "targets": cells("train", tool),
            "published": [f"{number:,}" for number in PUBLISHED[tool]] if tool in PUBLISHED else ["–"] * 3,
        }
        for tool in tools
    ]


def _work(tool: Tool, details: Mapping[str, Any]) -> dict[str, Any]:
    texts, rules = details.get("texts", {}), details.get("rules", {})
    sources = [texts.get(source) for source in ("corpus", "train")]
    counts: list[Mapping[str, int]] = [one for one in sources if isinstance(one, Mapping)]
    return {
        "name": tool.name,
        "seen": _number(*(one.get("seen") for one in counts)),
        "suited": _number(*(one.get("suited") for one in counts)),
        "rules": ", ".join(f"{rule} {number:,}" for rule, number in sorted(rules.items())),
        "annotated": _number(texts.get("annotated")),
        "tokens": _number(details.get("tokens_computed")),
        "candidates": f"{tool.candidates:,}",
        "statuses": [f"{tool.statuses[status]:,}" for status in STATUSES],
        "sources": ", ".join(f"{source} {count:,}" for source, count in sorted(tool.sources.items())) or "–",
    }


def _beyond(tools: Sequence[Tool], found: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Prices and chains, which the paper does not have; empty where they are off for all tools."""
    details = [found.get(f"augment@{tool.name}", {}) for tool in tools]
    prices = [one.get("filter", {}).get("price", 0.0) for one in details]
    if not any(prices) and not any("chains" in one for one in details):
        return []
    return [
        {
            "name": tool.name,
            "price": f"{price:g}",
            "too_dear": f"{tool.too_dear:,}",
            **_chains(one.get("chains", {})),
        }
        for tool, price, one in zip(tools, prices, details, strict=True)
    ]


def _chains(counted: Mapping[str, Any]) -> dict[str, str]:
    if not counted:
        return dict.fromkeys(("lengths", "sampled", "later", "saved", "use_result"), "–")
    kept = counted["kept"]
    later = sum(number for place, number in kept.items() if place != "1")
    return {
        "lengths": ", ".join(f"{place}: {number:,}" for place, number in kept.items()) or "–",
        "sampled": f"{counted['sampled']:,}",
        "later": f"{later:,}",
        "saved": f"{counted['saved'] / later:.2f}" if later else "–",
        "use_result": f"{counted['use_result']:,}",
    }


def _number(*values: int | None) -> str:
    """The sum of the values; a dash if there is none, or one is not recorded."""
    known = [value for value in values if value is not None]
    return f"{sum(known):,}" if known and len(known) == len(values) else "–"


def _merged(details: Mapping[str, Any]) -> str:
    """A sentence on the texts of the augmented corpus; empty without facts."""
    texts = details.get("texts")
    if not texts:
        return ""
    parts = [
        f"{texts[source]['with_calls']:,} of {texts[source]['texts']:,} {name}"
        for source, name in (("corpus", "documents"), ("train", "training targets"))
    ]
    corpus = texts["corpus"]
    return (
        f"Calls were merged into {' and '.join(parts)}. {corpus['held_out']:,} documents are held out; "
        f"{corpus['with_own_calls']:,} contain a call of their own and were refused."
    )
