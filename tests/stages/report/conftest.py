"""Projects with a small but complete data folder, and their reports, made once for all workers."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from nightjar.benchmarks import registry
from tests.conftest import made_once
from tests.in_process import run_stage
from tests.stages.report import made, made_lists
from tests.stages.report.building import ABLATIONS, MODELS, add_arms, build_project, change_params
from tests.stages.report.building_long import add_long
from tests.stages.report.building_others import add_lists, add_made


def _build(folder: Path, models: Mapping[str, float]) -> None:
    folder.mkdir()
    with contextlib.chdir(folder):
        build_project(folder, models)


def _report() -> None:
    done = run_stage("report")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "built", lambda folder: _build(folder, MODELS))


@pytest.fixture()
def project(workdir: Path, built: Path) -> Path:
    shutil.copytree(built, workdir, dirs_exist_ok=True)
    return workdir


@pytest.fixture(scope="session")
def built_report(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(root: Path) -> None:
        shutil.copytree(built, root)
        with contextlib.chdir(root):
            _report()

    return made_once(tmp_path_factory, "built-report", make)


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

    return made_once(tmp_path_factory, "built-with-arms", make)


@pytest.fixture()
def arms(workdir: Path, built_with_arms: Path) -> Path:
    shutil.copytree(built_with_arms, workdir, dirs_exist_ok=True)
    return workdir


def _report_with(root: Path, benchmark: ModuleType, add: Callable[[], object]) -> None:
    """The report with a benchmark of these tests, which is registered only while the report is built."""
    with contextlib.chdir(root), pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.OWN, benchmark.NAME, benchmark.__name__)
        add()
        _report()
    registry.card.cache_clear()


@pytest.fixture(scope="session")
def built_with_two(built_with_arms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two benchmarks, all recipes, and the report of it."""

    def make(root: Path) -> None:
        shutil.copytree(built_with_arms, root)
        _report_with(root, made, add_made)

    return made_once(tmp_path_factory, "built-with-two", make)


@pytest.fixture(scope="session")
def built_with_lists(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the benchmark of made_lists.py, whose answers are ranked lists, and the report of it."""

    def make(root: Path) -> None:
        shutil.copytree(built, root)
        _report_with(root, made_lists, add_lists)

    return made_once(tmp_path_factory, "built-with-lists", make)


@pytest.fixture(scope="session")
def built_with_long(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the tasks on long documents, and the report of it."""

    def make(root: Path) -> None:
        shutil.copytree(built, root)
        with contextlib.chdir(root):
            add_long()
            _report()

    return made_once(tmp_path_factory, "built-with-long", make)
