"""The whole graph on a tiny random model, by both drivers: plain DVC, and `nightjar rebuild`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nightjar.benchmarks import registry
from nightjar.benchmarks.question_set import check_settings
from nightjar.core import contracts, tables
from nightjar.params import load
from nightjar.predict.requests import write_prompts
from pipelines.graph import leftovers
from pipelines.graph import repository as graphs
from tests.conftest import ROOT
from tests.pipelines import forked
from tests.pipelines.conftest import Api, Repo
from tests.tiny_models import language_model, sentence_encoder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# What runs, of the items that params.yaml lists: one of each kind, as each stage of a model costs seconds to start.
TOOLS = ("calculator", "wiki_search")
RECIPES = ("combined",)
READERS = ("reader", "pgra")
SYSTEMS = (
    "supernatinst-untuned",
    "supernatinst-combined",
    "tool_use-combined",
    "classification-pgra",
    "protoqa-human",
    "zeroscrolls-untuned",
)
# What plain DVC makes a second time, with what it needs: stages with a model and without.
BY_DVC = ("predict@supernatinst-untuned",)
# Half of the tasks of either side, a few instances each; lengths that a random model fills in no time.
SMALL: dict[str, Any] = {
    "split": {
        "train_tasks": 6,
        "train_instances_per_task": 3,
        "dev_tasks": 2,
        "dev_instances_per_task": 2,
        "test_tasks": 13,
        "test_instances_per_task": 2,
        "supervised_instances_per_task": 2,
    },
    "augment": {"max_documents": 3, "max_targets": 3, "max_call_tokens": 6, "precision": "float32"},
    "train": {name: {"precision": "float32", "max_steps": 3, "evaluate_every": 2} for name in RECIPES},
    "readers": {name: {"max_steps": 2, "evaluate_every": 1} for name in READERS},
    "benchmarks": {
        "tool_use": {"questions_per_task": 2, "dateset_questions": 4},
        "classification": {"tasks": ["sst2", "trec"], "questions_per_task": 4},
        "zeroscrolls": {"tasks": ["quality", "musique"], "questions_per_task": 1},
    },
}
ANSWERS = {"max_new_tokens": 6, "precision": "float32"}


def overlay(values: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, value in changes.items():
        if isinstance(value, dict):
            overlay(values[key], value)
        else:
            values[key] = value


def without_texts(values: dict[str, Any]) -> None:
    """Leave out the recipes that train on documents with calls, and their systems: a random model writes no calls."""
    recipes, systems = values["train"]["recipes"], values["predict"]["systems"]
    for name in [name for name in recipes if recipes[name]["data"] == "corpus"]:
        del recipes[name]
        for system in [key for key, it in systems.items() if it["weights"] == f"models/train/{name}"]:
            del systems[system]


def project(folder: Path, models: Path) -> Path:
    """A copy of the project's tracked files with small parameters and tiny models, under Git and DVC."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.split()
    for name in listed:
        if name.split("/")[0] in ("tests", "docs", "benchmarks") or not (ROOT / name).is_file():
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    yaml = YAML()
    values = yaml.load((folder / "params.yaml").read_text())
    sources = {name: {"source": str(models / name), "sha256": None} for name in values["models"]}
    sources["sentence_encoder"]["pooling"] = "mean"
    lists = (
        (values["augment"]["tools"], TOOLS),
        (values["train"]["recipes"], RECIPES),
        (values["readers"]["recipes"], READERS),
    )
    for items, kept in (*lists, (values["predict"]["systems"], SYSTEMS)):
        for name in set(items) - set(kept):
            del items[name]
    overlay(values, SMALL | {"models": sources, "predict": {name: ANSWERS for name in values["benchmarks"]}})
    without_texts(values)
    with (folder / "params.yaml").open("w") as stream:
        yaml.dump(values, stream)
    (folder / "dvc.lock").unlink(missing_ok=True)
    name = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    for words in (["init", "-q"], ["add", "."], [*name, "commit", "-q", "-m", "test"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def environment() -> dict[str, str]:
    folder = Path(sys.executable).parent
    return os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def outputs(folder: Path) -> dict[str, dict[str, str]]:
    """What dvc.lock says every stage made: path to hash."""
    lock = YAML(typ="safe").load((folder / "dvc.lock").read_text())
    return {
        stage: {out["path"]: out["md5"] for out in entry["outs"]} for stage, entry in lock["stages"].items()
    }


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for make in (language_model, sentence_encoder):
        (folder / make.__name__).mkdir()
        make(folder / make.__name__)
    return folder


@pytest.fixture(scope="module")
def python() -> str:
    """A `python` that forks: what stages load takes longer than what they do."""
    return forked.interpreter()


@pytest.fixture(scope="module")
def built(python: str, models: Path, tmp_path_factory: pytest.TempPathFactory, api: Api) -> Path:
    """The project after `nightjar rebuild`."""
    folder = project(tmp_path_factory.mktemp("flow"), models)
    api.serve(Repo(folder))
    command = ["rebuild", "--jobs", "2"]
    process = forked.start("nightjar", command, folder, environment(), python=python)
    out, err = process.communicate()
    assert process.returncode == 0, out[-3000:] + err[-3000:]
    assert "data/report/index.html" in out
    return folder


def test_every_artifact_is_there_and_keeps_its_accounts(built: Path) -> None:
    assert outputs(built).keys() == graphs.outline(built).stages.keys()
    for facts_file in (built / "data/metrics").glob("*.json"):
        facts = json.loads(facts_file.read_text())
        assert facts["rows_in"] == facts["rows_out"] + facts["rows_rejected"], facts_file.name
        assert all((built / output).exists() for output in facts["outputs"])
    test = tables.read_rows(built / "data/split", contracts.TEST)
    assert len({row["category"] for row in test}) > 8
    train = tables.read_rows(built / "data/split", contracts.TRAIN)
    dev = tables.read_rows(built / "data/split", contracts.DEV)
    sides = [{row["task_id"] for row in rows} for rows in (train, dev, test)]
    assert all(sides) and not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2])
    supervised = tables.read_rows(built / "data/split", contracts.SUPERVISED)
    assert {row["task_id"] for row in supervised} <= sides[2]
    assert not {row["id"] for row in supervised} & {row["id"] for row in test}
    params = load(built / "params.yaml")
    asked = {
        name: tables.read_rows(built / "data/questions" / name, contracts.QUESTIONS)
        for name in params.benchmarks
    }
    assert [(row["task_id"], row["id"]) for row in asked["supernatinst"]] == sorted(
        ((row["task_id"], row["id"]) for row in test), key=lambda key: key[0]
    )
    for name in params.benchmarks:
        for system in params.predict.of(name):
            rows = tables.read_rows(built / "data/predict" / name / system, contracts.PREDICTIONS)
            assert [(row["task_id"], row["id"]) for row in rows] == [
                (row["task_id"], row["id"]) for row in asked[name]
            ]
        scores = tables.read_rows(built / "data/evaluate" / name, contracts.SCORES)
        baselines = registry.load_benchmark(name).baselines(
            check_settings(registry.load_benchmark(name), params.benchmarks[name].settings())
        )
        assert {row["system"] for row in scores} == {*baselines, *params.predict.of(name)}
    assert (built / "data/report/index.html").read_text().startswith("<!doctype html>")


def run_dvc(python: str, folder: Path, *words: str) -> str:
    identity = {
        f"GIT_{role}_{part}": "test@localhost"
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL")
    }
    process = subprocess.run(
        [python, "-m", "dvc", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment() | identity,
    )
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]
    return process.stdout


def test_the_metrics_and_plots_of_dvc_are_the_scores_and_the_losses(python: str, built: Path) -> None:
    shown = json.loads(run_dvc(python, built, "metrics", "show", "--json"))
    assert list(shown[""]["data"]) == ["data/scores.json"]
    scores = shown[""]["data"]["data/scores.json"]["data"]
    assert {f"{name}-{system}" for name in scores for system in scores[name]} >= set(SYSTEMS)
    for file, heads in (
        ("losses.csv", ("recipe", "curve")),
        ("leaderboard.csv", ("benchmark", "low", "high")),
    ):
        plot = json.loads(run_dvc(python, built, "plots", "show", "--show-vega", f"data/report/{file}"))
        drawn = json.dumps({key: value for key, value in plot.items() if key != "data"})
        rows = plot["data"]["values"]
        assert rows and all(f'"{head}"' in drawn and head in rows[0] for head in heads)


def test_dvc_runs_an_experiment_with_another_setting(python: str, models: Path, tmp_path: Path) -> None:
    """DVC writes params.yaml anew, and stages read what DVC has written."""
    folder = project(tmp_path, models)
    run_dvc(python, folder, "exp", "run", "-S", "split.dev_tasks=1", "split")
    assert load(folder / "params.yaml").split.dev_tasks == 1
    assert len({row["task_id"] for row in tables.read_rows(folder / "data/split", contracts.DEV)}) == 1


def test_evidence_is_in_the_prompts_of_the_recipe_that_wants_it(built: Path) -> None:
    for system, wanted in (("combined", True), ("untuned", False)):
        rows = tables.read_rows(built / f"data/predict/supernatinst/{system}", contracts.PREDICTIONS)
        assert all(("\nEvidence 1 - " in "\n" + row["prompt"]) == wanted for row in rows)


def test_the_prompts_for_other_models_are_those_of_the_untuned_model(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built)
    write_prompts(load(), "supernatinst", tmp_path / "prompts.jsonl")
    written = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    rows = tables.read_rows(Path("data/predict/supernatinst/untuned"), contracts.PREDICTIONS)
    assert [(row["id"], row["prompt"]) for row in written] == [(row["id"], row["prompt"]) for row in rows]


def test_plain_dvc_makes_the_same_artifacts_where_prefect_is_not_installed(
    built: Path, python: str, models: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = project(tmp_path_factory.mktemp("repro"), models)
    hidden = tmp_path_factory.mktemp("hidden")
    (hidden / "prefect.py").write_text("raise ImportError('Prefect is not installed')\n")
    command = [python, "-m", "dvc", "repro", *BY_DVC]
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "PYTHONPATH": str(hidden)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    made, ours = outputs(folder), outputs(built)
    assert {*BY_DVC, "base_model", "split"} <= made.keys()
    assert made == {stage: ours[stage] for stage in made}


def test_a_second_rebuild_runs_nothing(built: Path) -> None:
    before = outputs(built)
    again = Repo(built).here("rebuild", "--jobs", "2", "--json")
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert {stage["state"] for stage in told["stages"]} == {"unchanged"}
    assert told["report"] == "data/report/index.html"
    assert told["headline"]
    assert outputs(built) == before


def test_a_prediction_is_traced_to_its_raw_line(built: Path) -> None:
    row = tables.read_rows(built / "data/predict/supernatinst/combined", contracts.PREDICTIONS)[0]
    done = Repo(built).here("trace", f"{row['task_id']}:{row['id']}", "--benchmark", "supernatinst", "--json")
    assert done.returncode == 0, done.stderr
    assert row["id"] in done.stdout
    assert "data/sample/natural_instructions" in done.stdout


def test_nothing_in_the_folders_that_stages_read_is_made_by_no_stage(built: Path) -> None:
    whole = graphs.read(built)
    assert whole.changed() == [] and leftovers.find(whole, whole) == []
    assert not list((built / "data").rglob(".gitignore"))
