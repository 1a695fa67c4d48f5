"""`nightjar ingest`: what it prints, what it may write over, and what it must leave alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from tests.in_process import captured, nightjar, refused
from tests.pipelines.test_cli import TASK

HEAD = {
    "Categories": ["c"],
    "Source": ["made"],
    "Input_language": ["English"],
    "Output_language": ["English"],
}
READ = ("ingest", "--dataset", "natural_instructions", "--input", "tasks", "--output")
CHECK = ("ingest", "--check", "--dataset", "natural_instructions", "--input")


@pytest.fixture()
def project(workdir: Path) -> Path:
    """A folder with a folder of tasks, one of documents, and an artifact of the tasks with a published list."""
    (workdir / "tasks/splits/default").mkdir(parents=True)
    (workdir / "tasks/splits/default/test_tasks.txt").write_text("task1_colours\n")
    (workdir / "tasks/task1_colours.json").write_text(json.dumps({**TASK, **HEAD}))
    (workdir / "docs").mkdir()
    (workdir / "docs/a.txt").write_text("A paragraph.")
    assert run(*READ, "out") == 0
    return workdir


def run(*arguments: str) -> int:
    return captured(main, list(arguments)).returncode


def unchanged(*arguments: str) -> str:
    """The one line of a command that must refuse and leave every file as it was."""
    before = state()
    line = refused(*arguments)
    assert state() == before
    return line


def state() -> dict[str, object]:
    found = {}
    for path in sorted(Path().rglob("*")):
        found[str(path)] = (
            path.read_bytes() if path.is_file() and not path.is_symlink() else os.lstat(path).st_mode
        )
    return found


def test_an_artifact_of_the_same_kind_is_replaced(project: Path) -> None:
    assert (project / "out/splits/default/test_tasks.txt").exists()
    (project / "tasks/task2_colours.json").write_text(json.dumps({**TASK, **HEAD}))
    told = json.loads(nightjar(*READ, "out", "--json"))
    assert told["rows_in"] == told["rows_out"] + told["rows_rejected"] == 2
    assert len(tables.read(project / "out", contracts.TASKS)) == 2
    (project / "empty").mkdir()
    assert run(*READ, "empty") == 0
    assert run(*READ, "tasks/out") == 0, "a folder inside the input is no task file"


def test_no_other_folder_is_replaced(project: Path) -> None:
    corpus = ("ingest", "--dataset", "corpus", "--input", "docs", "--output")
    assert run(*corpus, "corpus") == 0
    assert "corpus: documents" in unchanged(*READ, "corpus")
    assert "out: instances" in unchanged(*corpus, "out")
    for name in ("notes.txt", "instances/notes.txt", "splits/notes.txt", "mine/notes.txt"):
        strange = project / "out" / name
        strange.parent.mkdir(exist_ok=True)
        strange.write_text("precious")
        assert f"out: {name} in it" in unchanged(*READ, "out")
        strange.unlink()
    assert "out: mine in it" in unchanged(*READ, "out"), "an empty folder"
    (project / "out/mine").rmdir()
    other = project / "out/instances/other.parquet"
    pq.write_table(pa.table({"mine": [1]}), other)
    assert "out: instances/other.parquet" in unchanged(*READ, "out")
    other.write_text("no Parquet")
    assert "out: instances/other.parquet" in unchanged(*READ, "out")
    other.unlink()
    (project / "out/rejected.parquet").unlink()
    assert "out: no rejected.parquet" in unchanged(*READ, "out")
    (project / "mine").mkdir()
    pq.write_table(pa.table({"mine": [1]}), project / "mine/rejected.parquet")
    assert "mine: rejected.parquet" in unchanged(*READ, "mine")


def test_the_input_of_ingest_is_never_replaced(project: Path) -> None:
    assert "tasks: it holds the input" in unchanged(*READ, "tasks")
    assert ".: it holds the input" in unchanged(*READ, ".")
    (project / "view").symlink_to("tasks")
    assert "view: a symbolic link to tasks" in unchanged(*READ, "view")


def test_the_report_of_the_checks_replaces_nothing_that_was_read(project: Path) -> None:
    for output in ("tasks/task1_colours.json", "tasks/new.json", "tasks/splits/default/test_tasks.txt"):
        assert "is read" in unchanged(*CHECK, "tasks", "--output", output)
    (project / "clone").mkdir()
    (project / "tasks").rename("clone/tasks")
    assert "is read" in unchanged(*CHECK, "clone", "--output", "clone/tasks/new.json")
    assert run(*CHECK, "clone", "--output", "clone/checks.json") == run(
        *CHECK, "clone", "--output", "clone/checks.json"
    )
    assert json.loads((project / "clone/checks.json").read_text())["files"] == 1
    (project / "null").symlink_to("/dev/null")
    run(*CHECK, "clone", "--output", "null")
    assert (project / "null").is_symlink() and Path("/dev/null").is_char_device()


def test_a_damaged_output_of_a_stage_can_still_be_made_again(project: Path) -> None:
    """The rule is for folders that a user names: a stage's own output is a rebuild's to replace."""
    from stages.ingest.datasets import ingest, output_folder

    (project / "out/tasks/part-0.parquet").write_text("cut off")
    with (
        pytest.raises(NightjarError, match=r"tasks/part-0\.parquet"),
        output_folder("natural_instructions", project / "tasks", project / "out"),
    ):
        pass
    assert ingest("natural_instructions", project / "tasks", project / "out").rows_out == 1


@pytest.mark.parametrize(
    "command", ["score --predictions", "compare --a", "references --output", "encode --task"]
)
def test_an_empty_name_is_no_path(workdir: Path, command: str) -> None:
    assert f"Invalid value for '{command.split()[1]}': the name is empty" in unchanged(*command.split(), "")


def printed(dataset: str, source: Path, output: Path) -> list[str]:
    return nightjar("ingest", "--dataset", dataset, "--input", source, "--output", output).splitlines()


def test_a_corpus_has_documents_and_no_tasks(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"text": "One."}), json.dumps({"text": "Two."}), json.dumps({"text": " "}), "{"]
    (tmp_path / "in" / "documents.jsonl").write_text("\n".join(lines))
    told = printed("corpus", tmp_path / "in", tmp_path / "out")
    assert told[:6] == [
        "source: files",
        "files: 1, 0 of them rejected",
        "documents: 2",
        "rejected: 2",
        "  not JSON: 1",
        "  text is blank: 1",
    ]
    assert not [line for line in told if line.startswith(("tasks", "instances", "lists"))]


def test_tasks_have_instances_and_lists(tmp_path: Path, sample: Path) -> None:
    told = printed("natural_instructions", sample / "natural_instructions", tmp_path / "out")
    assert told[:5] == [
        "files: 63, 0 of them rejected",
        "tasks: 63",
        "instances: 5,345",
        "rejected: 0",
        "published lists: none",
    ]


def test_the_check_of_a_benchmark_lists_every_rejected_row(tmp_path: Path) -> None:
    folder = tmp_path / "svamp"
    folder.mkdir()
    good = {"ID": "a", "Body": "Ada has 2 pens.", "Question": "How many pens?", "Answer": 2.0}
    (folder / "SVAMP.json").write_text(json.dumps([good, {**good, "ID": "b", "Answer": None}]))
    words = ["ingest", "--dataset", "tool_use", "--input", str(tmp_path), "--check"]
    done = captured(main, words)
    assert done.returncode == 1
    first, last = done.stdout.splitlines()
    assert first.startswith("svamp/SVAMP.json b: ") and last == "2 rows, 1 rejected"
    found = json.loads(captured(main, [*words, "--json"]).stdout)
    assert [(row["file"], row["id"]) for row in found["rejected"]] == [("svamp/SVAMP.json", "b")]
    (folder / "SVAMP.json").write_text(json.dumps([good]))
    assert captured(main, words).returncode == 0
