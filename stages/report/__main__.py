"""python -m stages.report: data/report, the pages of the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx

from nightjar.benchmarks import evaluation_folder
from nightjar.benchmarks.score_table import ScoreTable
from nightjar.core import contracts, paths
from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from nightjar.core.files import replacing, write_text
from nightjar.core.tables import read_rows
from nightjar.params.augment import Augment
from stages._runtime import stage as harness
from stages.report import leaderboard, pages
from stages.report.benchmark import instances
from stages.report.benchmark import page as benchmark
from stages.report.project import contamination, sampled_calls, stage_runs
from stages.report.project.sampled_calls import SampledTool
from stages.report.read import facts, systems

PACKAGES = ("jinja2",)
NO_SYSTEM = "predict.systems has no system for this benchmark"


def run(stage: harness.StageRun) -> None:
    params = stage.params
    tools = list(params.augment.tools)
    folder = stage.folder
    nodes = facts.present(facts.of(folder), params)
    leading_names = [
        "contamination",
        "augment_merge",
        *(f"evaluate@{name}" for name in params.benchmarks),
        *(f"augment@{tool}" for tool in tools),
        *(f"train@{recipe}" for recipe in params.train.recipes),
        *(f"consistency@{name}" for name in params.consistency.benchmarks),
    ]
    # Facts of stages that nothing reads are not shown.
    graph = facts.graph(nodes)
    leading = set(leading_names).union(
        *(networkx.ancestors(graph, name) for name in leading_names if name in graph)
    )
    nodes = [node for node in nodes if node.name in leading]
    answered = [name for name in params.benchmarks if params.predict.of(name)]
    unanswered = {name: {"all tasks": NO_SYSTEM} for name in params.benchmarks if name not in answered}
    if not answered:
        raise NightjarError("predict.systems has no system", PARAMS_FILE, "add one, or apply a profile")
    read: list[Path] = []
    benchmarks = [
        benchmark.read(systems.of(params, name, nodes), nodes, params, folder, read.append)
        for name in answered
    ]
    headline = ScoreTable([row for it in benchmarks for row in it.results.headline_table().rows])
    entries = headline.entries()
    # An evaluation of another model samples no calls, and trains nothing that a test text could be in.
    sampled = [_calls(tool, params.augment) for tool in tools if (folder / paths.CANDIDATES / tool).is_dir()]
    files = {
        **pages.build(
            benchmarks,
            nodes,
            sampled,
            params,
            contamination.read(folder / paths.CONTAMINATION),
            {**unanswered, **evaluation_folder.left_out(folder)},
        ),
        "headline.json": _json(entries),
        "flat.json": _json(headline.flat()),
    }

    _publish(files, folder / paths.REPORT)
    scores = leaderboard.scores(leaderboard.columns_of(benchmarks))
    write_text(folder / paths.LEADERBOARD_SCORES, _json(scores))
    stage.reads(
        paths.METRICS,
        paths.CORPUS,
        paths.SPLIT,
        paths.CONTAMINATION,
        *(paths.CANDIDATES / tool for tool in tools),
    )
    for benchmark_page in benchmarks:
        name, models = benchmark_page.systems.card.name, benchmark_page.systems.models
        stage.reads(paths.QUESTIONS / name, paths.SCORES / name)
        stage.reads(*(paths.PREDICTIONS / name / system for system in models))
        listed = [params.predict.systems[f"{name}-{system}"] for system in models]
        read += [path for system in listed if (path := instances.evidence(system))]
    stage.reads(*sorted({*read, *stage_runs.steps_files(nodes)}))
    stage.count(len(entries), len(entries))
    stage.details["files"] = sorted(files)
    stage.writes(folder / paths.REPORT)


def _calls(tool: str, settings: Augment) -> SampledTool:
    rows = read_rows(paths.CANDIDATES / tool, contracts.CANDIDATES)
    tool_settings = settings.tools[tool]
    texts = sampled_calls.read_texts(paths.CORPUS, paths.SPLIT, rows, tool_settings)
    return sampled_calls.summarise(tool, tool_settings, rows, texts)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _publish(files: Mapping[str, str], output: Path) -> None:
    """Write all files or none."""
    with replacing(output) as folder:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    harness.main("report", run, packages=PACKAGES, benchmarks=True)
