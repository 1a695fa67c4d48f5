"""The pages of the report: an overview, a page a benchmark, pages of instances, and those of no benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.params import Params
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report import leaderboard
from stages.report.benchmark import instances
from stages.report.benchmark import page as benchmark
from stages.report.benchmark.page import Benchmark
from stages.report.plots import drawings
from stages.report.project import augmented, calls, contamination, data, provenance, ran
from stages.report.project.calls import Tool
from stages.report.read import facts, results
from stages.report.site import Menu, Site


def build(
    benchmarks: Sequence[Benchmark],
    nodes: Sequence[facts.Node],
    tools: Sequence[Tool],
    params: Params,
    overlaps: Mapping[str, Any] | None = None,
    left_out: Mapping[str, Mapping[str, str]] | None = None,
    root: Path = Path(),
) -> dict[str, str]:
    """The whole report as files by name, except headline.json.

    `nodes` are the stages that lead to the report; `left_out` are tasks without answers, with the reason, by benchmark;
    `root` is the project's folder, which holds the profiles.
    """
    sources = facts.reduced(facts.edges(nodes))
    level = drawings.layers(sources)
    nodes = sorted(nodes, key=lambda node: (level[node.name], node.name))
    cards = [one.systems.card for one in benchmarks]
    order = _order(benchmarks)
    track_title = _track_title(params, benchmarks)
    origin = provenance.context(params, nodes, [one.systems for one in benchmarks], root)
    other = {
        "training": ran.training(nodes, order),
        "calls": calls.context(tools) | {"augmented": augmented.context(tools, nodes)} if tools else {},
        "data": data.context(nodes, cards, track_title),
        "contamination": contamination.context(overlaps, nodes, cards),
        "provenance": origin | {"several": len(benchmarks) > 1},
        "stages": ran.context(nodes, sources),
    }
    menus: list[Menu] = [
        ("Benchmarks", [(f"{card.name}.html", card.title) for card in cards]),
        ("Run", [(f"{name}.html", TITLES[name]) for name, context in other.items() if context]),
    ]
    site = Site(menus, ran.footer(nodes))
    columns = [leaderboard.column(one) for one in benchmarks if one.results.tracks]
    unscored = [one.unscored for one in benchmarks if one.unscored]
    shared: dict[str, Any] = {
        "confidence": f"{100 * CONFIDENCE:g}%",
        "chance": f"{1 - CONFIDENCE:g}",
        "bound": results.BOUND,
        "control": results.CONTROL,
    }
    board = leaderboard.context(columns, _instance_pages(benchmarks))
    sizes = [_size(one) for one in benchmarks]
    missing = [
        {"title": registry.card(name).title, "tasks": tasks}
        for name, tasks in (left_out or {}).items()
        if tasks
    ]
    about: dict[str, Any] = {
        "provenance": origin,
        "benchmarks": sizes,
        "stages": len(nodes),
        "left_out": missing,
        "unscored": unscored,
    }
    site.page("index.html", "index.html.j2", "Nightjar report", {**shared, **about, "board": board})
    for one in benchmarks:
        _benchmark(site, one, order, params, shared)
    for name, context in other.items():
        if context:
            site.page(f"{name}.html", f"{name}.html.j2", TITLES[name], {"it": context})
    site.add(
        {"headline.txt": leaderboard.as_text(columns, unscored), leaderboard.FILE: leaderboard.rows(columns)}
    )
    return site.files


TITLES = {
    "training": "Training",
    "calls": "Tool calls",
    "data": "Data",
    "contamination": "Contamination",
    "provenance": "Where the results come from",
    "stages": "What ran",
}


def _benchmark(
    site: Site, one: Benchmark, order: Mapping[str, int], params: Params, shared: Mapping[str, Any]
) -> None:
    """The page of a benchmark, and the explorer of its instances."""
    card = one.systems.card
    site.page(
        f"{card.name}.html",
        "benchmark.html.j2",
        card.title,
        {**shared, "one": benchmark.context(one, order, params)},
    )
    site.add({f"scores-{card.name}.csv": one.results.csv()})
    site.page(
        instances.file(card),
        "instances.html.j2",
        f"{card.title}: instances",
        instances.context(one.evaluated),
    )
    site.add(instances.files(one.evaluated))


def _instance_pages(benchmarks: Sequence[Benchmark]) -> dict[tuple[str, str], str]:
    return {
        (one.systems.card.name, system): instances.file(one.systems.card, system)
        for one in benchmarks
        for system in one.systems.models
    }


def _size(one: Benchmark) -> dict[str, Any]:
    """What the overview says of a benchmark beside its title."""
    found = one.results
    return {
        "name": found.card.name,
        "title": found.card.title,
        "systems": len(found.systems or one.systems.models),
        "instances": sum(len(it.keys) for it in one.scores[:1]) or len(one.evaluated.questions),
    }


def _order(benchmarks: Sequence[Benchmark]) -> dict[str, int]:
    """The place of each system among those of all benchmarks: it has one mark everywhere."""
    names = dict.fromkeys(system for one in benchmarks for system in one.results.systems)
    return {name: at for at, name in enumerate(names)}


def _track_title(params: Params, benchmarks: Sequence[Benchmark]) -> Callable[[str], str]:
    """The titles of the split's tracks: those of the benchmark whose test instances are the split's."""
    for one in benchmarks:
        group = params.benchmarks[one.systems.card.name]
        if group.split:
            return one.systems.card.track_title
    return lambda track: track
