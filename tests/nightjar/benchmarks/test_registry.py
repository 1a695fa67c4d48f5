"""What the registry refuses of the parameters as a whole."""

from __future__ import annotations

import pytest

from nightjar.benchmarks import registry
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.params import Params, validate
from tests.conftest import ROOT


def without_evidence(system: str) -> Params:
    values = read_yaml(ROOT / "params.yaml")
    values["predict"]["systems"][system]["evidence"] = "data/none"
    return validate(values)


@pytest.mark.parametrize("benchmark", ["supernatinst", "tool_use", "protoqa"])
def test_a_recipe_with_passages_needs_them_where_the_benchmark_retrieves_some(benchmark: str) -> None:
    message = f"predict.systems.{benchmark}-combined.evidence: its recipe uses 1 passages of evidence"
    with pytest.raises(NightjarError, match=message):
        registry.check(without_evidence(f"{benchmark}-combined"))


@pytest.mark.parametrize("benchmark", ["classification", "zeroscrolls"])
def test_other_benchmarks_have_no_passages_for_prompts(benchmark: str) -> None:
    """Those of classification are for readers alone, and zeroscrolls has what is to be read in its questions."""
    registry.check(without_evidence(f"{benchmark}-combined"))
