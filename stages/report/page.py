"""Fill the page: everything the two templates show, from results, facts and tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from nightjar.core.params import Params
from nightjar.statistics import MINIMUM
from stages.report import (
    answers,
    bounds,
    contamination,
    data,
    drawings,
    facts,
    gains,
    headline,
    layout,
    provenance,
    results,
    svg,
)
from stages.report.calls import STATUSES, Tool

# Reasons of one stage that get a line of their own.
_REASONS = 12


def build(
    scores: results.Results,
    nodes: Sequence[facts.Node],
    tools: Sequence[Tool],
    relations: gains.Relations | None = None,
    overlaps: Mapping[str, Any] | None = None,
    params: Params | None = None,
    given: answers.Answers | None = None,
) -> dict[str, str]:
    """The whole report as files by name: index.html, report.md with its drawings, headline.txt."""
    sources = facts.reduced(facts.edges(nodes))
    level = layout.layers(sources)
    nodes = sorted(nodes, key=lambda node: (level[node.name], node.name))
    evaluation = next((node.details for node in nodes if node.stage == "evaluate"), {})
    missing = evaluation.get("missing_predictions", {})
    confidence = evaluation.get("confidence", 0.95)
    plots = {track: _category_plot(scores, track) for track in scores.tracks}
    calls_plot = drawings.thresholds([(tool.name, tool.gains, tool.own_threshold) for tool in tools])
    related = (relations or gains.Relations(), nodes, scores.systems, evaluation)
    steps = sorted({step for tool in tools for step, _ in tool.thresholds})
    context = {
        "colours": Markup(svg.variables()),  # noqa: S704 - our own constants
        "summary": _summary(scores, nodes),
        "confidence": f"{100 * confidence:g}%",
        "level": f"{1 - confidence:g}",
        "minimum": MINIMUM,
        "headline": _headline(scores),
        "bound": results.BOUND,
        **gains.context(*related),
        **bounds.context(scores, related[0].comparisons),
        "missing": ", ".join(f"{count} of {name}" for name, count in missing.items() if count),
        "systems": scores.systems,
        "categories": [
            {
                "track": track,
                "title": results.TRACK_NAMES.get(track, track).capitalize(),
                "plot": _drawn(plots[track]),
                "file": f"scores-{track}.svg",
                "tables": [
                    _table("By category", "category", scores.categories(track), scores.systems),
                    _table("By task", "task", scores.tasks(track), scores.systems, folded=True),
                ],
            }
            for track in scores.tracks
        ],
        "calls_plot": _drawn(calls_plot),
        "steps": [svg.n(step) for step in steps],
        "tools": [_tool(tool, steps) for tool in tools],
        "graph": _drawn(drawings.graph(nodes, sources)),
        "mermaid": Markup(drawings.mermaid(nodes, sources)),  # noqa: S704 - inside a code block
        "nodes": nodes,
        "rejected": list(_rejected(nodes)),
        **data.context(nodes),
        **contamination.context(overlaps, nodes),
        "provenance": None,
        "answers": None,
        "test_calls": None,
        **(provenance.context(params, nodes, scores.systems) if params else {}),
        **(answers.context(given, params, scores.systems) if params else {}),
        "footer": _footer(nodes),
    }
    return {
        "index.html": _environment().get_template("page.html.j2").render(context),
        "report.md": _environment().get_template("page.md.j2").render(context),
        "calls.svg": svg.standalone(calls_plot),
        **data.drawings(nodes),
        **{name: svg.standalone(plot) for name, plot in gains.drawings(*related).items()},
        **{f"scores-{track}.svg": svg.standalone(plot) for track, plot in plots.items()},
        "headline.txt": headline.text_table(headline.of(scores)),
    }


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    environment.filters["count_or_dash"] = lambda count: "–" if count is None else f"{count:,}"
    environment.filters["interval"] = results.interval
    environment.filters["signed"] = results.signed
    return environment


def _cell(text: str) -> Markup:
    """A text in a cell of a Markdown table: nothing in it is read as markup."""
    escaped = str(escape(" ".join(text.split())))
    # An underscore inside a word is plain text.
    escaped = re.sub(r"[\\|*`\[\]~]|(?<!\w)_|_(?!\w)", lambda sign: f"&#{ord(sign[0])};", escaped)
    return Markup(escaped)  # noqa: S704 - escaped just above


def _drawn(drawing: str) -> Markup:
    return Markup(drawing)  # noqa: S704 - svg.py escapes every text it is given


def _summary(scores: results.Results, nodes: Sequence[facts.Node]) -> str:
    rows = [scores.row(track, "overall", "overall", "rougeL") for track in scores.tracks]
    tracks = " and ".join(
        f"{row.n:,} test instances in the {results.TRACK_NAMES.get(track, track)}"
        for track, row in zip(scores.tracks, rows, strict=True)
    )
    return f"{len(scores.systems)} systems on {scores.benchmark}, {tracks}. {len(nodes)} stages ran."


def _footer(nodes: Sequence[facts.Node]) -> str:
    versions: dict[str, str] = {}
    for node in nodes:
        versions |= node.details.get("versions", {})
    seeds = sorted({str(node.details["seed"]) for node in nodes if "seed" in node.details})
    told = ", ".join(f"{name} {versions[name]}" for name in sorted(versions))
    return f"Seed {', '.join(seeds)}. Made with {told}."


def _headline(scores: results.Results) -> list[dict[str, Any]]:
    blocks = []
    for track in scores.tracks:
        rows = [scores.row(track, "overall", "overall", metric) for metric in headline.METRICS]
        blocks.append(
            {
                "track": track,
                "title": results.TRACK_NAMES.get(track, track).capitalize(),
                "n": rows[0].n,
                "rows": [
                    {
                        "system": system,
                        "cells": [
                            _value(row, system) | {"strip": _drawn(drawings.strip(row.lanes[system], number))}
                            for row in rows
                        ],
                    }
                    for number, system in enumerate(scores.systems)
                    if system in rows[0].lanes
                ],
            }
        )
    return blocks


def _value(row: results.Row, system: str) -> dict[str, Any]:
    lane = row.lanes[system]
    best = round(lane.value, 1) == row.best() > 0 and (system != results.BOUND or len(row.lanes) == 1)
    return {"n": row.n, "value": lane.value, "low": lane.low, "high": lane.high, "best": best}


def _table(
    title: str, of: str, rows: Sequence[results.Row], systems: Sequence[str], folded: bool = False
) -> dict[str, Any]:
    return {
        "title": f"{title} ({len(rows)})" if folded else title,
        "of": of,
        "folded": folded,
        "rows": [
            {
                "title": row.title,
                "metric": results.METRIC_NAMES[row.metric],
                "n": row.n,
                "cells": [_value(row, system) if system in row.lanes else None for system in systems],
            }
            for row in rows
        ],
    }


def _category_plot(scores: results.Results, track: str) -> str:
    rows = [
        (row.title, f"{results.METRIC_NAMES[row.metric]}, n = {row.n}", row.lanes)
        for row in scores.categories(track)
    ]
    name = results.TRACK_NAMES.get(track, track)
    return drawings.scores(rows, scores.systems, f"Score of every system in each category, {name}")


def _tool(tool: Tool, steps: Sequence[float]) -> dict[str, Any]:
    counted = dict(tool.thresholds)
    with_text = tool.kept - tool.echo_count
    return {
        "name": tool.name,
        "kept": tool.kept,
        "candidates": tool.candidates,
        "statuses": [tool.statuses[status] for status in STATUSES],
        "sources": ", ".join(f"{source} {count:,}" for source, count in sorted(tool.sources.items())) or "–",
        "cells": [
            {"count": f"{counted[step]:,}" if step in counted else "–", "own": step == tool.own_threshold}
            for step in steps
        ],
        "lists": [
            {
                "title": f"The result stands in the text behind the call: {with_text:,} of {tool.kept:,}",
                "examples": tool.fitting,
                "more": with_text > len(tool.fitting),
            },
            {
                "title": f"The result does not stand there: {tool.echo_count:,} of {tool.kept:,}. Many such "
                "calls are wrong, and pass because they repeat a part of what follows; the filter stays as "
                "published",
                "examples": tool.echoes,
                "more": tool.echo_count > len(tool.echoes),
            },
        ],
    }


def _rejected(nodes: Iterable[facts.Node]) -> Iterable[dict[str, Any]]:
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
