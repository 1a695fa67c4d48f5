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

from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from pipelines.cli import main
from tests.conftest import ROOT
from tests.in_process import captured

GUIDE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    """The content that the guide gives to a file."""
    found = re.search(rf"^`{re.escape(name)}`:\n```\w+\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    assert found, name
    return found[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip installed the guide's package."""
    source, target = tmp_path_factory.mktemp("capitals"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", *re.findall(r"^`(\w+\.py)`:", GUIDE, re.MULTILINE)):
        (source / name).write_text(example(name), encoding="utf-8")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-index"),
            *("--no-deps", "--no-build-isolation", "--target", target, source),
        ],
        check=True,
    )
    return target


@pytest.fixture()
def project(workdir: Path) -> Path:
    """A project with the guide's parameters and data."""

    def merge(into: dict[str, Any], more: dict[str, Any]) -> None:
        for key, value in more.items():
            if isinstance(value, dict) and isinstance(into.get(key), dict):
                merge(into[key], value)
            else:
                into[key] = value

    yaml = YAML(typ="safe")
    values = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    merge(values, yaml.load(example("params.yaml")))
    with (workdir / "params.yaml").open("w", encoding="utf-8") as stream:
        yaml.dump(values, stream)
    shutil.copy(ROOT / "dvc.yaml", workdir)
    file = workdir / "data/own-capitals/capitals.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(example(file.relative_to(workdir).as_posix()) + '{"id": "3", "country": "Mali"}\n')
    (workdir / "capitals").mkdir()
    return workdir


def run(installed: Path, *words: str) -> str:
    """What a command prints in a process that has the package on its path."""
    path = os.pathsep.join([str(installed), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_benchmark_is_ingested_asked_scored_and_in_the_graph(installed: Path, project: Path) -> None:
    run(installed, "-m", "stages.ingest", "capitals")
    assert [row["reason"] for row in tables.read_rejected(Path("data/ingest/capitals")).to_pylist()] == [
        "no capital"
    ]
    run(installed, "-m", "stages.questions", "capitals")
    asked = tables.read_rows(Path("data/questions/capitals"), contracts.QUESTIONS)
    assert [(row["id"], row["references"]) for row in asked] == [("1", ["Paris"]), ("2", ["Tokyo"])]
    answers = [{"task": "capitals", "id": "1", "prediction": "Paris, of course"}]
    Path("answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    command = "score --benchmark capitals --predictions answers.jsonl --json"
    nightjar = "from pipelines.cli import main; main()"
    told = json.loads(run(installed, "-c", nightjar, *command.split()))
    assert (told["n"], told["missing"], told["metrics"]) == (2, 1, {"capitals": 50.0})
    subprocess.run(["git", "init", "-q", "."], check=True)
    run(installed, "-m", "dvc", "init", "-q")
    listed = run(installed, "-m", "dvc", "stage", "list", "--name-only").split()
    assert {"ingest@capitals", "questions@capitals", "predict@capitals-untuned", "evaluate@capitals"} <= set(
        listed
    )


def test_the_parameters_are_a_profile_too(project: Path) -> None:
    shutil.copytree(ROOT / "profiles", project / "profiles")
    (project / "profiles/capitals.yaml").write_text(example("params.yaml"), encoding="utf-8")
    assert captured(main, ["use", "capitals"]).returncode == 0
    values = read_yaml(project / "params.yaml")
    assert values["benchmarks"]["capitals"]["code"] == "capitals"
    assert list(values["predict"]["systems"])[-1] == "capitals-untuned"
    assert "supernatinst-untuned" in values["predict"]["systems"], "added, as the guide says"


def test_a_tool_is_called(installed: Path, project: Path) -> None:
    nightjar = "from pipelines.cli import main; main()"
    assert run(installed, "-c", nightjar, "call", "Thesaurus(big)") == "large\n"


def test_an_encoder_indexes_and_finds(installed: Path, project: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from nightjar.core.params import EncoderSource\n"
        "from nightjar.search import load_encoder\n"
        "from stages.base_model.prepare import make_encoder_ready\n"
        "make_encoder_ready(EncoderSource(source='entry:letters'), Path('encoder'))\n"
        "encoder = load_encoder(Path('encoder'))\n"
        "print(encoder.encode(['Paris', 'sirap', 'Oslo']).round(3).argmax(axis=1).tolist(), encoder.dimension)\n"
    )
    assert run(installed, "-c", code) == "[0, 0, 14] 26\n"
