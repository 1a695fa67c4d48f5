"""Descriptions of the systems: a baseline of a card, the untuned model, or a model trained by a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question_set import Baseline, check_settings
from nightjar.core import paths
from nightjar.params import Params
from nightjar.params.predict import PLAIN, prompting
from nightjar.params.train import Recipe
from stages.report import numbers
from stages.report.read.benchmark_results import BOUND, CONTROL
from stages.report.read.facts import Node

_INSTANCES = {
    "train": "the training tasks",
    "supervised": "the test tasks that are not test instances",
    "questions": "the benchmark's own training questions",
}


@dataclass(frozen=True)
class Systems:
    """The systems of a benchmark: the card's baselines, and those that the parameters list, `models`.

    `roles` are those of all: baseline, control, treatment, bound or human.
    """

    card: Benchmark
    baselines: Mapping[str, Baseline]
    models: Sequence[str]
    roles: Mapping[str, str]
    # How those were asked that were asked through a chat template.
    chats: Mapping[str, str] = field(default_factory=dict)


def of(params: Params, name: str, nodes: Sequence[Node] = ()) -> Systems:
    """The systems of the benchmark `name`. Raises NightjarError for one that there is not."""
    facts = {node.item: node.details for node in nodes if node.stage == "predict"}
    promptings = {system: prompting(facts.get(f"{name}-{system}", {})) for system in params.predict.of(name)}
    card = registry.load_benchmark(name)
    settings = check_settings(card, params.benchmarks[name].settings())
    baselines = card.baselines(settings)
    chats = {system: how for system, how in promptings.items() if how != PLAIN}
    roles = dict.fromkeys(baselines, "baseline") | {
        system: _role(params, name, system) for system in promptings
    }
    return Systems(card, baselines, list(promptings), roles, chats)


# What the roles are, in the legend.
MEANINGS: Mapping[str, str] = {
    "baseline": "no training in this project: a rule, nearest neighbours, or a model as it is",
    "control": "trained, with neither tools nor evidence",
    "treatment": "trained, with tools or evidence",
    "bound": "trained on other instances of the test tasks",
    "human": "answers of people",
}
# Files of predictions with these names of systems are of people.
_PEOPLE = ("human", "people")


def _role(params: Params, benchmark: str, system: str) -> str:
    system_settings = params.predict.systems[f"{benchmark}-{system}"]
    if system == BOUND:
        return "bound"
    if system_settings.kind == "file" and system in _PEOPLE:
        return "human"
    if weights(params, benchmark, system).parent not in (paths.TRAINED, paths.READERS):
        return "baseline"
    adds = _calls(params, benchmark, system) == "on" or system_settings.evidence is not None
    return "treatment" if adds else "control"


def weights(params: Params, benchmark: str, system: str) -> Path:
    """The weights of a system."""
    return Path(params.predict.systems[f"{benchmark}-{system}"].weights)


def recipe(params: Params, benchmark: str, system: str) -> str:
    """The recipe that trained the weights of a system; empty if none did."""
    path = weights(params, benchmark, system)
    return path.name if path.parent == paths.TRAINED and path.name in params.train.recipes else ""


def may_call(params: Params, benchmark: str, system: str) -> bool:
    """Tell whether the system's decoding calls tools."""
    settings = params.predict.benchmark(benchmark)
    return bool(_calls(params, benchmark, system) == "on" and settings.call_top_k and settings.max_calls)


def _calls(params: Params, benchmark: str, system: str) -> str:
    """Tell whether a system's calls are on, disabled or off: as the system says, or by its recipe."""
    name = recipe(params, benchmark, system)
    own_calls = params.predict.systems[f"{benchmark}-{system}"].calls
    return own_calls or ("on" if name and params.train.recipe(name).calls else "off")


def sentences(
    params: Params, benchmarks: Sequence[Systems], by_name: Mapping[str, Node]
) -> list[dict[str, str]]:
    """A row a system: its name, the benchmarks where it is this, and what it is."""
    described: dict[tuple[str, str], list[str]] = {}
    for benchmark_systems in benchmarks:
        for name, answer in benchmark_systems.baselines.items():
            described.setdefault((name, _baseline(answer)), []).append(benchmark_systems.card.title)
        for name in benchmark_systems.models:
            chat = (
                f" Asked through the {benchmark_systems.chats[name]}."
                if name in benchmark_systems.chats
                else ""
            )
            sentence = _model(params, benchmark_systems.card.name, name, by_name) + chat
            described.setdefault((name, sentence), []).append(benchmark_systems.card.title)
    return [
        {"system": name, "benchmarks": ", ".join(titles), "what it is": sentence}
        for (name, sentence), titles in described.items()
    ]


def _baseline(answer: Baseline) -> str:
    """The description of a baseline; of one without, the first line of its docstring."""
    line = getattr(answer, "description", "") or (answer.__doc__ or "").strip().partition("\n")[0]
    return f"Baseline without a model. {line}".strip()


# What systems answer that no language model writes for, by their kind.
_KINDS = {
    "knn": "The label of most of the nearest training questions, by the encoder {}",
    "reader": "The label that the reader {} finds likeliest",
    "extractive": "Ranked answers that the language model {} finds in retrieved passages",
    "span": "The span of the question's own passage that the reader {} finds likeliest",
    "file": "The predictions of the file {}; no model of this project made them",
}


def _model(params: Params, benchmark: str, system: str, by_name: Mapping[str, Node]) -> str:
    model = params.models.language_model.source
    system_settings = params.predict.systems[f"{benchmark}-{system}"]
    if system_settings.kind in _KINDS:
        passages = (
            ", with retrieved passages"
            if system_settings.evidence and system_settings.kind == "reader"
            else ""
        )
        return _KINDS[system_settings.kind].format(system_settings.weights) + passages + "."
    disabled = " It must not begin a call." if _calls(params, benchmark, system) == "disabled" else ""
    if weights(params, benchmark, system) == paths.LANGUAGE_MODEL:
        if may_call(params, benchmark, system):
            return f"The language model {model} as it is, without fine-tuning or evidence. It may call tools."
        return f"The language model {model} as it is, without fine-tuning, tool calls or evidence.{disabled}"
    if not (name := recipe(params, benchmark, system)):
        return f"The weights {system_settings.weights}.{disabled}"
    trained = params.train.recipe(name)
    node = by_name.get(f"train@{name}")
    instances = node.details.get("train_instances") if node else None
    role = {BOUND: " It is the upper bound.", CONTROL: " It is the control."}.get(system, "")
    return f"{model} fine-tuned by the recipe {name} {_training(trained, instances)}.{role}{disabled}"


def _training(trained: Recipe, instances: Any) -> str:
    how = f"LoRA, rank {trained.lora_rank}" if trained.method == "lora" else "all weights"
    if trained.data == "corpus":
        number = "texts" if instances is None else numbers.counted(instances, "text")
        calls = "with these calls and their results" if trained.calls else "without the calls"
        return f"({how}) on {number}, as plain language modelling: documents that tool calls were kept for, {calls}"
    number = "instances" if instances is None else numbers.counted(instances, "instance")
    of = _INSTANCES.get(trained.data, trained.data)
    calls = "with the kept tool calls in the targets" if trained.calls else "without tool calls"
    passages = numbers.counted(trained.evidence, "retrieved passage")
    return f"({how}) on {number} of {of}, {calls}, with {passages} in the prompt"
