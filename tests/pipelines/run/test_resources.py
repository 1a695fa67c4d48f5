"""What stages ask for and what the machine has: the project's own graph, other repositories, and bad values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest
from ruamel.yaml import YAML

from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Rebuild
from pipelines.graph.graph import Graph, Stage
from pipelines.run import resources
from pipelines.run.resources import Limits, Needs

ROOT = Path(__file__).parents[3]


def graph(**metas: dict[str, Any]) -> Graph:
    stages = {name: Stage(name, "true", "", (), (), (), {}, (), (), meta) for name, meta in metas.items()}
    return Graph(Path(), stages)


def test_needs_of_stages_with_and_without_a_word_on_them() -> None:
    settings = Rebuild(memory_classes={"small": 1.0, "huge": 40.5})
    asked = graph(
        a={"gpu": True, "memory": "huge", "attempts": 3}, b={"owner": "somebody", "shards": True}, c={}
    )
    assert resources.needs(asked, settings) == {
        "a": Needs(40.5, True, 3),
        "b": Needs(shards=True),
        "c": Needs(),
    }


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        (
            {"gpu": "yes"},
            r"dvc\.yaml: stage s: meta\.gpu = 'yes' is not allowed; it should be a valid boolean",
        ),
        ({"memory": "lrage"}, r"meta\.memory = 'lrage' .*; there are: small, large"),
        ({"attempts": 0}, r"meta\.attempts = 0 .*equal to 1"),
        ({"attempts": True}, r"meta\.attempts = True"),
        ({"shards": 3}, r"meta\.shards = 3 "),
    ],
)
def test_a_bad_value_is_told_with_its_stage_and_key(meta: dict[str, Any], told: str) -> None:
    with pytest.raises(NightjarError, match=told):
        resources.needs(graph(s=meta), Rebuild())


def test_every_stage_of_the_project_says_what_it_needs() -> None:
    written = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]
    metas = {name: (stage.get("do") or stage).get("meta", {}) for name, stage in written.items()}
    needs = resources.needs(graph(**metas), Rebuild.load(ROOT / "params.yaml"))
    assert all(need.memory_gb for need in needs.values())
    models = {
        "augment",
        "index",
        "retrieve",
        "rerank",
        "train",
        "train_qa",
        "train_reader",
        "predict",
        "consistency",
    }
    assert {name for name, need in needs.items() if need.gpu} == models
    assert {name for name, need in needs.items() if need.attempts > 1} == {"base_model"}


def test_limits_are_the_settings_or_the_machine(tmp_path: Path) -> None:
    assert resources.limits(Rebuild(jobs=3, memory_gb=7.5, gpu="always")) == Limits(3, 7.5, True)
    assert resources.limits(Rebuild(memory_gb=7.5, gpu="never"), jobs=5) == Limits(5, 7.5, False)
    whole = psutil.virtual_memory().total / 1e9
    assert 0 < resources.limits(Rebuild()).memory_gb <= 0.8 * whole
    limit = tmp_path / "memory.max"
    for text, told in (("max\n", whole), ("2000000000\n", 2.0), ("", whole)):
        limit.write_text(text)
        assert resources.machine_gb(limit) == pytest.approx(told)


def test_a_gpu_is_a_device_that_stages_may_see(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "nvidia-uvm").touch()
    assert not resources.has_gpu(tmp_path)
    (tmp_path / "nvidia0").touch()
    assert resources.has_gpu(tmp_path)
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert not resources.has_gpu(tmp_path)
