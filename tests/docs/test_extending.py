"""The guide to extensions: its package is installed, and what it registers is found and runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nightjar.benchmarks import registry
from nightjar.benchmarks.sections import Section
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from nightjar.params import profile_values
from pipelines.cli import main
from stages.report.site import render_section
from tests.conftest import ROOT
from tests.in_process import captured, run_stage

GUIDE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    """The content that the guide gives to a file."""
    found = re.search(rf"^`{re.escape(name)}`:\n```\w+\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    assert found, name
    return found[1]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide's package."""
    folder = tmp_path_factory.mktemp("capitals")
    for name in ("pyproject.toml", *re.findall(r"^`(\w+\.py)`:", GUIDE, re.MULTILINE)):
        (folder / name).write_text(example(name), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def installed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the path of Python, by which the package is installed as the guide says."""
    assert "pip install --no-deps --editable ./capitals" in GUIDE
    target = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-index"),
            *("--no-deps", "--no-build-isolation", "--prefix", target, "--editable", source),
        ],
        check=True,
    )
    (packages,) = target.glob("lib/python*/site-packages")
    (target / "sitecustomize.py").write_text(f"import site; site.addsitedir({str(packages)!r})\n")
    return target


def test_the_section_of_the_guide_is_rendered() -> None:
    (template,) = re.findall(r'^TEMPLATE = """\n(.*?)"""', GUIDE, re.DOTALL | re.MULTILINE)
    section = Section("answered", "Answers", template, {"rows": [("untuned", 1200)]})
    html = render_section(section, "capitals", {"named": {}})
    assert "<p>Answers of every system.</p>" in html and '<td class="num">1,200</td>' in html


@pytest.fixture()
def project(workdir: Path, source: Path) -> Path:
    """A project with the guide's parameters and data."""

    def merge(into: dict[str, Any], more: dict[str, Any]) -> None:
        for key, value in more.items():
            if isinstance(value, dict) and isinstance(into.get(key), dict):
                merge(into[key], value)
            else:
                into[key] = value

    yaml = YAML(typ="safe")
    values = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    profile = yaml.load(example("profiles/capitals.yaml"))
    assert profile.pop("extends") == "sample"
    merge(values, profile)
    profile_values.complete(values)
    with (workdir / "params.yaml").open("w", encoding="utf-8") as stream:
        yaml.dump(values, stream)
    shutil.copy(ROOT / "dvc.yaml", workdir)
    file = workdir / "data/own-capitals/capitals.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(example(file.relative_to(workdir).as_posix()) + '{"id": "3", "country": "Mali"}\n')
    (workdir / "capitals").symlink_to(source)
    return workdir


def started(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process that has the package on its path."""
    path = os.pathsep.join([str(installed), str(ROOT)])
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def run(installed: Path, *words: str) -> str:
    done = started(installed, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_benchmark_is_ingested_asked_scored_and_in_the_graph(installed: Path, project: Path) -> None:
    run(installed, "-m", "stages.questions", "capitals")
    assert [row["reason"] for row in tables.read_rejected(Path("data/questions/capitals")).to_pylist()] == [
        "no capital"
    ]
    asked = tables.read_rows(Path("data/questions/capitals"), contracts.QUESTIONS)
    assert [(row["id"], row["references"]) for row in asked] == [("1", ["Paris"]), ("2", ["Tokyo"])]
    answers = [{"task": "capitals", "id": "1", "prediction": "Paris, of course"}]
    Path("answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    command = "score --benchmark capitals --predictions answers.jsonl --json"
    nightjar = "from pipelines.cli import main; main()"
    told = json.loads(run(installed, "-c", nightjar, *command.split()))
    assert (told["n"], told["missing"], told["metrics"]) == (2, 1, {"capitals": 50.0})
    for name in ("answers.jsonl", "references.jsonl"):
        Path(name).write_text(example(name), encoding="utf-8")
    command = "score --benchmark capitals --predictions answers.jsonl --references references.jsonl"
    assert command in GUIDE
    told = json.loads(run(installed, "-c", nightjar, *command.split(), "--json"))
    assert (told["n"], told["missing"], told["metrics"]) == (2, 0, {"capitals": 50.0})
    subprocess.run(["git", "init", "-q", "."], check=True)
    run(installed, "-m", "dvc", "init", "-q")
    listed = run(installed, "-m", "dvc", "stage", "list", "--name-only").split()
    assert {"questions@capitals", "predict@capitals-untuned", "evaluate@capitals"} <= set(listed)


def test_code_that_is_not_what_the_graph_watches_is_refused(
    installed: Path, source: Path, project: Path
) -> None:
    """A copy of the code is as good, until either of the two is edited."""
    (project / "capitals").unlink()
    shutil.copytree(source, project / "capitals", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    run(installed, "-m", "stages.questions", "capitals")
    module = project / "capitals/capitals_benchmark.py"
    module.write_text(module.read_text() + "\n# edited\n")
    done = started(installed, "-m", "stages.questions", "capitals")
    what = f"benchmarks.capitals.code is capitals, but the code in use is {source / module.name}"
    assert done.returncode == 2 and done.stderr.startswith(f"nightjar: params.yaml: {what}; install ")
    assert done.stderr.count("\n") == 1


def test_the_parameters_are_a_profile_too(project: Path) -> None:
    shutil.copytree(ROOT / "profiles", project / "profiles")
    (project / "profiles/capitals.yaml").write_text(example("profiles/capitals.yaml"), encoding="utf-8")
    assert captured(main, ["use", "capitals"]).returncode == 0
    values = read_yaml(project / "params.yaml")
    assert values["benchmarks"]["capitals"]["code"] == "capitals"
    assert list(values["predict"]["systems"])[-1] == "capitals-untuned"
    assert (values["benchmarks"]["capitals"]["split"], values["predict"]["capitals"]) == ("data/none", {})
    assert "supernatinst-untuned" in values["predict"]["systems"], "added, as the guide says"


def test_a_tool_is_called(installed: Path, project: Path) -> None:
    nightjar = "from pipelines.cli import main; main()"
    assert run(installed, "-c", nightjar, "call", "Thesaurus(big)") == "large\n"


def test_an_encoder_and_a_tool_are_named_by_the_guide_s_commands(installed: Path, project: Path) -> None:
    shutil.copytree(ROOT / "profiles", project / "profiles")
    (project / "profiles/capitals.yaml").write_text(example("profiles/capitals.yaml"), encoding="utf-8")
    command = "use capitals --set models.sentence_encoder.source=entry:letters"
    assert f"$ nightjar {command}" in GUIDE
    run(installed, "-c", "from pipelines.cli import main; main()", *command.split())
    values = read_yaml(project / "params.yaml")["models"]["sentence_encoder"]
    assert (values["source"], values["sha256"]) == ("entry:letters", None)
    before = read_yaml(project / "params.yaml")["augment"]["tools"].keys()
    (project / "profiles/thesaurus.yaml").write_text(example("profiles/thesaurus.yaml"), encoding="utf-8")
    run(installed, "-c", "from pipelines.cli import main; main()", "use", "thesaurus")
    assert read_yaml(project / "params.yaml")["augment"]["tools"].keys() == before | {"thesaurus"}


def test_an_encoder_indexes_and_finds(installed: Path, project: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from nightjar.params.inputs import EncoderSource\n"
        "from nightjar.search import load_encoder\n"
        "from stages.base_model.prepare import make_encoder_ready\n"
        "make_encoder_ready(EncoderSource(source='entry:letters'), Path('encoder'))\n"
        "encoder = load_encoder(Path('encoder'))\n"
        "print(encoder.encode(['Paris', 'sirap', 'Oslo']).round(3).argmax(axis=1).tolist(), encoder.dimension)\n"
    )
    assert run(installed, "-c", code) == "[0, 0, 14] 26\n"


def test_a_model_is_evaluated_and_asked(
    installed: Path, source: Path, project: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "models/base").mkdir(parents=True)
    (project / "models/base/language_model").symlink_to(tiny_model)
    # The package, and where pip left what it registers.
    for folder in (source, *installed.glob("lib/python*/site-packages")):
        monkeypatch.syspath_prepend(folder)
    registry._points.cache_clear()
    model = ["--model", "entry:pipeline#models/base/language_model"]
    try:
        assert run_stage("questions", "capitals").returncode == 0
        done = captured(main, ["evaluate", *model, "--benchmark", "capitals", "--output", "../run", "--json"])
        assert done.returncode == 0, done.stderr
        own = ["--model", "models/base/language_model", "--set", "predict.defaults.precision=float32"]
        other = captured(main, ["evaluate", *own, "--benchmark", "capitals", "--output", "../own", "--json"])
        assert other.returncode == 0, other.stderr
    finally:
        registry._points.cache_clear()
        registry._packaged.cache_clear()
    record = json.loads(done.stdout)
    name, same = record["name"], json.loads(other.stdout)["name"]
    rows = [
        tables.read_rows(Path(folder, "data/predict/capitals", system), contracts.PREDICTIONS)
        for folder, system in (("../run", name), ("../own", same))
    ]
    given = [[row["answers"] for row in found] for found in rows]
    assert len(given[0]) == 2 and given[0] == given[1], "greedy, as the engine of Nightjar"
