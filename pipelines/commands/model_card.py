"""The model card of an exported system: README.md with a YAML head, as the hub reads it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCardData

from nightjar.benchmarks import registry
from nightjar.benchmarks.score_table import HEADLINE, ScoreTable
from nightjar.core import contracts, paths, tables
from nightjar.models.directory.headers import refusing
from nightjar.models.directory.weights import find_weights, read_recipe, verify_checksum, weight_files
from nightjar.models.source import ModelSource
from nightjar.params import Params
from nightjar.params import load as load_params
from nightjar.predict.predictor import INSTRUCTED, benchmark_of
from nightjar.statistics.bootstrap import CONFIDENCE
from pipelines.fetch.sources import supply_of
from pipelines.project.git import try_git
from pipelines.project.text import plain, table

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Base:
    """The base model: what the hub may call it, where it came from, and its licence."""

    name: str
    source: str
    licence: str


def card_of(folder: Path, licence: str | None = None) -> str:
    """The text of README.md for the trained system in `folder`. Raises NightjarError if it has no recipe."""
    params, recipe = load_params(), read_recipe(folder)
    base = base_of(ModelSource.parse(params.models.language_model.source))
    if base.licence == UNKNOWN and (supplied := supply_of(params.models.language_model.source)):
        base = replace(base, licence=supplied[1].licence)
    licence, name = plain(licence or base.licence), plain(folder.name)
    kind = str(recipe.get("data", INSTRUCTED[0]))
    names, data = _data(params, kind, str(recipe.get("recipe", folder.name)))
    head = ModelCardData(
        base_model=base.name,
        datasets=names,
        license=licence,
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=["nightjar"]
        + ["instruction-tuning"] * (kind in INSTRUCTED)
        + ["tool-use"] * bool(recipe.get("calls")),
    )
    settings = [{"setting": key, "value": json.dumps(recipe[key]).strip('"')} for key in sorted(recipe)]
    found = try_git(Path(), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty= with changes")
    commit = found.strip() if found else "not recorded"
    scores, newline = _scores(params, folder).lines(), "\n"
    return f"""---
{head.to_yaml()}
---
# {name}

{plain(base.source)}, fine-tuned by the recipe `{name}` of Nightjar. Weights are float32; the licence of the base model
is {licence}.

## Data

{data}{" Their targets have tool calls." if recipe.get("calls") else ""}

## Recipe

{newline.join(table(settings))}

## Use

{_use(params, recipe, folder)}

## Scores

{newline.join(table([_texts(line) for line in scores])) or "None: the project has no scores of these weights."}

Intervals are at {100 * CONFIDENCE:g}%. Weights (sha256): {verify_checksum(folder)}. Commit: {commit}.
"""


def base_of(source: ModelSource) -> Base:
    """Return the name and the licence of a base model: of the hub its name, of a GGUF what its head says."""
    if source.kind == "hub":
        return Base(source.name, source.text, UNKNOWN)
    file = weight_files(find_weights(source))[0]
    if file.suffix != ".gguf":
        return Base(source.short_name, source.text, UNKNOWN)
    from gguf import GGUFReader

    with refusing("this GGUF cannot be read", file):
        fields = GGUFReader(file).fields
        known = {
            key: str(fields[f"general.{key}"].contents())
            for key in ("organization", "license")
            if f"general.{key}" in fields
        }
    named = file.stem.partition(".")[0]
    whole = f"{known['organization']}/{named}" if "organization" in known else named
    return Base(whole, f"{whole} ({file.name} of {source.text})", known.get("license", UNKNOWN))


def _data(params: Params, kind: str, recipe: str) -> tuple[list[str] | None, str]:
    """The name of published training data for the head of the card, and sentences: title, source and licence."""
    dataset, of = ("natural_instructions" if kind in INSTRUCTED else kind), ""
    if kind == "corpus" and params.ingest.corpus.path == paths.SPLIT.as_posix():
        dataset, of = "natural_instructions", "Inputs of the training instances of "
    cards = [registry.load_benchmark(name) for name in registry.names()]
    if kind == "questions" and recipe in params.train.recipes:
        benchmark = Path(params.train.recipes[recipe].texts).name
        dataset = next((card.datasets[0] for card in cards if card.name == benchmark), dataset)
    card = next((card for card in cards if dataset in card.datasets), None)
    title = card.title if card else "documents"
    name = re.sub(r"[^\w.-]+", "-", title)
    whole = f"{title} ({card.source})" if card else title
    path = str(getattr(getattr(params.ingest, dataset, None), "path", ""))
    form = f" in the form of {whole}, not the published dataset" if card else f": {title}"
    if path.startswith(paths.SAMPLE.as_posix()):
        return [f"nightjar-sample-{name}"], f"Sample data written for Nightjar{form}."
    if supplied := supply_of(path):
        return [name], f"{of}{whole}. Licence: {supplied[1].licence}; {supplied[1].url}."
    return None, f"Data of the project's own{form}. Their licence is not recorded."


def _use(params: Params, recipe: Mapping[str, Any], folder: Path) -> str:
    text = "The model continues plain text."
    if recipe.get("data", "train") in ("train", "supervised"):
        text = (
            "A prompt has the parts of Tk-Instruct without a chat template: `Definition: ...`, examples, "
            "`Now complete the following example -`, `Input: ...`, `Output:`."
        )
    if recipe.get("evidence"):
        text += f" Retrieved evidence ({recipe['evidence']} passages) is put before the instance."
    if recipe.get("calls"):
        text += " Tool calls are text such as ` [Calculator(400 / 1400) -> 0.29]`; the caller runs the tools."
    stop = params.predict.benchmark(benchmark_of(params, folder)).stop
    return f"{text} Decoding is greedy; an answer ends at {' or '.join(map(repr, stop)) or 'its end token'}."


def _scores(params: Params, folder: Path) -> ScoreTable:
    """Return the scores over all instances, of systems with these very weights."""
    sha256, rows = verify_checksum(folder), list[dict[str, Any]]()
    for system in params.predict.systems.values():
        predicted = paths.PREDICTIONS / system.benchmark / system.system
        scored = paths.SCORES / system.benchmark
        if os.path.realpath(system.weights) != os.path.realpath(folder) or not (
            predicted.is_dir() and scored.is_dir()
        ):
            continue
        answers = tables.read_rows(predicted, contracts.PREDICTIONS, ["adapter_sha256"])
        if {row["adapter_sha256"] for row in answers} == {sha256}:
            score_rows = tables.read_rows(scored, contracts.SCORES)
            rows += [row for row in score_rows if row["system"] == system.system]
    return ScoreTable(rows).overall().first_metrics(HEADLINE)


def _texts(line: Mapping[str, Any]) -> dict[str, str]:
    """Return a line of the scores as texts, with the title of its benchmark."""
    title = registry.load_benchmark(line["benchmark"]).title
    return {name: str(value) for name, value in line.items()} | {"benchmark": title}
