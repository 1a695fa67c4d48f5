"""Where the results come from: models, code, parameters, recipes, what each system is, data, machines, libraries.

All of it follows from what the stage reads. A stage that runs a model records its machine, so these facts are of the
machine that computed the results, also where DVC restored them on another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nightjar
import stages
from nightjar.core import profiles
from nightjar.core.params import Params, Recipe
from stages.report import code_tree
from stages.report.facts import Node
from stages.report.results import BOUND, CONTROL

SAMPLE = Path("data/sample")
# What only the drivers read (driver_params.py) changes no result.
GROUPS = tuple(
    name
    for name, field in Params.model_fields.items()
    if getattr(field.annotation, "__module__", "") != "nightjar.core.driver_params"
)
_MODELS = {"language_model": "language model", "sentence_encoder": "sentence encoder"}
_DATA = {"natural_instructions": "tasks with instances", "corpus": "corpus of documents"}
_NOT_RECORDED = "not recorded"
_SAMPLE = "the sample written for this project: invented, not a benchmark"
# Stages that run a model, and so record their machine.
_RUN_MODELS = ("augment", "index", "retrieve", "encode", "train", "predict")


def context(
    params: Params, nodes: Sequence[Node], systems: Sequence[str], root: Path = Path()
) -> dict[str, Any]:
    """What the templates show as `provenance`; `root` is the project's folder, which holds the profiles."""
    values = {group: params.model_dump()[group] for group in GROUPS}
    profile, changes, unreadable = profiles.nearest(root, values)
    by_name = {node.name: node for node in nodes}
    models, data = _models(params, by_name), _data(by_name)
    return {
        "provenance": {
            "summary": _summary(models[0], profile, len(changes), data),
            "code": {
                package.__name__: code_tree.identifier(Path(str(package.__file__)).parent)
                for package in (nightjar, stages)
            },
            "profile": profile,
            "changes": [
                {"key": one.key, "profile": _shown(one.old), "here": _shown(one.new)} for one in changes
            ],
            "unreadable": unreadable,
            "parameters": [{"key": key, "value": _shown(value)} for key, value in _flat(values)],
            "models": models,
            "prompt": _prompt(params),
            "systems": [
                {"name": system, "sentence": _sentence(system, params, by_name)} for system in systems
            ],
            "recipes": _recipes(params, by_name),
            "data": data,
            "rows": (split.details.get("rows") or {}) if (split := by_name.get("split")) else {},
            "machines": _machines(nodes),
            "without_machine": ", ".join(
                node.name for node in nodes if node.stage in _RUN_MODELS and not node.details.get("machine")
            ),
            "libraries": _libraries(nodes),
        }
    }


def _models(params: Params, by_name: Mapping[str, Node]) -> list[dict[str, str]]:
    made = by_name["base_model"].details if "base_model" in by_name else {}
    lines = []
    for key, name in _MODELS.items():
        source, facts = getattr(params.models, key), made.get(key) or {}
        lines.append(
            {
                "name": name,
                "source": facts.get("source", source.source),
                "files": ", ".join([*(facts.get("files") or ()), facts.get("architecture") or ""]).strip(", ")
                or _NOT_RECORDED,
                "source_sha256": facts.get("source_sha256") or _NOT_RECORDED,
                "sha256": facts.get("sha256") or _NOT_RECORDED,
                "pinned": "yes" if source.sha256 else "no",
            }
        )
    return lines


def _summary(
    model: Mapping[str, str], profile: str | None, changed: int, data: Sequence[Mapping[str, Any]]
) -> str:
    """What a reader has to know first: the model, the profile and the data."""
    parts = [f"Language model: {model['source']} ({model['files']})."]
    if profile:
        values = f", with {_count(changed, 'value')} changed" if changed else ""
        parts.append(f"Nearest profile: {profile}{values}.")
    if data:
        tasks = data[0]
        parts.append(f"Tasks: {tasks['kind'] if tasks['kind'] == _SAMPLE else tasks['folder']}.")
    return " ".join(parts)


def _prompt(params: Params) -> str:
    """The prompt of the predictions, in a sentence."""
    if (name := params.predict.supernatinst.encoding) is not None:
        return f"Predictions use the encoding {name}."
    encoding = params.encoding
    parts = [
        *(["the task's definition"] if encoding.definition else []),
        *(["the task's name"] if encoding.task_name else []),
        f"{_count(encoding.positive_examples, 'positive example')}",
        f"{_count(encoding.negative_examples, 'negative example')}",
    ]
    told = " and their explanations" if encoding.explanation else ""
    return (
        f"The prompt has {', '.join(parts)}{told}, and the input of the instance, in at most "
        f"{encoding.max_source_length:,} tokens."
    )


def _sentence(system: str, params: Params, by_name: Mapping[str, Node]) -> str:
    """What a system is."""
    model = params.models.language_model.source
    if system == "copy_input":
        return "Baseline without a model: the answer is the input of the instance."
    if system == "copy_demo":
        which = "the first" if params.evaluate.supernatinst.copy_demo == "first" else "a random"
        return f"Baseline without a model: the answer is the output of {which} positive example of the task."
    if system == "untuned":
        return f"The language model {model} as it is, without fine-tuning, tool calls or evidence."
    recipe = getattr(params.train, system, None)
    if not isinstance(recipe, Recipe):
        return _NOT_RECORDED
    node = by_name.get(f"train@{system}")
    count = node.details.get("train_instances") if node else None
    instances = "instances" if count is None else _count(count, "instance")
    of = "the training tasks" if recipe.data == "train" else "the test tasks that are not test instances"
    how = f"LoRA, rank {recipe.lora_rank}" if recipe.method == "lora" else "all weights"
    calls = "with the kept tool calls in the targets" if recipe.calls else "without tool calls"
    evidence = f"{_count(recipe.evidence, 'retrieved passage')} in the prompt"
    role = {BOUND: " It is the upper bound.", CONTROL: " It is the control."}.get(system, "")
    return f"{model} fine-tuned ({how}) on {instances} of {of}, {calls}, with {evidence}.{role}"


def _recipes(params: Params, by_name: Mapping[str, Node]) -> dict[str, Any]:
    """A row a hyper-parameter, a cell a recipe; then what the training reports of itself."""
    names = [name for name, value in params.train if isinstance(value, Recipe)]
    rows = [
        {"key": key, "cells": [_shown(getattr(getattr(params.train, name), key)) for name in names]}
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
        found = [node.details.get(key) if node else None for node in nodes]
        cells = [f"{one:,}" if isinstance(one, int) else str(one or _NOT_RECORDED) for one in found]
        rows.append({"key": title, "cells": cells})
    return {"names": names, "rows": rows}


def _data(by_name: Mapping[str, Node]) -> list[dict[str, Any]]:
    lines = []
    for item, name in _DATA.items():
        if (node := by_name.get(f"ingest@{item}")) is None:
            continue
        lines.append(
            {
                "name": name,
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
    """What the data are that a stage `ingest` read."""
    if all(SAMPLE in (Path(path), *Path(path).parents) for path in node.inputs):
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
                "gpu": _NOT_RECORDED if seen is None else ", ".join(seen) or "none",
                "python": machine["python"],
                "stages": ", ".join(names),
            }
        )
    return lines


def _libraries(nodes: Iterable[Node]) -> list[dict[str, str]]:
    """A line a library with its version; where stages ran with several, each version with its stages."""
    found: dict[str, dict[str, list[str]]] = {}
    for node in nodes:
        for library, version in (node.details.get("versions") or {}).items():
            found.setdefault(library, {}).setdefault(version, []).append(node.name)
    lines = []
    for library in sorted(found):
        versions = found[library]
        told = (
            next(iter(versions))
            if len(versions) == 1
            else "; ".join(f"{version} ({', '.join(names)})" for version, names in sorted(versions.items()))
        )
        lines.append({"name": library, "version": told})
    return lines


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _shown(value: Any) -> str:
    """A value as params.yaml may have it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' if number > 1 else ''}" if number else f"no {thing}"
