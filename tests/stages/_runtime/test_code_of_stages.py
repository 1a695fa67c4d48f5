"""The stages of dvc.yaml depend on the closures of the code that they run; a change of code changes those alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from nightjar.core.config import read_yaml
from stages._runtime.closure import BY_NAME, STAGE, Code
from tests.conftest import ROOT

CODE = Code(ROOT)
STAGES: Mapping[str, Any] = read_yaml(ROOT / "dvc.yaml")["stages"]


def _deps(stage: str) -> list[str]:
    entry = STAGES[stage]
    return list(entry.get("do", entry)["deps"])


def test_every_stage_depends_on_its_closure_and_on_no_code() -> None:
    assert sorted(STAGES) == sorted(CODE.stages())
    for stage in STAGES.keys() - {STAGE}:
        deps = _deps(stage)
        assert f"data/code/{stage}.json" in deps
        assert not [path for path in deps if path.split("/")[0] in ("nightjar", "stages")]


@pytest.mark.parametrize("stage", sorted(STAGES.keys() - {STAGE}))
def test_a_stage_that_loads_by_name_depends_on_the_closures_of_the_names(stage: str) -> None:
    named = {kind for path in _deps(stage) for kind in BY_NAME if re.match(rf"data/code/{kind}s?[-.]", path)}
    modules = [module for kind in named for module in CODE.registered(kind).values()]
    closure = CODE.closure([f"stages.{stage}.__main__", *modules])
    assert named == {kind for kind, registry in BY_NAME.items() if registry.path in closure}
