"""All groups of params.yaml together: the one place where configuration enters Nightjar.

An unknown key, a wrong type or a value out of range raises NightjarError before any work starts. The error names the
key, the value and what is allowed. dvc.yaml names, for each stage, the keys that it reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from nightjar.core.arguments import AnyPath
from nightjar.core.config import PARAMS_FILE, Item, StrictModel, checked, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.params.augment import Augment
from nightjar.params.benchmarks import BenchmarkGroup, Consistency, Contamination
from nightjar.params.drivers import Checks, Nightly, Rebuild, ServerSettings, Shards
from nightjar.params.groups import ALL_TOOLS
from nightjar.params.inputs import Encoding, Ingest, Models, Split
from nightjar.params.predict import Predict
from nightjar.params.readers import QaReader, Readers
from nightjar.params.search import Index, Rerank, Retrieve
from nightjar.params.train import Train


class Params(StrictModel):
    """All of params.yaml. `tools` has sets of tools, the settings of each by its name; the tool's model checks them."""

    seed: Annotated[int, Field(ge=0, le=2**32 - 1)]
    threads: Annotated[int, Field(ge=1, le=1024)]
    models: Models
    ingest: Ingest
    split: Split
    encoding: Encoding
    tools: dict[Item, dict[Item, dict[str, Any]]]
    augment: Augment
    index: Index
    retrieve: Retrieve
    rerank: Rerank
    train: Train
    readers: Readers
    qa_readers: dict[Item, QaReader]
    predict: Predict
    benchmarks: dict[Item, BenchmarkGroup]
    contamination: Contamination
    consistency: Consistency
    checks: Checks
    rebuild: Rebuild
    shards: Shards
    nightly: Nightly
    server: ServerSettings


def validate(values: dict[str, Any], where: object = PARAMS_FILE) -> Params:
    """Params from a plain mapping. Raises NightjarError naming the first bad key and how many more there are."""
    params = checked(Params, values, where)
    _check_names(params, where)
    return params


def _check_names(params: Params, where: object) -> None:
    """Raise NightjarError for a tool, recipe, reader or benchmark whose settings are missing or wrong."""
    for name in params.augment.tools:
        if name not in params.tools.get(ALL_TOOLS, {}):
            fix = f"add the group tools.{ALL_TOOLS}.{name}, {{}} for a tool without settings"
            raise NightjarError(f"augment.tools.{name} has no settings", where, fix)
    for name, system in params.predict.systems.items():
        if system.tools not in params.tools:
            what = f"predict.systems.{name}.tools names no set of tools: {system.tools}"
            raise NightjarError(what, where, f"sets are {', '.join(params.tools)}")
    params.train.check_all("train", params.train.recipes, where)
    params.readers.check_all("readers", params.readers.recipes, where)
    for name in params.readers.recipes:
        params.readers.recipe(name, where)
    params.predict.check_all("predict", [it.benchmark for it in params.predict.systems.values()], where)


def load(path: AnyPath = PARAMS_FILE) -> Params:
    """The checked parameters of `path`. Raises NightjarError; reads nothing else."""
    path = Path(path)
    return validate(read_yaml(path), path)
