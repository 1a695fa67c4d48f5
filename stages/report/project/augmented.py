"""The page of tool calls: how many were kept, table 2 of Toolformer beside ours, and examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.sections import (
    Block,
    Fold,
    Paragraph,
    ReportColumn,
    ReportRow,
    ReportTable,
    Section,
    numbered,
    texts,
)
from stages.report.plots import kinds
from stages.report.project.sampled_calls import STATUSES, Example, SampledTool, best_and_worst
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


def sections(tools: Sequence[SampledTool], nodes: Sequence[Node]) -> list[Section]:
    """Count how many calls of each tool were kept, and examples; none without tools."""
    if not tools:
        return []
    steps = sorted({step for tool in tools for step, _ in tool.thresholds})
    explanation = (
        "A sampled call is kept when the call with its result lowers the loss of the following tokens by at least the "
        "tool's threshold, against no call and against the call alone. "
    )
    rows = []
    for tool in tools:
        counted = dict(tool.thresholds)
        own_threshold = f"{tool.own_threshold:g}"
        saved = (f"{counted[it]:,}" if it in counted else None for it in steps)
        rows.append(
            ReportRow((tool.name, own_threshold, *(f"{tool.statuses[it]:,}" for it in STATUSES), *saved))
        )
    heads = [*texts("tool"), *numbered("own threshold", *(it.replace("_", " ") for it in STATUSES))]
    heads += numbered(*(f"≥ {step:g}" for step in steps))
    first: list[Block] = [
        Paragraph(f"{explanation}{_merged(nodes)}".strip()),
        kinds.histograms("calls", [(tool.name, tool.gains, tool.own_threshold) for tool in tools]),
        *_examples(tools, nodes),
        ReportTable(
            heads,
            rows,
            "Sampled calls by result of the filter, and those that save at least so much loss in nats",
        ),
    ]
    kept_folds = [
        Fold(f"{tool.name}: {tool.kept_count:,}", _kept_blocks(tool)) for tool in tools if tool.kept_count
    ]
    examples = [Section("kept", "Calls that were kept", kept_folds)] if kept_folds else []
    return [Section("calls", "", first), *_extremes(tools), *examples]


_HEADS = [
    *numbered("saved"),
    *(ReportColumn(name, "words") for name in ("text before", "call", "text after")),
    *texts("from"),
]


def _cells(example: Example) -> tuple[str, ...]:
    return f"{example.gain:.2f}", example.before, example.call, example.after, example.where


def _extremes(tools: Sequence[SampledTool]) -> list[Section]:
    best, worst = best_and_worst(tools)
    explanation = (
        "Of all tools, kept or not, in the form of table 10 of Toolformer. Useful there is a person's judgement; here "
        f"the last column says whether the result occurs in the text after the call. Published (table 10): {TABLE_10}."
    )
    folds = [
        Fold(
            f"The {len(extreme_examples)} that save {which}",
            [ReportTable([*_HEADS, *texts("kept", "result occurs")], [
                ReportRow((*_cells(it), "yes" if it.is_kept else "no", "yes" if it.fits else "no"))
                for it in extreme_examples
            ])],
        )
        for which, extreme_examples in (("most", best), ("least", worst))
    ]  # fmt: skip
    return (
        [
            Section(
                "extremes", "The calls that save most and least", [Paragraph(explanation, note=True), *folds]
            )
        ]
        if best
        else []
    )


def _kept_blocks(tool: SampledTool) -> list[Block]:
    """Calls whose result occurs in the text after them, and calls whose result does not."""
    with_text = tool.kept_count - tool.echo_count
    wrong = (
        "Many of these calls are wrong. They are kept because they repeat a part of the text that follows; the filter "
        "is the published one"
    )
    blocks: list[Block] = []
    for title, shown_examples, n in (
        (
            f"The result occurs in the text after the call: {with_text:,} of {tool.kept_count:,}",
            tool.fitting,
            with_text,
        ),
        (
            f"The result does not occur there: {tool.echo_count:,} of {tool.kept_count:,}. {wrong}",
            tool.echoes,
            tool.echo_count,
        ),
    ):
        if shown_examples:
            more = ", the best of them" if n > len(shown_examples) else ""
            blocks += [
                Paragraph(f"{title}{more}.", note=True),
                ReportTable(_HEADS, [ReportRow(_cells(it)) for it in shown_examples]),
            ]
    return blocks


def _facts(nodes: Iterable[Node]) -> Mapping[str, Mapping[str, Any]]:
    return {node.name: node.details for node in nodes}


def _examples(tools: Sequence[SampledTool], nodes: Iterable[Node]) -> list[Block]:
    """Table 2 of the paper beside ours; none if the stage augment_merge has counted none."""
    counted = _facts(nodes).get("augment_merge", {}).get("examples")
    if counted is None:
        return []
    heads = [
        f"{of}, ≥ {step}" for of in ("documents", "training targets", "published") for step in THRESHOLDS
    ]
    rows = []
    for tool in tools:
        ours = (
            counted[of].get(tool.name, {}).get(step, 0) for of in ("corpus", "train") for step in THRESHOLDS
        )
        theirs = PUBLISHED.get(tool.name)
        rows.append(
            ReportRow(
                (
                    tool.name,
                    *(f"{it:,}" for it in ours),
                    *((f"{it:,}" for it in theirs) if theirs else [None] * 3),
                )
            )
        )
    caption = (
        "Examples, which are texts and not calls, by the threshold of the filter: all three from this run, before the "
        "limit of examples of a tool. Published: table 2 of Toolformer, from millions of documents."
    )
    return [ReportTable([*texts("tool"), *numbered(*heads)], rows, caption)]


def _merged(nodes: Iterable[Node]) -> str:
    """A sentence on the texts of the augmented corpus; empty without facts."""
    of = _facts(nodes).get("augment_merge", {}).get("texts")
    if not of:
        return ""
    parts = [
        f"{of[source]['with_calls']:,} of {of[source]['texts']:,} {name}"
        for source, name in (("corpus", "documents"), ("train", "training targets"))
    ]
    corpus = of["corpus"]
    return (
        f"Calls were merged into {' and '.join(parts)}. {corpus['held_out']:,} documents are held out; "
        f"{corpus['with_own_calls']:,} contain a call of their own and were refused."
    )
