"""The checks of a folder: documents beside the tasks, the command, and the real files."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from nightjar.benchmarks.supernatinst.contributor_checks import CHECKS
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from stages.ingest.check_folder import check_folder
from tests.in_process import captured
from tests.stages.ingest.conftest import Folder, make_task

HIERARCHY = "## Task Categories\n- `Question Answering`\n## Domain\n* `Mathematics`\n"


@pytest.fixture()
def whole(folder: Folder) -> Path:
    """A folder with all documents, in which only the number of examples is told."""
    tasks = {f"task00{n}_x{n}.json": make_task(30) for n in (1, 2, 3)}
    root = folder(tasks)
    lines = [f"`task00{n}_x{n}` | Adds numbers. | Question Answering" for n in (1, 2, 3)]
    put(root / "tasks/README.md", "## Tasks\n\nName | Summary\n---- | ----\n" + "\n".join(lines) + "\n")
    put(root / "doc/task-hierarchy.md", HIERARCHY)
    for track in ("default", "xlingual"):
        for role, name in (("train", "task001_x1"), ("test", "task002_x2"), ("excluded", "task003_x3")):
            put(root / "splits" / track / f"{role}_tasks.txt", f"{name}\n")
    return root


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def errors(root: Path) -> dict[int, list[tuple[str | None, str, tuple[str, ...]]]]:
    found: dict[int, list[tuple[str | None, str, tuple[str, ...]]]] = {}
    for it in check_folder(root).findings:
        if it.level == "error":
            found.setdefault(it.check, []).append((it.task_id, it.message, it.ids))
    return found


def test_a_sound_folder(whole: Path) -> None:
    report = check_folder(whole)
    assert {it.check for it in report.findings} == {4} and report.count("allowed") == 6
    assert not report.not_checked and not report.partly
    assert [line["status"] for line in report.as_dict()["checks"]] == ["passed"] * 15
    assert (report.files, report.instances) == (3, 90)
    assert errors(whole) == {}


def test_a_missing_document_is_told_and_never_passes(whole: Path) -> None:
    (whole / "doc/task-hierarchy.md").unlink()
    (whole / "tasks/README.md").unlink()
    for file in (whole / "splits").rglob("*.txt"):
        file.unlink()
    lines = {line["check"]: line for line in check_folder(whole).as_dict()["checks"]}
    assert [lines[n]["status"] for n in (12, 14, 15)] == ["not checked", "partly checked", "not checked"]
    assert all(lines[n]["note"] for n in (12, 14, 15))
    assert Counter(line["status"] for line in lines.values()) == {
        "passed": 12,
        "not checked": 2,
        "partly checked": 1,
    }


def test_a_check_that_could_not_look_at_all_of_a_task_has_not_passed(whole: Path) -> None:
    value = make_task(30)
    value["Instances"][4]["input"] = 5
    (whole / "tasks/task002_x2.json").write_text(json.dumps(value))
    (whole / "tasks/task003_x3.json").write_text("{")
    lines = {line["check"]: line for line in check_folder(whole).as_dict()["checks"]}
    assert {n for n, line in lines.items() if line["status"] == "failed"} == {3, 13}
    assert {n for n, line in lines.items() if line["status"] == "passed"} == {1, 14, 15}
    assert {line["status"] for n, line in lines.items() if n == 2 or 4 <= n <= 12} == {"partly checked"}
    told = "not all of 2 tasks without sound keys, types or JSON: task002_x2, task003_x3"
    assert (
        lines[6]["note"] == told
        and f"6 repeated_inputs: {told}" in command("--input", str(whole), "--check").stdout
    )


def test_the_list_of_tasks(whole: Path) -> None:
    readme = whole / "tasks/README.md"
    lines = readme.read_text().splitlines()
    first, second = lines[4:6]
    readme.write_text(
        "\n".join([*lines[:4], second, first.replace("x1", "x1.json"), first, second, "`task9_gone` |"])
    )
    (whole / "tasks/task004_X.json").write_text(json.dumps(make_task(30)))
    found = errors(whole)[14]
    told = {(task, message.split(",")[0]) for task, message, _ in found}
    assert told == {
        ("task001_x1", "tasks/README.md names it with its ending .json"),
        ("task001_x1", "2 times in tasks/README.md"),
        ("task002_x2", "2 times in tasks/README.md"),
        ("task003_x3", "not in tasks/README.md"),
        ("task004_X", "a capital letter in the name"),
        ("task004_X", "not in tasks/README.md"),
        (None, "duplicate lines in tasks/README.md"),
        (None, "in tasks/README.md"),
        (None, "tasks/README.md is not in the order of numbers"),
    }
    by_message = {message: ids for task, message, ids in found if task is None}
    assert by_message["in tasks/README.md, but there is no such file"] == ("task001_x1.json", "task9_gone")


def test_splits(whole: Path) -> None:
    put(whole / "splits/default/train_tasks.txt", "task002_x2\ntask009_gone\n")
    found = {message: ids for _, message, ids in errors(whole)[15]}
    assert found == {
        "default: on more than one list": ("task002_x2 (train, test)",),
        "default: on no list": ("task001_x1",),
        "default: on a list, but not in tasks/README.md": ("task009_gone",),
    }
    (whole / "tasks/README.md").unlink()
    (whole / "splits/default/excluded_tasks.txt").unlink()
    report = check_folder(whole)
    assert {it.message for it in report.findings if it.check == 15} == {"default: on more than one list"}
    assert "splits/default/excluded_tasks.txt" in report.partly[15] and "without a file" in report.partly[15]


def test_files_that_cannot_be_read(whole: Path) -> None:
    (whole / "tasks/task 5.json").write_text("{}")
    (whole / "tasks/task006_cut.json").write_text('{"Definition": ["x')
    found = {task: message for task, message, _ in errors(whole)[13]}
    assert "unsafe file name" in str(found["task 5"]) and "cut off" in str(found["task006_cut"])
    put(whole / "doc/task-hierarchy.md", "x")
    (whole / "doc/task-hierarchy.md").write_bytes(b"\xff")
    with pytest.raises(NightjarError, match="not UTF-8"):
        check_folder(whole)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return captured(main, ["ingest", "--dataset", "natural_instructions", *arguments])


def test_the_command(whole: Path, tmp_path: Path) -> None:
    source, output = str(whole), tmp_path / "checks.json"
    done = command("--input", source, "--check", "--output", str(output))
    assert done.returncode == 0 and done.stderr == ""
    assert "allowed   4 example_count: 2 positive examples; more than 1 are enough" in done.stdout
    assert "as published: tasks 902 and 903 are exempt" in done.stdout
    assert json.loads(output.read_text())["allowed"] == 6
    put(whole / "tasks/task004_broken.json", "{")
    failed = command("--input", source, "--check", "--json")
    assert failed.returncode == 1 and json.loads(failed.stdout)["errors"] >= 1
    assert [line["name"] for line in json.loads(failed.stdout)["checks"]] == [
        check.name for check in CHECKS.values()
    ]
    for wrong in (
        f"--input {source}/nowhere --check",
        f"--input {source} --check --output {tmp_path}",
        f"--input {source}",
        f"--dataset corpus --input {source} --check",
    ):
        refused = command(*wrong.split())
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, wrong


LINK = re.compile(r"http[s]?://(?:[a-zA-Z]|[0-9]|[$-_@.&+]|[!*\(\\),]|(?:%[0-9a-fA-F][0-9a-fA-F]))+")


def test_the_real_files(real_data: Path) -> None:
    """All 156 files: no error, as their contributors' checks passed; the rest counted by a plain script."""
    root = real_data / "natural-instructions"
    report = check_folder(root)
    assert (report.files, report.instances) == (156, 317_917)
    assert report.count("error") == 0
    found = {(it.task_id, it.check, it.message.partition(";")[0]): list(it.ids) for it in report.findings}
    expected: dict[tuple[str, int, str], list[str]] = {}
    for file in sorted((root / "tasks").glob("*.json")):
        value = json.loads(file.read_text(encoding="utf-8"))
        instances, task_id = value["Instances"], file.stem
        if linked := [it["id"] for it in instances if LINK.findall(it["input"])]:
            expected[task_id, 7, "a link in the input"] = linked
        if blank := [it["id"] for it in instances if not it["input"].strip()]:
            expected[task_id, 3, "input is blank"] = blank
        if blank := [it["id"] for it in instances if not all(text.strip() for text in it["output"])]:
            expected[task_id, 3, "an output is blank"] = blank
        for key in value:
            try:
                json.dumps(value[key], allow_nan=False)
            except ValueError:
                what = "NaN passes: a bare NaN or infinity, which JSON does not have, under a key"
                expected[task_id, 13, what] = [key]
        if any(not isinstance(url, str) for url in value["URL"]):
            expected[task_id, 3, "URL has an entry that is not a string"] = ["nan"]
        if len(value["Positive Examples"]) == 2:
            expected[task_id, 4, "2 positive examples"] = []
        if len(value["Negative Examples"]) == 1:
            expected[task_id, 4, "1 negative example"] = []
    assert found == expected
    counts = Counter((it.check, it.level) for it in report.findings)
    assert counts == {(3, "allowed"): 5, (4, "allowed"): 92, (7, "warning"): 15, (13, "allowed"): 1}
    assert not report.broken
    assert sorted({task for task, check, what in found if what == "an output is blank"}) == [
        "task293_storycommonsense_emotion_text_generation",
        "task388_torque_token_classification",
        "task924_event2mind_word_generation",
    ]
