"""A profile as a set-up: its stages, what must be supplied for them, and the sizes that its settings and data have."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from nightjar.core import cost, profiles
from nightjar.core.config import PARAMS_FILE, read_optional
from nightjar.core.params import Params, validate
from nightjar.core.profiles import Shape, Supply
from nightjar.lm import weights
from pipelines.execution.preflight import LAUNCHERS, check_project
from pipelines.graph import graph as graphs

# What base_model makes, by the key of `models`.
BASE_MODELS = {f"models/base/{key}": key for key in ("language_model", "sentence_encoder")}

# Groups of parameters that name weights, which no stage has as a dependency.
WEIGHTS = ("models", "tools")


@dataclass(frozen=True)
class Setup:
    """The parameters of a profile, as a model and as `values`, and its supplies. `graph` has the stages it is for, and
    `made` what all stages write. `applied`: whether params.yaml has these values, so that facts of stages are its own.
    """

    root: Path
    params: Params
    values: Mapping[str, Any]
    supply: Mapping[str, Supply]
    graph: graphs.Graph
    made: frozenset[str]
    applied: bool

    def needed(self) -> dict[str, list[str]]:
        """What must be supplied, with the stages that read it: supplies of the profile, and sources that no stage
        makes, that are not here and that no supply describes. Packages are installed instead.
        """
        readers: dict[str, list[str]] = {}
        for name, stage in self.graph.stages.items():
            groups = (key for keys in stage.params.values() for key in keys if key.split(".")[0] in WEIGHTS)
            named = (text for key in groups for text in _texts(cost.value(self.values, key)))
            for source in dict.fromkeys([*stage.deps, *named]):
                readers.setdefault(source, []).append(name)
        found: dict[str, list[str]] = {}
        for source, stages in readers.items():
            if (above := self._described(source)) or self._missing(source):
                found[above or source] = list(dict.fromkeys([*found.get(above or source, []), *stages]))
        return found

    def _missing(self, source: str) -> bool:
        path = Path(source)
        made = str(path) in self._around_made or any(str(it) in self.made for it in path.parents)
        return source.startswith("hub:") or (len(path.parts) > 1 and not made and not self.present(source))

    @cached_property
    def _around_made(self) -> frozenset[str]:
        """What the stages write, and the folders that it is in."""
        return self.made.union(str(it) for out in self.made for it in Path(out).parents)

    def _described(self, source: str) -> str | None:
        above = [source, *map(str, Path(source).parents)]
        return next((one for one in above if one in self.supply), None)

    def described(self, source: str) -> Supply | None:
        """The supply of a source, or of a folder that it is in."""
        return self.supply.get(self._described(source) or "")

    def present(self, source: str) -> bool:
        """Whether a path is there, a package is installed, or a model of the hub was fetched before."""
        kind, sign, name = source.partition(":")
        if not sign:
            return (self.root / source).exists()
        if kind == "package":
            return any(distributions(name=name))
        from huggingface_hub import try_to_load_from_cache

        name, _, revision = name.partition("@")
        return isinstance(try_to_load_from_cache(name, "config.json", revision=revision or None), str)

    def source(self, path: str) -> str:
        """Where the weights in `path` come from: themselves, or what the stages make them of."""
        folder, _, name = path.rpartition("/")
        if folder == "models/train":
            path = "models/base/language_model"
        elif folder == "models/readers":
            return self.source(self.params.readers.recipes[name].base)
        return str(getattr(self.params.models, BASE_MODELS[path]).source) if path in BASE_MODELS else path

    def parameters(self, path: str) -> float | None:
        """The parameters of the model in `path`: of its weights if they are here, else as its supply says."""
        source = self.source(path)
        known = self.described(source)
        return weights.parameters(self.root / source) or (known.parameters if known else None)

    def shape(self, path: str) -> Shape | None:
        """The shape of the language model in `path`, if a supply gives it."""
        known = self.described(self.source(path))
        return known.shape if known else None

    def rows(self, stage: str, table: str) -> float | None:
        """The rows of a table: from the facts of the stage that makes it, else from the settings and the supplies."""
        made = cost.size(self.root, cost.Cost(((stage, table),)), self.values) if self.applied else None
        return made or self._expected(stage, table)

    def _expected(self, stage: str, table: str) -> float | None:
        split, item = self.params.split, stage.partition("@")[2]
        if stage.startswith("questions@"):
            benchmark = self.params.benchmarks[item]
            if benchmark.split == "data/split":
                return self._expected("split", "test")
            if benchmark.settings().get("questions_per_task"):
                return None
            item = Path(benchmark.data).name
        if stage != "split":
            return self.count(item, table)
        side = "train" if table == "train" else "test"
        known = next(
            (it.counts[key] for it in self.supply.values() if (key := f"{side}_tasks") in it.counts), None
        )
        tasks, each = getattr(split, f"{side}_tasks"), getattr(split, f"{table}_instances_per_task")
        return min(tasks or math.inf, known) * each if known and each else None

    def count(self, dataset: str, what: str) -> int | None:
        """A count of an ingested dataset, as its supply says."""
        known = self.described(str(cost.value(self.values, f"ingest.{dataset}.path")))
        return known.counts.get(what) if known else None

    def processes(self) -> int:
        """The GPUs that a training uses."""
        file = self.root / LAUNCHERS / f"{self.params.train.launcher}.yaml"
        return int(read_optional(file).get("num_processes", 1))


def read(root: Path, profile: str, stages: Sequence[str] = ()) -> Setup:
    """The set-up of a profile, with `stages` and what they need instead of those it is for.

    Raises NightjarError for a profile that is unknown or broken, and for an unknown stage.
    """
    about, values = profiles.about(root, profile), profiles.values(root, profile)
    params = validate(values, f"profile {profile}")
    check_project(params, root, f"profile {profile}")
    whole = graphs.outline_with(root, PARAMS_FILE, json.dumps(values))
    made = frozenset(out for stage in whole.stages.values() for out in stage.outs)
    applied = read_optional(root / PARAMS_FILE) == values
    return Setup(root, params, values, about.supply, whole.only(stages or about.targets), made, applied)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)
