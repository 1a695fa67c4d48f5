"""Studies on a made graph: real DVC, real signals, scores that are known beforehand."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from nightjar.core.config import parse
from nightjar.core.errors import NightjarError
from pipelines.study import results
from pipelines.study import scores as study_scores
from pipelines.study import study as studies
from tests.pipelines.conftest import Repo, lives, wait_for
from tests.pipelines.study_project import commit
from tests.questions import question


@pytest.fixture()
def project(study_repo: Repo) -> Repo:
    return study_repo


def runs(repo: Repo) -> list[str]:
    """What the made stages noted: one line for every start of a training."""
    path = Path(os.environ["STUDY_RUNS"])
    return path.read_text().split("\n")[:-1] if path.exists() else []


def experiments(repo: Repo) -> list[str]:
    told = subprocess.run(
        ["git", "for-each-ref", "--format=%(refname:lstrip=4)", "refs/exps"],
        cwd=repo.root,
        capture_output=True,
        text=True,
    )
    return sorted(name for name in told.stdout.split() if "EXEC" not in name)


def values(result: dict, metric: str = "exact_match") -> dict[str, float]:
    return {
        point["value"]: row["value"]
        for point in result["points"]
        for row in point["scores"]
        if row["metric"] == metric
    }


def nothing_left(repo: Repo) -> None:
    assert not (repo.root / ".nightjar/study").exists()
    assert not list((repo.root / ".nightjar").glob("running/*"))
    tmp = repo.root / ".dvc/tmp/exps"
    assert not tmp.exists() or not [path for path in tmp.rglob("tmp*")]


def test_a_study_runs_each_value_once_and_tells_known_scores(project: Repo) -> None:
    before = (project.root / "params.yaml").read_text()
    project.write(notes="a change in hand\n")
    Path(os.environ["STUDY_RUNS"] + ".edit").write_text(str(project.root))
    done = project.nightjar("study", "tasks", "--values", "8,2", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    # The made model answers as many of 16 instances as it had training tasks.
    assert values(result) == {"2": 12.5, "8": 50.0}
    assert result["changed_files"] == ["notes.txt"]
    # Neither point has what was edited while the first ran.
    notes = "notes: a change in hand"
    assert runs(project) == ["train 2 begins", notes, "train 8 begins", notes]
    assert (project.root / "notes.txt").read_text() == "edited meanwhile"
    project.write(notes="a change in hand\n", params=before)
    assert [point["train_tasks"] for point in result["points"]] == [2, 8]
    assert result["test_instances"]["n"] == 16
    (difference,) = (row for row in result["points"][1]["differences"] if row["metric"] == "exact_match")
    assert (difference["baseline"], difference["value"], difference["n"]) == ("2", 37.5, 16)
    assert difference["low"] is None and not difference["moved"], "16 instances are too few"
    nothing_left(project)
    # They are DVC experiments on this commit, each with its parameter.
    shown = json.loads(project.dvc("exp", "show", "--json"))
    (head,) = (entry for entry in shown if entry["rev"] != "workspace")
    told = {
        exp["name"]: exp["revs"][0]["data"]["params"]["params.yaml"]["data"] for exp in head["experiments"]
    }
    assert {name: params["split"]["train_tasks"] for name, params in told.items()} == {
        point["experiment"]: int(point["value"]) for point in result["points"]
    }
    assert all(params["encoding"]["definition"] for params in told.values())

    folder = project.root / "data/studies/tasks"
    kept = {name: (folder / name).read_bytes() for name in ("study.json", "study.md", "plot.png", "plot.svg")}
    assert kept["plot.png"].startswith(b"\x89PNG")
    assert "| 8 | 8 tasks, 32 instances | 16 | 50.0 n<20" in kept["study.md"].decode()
    again = project.here("study", "tasks", "--values", "2,8")
    assert again.returncode == 0 and "2 of them done already" in again.stderr
    assert {name: (folder / name).read_bytes() for name in kept} == kept
    assert len(runs(project)) == 4
    # Without its files an experiment counts as missing.
    shutil.rmtree(project.root / ".dvc/cache")
    lost = json.loads(project.here("study", "tasks", "--values", "2,8", "--dry-run", "--json").stdout)
    assert [row["done"] for row in lost] == [False, False]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stopped_study_leaves_nothing_and_one_that_was_killed_goes_on(project: Repo) -> None:
    slow = Path(os.environ["STUDY_RUNS"] + ".slow")
    slow.write_text("4")

    def pids() -> list[int]:
        return [int(line[4:]) for line in runs(project) if line.startswith("pid ")]

    stopped = project.start("study", "tasks", "--values", "2,4")
    wait_for(pids, 300)
    stopped.send_signal(signal.SIGTERM)
    _, err = stopped.communicate(timeout=120)
    assert stopped.returncode == 130, err
    assert not lives(pids()[0])
    nothing_left(project)
    assert len(experiments(project)) == 1

    killed = project.start("study", "tasks", "--values", "2,4")
    wait_for(lambda: len(pids()) == 2, 300)
    killed.kill()
    killed.communicate(timeout=120)
    assert len(experiments(project)) == 1
    slow.write_text("0")
    done = project.nightjar("study", "tasks", "--values", "2,4", "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    assert not lives(pids()[1])
    nothing_left(project)
    # The first value is not run again; the training of the second finds the checkpoint of the stopped one.
    trained = [line for line in runs(project) if line.startswith("train")]
    assert trained == ["train 2 begins", "train 4 begins", "train 4 goes on", "train 4 goes on"]
    assert values(json.loads(done.stdout)) == {"2": 12.5, "4": 25.0}


@pytest.mark.slow
def test_encodings_train_once_for_all_evaluations(project: Repo) -> None:
    done = project.nightjar(
        "study", "encodings", "--values", "def_pos2", "--evaluated", "def,def_pos2", "--json"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    # 6 and 8 of 16 right, and two more because the training had two examples.
    assert values(result) == {"def_pos2 on def_pos2": 62.5, "def_pos2 on def": 50.0}
    assert runs(project) == ["train 12 begins", "notes: as committed"]
    (row,) = (row for row in result["points"][1]["differences"] if row["metric"] == "exact_match")
    assert (row["baseline"], row["value"]) == ("def_pos2 on def_pos2", -12.5)
    text = (project.root / "data/studies/encodings/study.md").read_text()
    assert "| trained with | def_pos2 | def |" in text


@pytest.mark.slow
def test_models_are_told_by_their_parameters_and_one_that_fails_does_not_stop_the_others(
    project: Repo,
) -> None:
    (project.root / "fail.txt").write_text("package:made-3")
    commit(project.root, "a fault")
    models = ("package:made-3", "package:made-16")
    done = project.nightjar("study", "models", "--values", ",".join(models), "--json", timeout=300)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    failed, good = result["points"]
    assert (failed["value"], failed["state"], failed["scores"]) == (models[0], "failed", [])
    assert "the training broke" in failed["error"]
    assert (good["state"], good["error"], good["parameters"]) == ("done", None, 32)
    assert values(result) == {models[1]: 100.0}
    (name,) = experiments(project)
    assert "package-made-16" in name


def test_points_on_different_test_instances_are_not_compared(
    project: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = studies.plan(project.root, "tasks", ["2", "4"])
    row = {"task_id": "test", "id": "1", "outputs": ["yes"]}
    other = {"2": question(row), "4": question(row | {"outputs": ["no"]})}
    made = {point.name: study_scores.Artifacts([other[point.label]], {}) for point in study.points}
    monkeypatch.setattr(study_scores, "read", lambda root, commit, study, size: made[commit])
    commits = {name: name for name in made}
    with pytest.raises(NightjarError, match="4 was tested on other instances"):
        study_scores.collect(project.root, study, commits, {})


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("tasks", ["4", "13"], "13 is more than there is; there are 12 training tasks"),
        ("tasks", ["0"], "split.train_tasks = 0 is not allowed"),
        ("tasks", ["x"], "'x' is not a number"),
        ("tasks", ["1" * 5000], "is not a number"),
        ("models", ["hub:"], "hub: names no model"),
        ("models", ["m" * 5000], "no model there"),
        ("instances", ["11"], "there are 10 instances in the largest training task"),
        ("models", [], "no values for models.language_model.source"),
        ("models", ["nowhere"], "no model there"),
        ("encodings", ["deff"], "no such encoding"),
        ("encodings", ["tk_instruct"], "there is none to evaluate with"),
    ],
)
def test_a_value_that_cannot_be_had_is_refused_before_any_work(
    project: Repo, kind: str, given: list[str], told: str
) -> None:
    with pytest.raises(NightjarError, match=re.escape(told)):
        studies.plan(project.root, kind, given)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tasks", "--values", ""), "--values: no value"),
        (("tasks", "--values", " , "), "--values: no value"),
        (("encodings", "--values", "def", "--evaluated", ""), "--evaluated: no value"),
        (("tasks", "--name", "n" * 256), "--name: "),
        (("tasks", "--name", "a\nb"), "--name: "),
        (("tasks", "--name", "taken"), "data/studies/taken: not a folder"),
        (("tasks", "--recipe", "combined"), "predict@supernatinst-combined: no such stage"),
        (
            ("tasks", "--benchmark", "other"),
            "--benchmark: no benchmark 'other'; params.yaml has: supernatinst",
        ),
    ],
)
def test_wrong_options_are_one_line_before_any_work(
    project: Repo, arguments: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "run", lambda *_: pytest.fail("it ran"))
    (project.root / "data/studies").mkdir()
    (project.root / "data/studies/taken").write_text("")
    done = project.here("study", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert told in done.stderr and len(done.stderr) < 600


def test_the_published_grid_as_far_as_the_data_go(project: Repo) -> None:
    labels = [point.label for point in studies.plan(project.root, "tasks", []).points]
    assert labels == ["8", "12"]  # all of them, where the published grid ends with 757 of 757
    assert [point.label for point in studies.plan(project.root, "instances", []).points] == ["8"]
    grid = studies.plan(project.root, "encodings", []).points
    assert len(grid) == 6 * 5
    assert [point.axes for point in grid if point.against is None][-1] == ("tk_instruct", "def")


def test_a_study_of_calls(project: Repo) -> None:
    """Table 9 of the Toolformer paper: k is a setting of the prediction alone."""
    points = studies.plan(project.root, "calls", []).points
    assert [(point.label, point.against) for point in points] == [
        ("0", None),
        ("1", "0"),
        ("3", "0"),
        ("10", "0"),
    ]
    assert [dict(point.settings) for point in points] == [
        {"predict.supernatinst.call_top_k": k} for k in (0, 1, 3, 10)
    ]
    assert [point.label for point in studies.plan(project.root, "calls", ["5", "00", "2"]).points] == [
        "0",
        "2",
        "5",
    ]
    for value, told in (("-1", "is not a number"), ("k", "is not a number"), ("", "is not a number")):
        with pytest.raises(NightjarError, match=told):
            studies.plan(project.root, "calls", [value])


def test_the_table_of_a_study_of_calls() -> None:
    row = {"track": "t", "metric": "accuracy", "n": 4, "value": 50.0, "low": None, "high": None}
    calls = {
        "track": "t",
        "metric": "accuracy",
        "with_call": None,
        "without_call": 50.0,
        "share": 0.0,
        "tools": {},
    }
    point = {
        "value": "0",
        "axes": ["0"],
        "state": "done",
        "scores": [row],
        "differences": [],
        "calls": [calls],
    }
    result = {
        "study": "calls",
        "metrics": [{"name": "accuracy", "title": "accuracy", "unit": "%"}],
        "points": [point],
    }
    (shown,) = results.table(result, "t")
    assert shown["calls"] == "0" and shown["with a call"] == "–"
    assert (shown["without a call"], shown["calling (%)"]) == ("50.0", "0.0")
    assert shown["state"] == "done" and "trained on" not in shown  # it has no counts of training tasks


def test_the_defaults_are_the_first_benchmark_and_its_first_trained_system(project: Repo) -> None:
    study = studies.plan(project.root, "tasks", ["4"])
    assert (study.target, study.name) == ("predict@supernatinst-tk_instruct", "tasks")
    params = project.root / "params.yaml"
    values = parse(params.read_text(), params)
    first = dict(values["predict"]["systems"].items())
    values["predict"]["systems"] = {
        name: first[name] for name in sorted(first, key=lambda name: name != "supernatinst-combined")
    }
    params.write_text(json.dumps(values))
    study = studies.plan(project.root, "tasks", ["4"], recipe="tk_instruct")
    assert (study.benchmark, study.recipe, study.name) == ("supernatinst", "tk_instruct", "tasks-tk_instruct")
    values["predict"]["systems"] = {
        name: first[name] for name in ("tool_use-untuned", "supernatinst-tk_instruct")
    }
    supernatinst = values["benchmarks"].pop("supernatinst")
    values["benchmarks"]["supernatinst"] = supernatinst
    params.write_text(json.dumps(values))
    study = studies.plan(project.root, "tasks", ["4"])
    assert (study.benchmark, study.name) == ("supernatinst", "tasks"), "the first with a trained system"
    values["benchmarks"] = {"supernatinst": supernatinst}
    values["predict"]["systems"] = {"supernatinst-untuned": first["supernatinst-untuned"]}
    params.write_text(json.dumps(values))
    with pytest.raises(NightjarError, match="no system of supernatinst is trained"):
        studies.plan(project.root, "tasks", ["4"])


def test_names_follow_what_decides_the_result(project: Repo) -> None:
    def name() -> str:
        return studies.plan(project.root, "tasks", ["4"]).points[0].name

    first = name()
    assert re.fullmatch(r"tasks-4-[0-9a-f]{10}", first)
    params = project.root / "params.yaml"
    params.write_text(params.read_text() + "# only a remark\n")
    assert name() == first
    params.write_text(params.read_text().replace("seed: 42", "seed: 43"))
    changed = name()
    assert changed != first
    (project.root / "made.py").write_text("# another\n")
    assert name() not in (first, changed)


def test_the_weights_of_a_directory_are_part_of_the_name(project: Repo) -> None:
    folder = project.root / "models/mine"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")

    def planned() -> studies.Point:
        return studies.plan(project.root, "models", ["models/mine"]).points[0]

    with pytest.raises(NightjarError, match="no weights in this model directory"):
        planned()
    (folder / "model.safetensors").write_bytes(b"one")
    first = planned()
    # base_model checks them against it, and DVC does not take other weights out of its run cache.
    assert first.settings["models.language_model.sha256"] == sha256(b"one").hexdigest()
    (folder / "model.safetensors").write_bytes(b"two")
    assert planned().name != first.name


def test_without_a_commit_there_is_one_line(repo: Repo) -> None:
    done = repo.here("study", "tasks")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "this needs a Git repository with a commit" in done.stderr


def test_the_place_of_the_results_is_checked_before_the_experiments(project: Repo) -> None:
    words = ("study", "tasks", "--values", "2", "--name")
    (project.root / "data/studies").mkdir(parents=True, exist_ok=True)
    (project.root / "data/studies/notes").write_text("precious")
    (project.root / "data/studies/linked").mkdir()
    (project.root / "data/studies/linked/study.md").symlink_to("../notes")
    for name, told in (
        ("notes", "data/studies/notes: not a folder"),
        ("x" * 256, "is not a folder's name"),
        ("linked", "study.md: a symbolic link to ../notes"),
    ):
        done = project.here(*words, name)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (project.root / "data/studies/notes").read_text() == "precious"
    assert runs(project) == [] and experiments(project) == []
