"""Origins of the results: models, code, parameters, recipes, what each system is, data, machines, libraries.

All of it follows from what the stage reads. A stage that runs a model records its machine, so these facts are of the
machine that computed the results, also where DVC restored them on another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dulwich.objects import Blob, Tree

import nightjar
import stages
from nightjar.benchmarks.benchmark import Benchmark
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
from nightjar.core import paths
from nightjar.params import Params, profile_values
from nightjar.params.train import Recipe
from stages._runtime import stage_items
from stages.report import numbers
from stages.report.project.nearest_profile import nearest_profile
from stages.report.read import systems
from stages.report.read.facts import Node
from stages.report.read.systems import Systems

# What only the drivers read (driver_params.py) changes no result.
GROUPS = tuple(
    name
    for name, field in Params.model_fields.items()
    if getattr(field.annotation, "__module__", "") != "nightjar.params.drivers"
)
NOT_RECORDED = "not recorded"
_SAMPLE = "the sample written for this project: invented, not a benchmark"


@dataclass(frozen=True)
class Origin:
    """Origin of a run, for the overview: its model and profile, the data, the machines, and the Git trees of the code.

    `systems` has a line a system: `name`, `benchmarks` and `sentence`. `sections` are those of the page.
    """

    summary: str
    evaluated: str
    hardware: str
    code: Mapping[str, str]
    systems: Sequence[Mapping[str, str]]
    sections: Sequence[Section]


def read(params: Params, nodes: Sequence[Node], benchmarks: Sequence[Systems], root: Path = Path()) -> Origin:
    """Return where the results come from; `root` is the project's folder, which holds the profiles."""
    # As params.yaml has them: a profile does not name defaults either.
    values = {group: params.model_dump(exclude_unset=True)[group] for group in GROUPS}
    profile, changes, unreadable = nearest_profile(root, values)
    by_name = {node.name: node for node in nodes}
    listed = systems.sentences(params, benchmarks, by_name)
    several, data = len(benchmarks) > 1, _data(nodes, [one.card for one in benchmarks])
    models, machines = _models(params, by_name), _machines(nodes)
    code = {
        package.__name__: identifier(Path(str(package.__file__)).parent) for package in (nightjar, stages)
    }
    heads = [*texts("system"), *(texts("benchmarks") if several else ()), ReportColumn("what it is", "words")]
    listed_systems = [
        ReportRow((it["name"], *([it["benchmarks"]] if several else ()), it["sentence"])) for it in listed
    ]
    pages = [
        Section(
            "systems",
            "Systems",
            [Paragraph(systems.prompt(params, benchmarks)), ReportTable(heads, listed_systems)],
        ),
        Section("models", "Models", [ReportTable(texts(*_OF_MODELS), [ReportRow(it) for it in models])]),
        _datasets(data, by_name),
        _profile(values, profile, changes, unreadable),
        _recipes(params, by_name),
        _code(code),
        _ran_on(nodes, machines),
    ]
    changed = f", with {systems.count(len(changes), 'value')} changed" if changes else ""
    nearest = f" Nearest profile: {profile}{changed}." if profile else ""
    _, source, files, *_ = models[0]
    summary = f"Language model: {source} ({files}).{nearest}"
    return Origin(summary, _evaluated(data), _hardware(machines), code, listed, pages)


_OF_MODELS = (
    "model", "source", "files, architecture", "sha256 of the source", "sha256 of the weights as loaded",
    "pinned in params.yaml",
)  # fmt: skip


def _datasets(data: Sequence[Mapping[str, Any]], by_name: Mapping[str, Node]) -> Section:
    named, counted = (
        ("name", "benchmark", "folder", "kind"),
        ("files", "tasks", "rows_in", "rows_out", "rows_rejected"),
    )
    rows = [
        ReportRow((*(it[name] or None for name in named), *(numbers.count(it[name]) for name in counted)))
        for it in data
    ]
    heads = [*texts("dataset", "benchmark", "folder", "what it is")]
    heads += numbered("files", "tasks", "rows read", "kept", "rejected")
    blocks: list[Block] = [ReportTable(heads, rows)]
    split = by_name.get("split")
    if parts := (split.details.get("rows") or {}) if split else {}:
        explanation = ", ".join(f"{part} {numbers.count(count)}" for part, count in sorted(parts.items()))
        blocks.append(Paragraph(f"Instances after the split: {explanation}.", note=True))
    return Section("datasets", "Datasets", blocks)


def _profile(
    values: Mapping[str, Any],
    profile: str | None,
    changes: Sequence[profile_values.Change],
    unreadable: Sequence[str],
) -> Section:
    parameters = [
        ReportRow((it.key, _parameter_text(it.new)))
        for it in profile_values.changes({}, values)
        if it.new != {}
    ]
    near, n = f"params.yaml is nearest to the profile **{profile}**", len(parameters)
    blocks: list[Block] = [Paragraph("There is no profile to compare params.yaml with.")]
    if profile and not changes:
        blocks = [Paragraph(f"{near}: all {n} values that results depend on are those of the profile.")]
    elif profile:
        rows = [
            ReportRow(
                (
                    one.key,
                    None if one.kind == "added" else _parameter_text(one.old),
                    None if one.kind == "removed" else _parameter_text(one.new),
                )
            )
            for one in changes
        ]
        explanation = f"{near}: {len(changes)} of the {n} values that results depend on differ from it."
        blocks = [Paragraph(explanation), ReportTable(texts("parameter", f"profile {profile}", "here"), rows)]
    blocks += [Paragraph(f"A profile was not compared: {line}", note=True) for line in unreadable]
    table = ReportTable([*texts("parameter"), ReportColumn("value", "words")], parameters)
    blocks.append(Fold(f"All parameters that results depend on ({n})", [table]))
    return Section("parameters", "Profile and parameters", blocks)


def _code(code: Mapping[str, str]) -> Section:
    return Section(
        "code",
        "Code",
        [
            Paragraph(
                "Git trees of the code that made this page. The command lists the commit that introduced a tree and "
                "the next commit that changed it; it lists none if changes were not committed."
            ),
            *(
                Paragraph(f"`{folder}`: `git log --all -t --find-object={tree}`")
                for folder, tree in code.items()
            ),
            Paragraph(
                "A complete `dvc repro` or `nightjar rebuild` makes sure that all stages ran with this code and these "
                "parameters; `dvc status` names those that did not.",
                note=True,
            ),
        ],
    )


def _ran_on(nodes: Sequence[Node], machines: Sequence[Mapping[str, str]]) -> Section:
    run_models = stage_items.run_models()
    without = [node.name for node in nodes if node.stage in run_models and not node.details.get("machine")]
    heads = [*texts("processor"), *numbered("logical cores", "memory"), *texts("GPU", "Python")]
    blocks: list[Block] = []
    if machines:
        rows = [ReportRow(tuple(it.values())) for it in machines]
        blocks.append(ReportTable([*heads, ReportColumn("stages", "words")], rows))
    if without:
        explanation = (
            "These stages did not record their machine, because they ran with an earlier version of the code"
        )
        blocks.append(Paragraph(f"{explanation}: {', '.join(without)}."))
    explanation = (
        "Each machine is the one where the stages ran, also if DVC restored their results on another."
    )
    blocks.append(Paragraph(explanation, note=True))
    blocks.append(Paragraph(", ".join(f"{it['name']} {it['version']}" for it in _libraries(nodes)) + "."))
    return Section("machines", "Machines and libraries", blocks)


def _models(params: Params, by_name: Mapping[str, Node]) -> list[tuple[str, ...]]:
    model_facts = by_name["base_model"].details if "base_model" in by_name else {}
    lines = []
    for key, source in params.models:
        facts = model_facts.get(key) or {}
        files = ", ".join([*(facts.get("files") or ()), facts.get("architecture") or ""]).strip(", ")
        hashes = (facts.get(name) or NOT_RECORDED for name in ("source_sha256", "sha256"))
        pinned = "yes" if source.sha256 else "no"
        name, of = key.replace("_", " "), facts.get("source", source.source)
        lines.append((name, of, files or NOT_RECORDED, *hashes, pinned))
    return lines


def _evaluated(data: Sequence[Mapping[str, Any]]) -> str:
    """The end of a sentence that says what data were evaluated; empty if no stage read any."""
    sources = dict.fromkeys(
        line["kind"] if line["kind"] == _SAMPLE else line["folder"] for line in data if line["benchmark"]
    )
    return f", from {', '.join(sources)}" if sources else ""


def _recipes(params: Params, by_name: Mapping[str, Node]) -> Section:
    """A row a hyper-parameter, a cell a recipe; then what the training reports of itself."""
    names = list(params.train.recipes)
    rows = [
        ReportRow((key, *(_parameter_text(getattr(params.train.recipe(name), key)) for name in names)))
        for key in Recipe.model_fields
    ]
    nodes = [by_name.get(f"train@{name}") for name in names]
    for key, title in (
        ("train_instances", "instances trained on"),
        ("steps", "optimiser steps"),
        ("chosen_step", "step whose weights were kept"),
        ("target_tokens", "target tokens"),
        ("sha256", "sha256 of the weights"),
    ):
        recipe_facts = [node.details.get(key) if node else None for node in nodes]
        rows.append(
            ReportRow(
                (
                    title,
                    *(
                        f"{one:,}" if isinstance(one, int) else str(one or NOT_RECORDED)
                        for one in recipe_facts
                    ),
                )
            )
        )
    return Section("recipes", "Training recipes", [ReportTable(texts("hyper-parameter", *names), rows)])


def _data(nodes: Iterable[Node], cards: Sequence[Benchmark]) -> list[dict[str, Any]]:
    """A line an ingested dataset: those of the benchmarks first, in their order."""
    listed = [dataset for card in cards for dataset in card.datasets]
    ingested = [node for node in nodes if node.stage == "ingest"]
    ingested.sort(
        key=lambda node: (listed.index(node.item) if node.item in listed else len(listed), node.item)
    )
    lines = []
    for node in ingested:
        titles = [card.title for card in cards if node.item in card.datasets]
        lines.append(
            {
                "name": node.item.replace("_", " "),
                "benchmark": ", ".join(titles),
                "folder": ", ".join(node.inputs),
                "kind": _kind(node),
                "files": node.details.get("files"),
                "tasks": node.details.get("tasks") or None,
                "rows_in": node.rows_in,
                "rows_out": node.rows_out,
                "rows_rejected": node.rows_rejected,
            }
        )
    return lines


def _kind(node: Node) -> str:
    """Return the kind of the data that a stage `ingest` read."""
    if all(paths.SAMPLE in (Path(path), *Path(path).parents) for path in node.inputs):
        return _SAMPLE
    if node.details.get("source") == "training inputs":
        return "inputs of the training instances of the split"
    return "not the project's sample"


def _machines(nodes: Iterable[Node]) -> list[dict[str, str]]:
    """A line a machine with the stages that ran there; stages that load no torch see no GPU and take that of others."""
    stages_of: dict[str, list[str]] = {}
    gpus: dict[str, list[str] | None] = {}
    for node in nodes:
        if machine := dict(node.details.get("machine") or {}):
            seen = machine.pop("gpus", None)
            key = json.dumps(machine, sort_keys=True)
            stages_of.setdefault(key, []).append(node.name)
            gpus[key] = gpus.get(key) if seen is None else seen
    lines = []
    for key, names in stages_of.items():
        machine, seen = json.loads(key), gpus[key]
        lines.append(
            {
                "processor": f"{machine['processor']} ({machine['architecture']})",
                "cores": str(machine["cores"]),
                "memory": f"{machine['memory_gib']} GiB",
                "gpu": NOT_RECORDED if seen is None else ", ".join(seen) or "none",
                "python": machine["python"],
                "stages": ", ".join(names),
            }
        )
    return lines


def _hardware(machines: Sequence[Mapping[str, str]]) -> str:
    """The machines in one sentence; empty if no stage recorded its machine."""
    parts = dict.fromkeys(
        f"{it['processor']}, {it['cores']} cores, {it['memory']}"
        + ("" if it["gpu"] in ("none", NOT_RECORDED) else f", GPU {it['gpu']}")
        for it in machines
    )
    return f"Computed on {'; '.join(parts)}." if parts else ""


def _libraries(nodes: Iterable[Node]) -> list[dict[str, str]]:
    """A line a library with its version; where stages ran with several, each version with its stages."""
    library_versions: dict[str, dict[str, list[str]]] = {}
    for node in nodes:
        for library, version in (node.details.get("versions") or {}).items():
            library_versions.setdefault(library, {}).setdefault(version, []).append(node.name)
    lines = []
    for library in sorted(library_versions):
        versions = library_versions[library]
        version = (
            next(iter(versions))
            if len(versions) == 1
            else "; ".join(f"{version} ({', '.join(names)})" for version, names in sorted(versions.items()))
        )
        lines.append({"name": library, "version": version})
    return lines


def _parameter_text(value: Any) -> str:
    """A value as params.yaml may have it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def identifier(folder: Path) -> str:
    """Return the output of `git rev-parse COMMIT:FOLDER` for a commit that holds `folder` as it is, but for *.pyc.

    Raises OSError for a file that cannot be read.
    """
    return tree(folder).id.decode()


def tree(folder: Path) -> Tree:
    """The folder as Git's tree."""
    git_tree = Tree()
    for path in folder.iterdir():
        name = os.fsencode(path.name)
        if path.is_symlink():
            git_tree.add(name, 0o120000, Blob.from_string(os.fsencode(path.readlink())).id)
        elif path.is_dir():
            if path.name != "__pycache__" and any(path.iterdir()):
                git_tree.add(name, 0o040000, tree(path).id)
        elif path.suffix != ".pyc":
            mode = 0o100755 if path.stat().st_mode & 0o100 else 0o100644
            git_tree.add(name, mode, Blob.from_string(path.read_bytes()).id)
    return git_tree
