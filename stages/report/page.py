"""Fill the page: everything the two templates show, from results, facts and tool calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from nightjar.core.params import Params
from stages.report import (
    answer_calls,
    answers,
    augmented,
    benchmark,
    calls,
    cases,
    contamination,
    data,
    drawings,
    facts,
    headline,
    histograms,
    layout,
    numbers,
    provenance,
    results,
    svg,
    systems,
    training,
)
from stages.report.benchmark import Benchmark
from stages.report.calls import Tool

# Reasons of one stage that get a line of their own.
_REASONS = 12


def build(
    benchmarks: Sequence[Benchmark],
    nodes: Sequence[facts.Node],
    tools: Sequence[Tool],
    params: Params,
    overlaps: Mapping[str, Any] | None = None,
    root: Path = Path(),
) -> dict[str, str]:
    """The whole report as files by name: index.html, report.md with its drawings, headline.txt, pages of questions.

    `nodes` are the stages that lead to the report; `root` is the project's folder, which holds the profiles.
    """
    sources = facts.reduced(facts.edges(nodes))
    level = layout.layers(sources)
    nodes = sorted(nodes, key=lambda node: (level[node.name], node.name))
    order = _order(benchmarks)
    shown = [benchmark.context(one, order) for one in benchmarks]
    called = [_called(one, params) for one in benchmarks]
    calls_plot = histograms.histograms([(tool.name, tool.gains, tool.own_threshold) for tool in tools])
    losses, perplexity = training.plot(nodes, order), training.perplexity_plot(nodes, order)
    best, worst = calls.best_and_worst(tools)
    cards = [one.systems.card for one in benchmarks]
    title = _track_title(params, benchmarks)
    described = data.context(nodes, cards, title)
    steps = sorted({step for tool in tools for step, _ in tool.thresholds})
    context = {
        "colours": Markup(svg.variables()),  # noqa: S704 - our own constants
        "summary": _summary(benchmarks, nodes),
        "confidence": f"{100 * params.evaluate.confidence:g}%",
        "chance": f"{1 - params.evaluate.confidence:g}",
        "bound": results.BOUND,
        "control": results.CONTROL,
        "benchmarks": shown,
        "losses": losses,
        "perplexity": perplexity,
        "perplexities": training.perplexities(nodes),
        "calls_plot": calls_plot,
        "steps": [svg.n(step) for step in steps],
        "tools": [_tool(tool, steps) for tool in tools],
        "augmented": augmented.context(tools, nodes),
        "extremes": [("The %d that save most", best), ("The %d that save least", worst)],
        "graph": drawings.graph(nodes, sources),
        "mermaid": Markup(drawings.mermaid(nodes, sources)),  # noqa: S704 - inside a code block
        "nodes": nodes,
        "rejected": list(_rejected(nodes)),
        "remarks": [
            {"stage": node.name, "remark": remark, "count": count}
            for node in nodes
            for remark, count in (node.details.get("remarks") or {}).items()
        ],
        "data": described,
        **contamination.context(overlaps, nodes, title),
        "provenance": provenance.context(params, nodes, [one.systems for one in benchmarks], root),
        "examples_most": answers.MOST,
        "case_passages": cases.PASSAGES,
        "unjudged": answers.UNJUDGED,
        "called": called,
        "no_calls": answer_calls.none_called(called),
        "footer": _footer(nodes),
    }
    pictures = {"calls.svg": calls_plot, **({"dev-losses.svg": losses} if losses else {})}
    if perplexity:
        pictures["perplexities.svg"] = perplexity
    for one in shown:
        pictures |= benchmark.pictures(one)
    for dataset in described["datasets"] if described else ():
        pictures |= {it["file"]: it["plot"] for it in dataset["distributions"]}
    lists = [page for one in benchmarks if (page := benchmark.questions_page(one))]
    return {
        "index.html": _environment().get_template("page.html.j2").render(context),
        # Parts that are left out leave empty lines.
        "report.md": re.sub(r"\n{3,}", "\n\n", _environment().get_template("page.md.j2").render(context)),
        **{name: _questions(shown, context["colours"]) for name, shown in lists},
        **{name: svg.standalone(plot) for name, plot in pictures.items()},
        "headline.txt": headline.text_table([one.results for one in benchmarks]),
    }


def _questions(shown: Mapping[str, Any], colours: Markup) -> str:
    return _environment().get_template("questions.html.j2").render(**shown, colours=colours)


def _order(benchmarks: Sequence[Benchmark]) -> dict[str, int]:
    """The place of each system among those of all benchmarks: it has one mark everywhere."""
    names = dict.fromkeys(system for one in benchmarks for system in one.results.systems)
    return {name: at for at, name in enumerate(names)}


def _track_title(params: Params, benchmarks: Sequence[Benchmark]) -> Callable[[str], str]:
    """The titles of the split's tracks: those of the benchmark whose test instances are the split's."""
    for one in benchmarks:
        group = params.benchmarks[one.systems.card.name]
        if group.split != group.data:
            return one.systems.card.track_title
    return lambda track: track


def _called(one: Benchmark, params: Params) -> dict[str, Any]:
    card = one.systems.card
    may_call = {system: systems.may_call(params, card.name, system) for system in one.systems.models}
    return answer_calls.context(card, one.answers, may_call)


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
    environment.filters["count"] = numbers.count
    return environment


def _cell(text: str) -> Markup:
    """A text in a cell of a Markdown table: nothing in it is read as markup."""
    escaped = str(escape(" ".join(text.split())))
    # An underscore inside a word is plain text.
    escaped = re.sub(r"[\\|*`\[\]~]|(?<!\w)_|_(?!\w)", lambda sign: f"&#{ord(sign[0])};", escaped)
    return Markup(escaped)  # noqa: S704 - escaped just above


def _summary(benchmarks: Sequence[Benchmark], nodes: Sequence[facts.Node]) -> str:
    parts = []
    for one in benchmarks:
        found = one.results
        tracks = [
            f"{found.headline(track)[0].n:,} test instances ({found.card.track_title(track)})"
            for track in found.tracks
        ]
        parts.append(f"{found.card.title}: {len(found.systems)} systems, {', '.join(tracks)}.")
    return " ".join([*parts, f"{len(nodes)} stages ran."])


def _footer(nodes: Sequence[facts.Node]) -> str:
    versions: dict[str, str] = {}
    for node in nodes:
        versions |= node.details.get("versions", {})
    seeds = sorted({str(node.details["seed"]) for node in nodes if "seed" in node.details})
    listed = ", ".join(f"{name} {versions[name]}" for name in sorted(versions))
    return f"Seed {', '.join(seeds)}. Made with {listed}."


def _tool(tool: Tool, steps: Sequence[float]) -> dict[str, Any]:
    counted = dict(tool.thresholds)
    with_text = tool.kept - tool.echo_count
    return {
        "name": tool.name,
        "kept": tool.kept,
        "cells": [
            {"count": f"{counted[step]:,}" if step in counted else "–", "own": step == tool.own_threshold}
            for step in steps
        ],
        "lists": [
            {
                "title": f"The result occurs in the text after the call: {with_text:,} of {tool.kept:,}",
                "examples": tool.fitting,
                "more": with_text > len(tool.fitting),
            },
            {
                "title": f"The result does not occur there: {tool.echo_count:,} of {tool.kept:,}. Many of these "
                "calls are wrong. They are kept because they repeat a part of the text that follows; the filter is the "
                "published one",
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
