"""Items of the stages in dvc.yaml, the only list of stages, and those that run a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nightjar.core.config import read_yaml
from nightjar.core.packaged import packaged_folder
from nightjar.params import Params

_TEMPLATE = re.compile(r"\$\{([^}]+)\}")


def _stages() -> dict[str, dict[str, Any]]:
    """The entries of the dvc.yaml that comes with the code of the stages, wherever they run."""
    stages = read_yaml(packaged_folder() / "dvc.yaml")["stages"]
    return {name: dict(stage) for name, stage in stages.items()}


def items(params: Params) -> dict[str, list[str]]:
    """The items of every stage that has some, in the order of the parameters; a stage without `foreach` is left out."""
    return {
        name: list(dict(_value(params, stage["foreach"][2:-1])))
        for name, stage in _stages().items()
        if "foreach" in stage
    }


def declared_settings(params: Params, stage: str) -> list[str]:
    """The dotted keys of params.yaml that dvc.yaml declares for a stage, such as `train@combined`.

    They are its `params`, and the keys that its dependencies have in templates: another value is another dependency.
    """
    name, _, item = stage.partition("@")
    entry = _stages().get(name, {})
    body, group = entry.get("do", entry), entry.get("foreach", "")[2:-1]
    values = {"key": item, "item": _value(params, f"{group}.{item}") if group else None}

    def filled(match: re.Match[str]) -> str:
        first, _, key = match[1].partition(".")
        return str(_value(values[first], key) if key else values[first])

    templates = [match[1] for path in body.get("deps", []) for match in _TEMPLATE.finditer(path)]
    return [
        *(_TEMPLATE.sub(filled, key) for key in body.get("params", [])),
        *(re.sub("^item[.]", f"{group}.{item}.", key) for key in templates if key != "key"),
    ]


def _value(group: Any, key: str) -> Any:
    """The value of a dotted key in a group of the parameters."""
    for name in key.split("."):
        group = group[name] if isinstance(group, Mapping) else getattr(group, name)
    return group


def run_models() -> set[str]:
    """The stages that run a model, and so record their machine."""
    return {name for name, stage in _stages().items() if stage.get("do", stage).get("meta", {}).get("gpu")}
