"""The stages of dvc.yaml depend on the closures of the code that they run; a change of code changes those alone."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.config import read_yaml, value
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
    own, whole = (
        CODE.closure([f"stages.{stage}.__main__"]),
        CODE.closure([f"stages.{stage}.__main__", *modules]),
    )
    assert named == {kind for kind in named if BY_NAME[kind].path in whole}
    assert {kind for kind in BY_NAME if BY_NAME[kind].path in own} <= named
    assert {kind for kind in BY_NAME if BY_NAME[kind].path in whole} <= named


def _items(settings: Mapping[str, Any]) -> dict[str, set[str]]:
    """Each stage with its item, and its dependencies, as DVC fills its templates."""
    items = {}
    for stage, entry in STAGES.items():
        group = value(settings, entry["foreach"][2:-1]) if "foreach" in entry else {"": {}}
        for key, item in group.items():
            texts = {"key": key, **{f"item.{name}": str(text) for name, text in item.items()}}
            name = f"{stage}@{key}" if key else stage
            items[name] = {reduce(_filled, texts.items(), path) for path in _deps(stage)}
    return items


def _filled(path: str, text: tuple[str, str]) -> str:
    return path.replace("${" + text[0] + "}", text[1])


SETTINGS = read_yaml(ROOT / "params.yaml")
ITEMS = _items(SETTINGS)


@cache
def _before() -> dict[str, str]:
    """Compute the closures of the code as it is: each worker collects this file, and one runs it."""
    return CODE.contents(SETTINGS)


@pytest.mark.parametrize("item", sorted(ITEMS.keys() - {STAGE}))
def test_the_code_of_a_checkpoint_has_that_of_every_dependency(item: str) -> None:
    names = [path.removeprefix("data/code/") for path in ITEMS[item] if path.startswith("data/code/")]
    files = {path for name in names for path in json.loads(_before()[name])["files"]}
    assert files and files <= CODE.stage_files(item.partition("@")[0])


def _affected(root: Path, path: str, old: str, new: str) -> set[str]:
    """The stages whose code differs after a change of a file."""
    for package in ("nightjar", "stages"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, root / package, ignore=ignored, copy_function=os.symlink)
    text = (root / path).read_text()
    assert old in text
    (root / path).unlink()
    (root / path).write_text(text.replace(old, new, 1) if old else text + new)
    code = Code(root)
    for module, source in CODE.files.items():  # the other files are parsed already
        if str(source.path) != path:
            code.files[module] = source
    after = code.contents(SETTINGS)
    changed = {f"data/code/{name}" for name in after if after[name] != _before().get(name)}
    return {stage for stage, deps in ITEMS.items() if deps & changed}


def _of(*stages: str) -> set[str]:
    """All items of these stages."""
    return {name for name in ITEMS if name.partition("@")[0] in stages}


def _predicting(**values: str) -> set[str]:
    """The items of predict whose systems have these values."""
    systems = SETTINGS["predict"]["systems"]
    return {f"predict@{name}" for name, system in systems.items() if values.items() <= system.items()}


CASES: Mapping[str, tuple[str, set[str]]] = {
    "metric": ("nightjar/benchmarks/classification/metrics.py", {"evaluate@classification", "report"}),
    "published numbers": ("nightjar/benchmarks/protoqa/published.toml", {"evaluate@protoqa", "report"}),
    "section": ("nightjar/benchmarks/zeroscrolls/report.py", {"evaluate@zeroscrolls", "report"}),
    "statistics": ("nightjar/statistics/bootstrap.py", _of("evaluate", "report")),
    "mean of tasks": ("nightjar/benchmarks/average.py", _of("evaluate", "report")),
    "page": ("stages/report/leaderboard.py", {"report"}),
    "template": ("stages/report/templates/stages.html.j2", {"report"}),
    "tool": ("nightjar/tools/calendar.py", {"augment@calendar", *_predicting(tools="all")}),
    "predictor": ("nightjar/predict/reading.py", _predicting(kind="reader")),
    "backend": ("nightjar/models/servers/completion_server.py", _predicting(kind="model")),
    "benchmark": (
        "nightjar/benchmarks/protoqa/questions.py",
        {
            "ingest@protoqa",
            "questions@protoqa",
            "retrieve@protoqa",
            "evaluate@protoqa",
            "contamination",
            "report",
        }
        | _of("encode")
        | _predicting(benchmark="protoqa"),
    ),
    "encoder": (
        "nightjar/search/pooling.py",
        {"base_model", "evaluate@protoqa", "index", "report"} | _of("retrieve") | _predicting(kind="knn"),
    ),
    "settings of training": ("nightjar/params/train.py", _of("encode", "train", "report")),
    "contributors' checks": ("nightjar/benchmarks/supernatinst/contributor_checks.py", set()),
    "settings of predictions": ("nightjar/params/predict.py", _of("predict", "report")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_affects_the_stages_that_run_the_file(tmp_path: Path, name: str) -> None:
    path, stages = CASES[name]
    assert _affected(tmp_path, path, "", "\nCHANGED = 1\n") == stages


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("nightjar/core/tables.py", "", "\n# a comment\n"),
        ("nightjar/core/tables.py", '"""', '"""Other words. '),
        ("nightjar/core/files.py", "", "\nCHANGED = 1\n"),
        ("stages/code/__main__.py", "", "\nCHANGED = 1\n"),
        # A new name concerns nobody who does not load it.
        ("nightjar/benchmarks/folders.py", "OWN = {", 'OWN = {"new": "nightjar.benchmarks.reading",'),
        ("nightjar/predict/__init__.py", "BUILT_IN = {", 'BUILT_IN = {"new": "nightjar.predict.span:New",'),
    ],
)
def test_a_change_without_effect_affects_no_stage(tmp_path: Path, path: str, old: str, new: str) -> None:
    assert not _affected(tmp_path, path, old, new)
