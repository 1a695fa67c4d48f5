"""Versions of an artifact in made DVC repositories: found through dvc.lock, read from the cache, compared by row."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.paths import metrics_file
from nightjar.core.tables import ArtifactWriter
from pipelines.versions import diff as diffs
from tests.conftest import git
from tests.in_process import refused
from tests.pipelines.conftest import Repo
from tests.questions import row_of

GRAPH = """
stages:
  split:
    cmd: "true"
    outs: [data/split]
  model:
    cmd: "true"
    outs: [models/m]
  facts:
    cmd: "true"
    wdir: sub
    outs: [facts.json]
"""

Row = dict[str, Any]


def train(task: str, id: int, text: str) -> Row:
    about = {"file": f"{task}.json", "task_id": task, "id": f"{task}-{id}", "index": id}
    return row_of(contracts.TRAIN, dataset="d", input=text, outputs=[text[:3]], **about)


def tasks(rows: list[Row]) -> list[Row]:
    names = sorted({row["task_id"] for row in rows})
    return [{"track": "default", "task_id": name, "role": "train", "reason": "listed"} for name in names]


def write_split(root: Path, rows: list[Row], reasons: tuple[str, ...] = ()) -> None:
    with ArtifactWriter(root / "data/split") as writer:
        for task in sorted({row["task_id"] for row in rows}):
            writer.write(contracts.TRAIN, [row for row in rows if row["task_id"] == task], part=task)
        writer.write(contracts.SPLIT_TASKS, tasks(rows))
        for reason in reasons:
            writer.reject("d", "f.json", reason, "raw text")


def keep(repo: Repo, tag: str) -> None:
    """Take what lies in the workspace into DVC's cache and a commit."""
    repo.dvc("commit", "--force", "--quiet")
    git(repo.root, "add", "-A")
    git(repo.root, "commit", "-q", "-m", tag)
    git(repo.root, "tag", tag)


OLD = [train(task, n, f"text {n} of {task} " + "long " * 40) for task in ("t1", "t2", "t3") for n in range(6)]
# Of t1 one row changes and one goes, t2 stays, t3 goes, t4 comes.
NEW = [
    row | ({"input": row["input"].replace("text 2", "word 2")} if row["id"] == "t1-2" else {})
    for row in OLD
    if row["task_id"] != "t3" and row["id"] != "t1-4"
] + [train("t4", n, f"new {n}") for n in range(3)]


@pytest.fixture(scope="session")
def two_versions(empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the tags v1 and v2; the workspace is v2."""
    root = tmp_path_factory.mktemp("versions") / "repo"
    shutil.copytree(empty_repo, root)
    made = Repo(root)
    made.write(dvc=GRAPH)
    (root / "sub").mkdir()
    for tag, rows, model, facts in (("v1", OLD, b"abc", "{}"), ("v2", NEW, b"abcd", "{}")):
        write_split(root, rows, ("broken",) if tag == "v1" else ("broken", "broken", "too long"))
        (root / "models/m").mkdir(parents=True, exist_ok=True)
        (root / "models/m/weights.safetensors").write_bytes(model)
        (root / "models/m/config.json").write_text("{}")
        (root / "sub/facts.json").write_text(facts)
        keep(made, tag)
    return root


@pytest.fixture()
def project(two_versions: Path, tmp_path: Path) -> Repo:
    root = tmp_path / "repo"
    shutil.copytree(two_versions, root, symlinks=True)
    return Repo(root)


def diff(start: Path, a: str, b: str, artifact: str, *options: Any, **more: Any) -> SimpleNamespace:
    """The differences, with attributes for the keys of its JSON form."""
    found = diffs.diff(start, a, b, artifact, *options, **more)
    json.dumps(found, default=str)
    tables = [SimpleNamespace(**table) for table in found["tables"]]
    sides = {side: SimpleNamespace(**found[side]) for side in "ab"}
    return SimpleNamespace(**found | sides | {"tables": tables})


def by_name(found: SimpleNamespace) -> dict[str, SimpleNamespace]:
    return {table.table: table for table in found.tables}


def test_predictions_of_systems_that_are_asked_in_another_way(repo: Repo) -> None:
    predictions, facts = "data/predict/b/s", metrics_file("predict@b-s")
    graph = f"stages:\n  it:\n    cmd: 'true'\n    outs: [{predictions}]\n    metrics: [{facts}]\n"
    repo.write(dvc=graph)
    (repo.root / facts).parent.mkdir(parents=True)
    for tag, chat in (("v1", {}), ("v2", {"chat": {"template": "5e"}}), ("v3", {"chat": {"template": "5e"}})):
        row = row_of(contracts.PREDICTIONS, benchmark="b", system="s", task_id="t", id="1", prompt=tag)
        with ArtifactWriter(repo.root / predictions) as writer:
            writer.write(contracts.PREDICTIONS, [row])
        (repo.root / facts).write_text(json.dumps(chat))
        keep(repo, tag)
    ways = {"a": "no chat template", "b": "chat template"}
    for artifact in (predictions, "data/predict"):
        assert diff(repo.root, "v1", "v2", artifact).prompts == {"b/s": ways}
    assert diff(repo.root, "v1", "workspace", predictions).prompts == {"b/s": ways}
    assert diff(repo.root, "v2", "v3", predictions).prompts == {}
    told = repo.here("diff", "v1", "v2", predictions).stdout.splitlines()
    assert "The prompts of b/s differ. v1: no chat template; v2: chat template." in told


def test_rows_between_two_tags(project: Repo) -> None:
    found = diff(project.root, "v1", "v2", "data/split", examples=10)
    tables = by_name(found)
    old, new = ({row["id"]: row for row in rows} for rows in (OLD, NEW))
    table = tables["train"]
    assert table.key == ["task_id", "id"]
    assert table.parts == {"changed": 1, "added": 1, "removed": 1}
    assert table.rows == {"added": 3, "removed": 7, "changed": 1}
    assert {row["id"] for row in table.examples["added"]} == new.keys() - old.keys()
    assert {row["id"] for row in table.examples["removed"]} == old.keys() - new.keys()
    assert table.examples["added"][0] == new[table.examples["added"][0]["id"]]
    assert table.examples["changed"] == [
        {
            "key": {"task_id": "t1", "id": "t1-2"},
            "columns": {"input": {"a": old["t1-2"]["input"], "b": new["t1-2"]["input"]}},
        }
    ]
    assert tables["split_tasks"].rows == {"added": 1, "removed": 1, "changed": 0}
    # Refused rows have no key: two equal ones more count as two.
    assert tables["rejected"].rows == {"added": 2, "removed": 0, "changed": 0}
    assert [row["reason"] for row in tables["rejected"].examples["added"]] == ["broken", "too long"]


def test_the_workspace_is_a_version(project: Repo) -> None:
    assert diff(project.root, "v2", "workspace", "data/split").same
    assert diff(project.root, "v1", "HEAD~1", "data/split").same
    rows = [row | ({"outputs": ["other"]} if row["id"] == "t2-0" else {}) for row in NEW]
    write_split(project.root, rows, ("broken", "broken", "too long"))
    table = by_name(diff(project.root, "HEAD", "workspace", "data/split"))["train"]
    assert table.rows == {"added": 0, "removed": 0, "changed": 1}
    assert table.columns == {"outputs": 1}
    assert diff(project.root, "workspace", "workspace", "data/split").same
    back = by_name(diff(project.root, "workspace", "v1", "data/split"))["train"]
    assert back.rows == {"added": 7, "removed": 3, "changed": 2}
    assert table.examples["changed"][0]["columns"] == {"outputs": {"a": ["tex"], "b": ["other"]}}


def test_an_artifact_that_neither_version_has_is_no_equal_one(project: Repo) -> None:
    (project.root / "dvc.yaml").write_text(GRAPH + '  new:\n    cmd: "true"\n    outs: [data/new]\n')
    for revision in ("HEAD", "workspace"):
        with pytest.raises(
            NightjarError, match=r"data/new: neither version has it; run the stage that makes it"
        ):
            diff(project.root, revision, "workspace", "data/new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another account")
def test_a_repository_of_another_account_has_its_remedy(project: Repo) -> None:
    for path in (project.root, project.root / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(NightjarError, match=r"run: git config --global --add safe.directory /"):
        diff(project.root, "v1", "workspace", "data/split")


def test_a_part_with_another_name_is_the_same(project: Repo) -> None:
    shutil.move(project.root / "data/split/train/t2.parquet", project.root / "data/split/train/z.parquet")
    keep(project, "v3")
    found = diff(project.root, "v2", "v3", "data/split")
    assert found.same and not any(by_name(found)["train"].rows.values())


@pytest.mark.parametrize(
    "path", ["data/split/train", "data/split/train/t1.parquet", "./data/../data/split/train"]
)
def test_a_path_within_an_artifact(project: Repo, path: str) -> None:
    (table,) = diff(project.root, "v1", "v2", path).tables
    whole = "t1" not in path
    assert table.rows == {"added": 3 if whole else 0, "removed": 7 if whole else 1, "changed": 1}
    assert table.table == "train"


def test_a_folder_of_artifacts_from_a_folder_within(project: Repo) -> None:
    found = diff(project.root / "data", "v1", "v2", ".")
    assert set(by_name(found)) == {"split/train", "split/split_tasks", "split/rejected"}
    assert by_name(found)["split/train"].rows == {"added": 3, "removed": 7, "changed": 1}
    assert diff(project.root, "v2", "workspace", ".").same


def test_files_that_are_no_tables_are_compared_by_hash(project: Repo) -> None:
    found = diff(project.root, "v1", "v2", "models/m")
    (file,) = found.files
    assert (file["path"], file["state"]) == ("weights.safetensors", "changed")
    assert file["a"] == "900150983cd24fb0d6963f7d28e17f72"  # the published md5 of "abc"
    assert diff(project.root, "v1", "v2", "sub/facts.json").same


def test_an_experiment_by_its_name(project: Repo) -> None:
    write_split(project.root, OLD, ("broken",))
    project.dvc("commit", "--force", "--quiet")
    # DVC commits an experiment, and a build machine has no identity.
    git(project.root, "config", "user.name", "a")
    git(project.root, "config", "user.email", "a@example.org")
    output = project.dvc("exp", "save", "--force", "--name", "old-again")
    assert "old-again" in output
    assert diff(project.root, "old-again", "v1", "data/split").same
    assert not diff(project.root, "old-again", "v2", "data/split").same


def cached(project: Repo, revision: str, name: str) -> Path:
    """Where the cache has a file of data/split, or the list of it, in a revision."""
    lock = git(project.root, "show", f"{revision}:dvc.lock").split()
    whole = project.root / ".dvc/cache/files/md5" / lock[lock.index("data/split") + 4]
    whole = whole.parent / whole.name[:2] / whole.name[2:]
    if not name:
        return whole
    digest = next(it["md5"] for it in json.loads(whole.read_text()) if it["relpath"] == name)
    return project.root / ".dvc/cache/files/md5" / digest[:2] / digest[2:]


def test_what_is_not_in_the_cache_is_said_with_the_command(project: Repo) -> None:
    for name in ("train/t1.parquet", "train/t2.parquet"):
        cached(project, "v1", name).unlink()
    # t2 is the same in both, so nobody needs it.
    missing = (
        "data/split/train/t1.parquet: not in the local cache; get it with: dvc fetch --all-commits data/sp"
    )
    with pytest.raises(NightjarError, match=missing):
        diff(project.root, "v1", "v2", "data/split")


@pytest.mark.parametrize("text", [None, "{}", "[1]", "["])
@pytest.mark.parametrize("artifact", ["data/split", "data/split/train"])
def test_a_list_of_files_that_is_missing_or_invalid_is_named(
    project: Repo, text: str | None, artifact: str
) -> None:
    listing = cached(project, "v1", "")
    listing.chmod(0o644)
    if text is None:
        listing.unlink()
    else:
        listing.write_text(text)
    with pytest.raises(NightjarError, match=f"{artifact}: not in the local cache; get it with: dvc fetch"):
        diff(project.root, "v1", "v2", artifact)


def test_a_file_that_is_no_parquet_is_one_line(project: Repo) -> None:
    part = project.root / "data/split/train/t1.parquet"
    good = part.read_bytes()
    for data in (b"PAR1 not really", good[:4] + bytes(300) + good[304:]):
        part.unlink()
        part.write_bytes(data)
        error = refused("diff", "v1", "workspace", "data/split", cwd=project.root)
        assert "train: cannot be compared" in error


def test_wrong_input_is_one_line(project: Repo) -> None:
    for arguments, message in (
        (("v1", "v9", "data/split"), "v9: no such revision"),
        (("v1", "--all", "data/split"), "--all: no such revision"),
        (("v1", "^HEAD", "data/split"), r"\^HEAD: no such revision"),
        (("v1", "v1..v2", "data/split"), r"v1\.\.v2: no such revision"),
        (("v1", "v2^@", "data/split"), r"v2\^@: no such revision"),
        (("v1", "v2^!", "data/split"), r"v2\^!: no such revision"),
        (("v1", "", "data/split"), "no such revision"),
        (("v1", "v2", "dvc.yaml"), "not an artifact"),
        (("v1", "v2", "data/spit"), "not an artifact .*: data/split, models/m, sub/facts.json"),
        (("v1", "v2", "../other"), "outside the repository"),
        (("v1", "v2", "data/split", "tests"), "no table tests differs"),
    ):
        with pytest.raises(NightjarError, match=message):
            diff(project.root, *arguments)
    assert "v9: no such revision" in refused("diff", "v1", "v9", "data/split", cwd=project.root)


def test_tables_without_a_contract_and_columns_that_come_and_go(repo: Repo) -> None:
    repo.write(dvc="stages:\n  s:\n    cmd: 'true'\n    outs: [out, scores.parquet]\n")
    (repo.root / "out").mkdir()
    first = pa.table({"x": [1, 2, 2, 3], "y": ["a", "b", "b", None], "gone": [0, 0, 0, 0]})
    second = pa.table(
        {"x": pa.array([2, 3, 4, 1], pa.int32()), "y": ["b", None, "c", "a"], "come": [1.5] * 4}
    )
    for tag, table in (("v1", first), ("v2", second)):
        # Two parts of one table, and a name that a contract has whose key this table has not.
        pq.write_table(table.slice(0, 2), repo.root / "out/part-0.parquet")
        pq.write_table(table.slice(2), repo.root / "out/part-1.parquet")
        pq.write_table(table, repo.root / "scores.parquet")
        keep(repo, tag)
    for artifact, name in (("out", "out"), ("scores.parquet", "scores")):
        (found,) = diff(repo.root, "v1", "v2", artifact).tables
        assert (found.table, found.key) == (name, [])
        assert found.schema == {"removed": ["gone"], "added": ["come"], "retyped": ["x: int64 → int32"]}
        assert found.rows == {"added": 1, "removed": 1, "changed": 0}
        assert found.examples["added"] == [{"x": 4, "y": "c", "come": 1.5}]


TABLES = [it for it in vars(contracts).values() if isinstance(it, contracts.Table)]


@pytest.mark.parametrize(
    "contract",
    sorted(TABLES, key=lambda it: (it.name, it.key)),
    ids=lambda it: "-".join([it.name, *it.key]),
)
def test_every_contract_is_found_by_its_columns(contract: contracts.Table, tmp_path: Path) -> None:
    """Also where two artifacts have tables of one name."""
    pq.write_table(contract.schema.empty_table(), tmp_path / "a.parquet")
    key = diffs._compare(f"x/{contract.name}", ({"a": tmp_path / "a.parquet"}, {}), 1)["key"]
    assert set(key) <= set(contract.key) and bool(key) == bool(contract.key)


def test_files_of_dvc_add_and_a_cache_elsewhere(repo: Repo, tmp_path: Path) -> None:
    repo.dvc("cache", "dir", "--local", str(tmp_path / "cache"))
    for tag, values in (("v1", [1, 2]), ("v2", [2, 3, 4])):
        pq.write_table(pa.table({"x": values}), repo.root / "added.parquet")
        repo.dvc("add", "--quiet", "added.parquet")
        keep(repo, tag)
    assert (tmp_path / "cache/files/md5").is_dir()
    (table,) = diff(repo.root, "v1", "v2", "added.parquet").tables
    assert table.rows == {"added": 2, "removed": 1, "changed": 0}


def test_a_file_of_another_name_or_in_another_table_is_removed_and_added(project: Repo) -> None:
    (project.root / "models/m/config.json").rename(project.root / "models/m/settings.json")
    found = diff(project.root, "v2", "workspace", "models/m").files
    assert [(it["path"], it["state"]) for it in found] == [
        ("config.json", "removed"),
        ("settings.json", "added"),
    ]
    (project.root / "data/split/test").mkdir()
    shutil.move(project.root / "data/split/train/t2.parquet", project.root / "data/split/test/t2.parquet")
    tables = by_name(diff(project.root, "v2", "workspace", "data/split"))
    assert (tables["train"].rows["removed"], tables["test"].rows["added"]) == (6, 6)


def test_an_output_that_only_an_earlier_graph_has_in_a_folder(project: Repo) -> None:
    project.write(dvc=GRAPH.replace("data/split", "data/other"))
    shutil.move(project.root / "data/split", project.root / "data/other")
    keep(project, "v3")
    found = by_name(diff(project.root, "v2", "v3", "data"))
    assert (found["split/train"].rows["removed"], found["other/train"].rows["added"]) == (14, 14)


def test_what_git_keeps_is_not_compared_in_silence(repo: Repo) -> None:
    repo.write(dvc="stages:\n  s:\n    cmd: 'true'\n    outs: [kept.txt: {cache: false}]\n", kept="1")
    keep(repo, "v1")
    repo.write(kept="2")
    with pytest.raises(NightjarError, match=r"kept.txt: .*git diff"):
        diff(repo.root, "v1", "workspace", "kept.txt")


def test_the_command_prints_a_table_and_json(project: Repo) -> None:
    done = project.nightjar("diff", "v1", "v2", "data/split", "--examples", "1", "--width", "40")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    header = "table added removed changed parts that differ"
    assert " ".join(lines[0].split()) == header
    assert ["train", "3", "7", "1", "3"] in [line.split() for line in lines]
    (change,) = (line.strip() for line in lines if line.strip().startswith("input: ") and "→" in line)
    assert change == f'input: "text 2 of t1 {"long " * 5}lo…" → "word 2 of t1 {"long " * 5}lo…"'
    assert "  … 6 more removed" in lines
    printed = json.loads(project.nightjar("diff", "v1", "v2", "data/split", "--json").stdout)
    version = git(project.root, "rev-parse", "v2")
    assert (printed["same"], printed["a"]["revision"], printed["b"]["commit"]) == (False, "v1", version)
    changed = {table["table"]: table["rows"]["changed"] for table in printed["tables"]}
    assert changed == {"rejected": 0, "split_tasks": 0, "train": 1}
    same = project.nightjar("diff", "v2", "workspace", "data/split")
    assert same.stdout == "data/split: no row and no file differs between v2 and workspace.\n"
    models = project.nightjar("diff", "v1", "v2", "models/m").stdout
    assert "~ weights.safetensors  900150983cd2 → e2fc714c4727" in models


def test_a_pipe_among_the_files_of_the_workspace_is_refused_unread(project: Repo) -> None:
    part = next((project.root / "data/split/train").glob("*.parquet"))
    part.unlink()
    os.mkfifo(part)
    error = refused("diff", "v2", "workspace", "data/split", cwd=project.root)
    assert f"{part.name}: a named pipe" in error


def test_a_revision_without_a_lock_is_said_with_what_to_do(repo: Repo) -> None:
    repo.write(dvc="stages:\n  s: {cmd: 'true', outs: [out.txt]}\n", out="1")
    git(repo.root, "add", "dvc.yaml")
    git(repo.root, "commit", "--quiet", "--message", "graph")
    repo.dvc("commit", "--force", "--quiet")
    done = repo.nightjar("diff", "HEAD", "workspace", "out.txt")
    assert done.stdout.startswith(
        "HEAD has no out.txt, so everything counts as added. If that is wrong, commit its dvc.lock.\n+ out.txt"
    )
    old = json.loads(repo.nightjar("diff", "HEAD", "workspace", "out.txt", "--json").stdout)["a"]
    assert old["there"] is False and "HEAD has no out.txt" in old["note"]


def test_an_artifact_that_was_not_checked_out_is_said_with_the_command(project: Repo) -> None:
    shutil.rmtree(project.root / "data/split")
    told = "workspace has no data/split, so everything counts as removed. If that is wrong, run dvc checkout "
    assert project.nightjar("diff", "HEAD", "workspace", "data/split").stdout.startswith(told)


def test_an_output_may_be_an_empty_folder(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: mkdir out\n    outs: [out]\n")
    repo.dvc("repro", "--quiet")
    keep(repo, "v1")
    printed = json.loads(repo.nightjar("diff", "v1", "workspace", "out", "--json").stdout)
    assert printed["tables"] == []
