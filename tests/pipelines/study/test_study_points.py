"""Studies on a made graph: real DVC, real signals, scores that are known beforehand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path

import pytest

from nightjar.core.config import parse
from nightjar.core.contracts import PREDICTIONS
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter
from pipelines.study import point_results, study_points
from pipelines.study.settings import axes
from tests.in_process import check_refusals
from tests.pipelines.conftest import Repo, lives, wait_for
from tests.pipelines.study_project import commit
from tests.questions import question, row_of, write_questions


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
    done = project.nightjar("study", "tasks=2,8", "--json")
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
    sides = [point["training side"] for point in result["points"]]
    assert sides == ["2 tasks, 8 instances", "8 tasks, 32 instances"]
    first, second = (row for row in point_results.flat(result) if row["metric"] == "exact_match")
    assert first["difference"] is None
    assert (second["tasks"], second["difference"], second["n"]) == (8, 37.5, 16)
    assert second["difference_low"] is None and second["p"] is None, "16 instances are too few"
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
    kept = {name: (folder / name).read_bytes() for name in point_results.FILES}
    assert kept["plot.png"].startswith(b"\x89PNG")
    assert (
        kept["study.csv"]
        .decode()
        .startswith("tasks,experiment,state,track,metric,n,value,low,high,difference,")
    )
    again = project.here("study", "tasks=2,8")
    assert again.returncode == 0 and "2 experiments, all done already" in again.stderr
    assert "8      8 tasks, 32 instances  16  50.0 n<20" in again.stdout
    assert {name: (folder / name).read_bytes() for name in kept} == kept
    assert len(runs(project)) == 4
    # Without its files an experiment counts as missing.
    shutil.rmtree(project.root / ".dvc/cache")
    lost = json.loads(project.here("study", "tasks=2,8", "--dry-run", "--json").stdout)
    assert [row["done"] for row in lost] == [False, False]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_study_leaves_nothing_and_goes_on(project: Repo) -> None:
    slow = Path(os.environ["STUDY_RUNS"] + ".slow")
    slow.write_text("4")

    def pids() -> list[int]:
        return [int(line[4:]) for line in runs(project) if line.startswith("pid ")]

    killed = project.start("study", "tasks=2,4")
    wait_for(pids, 300)
    killed.kill()
    killed.communicate(timeout=120)
    assert len(experiments(project)) == 1
    slow.write_text("0")
    done = project.nightjar("study", "tasks=2,4", "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    assert not lives(pids()[0])
    nothing_left(project)
    # The first value is not run again; the training of the second finds its checkpoint.
    trained = [line for line in runs(project) if line.startswith("train")]
    assert trained == ["train 2 begins", "train 4 begins", "train 4 goes on"]
    assert values(json.loads(done.stdout)) == {"2": 12.5, "4": 25.0}


@pytest.mark.slow
def test_two_settings_give_the_product_of_their_values(project: Repo) -> None:
    """Trained with × evaluated with, as table 4 of the paper of Super-NaturalInstructions: one training for both."""
    evaluated = "predict.supernatinst.encoding=def_pos2,def"
    done = project.nightjar("study", "encodings=def_pos2", evaluated, "--json", "--name", "table")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    # 6 and 8 of 16 right, and two more because the training had two examples.
    assert values(result) == {"def_pos2": 62.5, "def": 50.0}
    assert runs(project) == ["train 12 begins", "notes: as committed"]
    assert [row["difference"] for row in point_results.flat(result) if row["metric"] == "exact_match"] == [
        None,
        -12.5,
    ]
    text = (project.root / "data/studies/table/study.csv").read_text()
    assert text.startswith("encodings,predict.supernatinst.encoding,experiment,state,track,metric,n,")
    assert not (project.root / "data/studies/table/plot.png").exists(), "names have no curve"


@pytest.mark.slow
def test_a_point_that_fails_does_not_stop_the_others(project: Repo) -> None:
    (project.root / "fail.txt").write_text("package:made-3")
    commit(project.root, "a fault")
    models = ("package:made-3", "package:made-16")
    done = project.nightjar("study", f"models={','.join(models)}", "--json", timeout=300)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    failed, good = result["points"]
    assert (failed["value"], failed["state"], failed["scores"]) == (models[0], "failed", [])
    assert "the training broke" in failed["error"]
    assert (good["state"], good["error"]) == ("done", None)
    assert values(result) == {models[1]: 100.0}
    (name,) = experiments(project)
    assert "package-made-16" in name


def test_points_on_different_test_instances_are_not_compared(project: Repo, tmp_path: Path) -> None:
    study = study_points.plan(project.root, ["encodings=def_pos2,def"])
    for point, answer in zip(study.points, ("yes", "no"), strict=True):
        asked = question({"task_id": "test", "id": "1", "outputs": [answer]})
        write_questions(tmp_path / point.name / "data/questions/supernatinst", [asked])
        with ArtifactWriter(tmp_path / point.name / "data/predict/supernatinst/tk_instruct") as writer:
            writer.write(PREDICTIONS, [row_of(PREDICTIONS, task_id="test", id="1", answers=["yes"])])
    with pytest.raises(NightjarError, match="def was tested on other instances"):
        commits = {it.name: it.name for it in study.points}
        point_results.collect(
            project.root, study, commits, {}, lambda root, commit, names: nullcontext(tmp_path / commit)
        )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["tasks=0"], "study: split.train_tasks = 0 is not allowed; it should be greater than or equal to 1"),
        ([f"tasks={'1' * 5000}"], "is no list of values: not valid YAML (Exceeds the limit"),
        (["tasks="], "tasks: no values; give KEY=A,B"),
        (["models"], "models: no values"),
        (["models=nowhere"], "no such model directory"),
        (["encodings=deff"], "'deff': no such encoding; encodings are input_only"),
        (["split.train_taks=4"], "unknown key split.train_taks"),
        (["splt.train_tasks=4"], "depends on 'splt.train_tasks'; did you mean split.train_tasks?"),
        (["taks=4"], "no such system depends on 'taks'; did you mean tasks?"),
        (["split=4"], "split is a group of keys"),
        (["train.protoqa.epochs=1,2"], "no such system depends on 'train.protoqa.epochs'"),
        (["tasks=4", "split.train_tasks=8"], "split.train_tasks: it is given twice"),
        (["encoding.definition=true", "encodings=def"], "encoding.definition: it is given twice"),
    ],
)
def test_a_wrong_key_or_value_is_refused_before_any_work(project: Repo, given: list[str], told: str) -> None:
    with pytest.raises(NightjarError, match=re.escape(told)):
        study_points.plan(project.root, given)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("models=hub:google/t5-v1_1-base, models/a", ("hub:google/t5-v1_1-base", "models/a")),
        ("predict.x.stop=[a, b],[]", (["a", "b"], [])),
        ("train.x.learning_rate=1e-4,0.1,1", (1e-4, 0.1, 1)),
        ("train.recipes.x={calls: a, evidence: b}", ({"calls": "a", "evidence": "b"},)),
        ("x='4,8',true,null", ("4,8", True, None)),
    ],
)
def test_values_are_yaml(word: str, expected: tuple) -> None:
    assert axes([word])[0].values == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["tasks"], {str(n): {"split.train_tasks": n} for n in (8, 32, 128, 256, 512, 757)}),
        (["calls"], {str(k): {"predict.supernatinst.call_top_k": k} for k in (0, 1, 3, 10)}),
        (["tasks=9, 04, 4"], {"9": {"split.train_tasks": 9}, "4": {"split.train_tasks": 4}}),
        (["split.train_tasks=null"], {"null": {"split.train_tasks": None}}),
        (
            ["split.train_tasks=4", "encoding.definition=true,false"],
            {
                "true": {"split.train_tasks": 4, "encoding.definition": True},
                "false": {"split.train_tasks": 4, "encoding.definition": False},
            },
        ),
        (
            ["tasks=4,8", "seed=1,2"],
            {
                f"tasks={n}, seed={seed}": {"split.train_tasks": n, "seed": seed}
                for n in (4, 8)
                for seed in (1, 2)
            },
        ),
    ],
)
def test_the_points_of_a_study(project: Repo, given: list[str], expected: dict) -> None:
    dvc = (project.root / "dvc.yaml").read_text()
    project.write(dvc=dvc.replace("params: [split]", "params: [split, seed]"))
    plan = study_points.plan(project.root, given)
    assert {it.label: dict(it.settings) for it in plan.points} == expected
    assert list(expected) == [it.label for it in plan.points], "in the order given"
    assert len({it.name for it in plan.points}) == len(expected)
    assert plan.target == "predict@supernatinst-tk_instruct"


def test_a_path_in_the_graph_is_an_input_of_its_point_alone(project: Repo) -> None:
    dvc = (project.root / "dvc.yaml").read_text()
    with_corpus = 'params: [ingest.corpus]\n    deps: [made.py, data/raw, "${ingest.corpus.path}"]'
    project.write(dvc=dvc.replace("deps: [made.py, data/raw]", with_corpus))
    commit(project.root, "a path")
    more = project.root / "data/more"
    (project.root / "data/sample/corpus").mkdir(parents=True)
    more.mkdir()
    (more / "a.txt").write_text("a")

    def planned() -> list[study_points.Point]:
        return list(
            study_points.plan(project.root, ["ingest.corpus.path=data/sample/corpus,data/more"]).points
        )

    first = planned()
    # The clone of the run has what the present parameters name; any other path is absolute.
    assert first[1].settings == {"ingest.corpus.path": str(more.resolve())}
    (more / "a.txt").write_text("b")
    second = planned()
    assert [old.name == new.name for old, new in zip(first, second, strict=True)] == [True, False]
    with pytest.raises(NightjarError, match="data/nowhere: an input is missing"):
        study_points.plan(project.root, ["ingest.corpus.path=data/nowhere"])


def test_the_default_is_the_first_trained_system_that_depends_on_the_keys(project: Repo) -> None:
    study = study_points.plan(project.root, ["tasks=4"])
    assert (study.target, study.name) == ("predict@supernatinst-tk_instruct", "tasks")
    study = study_points.plan(project.root, ["tasks=4"], recipe="tk_instruct")
    assert (study.benchmark, study.recipe, study.name) == ("supernatinst", "tk_instruct", "tasks-tk_instruct")
    params = project.root / "params.yaml"
    present = parse(params.read_text(), params)
    systems, dvc = present["predict"]["systems"], (project.root / "dvc.yaml").read_text()
    stage = "foreach: [supernatinst-tk_instruct]"
    more = "foreach: [supernatinst-untuned, supernatinst-tk_instruct]"
    out = "outs: [data/predict/supernatinst/tk_instruct]\n  never"
    project.write(dvc=dvc.replace(stage, more).replace(out, 'outs: ["data/predict/${item}"]\n  never'))
    assert study_points.plan(project.root, ["tasks=4"]).recipe == "tk_instruct"
    systems["supernatinst-tk_instruct"]["weights"] = "models/base/language_model"
    params.write_text(json.dumps(present))
    assert study_points.plan(project.root, ["tasks=4"]).recipe == "untuned", "no system is trained: the first"


def test_names_follow_what_decides_the_result(project: Repo) -> None:
    def name() -> str:
        return study_points.plan(project.root, ["tasks=4"]).points[0].name

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

    def planned() -> study_points.Point:
        return study_points.plan(project.root, ["models=models/mine"]).points[0]

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
    words = ("study", "tasks=2", "--name")
    (project.root / "data/studies").mkdir(parents=True, exist_ok=True)
    (project.root / "data/studies/notes").write_text("precious")
    (project.root / "data/studies/linked").mkdir()
    (project.root / "data/studies/linked/study.csv").symlink_to("../notes")
    for name, told in (
        ("notes", "data/studies/notes: not a folder"),
        ("x" * 256, "is not a folder's name"),
        ("linked", "study.csv: a symbolic link to ../notes"),
    ):
        done = project.here(*words, name)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (project.root / "data/studies/notes").read_text() == "precious"
    assert runs(project) == [] and experiments(project) == []


def test_wrong_options_are_one_line_before_any_work(project: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_points, "run", lambda *_: pytest.fail("it ran"))
    monkeypatch.chdir(project.root)
    check_refusals("study")
