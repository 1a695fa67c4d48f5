"""A stage sees the settings that its entry in dvc.yaml declares; reading another one names the key and the stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.params import Params, load
from stages._runtime.declared_settings import declared_view
from stages._runtime.stage_items import declared_settings, items
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def params() -> Params:
    return load(ROOT / "params.yaml")


@pytest.mark.parametrize(
    ("stage", "read"),
    [
        ("split", lambda params: (params.seed, params.split, params.ingest.natural_instructions.path)),
        ("train@combined", lambda params: (params.train.recipe("combined"), params.train.launcher)),
        ("predict@protoqa-combined", lambda params: params.predict.benchmark("protoqa")),
        ("evaluate@protoqa", lambda params: params.benchmarks["protoqa"]),
        # Named by a dependency: another value is another dependency.
        ("augment@wiki_search", lambda params: params.augment.tools["wiki_search"].resource),
        ("index", lambda params: params.index.corpus),
    ],
)
def test_declared_settings_have_their_values(
    params: Params, stage: str, read: Callable[[Params], Any]
) -> None:
    assert read(declared_view(params, stage)) == read(params)


@pytest.mark.parametrize(
    ("stage", "read", "key"),
    [
        ("split", lambda params: params.threads, "threads"),
        ("split", lambda params: params.ingest.protoqa, "ingest.protoqa"),
        ("split", lambda params: params.ingest.natural_instructions.code, "ingest.natural_instructions.code"),
        ("train@combined", lambda params: params.train.recipe("plain"), "train.recipes.plain"),
        ("train@combined", lambda params: params.train.settings("train", "plain"), "train.plain"),
        ("train@combined", lambda params: list(params.train.recipes), "train.recipes"),
        ("train@combined", lambda params: params.train.recipes.items(), "train.recipes"),
        ("train@combined", lambda params: len(params.train.recipes), "train.recipes"),
        ("train@combined", lambda params: "plain" in params.train.recipes, "train.recipes.plain"),
        ("train@combined", lambda params: params.train.recipes.get("plain"), "train.recipes.plain"),
        ("rerank@classification", lambda params: params.seed, "seed"),
        ("predict@protoqa-combined", lambda params: params.augment, "augment"),
    ],
)
def test_another_setting_is_refused_by_its_key_and_the_stage(
    params: Params, stage: str, read: Callable[[Params], Any], key: str
) -> None:
    with pytest.raises(NightjarError) as error:
        read(declared_view(params, stage))
    assert f"{stage} reads the setting {key}, which it does not declare" in str(error.value)


def test_a_name_that_is_no_setting_is_a_fault_of_the_code(params: Params) -> None:
    view = declared_view(params, "split")
    with pytest.raises(AttributeError):
        view.sede  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(KeyError):
        declared_view(params, "train@combined").train.recipes["no_recipe"]


def test_every_stage_and_item_has_a_view_and_the_parameters_stay_whole(params: Params) -> None:
    before = params.model_dump()
    for name, keys in items(params).items():
        for key in keys:
            stage = f"{name}@{key}"
            assert declared_settings(params, stage)
            declared_view(params, stage)
    assert params.model_dump() == before
