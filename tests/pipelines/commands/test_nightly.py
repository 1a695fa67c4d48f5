"""The commands of the nightly on ledgers that are damaged or cannot be written."""

from __future__ import annotations

import json

from nightjar.params.drivers import Nightly
from pipelines.history import ledger as ledgers
from pipelines.nightly import nightly_text
from pipelines.nightly.verdicts import verdicts
from tests.in_process import refused
from tests.pipelines.conftest import Repo
from tests.pipelines.history.test_ledger import add, facts, folder, instances, rewrite

LEDGER = "data/ledger"


def test_the_check_names_all_damage_and_exits_with_1(repo: Repo) -> None:
    ledger = repo.root / LEDGER
    for run in "abc":
        add(ledger, run)
    assert repo.here("ledger", "--check").stdout == "3 runs, all of them readable.\n"
    rewrite(folder(ledger, "a") / "run.parquet", b"no Parquet")
    (folder(ledger, "b") / "verdicts.parquet").unlink()
    rewrite(folder(ledger, "c") / "scores.parquet", b"")
    told = repo.here("ledger", "--check")
    assert (told.returncode, told.stdout, told.stderr.count("\nnightjar: ledger: ")) == (1, "", 2)
    told = repo.here("ledger", "--check", "--json")
    assert told.returncode == 1
    found = json.loads(told.stdout)
    assert (found["runs"], len(found["problems"])) == (3, 3)


def test_runs_that_can_be_read_are_listed_beside_others(repo: Repo) -> None:
    ledger = repo.root / LEDGER
    for run in "abc":
        add(ledger, run)
    (folder(ledger, "a") / "run.parquet").unlink()
    rewrite(folder(ledger, "b") / "verdicts.parquet", b"")
    told = repo.here("ledger", "--json")
    assert (told.returncode, [row["run"] for row in json.loads(told.stdout)]) == (0, ["b", "c"])
    first, second = told.stderr.splitlines()
    assert first.endswith("/a: run.parquet: no such file") and "b: no verdicts: " in second
    assert repo.here("ledger", "c").returncode == 0


def test_a_ledger_that_cannot_be_written_is_an_error_before_anything_starts(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a\n    outs: [a]\n", params="nightly: {ledger: file.txt}\n")
    repo.write(file="no folder")
    error = refused("nightly", cwd=repo.root)
    assert "file.txt: the ledger cannot be written (File exists); fix that, or " in error
    assert not (repo.root / ".nightjar/nightly").exists() and not (repo.root / ".nightjar/prefect").exists()
    (line,) = (repo.root / ".nightjar/notifications.jsonl").read_text().splitlines()
    event = json.loads(line)
    assert event["kind"] == "nightly failed" and f"nightjar: {event['message']}\n" == error


def test_a_first_run_has_no_table_of_verdicts(repo: Repo) -> None:
    scored = facts("first", stages={})
    rows = verdicts(Nightly(), scored, instances(50), None)
    message = nightly_text.message(rows, None)
    ledgers.append(repo.root / LEDGER, scored | {"message": message}, [], instances(50), rows)
    shown = repo.here("ledger", "first").stdout
    assert "first run: 1 score recorded, nothing to compare with yet" in shown
    assert "not comparable" not in shown and "worse" not in shown
    assert "made: not comparable" in repo.here("ledger", "first", "--benchmark", "made").stdout
