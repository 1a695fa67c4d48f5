"""What the plan says of every stage is what DVC then does."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from datetime import date
from pathlib import Path

import pytest

from pipelines.graph import dvc_adapter, dvc_status
from pipelines.graph import repository as graphs
from pipelines.graph.graph import MISSING, NEVER, Reason
from tests.pipelines.conftest import Repo

# No two outputs hold the same: DVC keeps equal contents once.
DVC = """
stages:
  prepare:
    cmd: mkdir -p made/in && ./tool.sh raw.csv > made/in/rows.txt && echo note > made/note.txt
    deps: [raw.csv, tool.sh]
    params: [rows, {other.yaml: [depth]}, whole.json: ]
    outs: [made]
  part:
    cmd: (echo part; cat made/in/rows.txt) > part.txt
    deps: [made/in/rows.txt]
    outs: [part.txt]
  inner:
    cmd: (echo inner; cat raw.csv) > folder/inner.txt
    deps: [raw.csv]
    outs: [folder/inner.txt]
  around:
    cmd: cat part.txt folder/plain.txt > around.txt
    deps: [folder, part.txt]
    outs: [around.txt]
  length:
    matrix: {unit: [c, l]}
    cmd: wc -${item.unit} < part.txt > length-${item.unit}.txt; echo 1 > length-${item.unit}.json
    deps: [part.txt]
    outs: ["length-${item.unit}.txt"]
    metrics: ["length-${item.unit}.json": {cache: false}]
  cut:
    cmd: head -c 7 part.txt > cut.txt
    deps: [part.txt]
    outs: [cut.txt]
  after_cut:
    cmd: (echo after; cat cut.txt) > after.txt
    deps: [cut.txt]
    outs: [after.txt]
  iced:
    cmd: (echo iced; cat raw.csv) > iced.txt
    frozen: true
    deps: [raw.csv]
    outs: [iced.txt]
  kept:
    cmd: (echo kept; cat part.txt) > kept.txt
    deps: [part.txt]
    outs: [kept.txt: {persist: true}]
"""
SUB = """
stages:
  far:
    cmd: cat ../after.txt local.txt > far.txt
    deps: [../after.txt, local.txt]
    outs: [far.txt]
"""
Edit = Callable[[Path], None]


@contextmanager
def dvc_says() -> Iterator[list[str]]:
    """The remarks of DVC, run in this process."""
    told: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    logger, handler = logging.getLogger("dvc"), Listener()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield told
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def repro(root: Path) -> dict[str, str]:
    """What `dvc repro` does to every stage, by its own remarks, going on after failures."""
    from dvc.exceptions import ReproductionError
    from dvc.repo import Repo as DvcRepo

    before = Path.cwd()
    os.chdir(root)
    try:
        with dvc_says() as told, DvcRepo(".") as repo:
            try:
                repo.reproduce(all_pipelines=True, on_error="keep-going")
            except ReproductionError as error:
                told.append(str(error))
    finally:
        os.chdir(before)
    done: dict[str, str] = {}
    for line in told:
        for words, state in (
            (r"Running stage '(.*)':", "ran"),
            (r"Stage '(.*)' is cached - skipping run, checking out outputs", "restored"),
            (r"(?:Stage )?'(.*)' didn't change, skipping", "unchanged"),
            (r"Verifying (?:outputs|data sources) in (?:frozen )?stage: '(.*)'", "recorded"),
        ):
            if match := re.fullmatch(words, line.strip()):
                done[match[1]] = state
        if "failed to reproduce" in line:
            done.update(dict.fromkeys(re.findall(r"'([^']*)'", line), "failed"))
    return done


@pytest.fixture(scope="module")
def once_built(empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("world") / "repo"
    shutil.copytree(empty_repo, root)
    repo = Repo(root)
    repo.write(dvc=DVC, params="rows: 1\nunread: 2\n")
    (root / "tool.sh").write_text("#!/bin/sh\ncat $1\n")
    (root / "tool.sh").chmod(0o755)
    (root / "other.yaml").write_text("depth: {a: 1, b: [2]}\nmore: 3\n")
    (root / "whole.json").write_text('{"x": 1}')
    (root / "raw.csv").write_text("ab\ncd\n")
    (root / "folder").mkdir()
    (root / "folder/plain.txt").write_text("plain")
    (root / "sub").mkdir()
    (root / "sub/dvc.yaml").write_text(SUB)
    (root / "sub/local.txt").write_text("local")
    repo.dvc("add", "--quiet", "raw.csv")
    change("dvc.yaml", "frozen: true", "frozen: false")(root)
    assert set(repro(root).values()) == {"ran", "unchanged"}
    change("dvc.yaml", "frozen: false", "frozen: true")(root)
    # A run that DVC remembers: going back to it restores.
    for edit in BEFORE:
        edit(root)
    repro(root)
    write("other.yaml", "depth: {a: 1, b: [2]}\nmore: 3\n")(root)
    write("raw.csv", "ab\ncd\n")(root)
    assert [name for name, done in repro(root).items() if done == "ran"] == ["kept"]
    return root


def write(name: str, text: str) -> Edit:
    def edit(root: Path) -> None:
        file = root / name
        file.unlink(missing_ok=True)
        file.write_text(text)

    return edit


def change(name: str, old: str, new: str) -> Edit:
    def edit(root: Path) -> None:
        text = (root / name).read_text()
        assert old in text
        write(name, text.replace(old, new))(root)

    return edit


def remove(name: str) -> Edit:
    def edit(root: Path) -> None:
        path = root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return edit


def forget_object(name: str) -> Edit:
    """Take what `name` holds out of the cache."""

    def edit(root: Path) -> None:
        digest = hashlib.md5((root / name).read_bytes()).hexdigest()
        cached = root / ".dvc/cache/files/md5" / digest[:2] / digest[2:]
        cached.chmod(0o644)
        cached.unlink()

    return edit


BEFORE = [write("raw.csv", "ax\ncd\n"), write("other.yaml", "depth: {a: 9, b: [2]}\n")]
MADE = ("made", "part.txt", "cut.txt", "after.txt", "sub/far.txt")
COMMAND, ROWS = change("dvc.yaml", "head -c 7", "head -c 6"), change("params.yaml", "rows: 1", "rows: 2")
EDITS: dict[str, list[Edit]] = {
    "nothing": [],
    "a parameter nobody reads": [change("params.yaml", "unread: 2", "unread: 3")],
    "a parameter": [ROWS],
    "another parameter file": [change("other.yaml", "a: 1", "a: 5")],
    "a whole parameter file": [write("whole.json", '{"x": 1, "y": 2}')],
    "a parameter that is gone": [write("params.yaml", "unread: 2\n")],
    "a parameter file that is gone": [remove("other.yaml")],
    "data by hand": [write("raw.csv", "new\n")],
    "data by hand that were run before": BEFORE[:1],
    "another run before": BEFORE,
    "data by hand that are gone": [remove("raw.csv")],
    "an output that is gone": [remove("made")],
    "an output that is gone and what is before it": [ROWS, remove("part.txt")],
    "a file of an output": [remove("made/note.txt")],
    "an output that was changed": [write("part.txt", "mine")],
    "outputs that are gone, one after the other": [remove(name) for name in MADE],
    "an output that is gone from the cache too": [forget_object("cut.txt"), remove("cut.txt")],
    "an object that is gone from the cache": [forget_object("part.txt")],
    "a metric outside the cache": [remove("length-c.json")],
    "an output that is kept": [remove("kept.txt")],
    "a frozen stage's output": [write("iced.txt", "other")],
    "a frozen stage's missing output": [remove("iced.txt")],
    "a folder": [write("folder/more.txt", "more")],
    "the right to execute": [lambda root: (root / "tool.sh").chmod(0o644)],
    "a command": [COMMAND],
    "a command and what is before it": [COMMAND, ROWS],
    "a stage elsewhere": [write("sub/local.txt", "there")],
    "a missing dependency elsewhere": [remove("sub/local.txt")],
    "the lock": [remove("dvc.lock")],
    "an entry of the lock": [change("dvc.lock", "  cut:", "  cot:")],
    "outputs that others made": [write(name, "odd") for name in ("cut.txt", "after.txt", "around.txt")],
}
# What DVC may do where the plan says this. Of a stage after one that runs, even one that changed itself, not all can be
# told before.
AGREES = {
    "up to date": {"unchanged"},
    "would run": {"ran"},
    "would be restored": {"restored"},
    "would be recorded": {"recorded"},
    "would fail": {"failed"},
    "would be skipped": {"skipped"},
    "follows": {"ran", "restored", "unchanged", "failed", "skipped"},
}


def check(root: Path) -> None:
    graph = graphs.read(root)
    first = [
        stage
        for stage in graph.stages.values()
        if all(graph.stages[name].state == "up to date" for name in stage.upstream)
    ]
    for stage in [stage for stage in first if stage.state != "up to date"][:2]:
        with chdir(root), dvc_adapter.opened(root, locked=False) as project:
            assert dvc_status.status_of(project, stage.name)[0] == stage.state
    done = repro(root)
    for name, stage in graph.stages.items():
        allowed = set(AGREES[stage.state])
        if any(reason.kind == "upstream" for reason in stage.reasons):
            allowed |= {"skipped"} if stage.state in NEVER else {"restored", "skipped"}
        assert done.get(name, "skipped") in allowed, (name, stage.state, stage.why, done)


@pytest.mark.parametrize("edit", EDITS)
def test_dvc_does_what_the_plan_says(once_built: Path, tmp_path: Path, edit: str) -> None:
    root = tmp_path / "repo"
    shutil.copytree(once_built, root)
    for one in EDITS[edit]:
        one(root)
    check(root)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (2, "2", '2 → "2"'),
        ("2", "3", "2 → 3"),
        (None, "null", 'null → "null"'),
        (True, "true", 'true → "true"'),
        (1.5, "1.5e0", '1.5 → "1.5e0"'),
        ("", " ", '"" → " "'),
        (MISSING, "(nothing)", '(nothing) → "(nothing)"'),
        (MISSING, {"a": "b" * 80}, f'(nothing) → {{"a": "{"b" * 53}…'),
        ("a" * 80, "b" * 80, f"{'a' * 80} → {'b' * 80}"),
        ({"a": 1}, '{"a": 1}', '{"a": 1} → "{\\"a\\": 1}"'),
        (date(2026, 1, 2), "2026-01-02", '2026-01-02 → "2026-01-02"'),
        ("combined", "tk instruct", "combined → tk instruct"),
        ("cut -c 1 | head: 7", "a [ b", "cut -c 1 | head: 7 → a [ b"),
    ],
)
def test_two_values_that_differ_never_look_the_same(old: object, new: object, told: str) -> None:
    assert str(Reason("parameter", "key", old, new)) == f"key: {told}"
