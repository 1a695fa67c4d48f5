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
from nightjar.core import paths
from nightjar.params import Params, profile_values
from nightjar.params.train import Recipe
from stages._runtime import stage_items
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
    """Origin of a run, for the page and the overview: rows of models, systems, data, recipes, machines and libraries.

    `split` has the number of instances of each part, and `code` the Git trees. `changes` are the keys of `parameters`
    that differ from the nearest `profile`; `unreadable` are lines on profiles that were not compared. Stages
    `without_machine` ran a model and did not record where.
    """

    systems: Sequence[Mapping[str, str]]
    models: Sequence[Sequence[str]]
    datasets: Sequence[Mapping[str, Any]]
    split: Mapping[str, int]
    profile: str | None
    changes: Sequence[Sequence[str | None]]
    unreadable: Sequence[str]
    parameters: Sequence[Sequence[str]]
    recipes: Sequence[Sequence[str]]
    code: Mapping[str, str]
    machines: Sequence[Mapping[str, str]]
    without_machine: Sequence[str]
    libraries: Sequence[str]

    @property
    def sources(self) -> list[str]:
        """The folders of the data that were evaluated, or that they are the sample."""
        evaluated = (line for line in self.datasets if line["benchmark"])
        texts = (_SAMPLE if line["what it is"] == _SAMPLE else line["folder"] for line in evaluated)
        return list(dict.fromkeys(texts))

    @property
    def hardware(self) -> list[str]:
        """The machines, each in a few words."""
        parts = dict.fromkeys(
            f"{it['processor']}, {it['logical cores']} cores, {it['memory']}"
            + ("" if it["GPU"] in ("none", NOT_RECORDED) else f", GPU {it['GPU']}")
            for it in self.machines
        )
        return list(parts)


def read(params: Params, nodes: Sequence[Node], benchmarks: Sequence[Systems], root: Path = Path()) -> Origin:
    """Return where the results come from; `root` is the project's folder, which holds the profiles."""
    # As params.yaml has them: a profile does not name defaults either.
    values = {group: params.model_dump(exclude_unset=True)[group] for group in GROUPS}
    profile, changes, unreadable = nearest_profile(root, values)
    by_name = {node.name: node for node in nodes}
    run_models = stage_items.run_models()
    return Origin(
        systems=systems.sentences(params, benchmarks, by_name),
        models=_models(params, by_name),
        datasets=_datasets(nodes, [it.card for it in benchmarks]),
        split=(by_name["split"].details.get("rows") or {}) if "split" in by_name else {},
        profile=profile,
        changes=[
            (
                it.key,
                None if it.kind == "added" else _parameter_text(it.old),
                None if it.kind == "removed" else _parameter_text(it.new),
            )
            for it in changes
        ],
        unreadable=unreadable,
        parameters=[
            (it.key, _parameter_text(it.new)) for it in profile_values.changes({}, values) if it.new != {}
        ],
        recipes=_recipes(params, by_name),
        code={
            package.__name__: identifier(Path(str(package.__file__)).parent) for package in (nightjar, stages)
        },
        machines=_machines(nodes),
        without_machine=[
            node.name for node in nodes if node.stage in run_models and not node.details.get("machine")
        ],
        libraries=_libraries(nodes),
    )


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


def _recipes(params: Params, by_name: Mapping[str, Node]) -> list[list[str]]:
    """A row a hyper-parameter, a cell a recipe; then what the training reports of itself."""
    names = list(params.train.recipes)
    rows = [
        [key, *(_parameter_text(getattr(params.train.recipe(name), key)) for name in names)]
        for key in Recipe.model_fields
    ]
    details = [by_name[f"train@{name}"].details if f"train@{name}" in by_name else {} for name in names]
    for key, title in (
        ("train_instances", "instances trained on"),
        ("steps", "optimiser steps"),
        ("chosen_step", "step whose weights were kept"),
        ("target_tokens", "target tokens"),
        ("sha256", "sha256 of the weights"),
    ):
        facts = [recipe_facts.get(key) for recipe_facts in details]
        rows.append([title, *(f"{it:,}" if isinstance(it, int) else str(it or NOT_RECORDED) for it in facts)])
    return rows


def _datasets(nodes: Iterable[Node], cards: Sequence[Benchmark]) -> list[dict[str, Any]]:
    """A row an ingested dataset: those of the benchmarks first, in their order."""
    listed = [dataset for card in cards for dataset in card.datasets]
    ingested = [node for node in nodes if node.stage == "ingest"]
    ingested.sort(
        key=lambda node: (listed.index(node.item) if node.item in listed else len(listed), node.item)
    )
    return [
        {
            "dataset": node.item.replace("_", " "),
            "benchmark": ", ".join(card.title for card in cards if node.item in card.datasets) or None,
            "folder": ", ".join(node.inputs) or None,
            "what it is": _kind(node),
            "files": node.details.get("files"),
            "tasks": node.details.get("tasks") or None,
            "rows read": node.rows_in,
            "kept": node.rows_out,
            "rejected": node.rows_rejected,
        }
        for node in ingested
    ]


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
                "logical cores": str(machine["cores"]),
                "memory": f"{machine['memory_gib']} GiB",
                "GPU": NOT_RECORDED if seen is None else ", ".join(seen) or "none",
                "Python": machine["python"],
                "stages": ", ".join(names),
            }
        )
    return lines


def _libraries(nodes: Iterable[Node]) -> list[str]:
    """Each library with its version; where stages ran with several, each version with its stages."""
    library_versions: dict[str, dict[str, list[str]]] = {}
    for node in nodes:
        for library, version in (node.details.get("versions") or {}).items():
            library_versions.setdefault(library, {}).setdefault(version, []).append(node.name)
    lines = []
    for library, versions in sorted(library_versions.items()):
        with_stages = [f"{version} ({', '.join(names)})" for version, names in sorted(versions.items())]
        lines.append(f"{library} {next(iter(versions)) if len(versions) == 1 else '; '.join(with_stages)}")
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
