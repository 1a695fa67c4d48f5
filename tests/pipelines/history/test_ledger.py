"""The ledger: what is added can be read, is never written again, and survives a kill at every step."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from pipelines.history import ledger as ledgers
from tests.pipelines.conftest import environment

STARTED = datetime(2026, 7, 1, 23, 59, 58, tzinfo=UTC)


def facts(run: str, **others: Any) -> dict[str, Any]:
    return {
        "run": run,
        "started": STARTED,
        "ended": STARTED + timedelta(minutes=5),
        "state": "good",
        "message": "unchanged",
        "accepted": False,
        "against": None,
        "commit": "c" * 40,
        "changed": ["params.yaml"],
        "lock_sha256": "d" * 64,
        "parameters": {"seed": 42, "name": "Ä"},
        "parameters_sha256": "e" * 64,
        "seed": 42,
        "versions": {"python": "3.11"},
        "hardware": {"cpu": "made"},
        "stages": {"evaluate@made": {"params": {}}},
        **others,
    }


def instances(number: int, value: float = 0.5) -> list[dict[str, Any]]:
    names = {"benchmark": "made", "system": "model", "track": "default", "metric": "exact_match"}
    rows = [{"task_id": "task", "id": f"i{k}", "content": None, "value": value} for k in range(number)]
    return [names | row for row in rows]


def add(ledger: Path, run: str, **others: Any) -> Path:
    return ledgers.append(ledger, facts(run, **others), [], instances(50), [])


def test_what_is_added_is_read_back_in_the_order_of_adding(tmp_path: Path) -> None:
    ledger = tmp_path / "not yet" / "there"
    assert ledgers.entries(ledger) == [] and not list(ledgers.good(ledger))
    first = add(ledger, "b")
    # The clock was put back a day: the order stays that of adding.
    add(ledger, "a", started=STARTED - timedelta(days=1))
    add(ledger, "c", state="worse", message="made: worse")
    add(ledger, "d", state="failed", message="a stage failed")
    assert first == ledger / "date=2026-07-01" / "b"
    assert sorted(path.name for path in ledger.glob("date=*")) == ["date=2026-06-30", "date=2026-07-01"]
    told = ledgers.entries(ledger)
    assert [entry["run"] for entry in told] == ["b", "a", "c", "d"]
    assert told[0]["parameters"] == {"seed": 42, "name": "Ä"} and told[0]["started"] == STARTED
    good = next(ledgers.good(ledger), None)
    assert good is not None and good["run"] == "a"
    assert ledgers.read(told[0], "instances.parquet").to_pylist() == instances(50)
    assert ledgers.find(ledger, "last")["run"] == "d" and ledgers.find(ledger, "c")["state"] == "worse"
    with pytest.raises(NightjarError, match="no run 'z'"):
        ledgers.find(ledger, "z")
    assert ledgers.check(ledger)[1] == []


def test_an_entry_is_never_written_again_and_bad_rows_leave_nothing(tmp_path: Path) -> None:
    path = add(tmp_path, "a")
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(NightjarError, match="an entry of this name is there"):
        add(tmp_path, "a", state="worse")
    with pytest.raises(NightjarError, match="an entry of this name is there"):
        add(tmp_path, "a", started=STARTED + timedelta(days=1))
    with pytest.raises(NightjarError, match="state is not one of"):
        add(tmp_path, "b", state="excellent")
    with pytest.raises(NightjarError, match="value is not within"):
        ledgers.append(tmp_path, facts("b"), [], instances(3, value=float("nan")), [])
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    assert [entry["run"] for entry in ledgers.entries(tmp_path)] == ["a"]
    assert not (tmp_path / ".new").exists()
    assert all(file.stat().st_mode & 0o222 == 0 for file in path.iterdir())


def folder(ledger: Path, run: str) -> Path:
    return ledger / "date=2026-07-01" / run


def rewrite(path: Path, data: bytes | str) -> None:
    """Change a file of an entry, as an editor does that minds no permissions."""
    path.chmod(0o644)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def change(path: Path, **columns: Any) -> None:
    """Change columns of a run.parquet; JSON is given as text."""
    row = pq.read_table(path).to_pylist()[0] | columns
    path.chmod(0o644)
    pq.write_table(pa.Table.from_pylist([row], schema=contracts.LEDGER_RUN.schema), path)


def with_manifest(entry: Path) -> None:
    """Give an entry the form in which earlier versions wrote it."""
    (entry / "manifest.json").write_text(json.dumps({"run": entry.name, "sequence": 1, "files": {}}))


@pytest.mark.parametrize(
    "broken",
    [
        lambda entry: rewrite(entry / "run.parquet", b"no Parquet"),
        lambda entry: (entry / "run.parquet").unlink(),
        lambda entry: change(entry / "run.parquet", files="{no JSON"),
        lambda entry: change(entry / "run.parquet", state="excellent"),
        lambda entry: rewrite(entry / "run.parquet", (entry / "scores.parquet").read_bytes()),
        lambda entry: [path.unlink() for path in entry.iterdir()],
    ],
)
@pytest.mark.parametrize("earlier", [False, True])
def test_an_entry_that_cannot_be_read_is_skipped_by_name_and_does_not_prevent_another(
    tmp_path: Path, broken: Callable[[Path], object], earlier: bool
) -> None:
    add(tmp_path, "a")
    entry = add(tmp_path, "b")
    if earlier:
        with_manifest(entry)
    broken(entry)
    told: list[str] = []
    assert [facts["run"] for facts in ledgers.entries(tmp_path, told.append)] == ["a"]
    assert len(told) == 1 and str(entry) in told[0] and "\n" not in told[0]
    good = next(ledgers.good(tmp_path, told.append), None)
    assert good is not None and good["run"] == "a" and len(told) == 2
    add(tmp_path, "c")
    assert [facts["sequence"] for facts in ledgers.entries(tmp_path, told.append)] == [1, 3]
    damage = ledgers.check(tmp_path)[1]
    assert damage and all(line.startswith("b: ") for line in damage)
    with pytest.raises(NightjarError, match="an entry of this name is there"):
        add(tmp_path, "b")


def test_a_good_run_whose_scores_cannot_be_read_is_compared_with_none(tmp_path: Path) -> None:
    add(tmp_path, "a")
    rewrite(add(tmp_path, "b") / "instances.parquet", b"")
    told: list[str] = []
    assert [facts["run"] for facts in ledgers.good(tmp_path, told.append)] == ["a"]
    assert len(told) == 1
    assert told[0].startswith(f"skipped {folder(tmp_path, 'b')}: instances.parquet: unreadable")


def test_every_damage_is_named_by_entry_and_file(tmp_path: Path) -> None:
    for name in "abcde":
        add(tmp_path, name)
    assert ledgers.check(tmp_path) == (5, [])
    shutil.copytree(folder(tmp_path, "e"), folder(tmp_path, "z"))
    assert ledgers.check(tmp_path)[1] == ["z: the folder holds the run 'e'"]
    shutil.rmtree(folder(tmp_path, "z"))
    rewrite(folder(tmp_path, "a") / "run.parquet", b"PAR1 no more")
    shutil.rmtree(folder(tmp_path, "b"))
    scores = folder(tmp_path, "c") / "scores.parquet"
    scores.unlink()
    scores.mkdir()
    (folder(tmp_path, "d") / "verdicts.parquet").unlink()
    number, problems = ledgers.check(tmp_path)
    assert number == 4
    assert [line.rpartition(" (")[0] or line for line in problems] == [
        "a: run.parquet: unreadable",
        "c: scores.parquet: no such file",
        "d: verdicts.parquet: no such file",
        "1 missing: the last entry has the number 5",
    ]


def test_a_ledger_that_cannot_be_written_is_found_before_there_is_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "new" / "ledger"
    ledgers.prepare(ledger)
    assert ledgers.check(ledger) == (0, [])
    assert not list(ledger.glob("date=*"))
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "below", tmp_path / "a\0b"):
        with pytest.raises(NightjarError, match="the ledger cannot be written"):
            ledgers.prepare(path)
    with pytest.raises(NightjarError, match=r"the ledger cannot be read \(Not a directory\)"):
        ledgers.entries(file)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NightjarError, match="No space left on device"):
        ledgers.prepare(ledger)
    assert not list(ledger.glob("date=*/*"))


def test_an_entry_that_can_be_added_nowhere_is_one_line(tmp_path: Path) -> None:
    for name in ("ledger", ".nightjar"):
        (tmp_path / name).write_text("a file")
    with pytest.raises(NightjarError, match=r"\(File exists\), nor written to .nightjar/ledger-aside \("):
        ledgers.append_or_aside(tmp_path, tmp_path / "ledger", facts("a"), [], instances(50), [])


# Counts what a writer asks of the system and, in a child for each, dies for good before that call.
KILLED = """
import os, signal, sys
from datetime import datetime
from pathlib import Path
from pipelines.history import ledger
from nightjar.core import tables
from tests.pipelines.history.test_ledger import add
fatal, calls = 0, 0
def counted(call):
    def wrapper(*arguments, **named):
        global calls
        calls += 1
        if calls == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **named)
    return wrapper
def child(folder):
    if os.fork() == 0:
        for name in ("fsync", "open", "rename", "mkdir", "chmod", "replace"):
            setattr(os, name, counted(getattr(os, name)))
        tables.write_file = counted(tables.write_file)
        tables._write_part = counted(tables._write_part)
        add(folder, "new")
        print(calls, flush=True)
        os._exit(0)
    return os.wait()[1]
root = Path(sys.argv[1])
assert child(root / "counted") == 0
for fatal in range(1, 1000):
    if child(root / str(fatal)) == 0:
        break
"""


@pytest.mark.slow
def test_a_kill_before_any_step_leaves_the_entry_whole_or_absent(tmp_path: Path) -> None:
    for fatal in range(1, 100, 2):  # every other on a ledger that is there
        add(tmp_path / str(fatal), "old")
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    steps = int(done.stdout.split()[0])
    assert steps >= 15
    states = []
    for fatal in range(1, steps):
        ledger, old = tmp_path / str(fatal), ["old"] * (fatal % 2)
        there = [entry["run"] for entry in ledgers.entries(ledger)]
        states.append("new" in there)
        assert there in (old, [*old, "new"])
        assert ledgers.check(ledger)[1] == []
        if "new" in there:
            with pytest.raises(NightjarError, match="is there"):
                add(ledger, "new")
        else:
            add(ledger, "new")
        assert [entry["run"] for entry in ledgers.entries(ledger)] == [*old, "new"]
        assert ledgers.read(ledgers.find(ledger, "new"), "instances.parquet").num_rows == 50
        assert not (ledger / ".new").exists(), "a leftover was not removed"
    assert states.count(False) >= 10 and True in states


def test_several_writers_wait_for_one_another(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as writers:
        list(writers.map(lambda number: add(tmp_path, f"r{number}"), range(8)))
    there = ledgers.entries(tmp_path)
    assert [entry["sequence"] for entry in there] == list(range(1, 9))
    assert {entry["run"] for entry in there} == {f"r{number}" for number in range(8)}
    assert ledgers.check(tmp_path)[1] == []


def test_files_are_plain_parquet_that_other_programs_read_by_a_pattern(tmp_path: Path) -> None:
    add(tmp_path, "a")
    add(tmp_path, "b", started=STARTED + timedelta(days=1))
    files = sorted(tmp_path.glob("date=*/*/instances.parquet"))
    assert [len(pq.ParquetFile(file).read()) for file in files] == [50, 50]
    assert json.loads(pq.ParquetFile(files[0].with_name("run.parquet")).read()["hardware"][0].as_py()) == {
        "cpu": "made"
    }
    assert os.path.basename(files[0].parent) == "a"
