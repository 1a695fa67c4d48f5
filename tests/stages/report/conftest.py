"""Projects with a small but complete data folder, and their reports, made once for all workers."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nightjar.benchmarks import registry
from tests import made_benchmark
from tests.conftest import made_once
from tests.in_process import run_stage
from tests.stages.report import made, made_lists
from tests.stages.report.building import ABLATIONS, MODELS, add_arms, build_project, change_params
from tests.stages.report.building_others import add_lists, add_long, add_made


def _build(folder: Path, models: Mapping[str, float]) -> None:
    folder.mkdir()
    with contextlib.chdir(folder):
        build_project(folder, models)


def reported_project(
    factory: pytest.TempPathFactory,
    name: str,
    source: Path,
    add: Callable[[], object] = lambda: None,
    benchmark: ModuleType | None = None,
) -> Path:
    """A copy of the project `source` with what `add` adds, and its report. A benchmark of these tests is registered
    only while the report is built.
    """

    def make(root: Path) -> None:
        shutil.copytree(source, root)
        with contextlib.chdir(root), pytest.MonkeyPatch.context() as patch:
            if benchmark:
                made_benchmark.register(patch, benchmark.NAME, benchmark)
                registry._points.cache_clear()
            add()
            done = run_stage("report")
            assert done.returncode == 0, done.stderr
        registry._packaged.cache_clear()
        registry._points.cache_clear()

    return made_once(factory, name, make)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "built", lambda folder: _build(folder, MODELS))


@pytest.fixture()
def project(workdir: Path, built: Path) -> Path:
    shutil.copytree(built, workdir, dirs_exist_ok=True)
    return workdir


@pytest.fixture(scope="session")
def built_report(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported_project(tmp_path_factory, "built-report", built)


@pytest.fixture()
def reported(built_report: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project with its report, for tests that change nothing."""
    monkeypatch.chdir(built_report)
    return built_report


@pytest.fixture(scope="session")
def built_with_arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the recipes calls_only and evidence_only beside the others."""

    def make(root: Path) -> None:
        _build(root, {**MODELS, **ABLATIONS})
        with contextlib.chdir(root):
            change_params(add_arms)

    return made_once(tmp_path_factory, "built-with-ablation", make)


@pytest.fixture(scope="session")
def built_with_two(built_with_arms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two benchmarks, all recipes, and the report of it."""
    return reported_project(tmp_path_factory, "built-with-two", built_with_arms, add_made, made)


@pytest.fixture(scope="session")
def built_with_lists(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the benchmark of made_lists.py, whose answers are ranked lists, and the report of it."""
    return reported_project(tmp_path_factory, "built-with-lists", built, add_lists, made_lists)


@pytest.fixture(scope="session")
def built_with_long(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the tasks on long documents, and the report of it."""
    return reported_project(tmp_path_factory, "built-with-long", built, add_long)


@pytest.fixture()
def page(browser: Any) -> Iterator[Any]:
    """A page that may only read files and must report no error."""
    found = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    found.set_default_timeout(60_000)
    wrong: list[str] = []
    found.on("request", lambda it: wrong.append(it.url) if not it.url.startswith("file:") else None)
    found.on("console", lambda it: wrong.append(it.text))
    found.on("pageerror", lambda it: wrong.append(str(it)))
    yield found
    assert wrong == []
    found.close()
