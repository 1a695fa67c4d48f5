"""A folder of task files: whole-file faults, accounting, the same bytes twice, and the real files."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightjar.core import tables
from nightjar.core.config import read_yaml
from nightjar.core.contracts import INSTANCES, TASKS
from nightjar.core.errors import NightjarError
from stages.ingest.check_folder import check_folder
from stages.ingest.datasets import ingest
from stages.ingest.natural_instructions import ingest_natural_instructions
from tests.in_process import run_stage
from tests.stages.ingest.conftest import Folder, make_task


def digests(path: Path) -> dict[str, str]:
    """Every file below `path` with the hash of its bytes."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {
        file.relative_to(path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def test_bad_files_stand_aside_and_the_rest_goes_on(
    folder: Folder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = json.dumps(make_task()).encode()
    bad = {
        "task002_cut.json": (good[: len(good) // 2], "not JSON"),
        "task003_text.json": (b"once upon a time", "not JSON"),
        "task005_doubled.json": (good.replace(b'"Source"', b'"Source": [], "Source"'), "a duplicate key"),
        "task007_none.json": (make_task(instances=0), "no instances"),
        "task008_latin.json": (good.replace(b"Ada", "Ad\xe9".encode("latin-1")), "not UTF-8"),
        "task009..name.json": (make_task(), "unsafe file name"),
        "task010 blank.json": (make_task(), "unsafe file name"),
        "task011_blank.json": (
            make_task(Instances=[{"id": "a", "input": "i", "output": [""]}]),
            "output is blank",
        ),
        "task012_empty.json": (b"", "not JSON"),
        "task013_utf16.json": (good.decode().encode("utf-16"), "not UTF-8"),
    }
    source = folder(
        {
            "task001_good.json": make_task(),
            "task004_nan.json": good.replace(b'"https://example.org/"', b"NaN"),
            "task006_old.json": make_task(Definition="Add."),
            "README.md": b"not a task",
            **{name: content for name, (content, _) in bad.items()},
        }
    )
    (source / "tasks" / "task014_gone.json").symlink_to(source / "nowhere")
    output = tmp_path / "out"
    statistics = ingest("natural_instructions", source, output)
    kept = ["task001_good", "task004_nan", "task006_old"]
    assert [row["task_id"] for row in tables.read_rows(output, TASKS)] == kept
    assert tables.part_rows(output, INSTANCES) == dict.fromkeys(kept, 3)
    rejected = {row["file"]: row for row in tables.read_rejected(output).to_pylist()}
    reasons = {Path(file).name: row["reason"].partition(":")[0] for file, row in rejected.items()}
    assert reasons == {name: reason for name, (_, reason) in bad.items()} | {
        "task014_gone.json": "cannot be opened"
    }
    assert rejected["tasks/task003_text.json"]["raw"] == "once upon a time"
    assert "cut off" in rejected["tasks/task002_cut.json"]["reason"]
    assert (statistics.files, statistics.files_rejected, statistics.tasks) == (14, 10, 3)
    assert (statistics.rows_in, statistics.rows_out, statistics.rows_rejected) == (20, 9, 11)
    assert sum(statistics.reasons.values()) == 11 and statistics.left_out == 1
    for row in rejected.values():
        assert sum(row["file"] in record.getMessage() for record in caplog.records) == 1, "one warning a file"


@pytest.mark.parametrize(
    ("dataset", "name", "what"),
    [
        ("natural_instructions", "absent", "no such folder"),
        ("natural_instructions", "text", "no task files"),
        ("natural_instructions", "text/readme.md", "not a folder"),
        ("natural_instructions", "cut", r"can be used \(1 files, 1 rows; first tasks/task1.json: not JSON"),
        ("corpus", "absent", "no such folder"),
        ("corpus", "text", "no documents"),
        ("corpus", "cut/tasks/task1.jsonl", "not a folder"),
        ("corpus", "cut/tasks", "nothing in it can be used"),
        ("corpus", "blank", "nothing in it can be used"),
        ("c4", "text", "unknown dataset 'c4'"),
    ],
)
def test_a_folder_without_anything_good(
    folder: Folder, tmp_path: Path, dataset: str, name: str, what: str
) -> None:
    folder({"task1.json": b"{", "task1.jsonl": b"{"}, "cut")
    for file, text in (("text/readme.md", "x"), ("blank/a.jsonl", "\n\n")):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NightjarError, match=what):
        ingest(dataset, tmp_path / name, tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"


def test_task_files_directly_and_progress(folder: Folder, tmp_path: Path) -> None:
    source = folder({f"task00{n}_x.json": make_task(n) for n in range(1, 6)})
    seen: list[tuple[int, int]] = []
    ingest_natural_instructions(
        source / "tasks", tmp_path / "out", lambda done, total: seen.append((done, total))
    )
    assert tables.read_rows(tmp_path / "out", INSTANCES)[0]["file"] == "task001_x.json"
    size = sum(file.stat().st_size for file in (source / "tasks").iterdir())
    assert seen[-1] == (size, size) and seen == sorted(seen) and len(seen) == 5


def test_the_same_bytes_twice_and_whatever_the_threads(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoiled = make_task(
        40, Instances=[{"input": "i", "output": "o"}, 7, {"id": "x", "input": "", "output": ["o"]}]
    )
    source = folder({f"task{n:03}_x.json": make_task(n) if n % 3 else spoiled for n in range(1, 30)})
    ingest_natural_instructions(source, tmp_path / "a")
    ingest_natural_instructions(source, tmp_path / "b")
    monkeypatch.setattr("stages.ingest.accounts._THREADS", 5)
    monkeypatch.setattr("stages.ingest.accounts._READ_AHEAD_BYTES", 10**9)
    ingest_natural_instructions(source, tmp_path / "c")
    assert digests(tmp_path / "a") == digests(tmp_path / "b") == digests(tmp_path / "c")
    assert len(digests(tmp_path / "a")) == 31


def test_the_published_lists_come_along(
    folder: Folder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    source = folder({"task001_x.json": make_task()})
    lists = source / "splits" / "default"
    lists.mkdir(parents=True)
    (lists / "train_tasks.txt").write_text("task001_x\n")
    (lists / "notes.txt").write_text("no list")
    statistics = ingest_natural_instructions(source, tmp_path / "out")
    assert statistics.facts()["lists"] == {"default": {"train": 1}}
    assert caplog.messages == [f"published lists in {source}/splits: default train 1 names"]
    copied = sorted(
        p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out" / "splits").rglob("*.txt")
    )
    assert copied == ["splits/default/train_tasks.txt"]
    (lists / "test_tasks.txt").write_bytes(b"t\xe9st\n")
    with pytest.raises(NightjarError, match="not UTF-8"):
        ingest_natural_instructions(source, tmp_path / "out2")
    assert not (tmp_path / "out2").exists()


def test_published_lists_that_are_not_read(
    folder: Folder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    source = folder({"task001_x.json": make_task()})
    assert ingest_natural_instructions(source, tmp_path / "out").lists == {}
    (source / "splits").mkdir()
    assert ingest_natural_instructions(source / "tasks", tmp_path / "out").lists == {}
    none, beside = caplog.records
    assert none.getMessage() == f"no published lists in {source}/splits: the rule alone decides the split"
    assert beside.levelname == "WARNING"
    assert f"to use those in {source}/splits, give the folder {source}" in beside.getMessage()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk(folder: Folder, tmp_path: Path) -> None:
    noise = [hashlib.sha512(str(n).encode()).hexdigest() for n in range(4000)]
    instances = [{"id": text[:32], "input": text, "output": ["o"]} for text in noise]
    source = folder({f"task00{n}_x.json": make_task(Instances=instances) for n in range(1, 6)})
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not allow mounts")
    try:
        (disk / "params.yaml").write_text(params_text(source))
        command = [sys.executable, "-m", "stages.ingest", "natural_instructions"]
        done = subprocess.run(command, cwd=disk, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("nightjar: ") and "the disk is full" in done.stderr
        assert done.stderr.count("\n") == 1, "one line"
        left = [path.name for path in (disk / "data").rglob("*") if path.is_file()]
        assert left == [], "nothing half-written"
    finally:
        subprocess.run(["umount", disk], check=True)


def params_text(source: Path) -> str:
    values = read_yaml(Path(__file__).parents[3] / "params.yaml")
    values["ingest"]["natural_instructions"]["path"] = str(source)
    return json.dumps(values)


def test_the_stage(folder: Folder, tmp_path: Path) -> None:
    source = folder({"task001_x.json": make_task(5), "task002_x.json": b"{"})
    (tmp_path / "params.yaml").write_text(params_text(source))

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return run_stage("ingest", name, cwd=tmp_path)

    done = run("natural_instructions")
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "data/metrics/ingest-natural_instructions.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (6, 5, 1)
    assert facts["reasons"] == {"not JSON": 1} and facts["tasks"] == 1 and facts["files_rejected"] == 1
    assert "seconds" not in facts, "a clock would make two equal runs differ"
    first = digests(tmp_path / "data")
    command = [sys.executable, "-m", "stages.ingest", "natural_instructions"]
    assert subprocess.run(command, cwd=tmp_path).returncode == 0  # sets have another order in another process
    assert digests(tmp_path / "data") == first
    refused = run("protoqa")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    (tmp_path / "params.yaml").write_text(params_text(tmp_path / "nowhere"))
    absent = run("natural_instructions")
    assert absent.returncode == 2
    assert absent.stderr == (
        f"nightjar: {tmp_path}/nowhere: no such folder; "
        "set ingest.natural_instructions.path or give another --input\n"
    )
    assert digests(tmp_path / "data") == first, "a failed run leaves the last good one"


COLUMNS = {
    "definition": "Definition",
    "sources": "Source",
    "license": "Instance License",
    **{name: name.capitalize() for name in ("categories", "domains", "reasoning", "contributors")},
    **{name: name.capitalize() for name in ("input_language", "output_language", "instruction_language")},
    **{name: name.replace("_", " ").title() for name in ("positive_examples", "negative_examples")},
}


def test_whole_folders(task_files: list[Path], tmp_path: Path) -> None:
    """All 63 files of the sample, or the 156 real ones: every row against Python's own JSON reader."""
    statistics = ingest_natural_instructions(task_files[0].parents[1], tmp_path / "out")
    count = len(task_files)
    assert (statistics.files, statistics.files_rejected, statistics.tasks) == (count, 0, count)
    assert (count, statistics.rows_in) in {(63, 5345), (156, 317_917)}
    assert statistics.rows_out + statistics.rows_rejected == statistics.rows_in
    rejected = {(row["file"], row["id"]) for row in tables.read_rejected(tmp_path / "out").to_pylist()}
    heads = {row["task_id"]: row for row in tables.read_rows(tmp_path / "out", TASKS)}
    for file in task_files:
        value = json.loads(file.read_text(encoding="utf-8"))
        rows = tables.read_part(tmp_path / "out", INSTANCES, file.stem)
        expected = [
            (index, item["id"], item["input"], item["output"])
            for index, item in enumerate(value["Instances"])
            if item["input"].strip() and all(text.strip() for text in item["output"])
        ]
        got = zip(*(rows[name].to_pylist() for name in ("index", "id", "input", "outputs")), strict=True)
        assert list(got) == expected, file.name
        good = {index for index, *_ in expected}
        refused = {
            (f"tasks/{file.name}", item["id"])
            for index, item in enumerate(value["Instances"])
            if index not in good
        }
        assert refused <= rejected
        rejected -= refused
        head = heads[file.stem]
        urls = [url for url in value["URL"] if not (isinstance(url, float) and math.isnan(url))]
        assert head["urls"] == urls
        assert {column: head[column] for column in COLUMNS} == {
            column: value.get(key, []) for column, key in COLUMNS.items()
        }
    assert not rejected, "and nothing else was refused"


@pytest.mark.parametrize("dataset", ["natural_instructions", "corpus"])
def test_only_ordinary_files_are_read_and_the_others_are_reported(
    folder: Folder, tmp_path: Path, dataset: str
) -> None:
    tasks = folder({"task001_good.json": make_task(), "task001.txt": b"a\n\nb\n\nc"}) / "tasks"
    for end in (".json", ".txt"):
        os.mkfifo(tasks / f"task002{end}")
        (tasks / f"task003{end}").symlink_to("/dev/zero")
        (tasks / f"task004{end}").mkdir()
        (tasks / f"task005{end}").symlink_to("nowhere")
    statistics = ingest(dataset, tasks, tmp_path / "out")
    rejected = {
        Path(row["file"]).stem: row["reason"] for row in tables.read_rejected(tmp_path / "out").to_pylist()
    }
    assert rejected == {
        "task002": "cannot be opened: a named pipe",
        "task003": "cannot be opened: a character device",
        "task004": "cannot be opened: a folder",
        "task005": "cannot be opened: a broken link",
    }
    assert (statistics.files, statistics.files_rejected, statistics.rows_out) == (5, 4, 3)
    if dataset == "natural_instructions":
        findings = check_folder(tasks).as_dict()["findings"]
        assert sorted(it["task_id"] for it in findings if "cannot be opened" in it["message"]) == sorted(
            rejected
        )


@pytest.mark.parametrize(
    "name", ["splits/default/test_tasks.txt", "doc/task-hierarchy.md", "tasks/README.md"]
)
def test_a_document_that_is_no_file_is_an_error(folder: Folder, tmp_path: Path, name: str) -> None:
    source = folder({"task001_good.json": make_task()})
    (source / name).parent.mkdir(parents=True, exist_ok=True)
    for make, told in (
        (os.mkfifo, "a named pipe"),
        (lambda path: path.symlink_to("nowhere"), "a broken link"),
    ):
        make(source / name)
        with pytest.raises(NightjarError, match=f"{name}: {told}"):
            check_folder(source)
        if "splits" in name:
            with pytest.raises(NightjarError, match=f"{name}: {told}"):
                ingest("natural_instructions", source, tmp_path / "out")
            assert not (tmp_path / "out").exists()
        (source / name).unlink()


def test_a_task_file_with_the_longest_name_is_refused_or_taken(folder: Folder, tmp_path: Path) -> None:
    """A part of a table is named for its task, with an ending that is two bytes longer than the task file's."""
    names = ["t" * 247 + ".json", "t" * 248 + ".json", "t" * 250 + ".json"]
    source = folder(dict.fromkeys(names, make_task()))
    statistics = ingest("natural_instructions", source, tmp_path / "out")
    assert list(tables.part_rows(tmp_path / "out", INSTANCES)) == ["t" * 247]
    rejected = tables.read_rejected(tmp_path / "out").to_pylist()
    assert {row["reason"].partition(":")[0] for row in rejected} == {"unsafe file name"}
    assert statistics.files_rejected == 2
