"""The costs name stages, tables and parameters that there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.core import contracts, cost
from nightjar.core.config import read_yaml
from nightjar.core.files import metrics_file
from pipelines.graph import graph as graphs

ROOT = Path(__file__).parents[3]


def test_all_that_a_cost_names_is_in_the_graph_and_the_parameters() -> None:
    params, stages = read_yaml(ROOT / "params.yaml"), graphs.outline(ROOT).stages
    tables = {it.name for it in vars(contracts).values() if isinstance(it, contracts.Table)}
    costs = {name: found for name in stages if (found := cost.of(name, params))}
    assert {"train@combined", "predict@supernatinst-untuned", "encode@supervised"} <= costs.keys()
    for name, found in costs.items():
        keys = [*found.settings, *filter(None, [found.times])]
        lacking = [
            key
            for key in keys
            if cost.value(params, key) is None and not key.endswith(("max_steps", "encoding"))
        ]
        assert not lacking, name
        for maker, table in found.rows:
            assert maker in stages and table in tables
            assert maker == name or maker in _before(stages, name)


def _before(stages: dict[str, graphs.Stage], name: str) -> set[str]:
    near = set(stages[name].upstream)
    return near.union(*(_before(stages, other) for other in near))


@pytest.mark.parametrize(("samples", "size"), [(8, 56.0), (300, 2100.0), (None, 7.0)])
def test_predictions_grow_with_the_samples_of_a_question(
    tmp_path: Path, samples: int | None, size: float
) -> None:
    file = tmp_path / metrics_file("questions@protoqa")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"tables": {"data/questions/protoqa": {"questions": {"rows": 7}}}}))
    params = {"predict": {"protoqa": {} if samples is None else {"samples": samples}}}
    found = cost.of("predict@protoqa-untuned", params)
    assert found is not None and cost.size(tmp_path, found, params) == size


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tables": {"data/split": {"test": {"rows": "many"}}}}'])
def test_broken_facts_give_no_size(tmp_path: Path, text: str) -> None:
    file = tmp_path / metrics_file("split")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    found = cost.of("contamination", {})
    assert found is not None and cost.size(tmp_path, found, {}) is None
    found = cost.Cost((("split", "test"),))
    file.write_text(json.dumps({"tables": {"data/split": {"test": {"rows": 7}}}}))
    assert cost.size(tmp_path, found, {}) == 7.0
