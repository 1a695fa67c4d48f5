"""The pages of the report: an overview, a page a benchmark, pages of instances, and those of no benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.params import Params
from stages.report import leaderboard
from stages.report.benchmark import instances
from stages.report.benchmark import page as benchmark
from stages.report.benchmark.page import BenchmarkPage
from stages.report.project import augmented, contamination, data, provenance, stage_runs
from stages.report.project.sampled_calls import SampledTool
from stages.report.read import facts
from stages.report.site import Menu, Site


def build(
    benchmarks: Sequence[BenchmarkPage],
    nodes: Sequence[facts.Node],
    tools: Sequence[SampledTool],
    params: Params,
    overlaps: Mapping[str, Any] | None = None,
    left_out: Mapping[str, Mapping[str, str]] | None = None,
    root: Path = Path(),
) -> dict[str, str]:
    """The whole report as files by name, except headline.json and flat.json.

    `nodes` are the stages that lead to the report; `left_out` are tasks without answers, with the reason, by benchmark;
    `root` is the project's folder, which holds the profiles.
    """
    level = facts.levels(facts.graph(nodes))
    nodes = sorted(nodes, key=lambda node: (level[node.name], node.name))
    systems = [benchmark_page.systems for benchmark_page in benchmarks]
    cards = [it.card for it in systems]
    roles = {system: role for it in systems for system, role in it.roles.items()}
    track_title = _track_title(params, cards)
    origin = provenance.read(params, nodes, systems, root)
    of_origin = {"origin": origin, "params": params, "cards": cards}
    # The pages of the run: file, title and values; a page without values is left out.
    run_pages: list[tuple[str, str, dict[str, Any]]] = [
        ("training.html", "Training", stage_runs.training(nodes, roles)),
        ("calls.html", "Tool calls", augmented.context(tools, nodes)),
        ("data.html", "Data", data.context(nodes, cards, track_title)),
        ("contamination.html", "Contamination", contamination.context(overlaps, nodes, cards)),
        ("provenance.html", "Where the results come from", of_origin),
        ("stages.html", "What ran", stage_runs.context(nodes)),
    ]
    run_pages = [run_page for run_page in run_pages if run_page[2]]
    menus: list[Menu] = [
        ("Benchmarks", [(f"{card.name}.html", card.title) for card in cards]),
        ("Run", [(file, title) for file, title, _ in run_pages]),
    ]
    site = Site(menus, _named(origin, roles))
    columns = leaderboard.columns_of(benchmarks)
    unscored = [benchmark_page.unscored for benchmark_page in benchmarks if benchmark_page.unscored]
    missing = [
        {"title": registry.load_benchmark(name).title, "tasks": tasks}
        for name, tasks in (left_out or {}).items()
        if tasks
    ]
    about: dict[str, Any] = {
        "origin": origin,
        "stages": len(nodes),
        "left_out": missing,
        "unscored": unscored,
        "board": leaderboard.context(columns, _instance_pages(benchmarks)),
        "opposites": [],
    }
    for benchmark_page in benchmarks:
        card = benchmark_page.systems.card
        number = next((column for column in columns if column.card is card), None)
        named_here = _named(origin, benchmark_page.systems.roles, card.title)
        context = benchmark.context(benchmark_page, number, params)
        about["opposites"] += [(card, sentence) for sentence in context["opposites"]]
        _benchmark(site, benchmark_page, context | {"named": named_here})
    site.page("index.html", "Nightjar report", about)
    for file, title, values in run_pages:
        site.page(file, title, values)
    site.add(
        {"headline.txt": leaderboard.as_text(columns, unscored), leaderboard.FILE: leaderboard.rows(columns)}
    )
    return site.files


def _named(origin: provenance.Origin, roles: Mapping[str, str], title: str = "") -> dict[str, dict[str, str]]:
    """Return the role and the sentence of each system; with `title`, of that benchmark's systems alone."""
    return {
        line["system"]: {"role": roles[line["system"]], "text": line["what it is"]}
        for line in reversed(origin.systems)
        if title in line["benchmarks"]
    }


def _benchmark(site: Site, benchmark_page: BenchmarkPage, context: Mapping[str, Any]) -> None:
    """The page of a benchmark, and the explorer of its instances."""
    card = benchmark_page.systems.card
    site.page(f"{card.name}.html", card.title, context, "benchmark.html.j2")
    site.add({f"scores-{card.name}.csv": benchmark_page.results.csv()})
    explorer = instances.context(benchmark_page.evaluated)
    site.page(instances.file(card), f"{card.title}: instances", explorer, "instances.html.j2")
    site.add(instances.files(benchmark_page.evaluated, context["named"]))


def _instance_pages(benchmarks: Sequence[BenchmarkPage]) -> dict[tuple[str, str], str]:
    return {
        (one.systems.card.name, system): instances.file(one.systems.card, system)
        for one in benchmarks
        for system in one.systems.models
    }


def _track_title(params: Params, cards: Sequence[Benchmark]) -> Callable[[str], str]:
    """The titles of the split's tracks: those of the benchmark whose test instances are the split's."""
    with_split = (card.track_title for card in cards if params.benchmarks[card.name].split)
    return next(with_split, str)
