"""The model card of an exported system: README.md with a YAML head, as the hub reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.core import contracts, tables
from nightjar.core.params import ModelSource, Params
from nightjar.core.params import load as load_params
from nightjar.lm.load import read_recipe
from nightjar.lm.sources import find
from nightjar.lm.weights import verify, weight_files
from pipelines.project.git import try_git
from stages.predict.asking import benchmark_of

MODEL, SAMPLE = Path("models/base/language_model"), "data/sample"
UNKNOWN = "unknown"
# Rows of a track, the metrics that are published for it first.
_METRICS = 2


@dataclass(frozen=True)
class Base:
    """The base model: what the hub may call it, where it came from, and its licence."""

    name: str
    source: str
    licence: str


def card_of(folder: Path, licence: str | None = None) -> str:
    """The text of README.md for the trained system in `folder`. Raises NightjarError if it has no recipe."""
    params, recipe = load_params(), read_recipe(folder)
    base = base_of(params.models.language_model)
    licence = licence or base.licence
    data, path = _data(params, recipe)
    head = {
        "base_model": base.name,
        "datasets": [data],
        "license": licence,
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["nightjar", "instruction-tuning" if data != "corpus" else "tool-use"],
    }
    scores = list(_scores(params, folder))
    lines = [
        "---",
        _yaml(head).rstrip("\n"),
        "---",
        f"# {folder.name}",
        "",
        f"{base.source}, fine-tuned by the recipe `{folder.name}` of Nightjar. Weights are float32; the licence of the "
        f"base model is {licence}.",
        "",
        "## Data",
        "",
        f"`{data}`{' with tool calls in the targets' if recipe.get('calls') else ''}: {path}.",
        "",
        "## Recipe",
        "",
        "| setting | value |",
        "|---|---|",
        *(f"| {key} | {recipe[key]} |" for key in sorted(recipe)),
        "",
        "## Use",
        "",
        *_use(params, recipe, folder),
        "",
        "## Scores",
        "",
        *(_table(scores, params) if scores else ["None: the project has no scores of these weights."]),
        "",
        f"Weights (sha256): {verify(folder)}. Commit: {_commit()}.",
    ]
    return "\n".join(lines) + "\n"


def base_of(source: ModelSource) -> Base:
    """What is known of a base model: of the hub its name, of a GGUF what its head says."""
    kind, _, name = source.source.partition(":")
    if kind == "hub":
        return Base(name.partition("@")[0], source.source, UNKNOWN)
    file = weight_files(find(source))[0]
    if file.suffix != ".gguf":
        return Base(Path(name or source.source).name, source.source, UNKNOWN)
    from gguf import GGUFReader

    fields = GGUFReader(file).fields
    told = {
        key: str(fields[f"general.{key}"].contents())
        for key in ("organization", "license")
        if f"general.{key}" in fields
    }
    named = file.stem.partition(".")[0]
    whole = f"{told['organization']}/{named}" if "organization" in told else named
    return Base(whole, f"{whole} ({file.name} of {source.source})", told.get("license", UNKNOWN))


def _data(params: Params, recipe: Mapping[str, Any]) -> tuple[str, str]:
    """The name of the training data, and where they came from."""
    kind = str(recipe.get("data", "train"))
    name = {"train": "natural_instructions", "supervised": "natural_instructions", "corpus": "corpus"}.get(
        kind, kind
    )
    group = getattr(params.ingest, name, None)
    path = str(getattr(group, "path", "questions of a benchmark"))
    if path.startswith(SAMPLE):
        return f"nightjar_sample_{name}", "the sample written for Nightjar, not the published dataset"
    return name, path


def _use(params: Params, recipe: Mapping[str, Any], folder: Path) -> list[str]:
    """How the model is prompted."""
    if recipe.get("data", "train") not in ("train", "supervised"):
        text = "The model continues plain text."
    else:
        text = (
            "A prompt has the parts of Tk-Instruct without a chat template: `Definition: ...`, examples, "
            "`Now complete the following example -`, `Input: ...`, `Output:`."
        )
    lines = [text]
    if recipe.get("evidence"):
        lines.append(f"Retrieved evidence ({recipe['evidence']} passages) is put before the instance.")
    if recipe.get("calls"):
        lines.append(
            "Tool calls are text such as ` [Calculator(400 / 1400) -> 0.29]`; the caller runs the tools."
        )
    stop = params.predict.benchmark(benchmark_of(params, folder)).stop
    return [
        " ".join(
            [
                *lines,
                f"Decoding is greedy; an answer ends at {' or '.join(map(repr, stop)) or 'its end token'}.",
            ]
        )
    ]


def _scores(params: Params, folder: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of contracts.SCORES over all instances, of systems with these very weights."""
    sha256 = verify(folder)
    for one in params.predict.systems.values():
        predicted, scored = (
            Path("data/predict", one.benchmark, one.system),
            Path("data/evaluate", one.benchmark),
        )
        if Path(one.weights).resolve() != folder.resolve() or not (predicted.is_dir() and scored.is_dir()):
            continue
        used = {
            row["adapter_sha256"]
            for row in tables.read_rows(predicted, contracts.PREDICTIONS, ["adapter_sha256"])
        }
        if used != {sha256}:
            continue
        seen: dict[str, int] = {}
        for row in tables.read_rows(scored, contracts.SCORES):
            if row["system"] == one.system and row["level"] == "overall":
                seen[row["track"]] = seen.get(row["track"], 0) + 1
                if seen[row["track"]] <= _METRICS:
                    yield row


def _table(rows: list[Mapping[str, Any]], params: Params) -> list[str]:
    percent = f"{100 * params.evaluate.confidence:g}%"
    lines = [
        f"| benchmark | system | track | metric | n | value | {percent} interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        card = registry.card(row["benchmark"])
        metric = next((one for one in card.metrics if one.name == row["metric"]), None)
        digits = 2 if metric is None or metric.range[1] > 1 else 4
        ends = [row["low"], row["high"]]
        interval = "too few" if None in ends else f"[{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]"
        cells = (
            card.title,
            row["system"],
            row["track"],
            row["metric"],
            row["n"],
            f"{row['value']:.{digits}f}",
            interval,
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _commit() -> str:
    found = try_git(Path(), "rev-parse", "HEAD")
    if found is None:
        return "not recorded"
    changed = try_git(Path(), "status", "--porcelain", "--untracked-files=no")
    return found.decode().strip() + (" with changes" if changed else "")


def _yaml(values: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML

    text, writer = StringIO(), YAML()
    writer.default_flow_style = False
    writer.dump(dict(values), text)
    return text.getvalue()
