"""A folder of task files: whole-file faults, accounting, the same bytes twice, and the real files."""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nightjar.core import tables
from nightjar.core.config import read_yaml
from nightjar.core.contracts import INSTANCES, TASKS
from nightjar.core.errors import NightjarError
from stages.ingest.check_folder import check_folder
from stages.ingest.datasets import Statistics, ingest
from stages.ingest.natural_instructions import ingest_natural_instructions
from tests.in_process import run_stage

Folder = Callable[..., Path]
MakeTask = Callable[..., dict[str, Any]]


def digests(path: Path) -> dict[str, str]:
    """Every file below `path` with the hash of its bytes."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {
        file.relative_to(path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def test_bad_files_stand_aside_and_the_rest_goes_on(
    folder: Folder, make_task: MakeTask, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = json.dumps(make_task()).encode()
    source = folder(
        {
            "task001_good.json": make_task(),
            "task002_cut.json": good[: len(good) // 2],
            "task003_text.json": b"once upon a time",
            "task004_nan.json": good.replace(b'"https://example.org/"', b"NaN"),
            "task005_doubled.json": good.replace(b'"Source"', b'"Source": [], "Source"'),
            "task006_old.json": make_task(Definition="Add."),
            "task007_none.json": make_task(instances=0),
            "task008_latin.json": good.replace(b"Ada", "Ad\xe9".encode("latin-1")),
            "task009..name.json": make_task(),
            "task010 blank.json": make_task(),
            "task011_blank.json": make_task(Instances=[{"id": "a", "input": "i", "output": [""]}]),
            "task012_empty.json": b"",
            "task013_utf16.json": good.decode().encode("utf-16"),
            "README.md": b"not a task",
        }
    )
    (source / "tasks" / "task014_gone.json").symlink_to(source / "nowhere")
    output = tmp_path / "out"
    statistics = ingest("natural_instructions", source, output)
    kept = ["task001_good", "task004_nan", "task006_old"]
    assert [row["task_id"] for row in tables.read_rows(output, TASKS)] == kept
    assert tables.part_rows(output, INSTANCES) == dict.fromkeys(kept, 3)
    rejected = {row["file"]: row for row in tables.read_rejected(output).to_pylist()}
    assert {
        file.removeprefix("tasks/"): row["reason"].partition(":")[0] for file, row in rejected.items()
    } == {
        "task002_cut.json": "not JSON",
        "task003_text.json": "not JSON",
        "task005_doubled.json": "a duplicate key",
        "task007_none.json": "no instances",
        "task008_latin.json": "not UTF-8",
        "task009..name.json": "unsafe file name",
        "task010 blank.json": "unsafe file name",
        "task011_blank.json": "output is blank",
        "task012_empty.json": "not JSON",
        "task013_utf16.json": "not UTF-8",
        "task014_gone.json": "cannot be opened",
    }
    assert rejected["tasks/task003_text.json"]["raw"] == "once upon a time"
    assert "cut off" in rejected["tasks/task002_cut.json"]["reason"]
    assert (statistics.files, statistics.files_rejected, statistics.tasks) == (14, 10, 3)
    assert (statistics.rows_in, statistics.rows_out, statistics.rows_rejected) == (20, 9, 11)
    assert sum(statistics.reasons.values()) == 11 and statistics.left_out == 1
    for row in rejected.values():
        assert sum(row["file"] in record.getMessage() for record in caplog.records) == 1, "one warning a file"


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({}, "no such folder"),
        ({"readme.txt": b"x"}, "no task files"),
        (
            {"task1.json": b"{"},
            "nothing in it can be used (1 files, 1 rows; first tasks/task1.json: not JSON",
        ),
    ],
)
def test_a_folder_without_anything_good(
    folder: Folder, tmp_path: Path, files: dict[str, bytes], what: str
) -> None:
    source = folder(files)
    with pytest.raises(NightjarError) as caught:
        ingest_natural_instructions(source, tmp_path / "out")
    assert what in str(caught.value) and "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == (["input"] if files else []), (
        "nothing is left behind"
    )


def test_other_things_that_are_no_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").write_text("{}")
    for name, what in (
        ("empty", "no task files"),
        ("file.json", "not a folder"),
        ("absent", "no such folder"),
    ):
        with pytest.raises(NightjarError, match=what):
            ingest_natural_instructions(tmp_path / name, tmp_path / "out")
    with pytest.raises(NightjarError, match="unknown dataset 'c4'"):
        ingest("c4", tmp_path, tmp_path / "out")


def test_task_files_directly_and_progress(folder: Folder, make_task: MakeTask, tmp_path: Path) -> None:
    source = folder({f"task00{n}_x.json": make_task(n) for n in range(1, 6)})
    seen: list[tuple[int, int]] = []
    ingest_natural_instructions(
        source / "tasks", tmp_path / "out", lambda done, total: seen.append((done, total))
    )
    assert tables.read_rows(tmp_path / "out", INSTANCES)[0]["file"] == "task001_x.json"
    size = sum(file.stat().st_size for file in (source / "tasks").iterdir())
    assert seen[-1] == (size, size) and seen == sorted(seen) and len(seen) == 5


def test_the_same_bytes_twice_and_whatever_the_threads(
    folder: Folder, make_task: MakeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    folder: Folder, make_task: MakeTask, tmp_path: Path, caplog: pytest.LogCaptureFixture
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
    folder: Folder, make_task: MakeTask, tmp_path: Path, caplog: pytest.LogCaptureFixture
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


KILLED = """
import os, signal, sys
from pathlib import Path
from stages.ingest.check_folder import check_folder
from stages.ingest.datasets import ingest
kill = lambda done, total: done * 2 > total and os.kill(os.getpid(), signal.SIGKILL)
ingest("natural_instructions", Path(sys.argv[1]), Path(sys.argv[2]), kill)
"""


def test_a_killed_ingest_leaves_the_old_version_and_a_rerun_cleans_up(
    folder: Folder, make_task: MakeTask, tmp_path: Path
) -> None:
    source = folder({f"task00{n}_x.json": make_task(3) for n in range(1, 7)})
    output = tmp_path / "data" / "out"
    for old in (None, 6):
        command = [sys.executable, "-c", KILLED, str(source), str(output)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        leftovers = [path.name for path in output.parent.iterdir() if path.name.startswith(".")]
        assert len(leftovers) == 1, "it was killed in the middle of writing"
        assert list((output.parent / leftovers[0] / "instances").iterdir())
        if old is None:
            assert not output.exists()
        else:
            assert len(tables.part_rows(output, INSTANCES)) == old, "the old version is whole"
        ingest_natural_instructions(source, output)
        assert [path.name for path in output.parent.iterdir()] == ["out"]
    assert len(tables.part_rows(output, INSTANCES)) == 6


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk(folder: Folder, make_task: MakeTask, tmp_path: Path) -> None:
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


def test_a_full_device(
    folder: Folder, make_task: MakeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same without a mount: the parts go to a device that is always full.

    By a link, as Arrow removes the path that it could not write.
    """
    original = tables._write_part

    def write_part(table: pa.Table, path: Path) -> None:
        path.symlink_to("/dev/full")
        original(table, path)

    monkeypatch.setattr(tables, "_write_part", write_part)
    with pytest.raises(OSError, match="No space left"):
        ingest_natural_instructions(folder({"task001_x.json": make_task()}), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["input"]


def params_text(source: Path) -> str:
    values = read_yaml(Path(__file__).parents[3] / "params.yaml")
    values["ingest"]["natural_instructions"]["path"] = str(source)
    return json.dumps(values)


def test_the_stage(folder: Folder, make_task: MakeTask, tmp_path: Path) -> None:
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


def test_statistics_as_json() -> None:
    assert json.loads(json.dumps(Statistics(tasks=1, reasons={"x": 2}).as_dict()))["reasons"] == {"x": 2}


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
        for column, key in (
            ("definition", "Definition"),
            ("sources", "Source"),
            ("categories", "Categories"),
        ):
            assert head[column] == value[key]
        urls = [url for url in value["URL"] if not (isinstance(url, float) and math.isnan(url))]
        assert head["urls"] == urls
        for column, key in (
            ("positive_examples", "Positive Examples"),
            ("negative_examples", "Negative Examples"),
        ):
            assert head[column] == value[key]
    assert not rejected, "and nothing else was refused"


def test_texts_stay_as_they_are_and_numbers_may_name_two_tasks(
    folder: Folder, make_task: MakeTask, tmp_path: Path
) -> None:
    """What the published files hold beside plain rows: repeated, untrimmed and multi-line references, very long
    inputs, replacement characters, several languages, two tasks of one number, older files without ids.
    """
    instances = [
        {"id": "a", "input": " long " * 7000, "output": ["same", "same", " untrimmed "]},
        {"id": "b", "input": "bad \ufffd sign\r\n\ttab", "output": ["two\nlines\n"]},
        {"id": "c", "input": "日本語。", "output": ["はい", "ń…"]},
    ]
    other = [{"input": item["input"], "output": item["output"]} for item in instances]
    old = make_task(Definition="One text.", Instances=other)
    del old["Instance License"]
    source = folder(
        {
            "task672_nummersense.json": make_task(
                Instances=instances, Input_language=["Galician", "Japanese"], Output_language=["Romanian"]
            ),
            "task672_amazon_and_yelp_summarization.json": old,
        }
    )
    output = tmp_path / "out"
    statistics = ingest_natural_instructions(source, output)
    assert (statistics.tasks, statistics.rows_out, statistics.rows_rejected) == (2, 6, 0)
    for part in ("task672_nummersense", "task672_amazon_and_yelp_summarization"):
        rows = tables.read_part(output, INSTANCES, part).to_pylist()
        assert [(row["input"], row["outputs"]) for row in rows] == [
            (item["input"], item["output"]) for item in instances
        ]
        assert len({row["id"] for row in rows}) == 3 and all(row["task_id"] == part for row in rows)
    heads = {row["task_id"]: row for row in tables.read_rows(output, TASKS)}
    assert heads["task672_nummersense"]["input_language"] == ["Galician", "Japanese"]
    assert heads["task672_amazon_and_yelp_summarization"]["definition"] == ["One text."]
    assert heads["task672_amazon_and_yelp_summarization"]["license"] == []
    assert statistics.collection is not None and statistics.collection["non_english_tasks"] == 1


def test_only_ordinary_files_are_read_and_the_others_are_reported(
    folder: Folder, make_task: MakeTask, tmp_path: Path
) -> None:
    source = folder({"task001_good.json": make_task()})
    os.mkfifo(source / "tasks/task002_pipe.json")
    (source / "tasks/task003_device.json").symlink_to("/dev/zero")
    (source / "tasks/task004_folder.json").mkdir()
    (source / "tasks/task005_gone.json").symlink_to("nowhere")
    statistics = ingest("natural_instructions", source, tmp_path / "out")
    rejected = tables.read_rejected(tmp_path / "out").to_pylist()
    assert {row["file"][6:13]: row["reason"] for row in rejected} == {
        "task002": "cannot be opened: a named pipe",
        "task003": "cannot be opened: a character device",
        "task004": "cannot be opened: a folder",
        "task005": "cannot be opened: a broken link",
    }
    assert (statistics.files, statistics.files_rejected, statistics.rows_out) == (5, 4, 3)
    checked = check_folder(source).as_dict()
    told = {it["task_id"]: it["message"] for it in checked["findings"] if "cannot be opened" in it["message"]}
    assert sorted(name[:7] for name in told) == ["task002", "task003", "task004", "task005"]


@pytest.mark.parametrize(
    "name", ["splits/default/test_tasks.txt", "doc/task-hierarchy.md", "tasks/README.md"]
)
def test_a_document_that_is_no_file_is_an_error(
    folder: Folder, make_task: MakeTask, tmp_path: Path, name: str
) -> None:
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


def test_a_task_file_with_the_longest_name_is_refused_or_taken(
    folder: Folder, make_task: MakeTask, tmp_path: Path
) -> None:
    """A part of a table is named for its task, with an ending that is two bytes longer than the task file's."""
    names = ["t" * 247 + ".json", "t" * 248 + ".json", "t" * 250 + ".json"]
    source = folder(dict.fromkeys(names, make_task()))
    statistics = ingest("natural_instructions", source, tmp_path / "out")
    assert list(tables.part_rows(tmp_path / "out", INSTANCES)) == ["t" * 247]
    rejected = tables.read_rejected(tmp_path / "out").to_pylist()
    assert {row["reason"].partition(":")[0] for row in rejected} == {"unsafe file name"}
    assert statistics.files_rejected == 2
