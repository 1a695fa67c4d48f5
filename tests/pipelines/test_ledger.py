"""The ledger: what is added can be read, is never written again, and survives a kill at every step."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines import ledger as ledgers
from stages.errors import NightjarError
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
    assert ledgers.entries(ledger) == [] and ledgers.last_good(ledger) is None
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
    good = ledgers.last_good(ledger)
    assert good is not None and good["run"] == "a"
    assert ledgers.read(told[0], "instances.parquet").to_pylist() == instances(50)
    assert ledgers.find(ledger, "last")["run"] == "d" and ledgers.find(ledger, "c")["state"] == "worse"
    with pytest.raises(NightjarError, match="no run 'z'"):
        ledgers.find(ledger, "z")
    assert ledgers.check(ledger) == []


def test_an_entry_is_never_written_again_and_bad_rows_leave_nothing(tmp_path: Path) -> None:
    path = add(tmp_path, "a")
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(NightjarError, match="an entry of this name is there"):
        add(tmp_path, "a", state="worse")
    with pytest.raises(NightjarError, match="an entry of this name is there"):
        add(tmp_path, "a", started=STARTED + timedelta(days=1))
    with pytest.raises(NightjarError, match="state has"):
        add(tmp_path, "b", state="excellent")
    with pytest.raises(NightjarError, match="value spans"):
        ledgers.append(tmp_path, facts("b"), [], instances(3, value=1.5), [])
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    assert [entry["run"] for entry in ledgers.entries(tmp_path)] == ["a"]
    assert not list(tmp_path.glob("date=*/.*"))
    assert all(file.stat().st_mode & 0o222 == 0 for file in path.iterdir())


def test_what_was_changed_afterwards_is_told(tmp_path: Path) -> None:
    for name in "abc":
        add(tmp_path, name)
    changed = tmp_path / "date=2026-07-01/c/instances.parquet"
    changed.chmod(0o644)
    changed.write_bytes(changed.read_bytes() + b" ")
    (tmp_path / "date=2026-07-01/c/scores.parquet").unlink()
    for file in (tmp_path / "date=2026-07-01/b").iterdir():
        file.unlink()
    (tmp_path / "date=2026-07-01/b").rmdir()
    assert ledgers.check(tmp_path) == [
        "c: is run 3, but 1 stand before it",
        "c: instances.parquet was changed",
        "c: scores.parquet is missing",
    ]
    (tmp_path / "date=2026-07-01/a/run.parquet").unlink()
    with pytest.raises(NightjarError, match=r"run\.parquet"):
        ledgers.entries(tmp_path)


# Counts what a writer asks of the system and, in a child for each, dies for good before that call.
KILLED = """
import os, signal, sys
from datetime import datetime
from pathlib import Path
from pipelines import ledger
from stages import tables
from tests.pipelines.test_ledger import add
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
        assert ledgers.check(ledger) == []
        if "new" in there:
            with pytest.raises(NightjarError, match="is there"):
                add(ledger, "new")
        else:
            add(ledger, "new")
        assert [entry["run"] for entry in ledgers.entries(ledger)] == [*old, "new"]
        assert ledgers.read(ledgers.find(ledger, "new"), "instances.parquet").num_rows == 50
        assert not list(ledger.glob("date=*/.*")), "a leftover was not removed"
    assert states.count(False) >= 10 and True in states


ENDLESS = """
import sys
from pathlib import Path
from tests.pipelines.test_ledger import add
print("ready", flush=True)
for number in range(100000):
    add(Path(sys.argv[1]), f"{sys.argv[2]}-{number}")
    print(f"{sys.argv[2]}-{number}", flush=True)
"""


@pytest.mark.slow
def test_two_writers_killed_from_outside_lose_nothing_that_they_reported(tmp_path: Path) -> None:
    chance, reported = random.Random(5), set()
    for turn in range(4):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", ENDLESS, str(tmp_path), f"{turn}{name}"],
                env=environment(),
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in "xy"
        ]
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        time.sleep(0.2 + 0.3 * chance.random())
        for writer in writers:
            writer.kill()
            reported |= set(writer.communicate()[0].split())
        there = [entry["run"] for entry in ledgers.entries(tmp_path)]
        assert reported <= set(there) and len(there) <= len(reported) + 2 * (turn + 1)
        assert len(set(there)) == len(there)
    assert len(reported) > 8
    assert ledgers.check(tmp_path) == []
    assert [entry["sequence"] for entry in ledgers.entries(tmp_path)] == list(range(1, len(there) + 1))


def test_files_are_plain_parquet_that_other_programs_read_by_a_pattern(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    add(tmp_path, "a")
    add(tmp_path, "b", started=STARTED + timedelta(days=1))
    files = sorted(tmp_path.glob("date=*/*/instances.parquet"))
    assert [len(pq.ParquetFile(file).read()) for file in files] == [50, 50]
    assert json.loads(pq.ParquetFile(files[0].with_name("run.parquet")).read()["hardware"][0].as_py()) == {
        "cpu": "made"
    }
    assert os.path.basename(files[0].parent) == "a"
