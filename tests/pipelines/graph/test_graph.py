"""The plan agrees with DVC's own status, and says from what to what."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dvc.repo import Repo as DvcRepo

from nightjar.core.errors import NightjarError
from pipelines.graph import repository as graphs
from tests.pipelines.conftest import Repo
from tests.pipelines.graph.test_changes import Edit, change, remove

ROOT = Path(__file__).parents[3]
DVC = """
stages:
  first:
    cmd: cat source.txt > first.out
    desc: Copies
    meta: {memory: large}
    deps: [source.txt]
    params: [seed, group]
    outs: [first.out]
    metrics: [first.json: {cache: true}]
  second:
    foreach: [x, y]
    do:
      cmd: cat first.out > second-${item}.out
      deps: [first.out]
      outs: ["second-${item}.out"]
  alone:
    cmd: echo alone > alone.out
    outs: [alone.out]
  callback:
    cmd: "true"
"""
MADE = DVC.replace("cat source.txt > first.out", "cat source.txt > first.out; echo {} > first.json").split(
    "  callback"
)[0]


@pytest.fixture(scope="module")
def once_built(empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built") / "repo"
    shutil.copytree(empty_repo, root)
    repo = Repo(root)
    repo.write(dvc=MADE, params="seed: 1\ngroup: {a: 1, b: [1, 2]}\nother: 5\n", source="text")
    repo.dvc("repro", "--quiet")
    return root


@pytest.fixture()
def built(once_built: Path, tmp_path: Path) -> Repo:
    """A repository whose stages are all up to date."""
    shutil.copytree(once_built, tmp_path / "repo")
    return Repo(tmp_path / "repo")


def test_stages_in_order_with_all_that_dvc_yaml_says(repo: Repo) -> None:
    repo.write(dvc=DVC, params="seed: 1\ngroup: {a: 1}\n", source="text")
    graph = graphs.read(repo.root)
    assert list(graph.stages) == ["alone", "callback", "first", "second@x", "second@y"]
    first = graph.stages["first"]
    assert (first.deps, first.outs, first.metrics) == (
        ("source.txt",),
        ("first.out", "first.json"),
        ("first.json",),
    )
    assert first.params == {"params.yaml": ("seed", "group")}
    assert first.command == "cat source.txt > first.out"
    assert first.description == "Copies"
    assert first.meta == {"memory": "large"} and graph.stages["alone"].meta == {}
    assert graph.stages["second@x"].upstream == ("first",)
    assert [reason.kind for reason in graph.stages["second@x"].reasons] == ["new", "upstream"]
    assert [reason.kind for reason in graph.stages["callback"].reasons] == ["always", "new"]


CHANGES: list[tuple[Edit, dict[str, str]]] = [
    (lambda root: None, {}),
    (change("params.yaml", "other: 5", "other: 6"), {}),
    (change("params.yaml", "seed: 1", "seed: 2"), {"first": "seed: 1 → 2"}),
    (change("params.yaml", "a: 1", "a: null"), {"first": "group.a: 1 → null"}),
    (
        change("params.yaml", "b: [1, 2]", "c: x"),
        {"first": 'group.b: [1, 2] → (nothing); group.c: (nothing) → "x"'},
    ),
    (
        change("source.txt", "text", "other"),
        {"first": "source.txt changed: 1cb251ec (4 bytes) → 795f3202 (5 bytes)"},
    ),
    (remove("source.txt"), {"first": "source.txt is missing"}),
    (remove("first.json"), {"first": "output first.json is missing"}),
    (
        change("second-x.out", "text", "mine"),
        {"second@x": "output second-x.out changed: 1cb251ec (4 bytes) → 918b81db (4 bytes)"},
    ),
    (
        change("dvc.yaml", "echo alone", "echo more"),
        {"alone": "command: echo alone > alone.out → echo more > alone.out"},
    ),
    (change("dvc.lock", "first:", "renamed:"), {"first": "never run"}),
]


@pytest.mark.parametrize(("edit", "wanted"), CHANGES)
def test_reasons_name_what_changed_and_agree_with_dvc(
    built: Repo, edit: Edit, wanted: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built.root)
    edit(built.root)
    graph = graphs.read(built.root)
    own = {
        name: "; ".join(str(reason) for reason in stage.reasons if reason.kind != "upstream")
        for name, stage in graph.stages.items()
    }
    assert {name: why for name, why in own.items() if why} == wanted
    with DvcRepo() as repo:
        assert set(repo.status()) == set(wanted)
    waits = {name for name, stage in graph.stages.items() if stage.state in ("follows", "would be skipped")}
    ran = {name for name, stage in graph.stages.items() if stage.state in ("would run", "would fail")}
    assert waits == ({"second@x", "second@y"} if "first" in ran else set())
    assert set(graph.changed()) == set(wanted) | waits


def test_a_path_that_a_stage_names_twice_is_one_reason(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a: {cmd: touch a, deps: [source.txt, source.txt], outs: [a]}\n", source="1")
    repo.dvc("repro", "--quiet")
    repo.write(source="2")
    assert [reason.what for reason in graphs.read(repo.root).stages["a"].reasons] == ["source.txt changed"]


def test_only_what_targets_need(built: Repo) -> None:
    graph = graphs.read(built.root)
    assert list(graph.only(["second@x"]).stages) == ["first", "second@x"]
    assert list(graph.only(["second"]).stages) == ["first", "second@x", "second@y"]
    assert list(graph.only([]).stages) == list(graph.stages)
    for target, told in (
        ("third", "there are: alone, first, second"),
        ("secnd", "did you mean second[?]"),
        ("second@z", "did you mean second@[xy][?]"),
    ):
        with pytest.raises(NightjarError, match=f"{target}: no such stage; {told}$"):
            graph.only([target])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("stages: [", "dvc.yaml"),
        ("stages: {a: {cmd: x, deps: ['${nothing}']}}", "dvc.yaml"),
        ("stages: {a: 1}", "dvc.yaml"),
        ('stages: {a: {cmd: "true", deps: ["gs://bucket/x"]}}', "dvc-gs"),
        ('stages: {a: {cmd: "true", deps: [""]}}', "perhaps an empty path"),
        ('stages: {a: {cmd: "true", deps: ["."], outs: [o]}}', "both a dependency and an output"),
        ('stages: {a: {foreach: {"": 1}, do: {cmd: x}}}', "perhaps an empty path, name or key"),
        ("stages: {a: {foreach: [b], do: {cmd: 'echo ${item}'}}}", "params.yaml"),
    ],
)
def test_a_broken_graph_is_one_line(repo: Repo, text: str, told: str) -> None:
    repo.write(dvc=text, params="day: 2026-13-45\n" if told == "params.yaml" else "")
    with pytest.raises(NightjarError) as caught:
        graphs.read(repo.root)
    assert told in str(caught.value)


def test_a_folder_around_outputs_makes_their_stages_dependencies(repo: Repo) -> None:
    repo.write(
        dvc="""
        stages:
          predict:
            foreach: {slow: a, quick: a, other: b}
            do: {cmd: x, outs: ["data/predict/${item}/${key}", "data/metrics/${key}.json"]}
          evaluate:
            foreach: [a, b]
            do: {cmd: x, deps: ["data/predict/${item}"], outs: ["data/evaluate/${item}"]}
          report: {cmd: x, deps: [data/predict, data/evaluate, data/metrics], outs: [report.txt]}
        """
    )
    stages = graphs.read(repo.root).stages
    assert stages["evaluate@a"].upstream == ("predict@quick", "predict@slow")
    assert stages["evaluate@b"].upstream == ("predict@other",)
    assert set(stages["report"].upstream) == stages.keys() - {"report"}


@pytest.mark.parametrize("path", ["a\\0b", "x" * 300])
def test_a_dependency_that_no_file_can_have_is_missing(repo: Repo, path: str) -> None:
    repo.write(dvc=f'stages: {{a: {{cmd: "true", deps: ["{path}"]}}}}')
    stage = graphs.read(repo.root).stages["a"]
    assert stage.state == "would fail" and stage.why.endswith(" is missing")


def test_the_root_is_found_from_below(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo.root / "a/b").mkdir(parents=True)
    monkeypatch.chdir(repo.root / "a/b")
    assert graphs.find_root() == repo.root.resolve() == graphs.read().root


def test_no_repository(workdir: Path) -> None:
    for find in (lambda: graphs.read(workdir), graphs.find_root):
        with pytest.raises(NightjarError, match="not a DVC repository; run from the project's root"):
            find()
