"""The model card of an exported system: README.md with a YAML head, as the hub reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from nightjar.benchmarks import registry
from nightjar.benchmarks.score_table import HEADLINE, ScoreTable, track_title
from nightjar.core import contracts, paths, tables
from nightjar.models.directory.headers import refusing
from nightjar.models.directory.weights import find_weights, read_recipe, verify_checksum, weight_files
from nightjar.models.source import ModelSource
from nightjar.models.tokenizer import is_encoder_decoder
from nightjar.params import Params
from nightjar.params import load as load_params
from nightjar.params.predict import PredictBenchmark
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
    data = _data(params, kind, str(recipe.get("recipe", folder.name)))
    scores, settings = _scores(params, folder), params.predict.benchmark(benchmark_of(params, folder))
    # A score of few instances, which has no interval, stays in the table.
    encoder_decoder = is_encoder_decoder(paths.LANGUAGE_MODEL)
    results = [_eval_result(row) for row in scores.rows if row["low"] is not None]
    head = ModelCardData(
        base_model=base.name,
        license=licence,
        library_name="transformers",
        pipeline_tag="text2text-generation" if encoder_decoder else "text-generation",
        tags=["nightjar"]
        + ["instruction-tuning"] * (kind in INSTRUCTED)
        + ["tool-use"] * bool(recipe.get("calls")),
        model_name=name if results else None,
        eval_results=results or None,
    )
    recipe_rows = [{"setting": key, "value": json.dumps(recipe[key]).strip('"')} for key in sorted(recipe)]
    described = try_git(Path(), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty= with changes")
    commit = described.strip() if described else "not recorded"
    newline = "\n"
    return f"""---
{head.to_yaml()}
---
# {name}

{plain(base.source)}, fine-tuned by the recipe `{name}` of Nightjar. Weights are float32; scores were
computed in {settings.precision}. The licence of the base model is {licence}.

## Data

{data}{" Their targets have tool calls." if recipe.get("calls") else ""}

## Recipe

{newline.join(table(recipe_rows))}

## Use

{_use(recipe, settings.stop)}

{_usage_code(settings, encoder_decoder)}

## Scores

{newline.join(table([_texts(line) for line in scores.lines()])) or "None: the project has no scores of these weights."}

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
        facts = {
            key: str(fields[f"general.{key}"].contents())
            for key in ("organization", "license")
            if f"general.{key}" in fields
        }
    name = file.stem.partition(".")[0]
    hub_name = f"{facts['organization']}/{name}" if "organization" in facts else name
    return Base(hub_name, f"{hub_name} ({file.name} of {source.text})", facts.get("license", UNKNOWN))


def _data(params: Params, kind: str, recipe: str) -> str:
    """Return sentences on the training data: title, source and licence."""
    dataset, part = ("natural_instructions" if kind in INSTRUCTED else kind), ""
    if kind == "corpus" and params.ingest.corpus.path == paths.SPLIT.as_posix():
        dataset, part = "natural_instructions", "Inputs of the training instances of "
    cards = [registry.load_benchmark(name) for name in registry.names()]
    if kind == "questions" and recipe in params.train.recipes:
        benchmark = Path(params.train.recipes[recipe].texts).name
        dataset = next((card.datasets[0] for card in cards if card.name == benchmark), dataset)
    card = next((card for card in cards if dataset in card.datasets), None)
    title = card.title if card else "documents"
    cited_title = f"{title} ({card.source})" if card else title
    path = str(getattr(getattr(params.ingest, dataset, None), "path", ""))
    form = f" in the form of {cited_title}, not the published dataset" if card else f": {title}"
    if path.startswith(paths.SAMPLE.as_posix()):
        return f"Sample data written for Nightjar{form}."
    if supplied := supply_of(path):
        return f"{part}{cited_title}. Licence: {supplied[1].licence}; {supplied[1].url}."
    return f"Data of the project's own{form}. Their licence is not recorded."


def _use(recipe: Mapping[str, Any], stop: Sequence[str]) -> str:
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
    return f"{text} Decoding is greedy; an answer ends at {' or '.join(map(repr, stop)) or 'its end token'}."


def _usage_code(settings: PredictBenchmark, encoder_decoder: bool) -> str:
    """Return a block of Python that answers a prompt as Nightjar does, without tools."""
    # The text ends with the stop text that ended it.
    cuts = "".join(f".split({text!r})[0]" for text in settings.stop)
    limits = f"max_new_tokens={settings.max_new_tokens}"
    if settings.stop:
        limits += f", stop_strings={list(settings.stop)!r}, tokenizer=tokenizer"
    kind = "AutoModelForSeq2SeqLM" if encoder_decoder else "AutoModelForCausalLM"
    answer_tokens = "tokens" if encoder_decoder else 'tokens[inputs["input_ids"].shape[1] :]'
    lines = [
        f"from transformers import {kind}, AutoTokenizer",
        "",
        "tokenizer = AutoTokenizer.from_pretrained(folder)",
        f'model = {kind}.from_pretrained(folder, dtype="{settings.precision}")',
        'inputs = tokenizer(prompt, return_tensors="pt")',
        f"tokens = model.generate(**inputs, {limits})[0]",
        f"text = tokenizer.decode({answer_tokens}, skip_special_tokens=True)",
        f"answer = text{cuts}.strip()",
    ]
    return "\n".join(["```python", *lines, "```"])


def _eval_result(row: Mapping[str, Any]) -> EvalResult:
    """Return a score as the hub's metadata have it; n and the ends of the interval are its arguments."""
    interval = {name: row[name] for name in ("low", "high") if row[name] is not None}
    return EvalResult(
        task_type="text-generation",
        dataset_type=row["benchmark"],
        dataset_config=row["track"],
        dataset_name=f"{registry.load_benchmark(row['benchmark']).title}, {track_title(row)}",
        metric_type=row["metric"],
        metric_value=row["value"],
        metric_args={"n": row["n"], **interval},
    )


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
