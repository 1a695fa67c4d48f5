"""What dvc.yaml, the only list of stages, says of them: their items, and which run a model."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

from nightjar.core.config import read_yaml
from nightjar.params import Params

# Beside the code of the stages, wherever they run.
GRAPH = Path(__file__).parents[2] / "dvc.yaml"


def _stages() -> dict[str, dict[str, Any]]:
    return {name: dict(stage) for name, stage in read_yaml(GRAPH)["stages"].items()}


def items(params: Params) -> dict[str, list[str]]:
    """The items of every stage that has some, in the order of the parameters; a stage without `foreach` is left out."""
    found = {}
    for name, stage in _stages().items():
        if "foreach" in stage:
            keys = stage["foreach"].removeprefix("${").removesuffix("}").split(".")
            found[name] = list(dict(reduce(getattr, keys, params)))
    return found


def run_models() -> set[str]:
    """The stages that run a model, and so record their machine."""
    return {name for name, stage in _stages().items() if stage.get("do", stage).get("meta", {}).get("gpu")}
