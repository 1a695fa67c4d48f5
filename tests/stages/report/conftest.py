"""Projects with a small but complete data folder, and their reports."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from tests.in_process import run_stage
from tests.stages.report import made, made_lists
from tests.stages.report.building import ARMS, MODELS, add_arms, build_project, change_params
from tests.stages.report.building_long import add_long
from tests.stages.report.building_others import add_lists, add_made


def _built(folder: Path, models: Mapping[str, float]) -> Path:
    with contextlib.chdir(folder):
        build_project(folder, models)
    return folder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("report"), MODELS)


@pytest.fixture()
def project(workdir: Path, built: Path) -> Path:
    shutil.copytree(built, workdir, dirs_exist_ok=True)
    return workdir


@pytest.fixture(scope="session")
def built_report(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reported")
    shutil.copytree(built, root, dirs_exist_ok=True)
    done = run_stage("report", cwd=root)
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture()
def reported(built_report: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project with its report, for tests that change nothing."""
    monkeypatch.chdir(built_report)
    return built_report


@pytest.fixture(scope="session")
def built_with_arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the recipes calls_only and evidence_only beside the others."""
    folder = _built(tmp_path_factory.mktemp("arms"), {**MODELS, **ARMS})
    with contextlib.chdir(folder):
        change_params(add_arms)
    return folder


@pytest.fixture()
def arms(workdir: Path, built_with_arms: Path) -> Path:
    shutil.copytree(built_with_arms, workdir, dirs_exist_ok=True)
    return workdir


@pytest.fixture(scope="session")
def built_with_two(built_with_arms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two benchmarks, all recipes, and the report of it.

    The benchmark of made.py is registered only while the report is built.
    """
    root = tmp_path_factory.mktemp("two")
    shutil.copytree(built_with_arms, root, dirs_exist_ok=True)
    with contextlib.chdir(root), pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.OWN, made.NAME, made.__name__)
        add_made()
        done = run_stage("report")
    registry.card.cache_clear()
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="session")
def built_with_lists(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the benchmark of made_lists.py, whose answers are ranked lists, and the report of it."""
    root = tmp_path_factory.mktemp("lists")
    shutil.copytree(built, root, dirs_exist_ok=True)
    with contextlib.chdir(root), pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.OWN, made_lists.NAME, made_lists.__name__)
        add_lists()
        done = run_stage("report")
    registry.card.cache_clear()
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="session")
def built_with_long(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the tasks on long documents, and the report of it."""
    root = tmp_path_factory.mktemp("long")
    shutil.copytree(built, root, dirs_exist_ok=True)
    with contextlib.chdir(root):
        add_long()
        done = run_stage("report")
    assert done.returncode == 0, done.stderr
    return root
