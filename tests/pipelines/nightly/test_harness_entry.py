"""`nightjar ledger add`: runs of another harness have verdicts and declines, and nights are not compared with them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Nightly
from pipelines.cli import main
from pipelines.history import ledger as ledgers
from pipelines.nightly import harness_entry, night
from tests.conftest import ROOT
from tests.in_process import captured, nightjar, refused
from tests.pipelines.history.test_ledger import add

HARNESSES = ROOT / "tests/data/harness"
LEDGER = Path("data/ledger")


def log(name: str, wrong: int, task: str = "sums") -> Path:
    """A log of forty questions of a task, of which the first `wrong` have a wrong answer."""
    samples = [
        {
            "id": number,
            "epoch": 1,
            "input": f"{number} + 1?",
            "target": "",
            "scores": {"match": {"value": value}},
        }
        for number, value in enumerate("I" * wrong + "C" * (40 - wrong))
    ]
    file = Path(f"{name}.json")
    specification = {"task": task, "model": "mock", "task_version": 1}
    file.write_text(
        json.dumps({"version": 2, "status": "success", "eval": specification, "samples": samples})
    )
    return file


def test_runs_get_verdicts_and_the_exit_status_says_whether_one_is_worse(workdir: Path) -> None:
    assert "first run: 1 score" in nightjar("ledger", "add", log("first", 2))
    assert "1 unchanged" in nightjar("ledger", "add", log("second", 3))
    done = captured(main, ["ledger", "add", str(log("third", 20))])
    assert done.returncode == 1 and "is in the ledger: worse; 1 worse" in done.stdout
    done = captured(main, ["ledger", "add", str(log("fourth", 21)), "--accept", "--json"])
    entry = json.loads(done.stdout)
    assert (done.returncode, entry["state"]) == (0, "good")
    (row,) = entry["verdicts"]
    assert (row["verdict"], row["now"], row["before"], row["worse"]) == ("worse", 47.5, 92.5, 18)
    assert "1 unchanged" in nightjar("ledger", "add", log("fifth", 22))
    assert nightjar("ledger", "--check") == "5 runs, all of them readable.\n"
    assert "sums" in nightjar("ledger", "last", "--benchmark", "sums")


def test_a_run_that_is_added_twice_at_once_is_in_the_ledger_once(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, both, read_entries = log("first", 2), Barrier(2), ledgers.entries

    def entries(*arguments: Any, **options: Any) -> Any:
        with contextlib.suppress(BrokenBarrierError):  # where one waits for the other
            both.wait(0.5)
        return read_entries(*arguments, **options)

    monkeypatch.setattr(ledgers, "entries", entries)
    ledgers.prepare(LEDGER)

    def added(_: int) -> str:
        try:
            return str(harness_entry.add(Path.cwd(), file, None, False, Nightly.load())["state"])
        except NightjarError as error:
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(pool.map(added, range(2)))
    assert outcomes[1] == "good" and "the ledger has this run" in outcomes[0]


def test_the_same_scores_of_another_night_are_another_run(workdir: Path) -> None:
    file = log("first", 2)
    nightjar("ledger", "add", file)
    assert "the ledger has this run" in refused("ledger", "add", str(file))
    later = file.stat().st_mtime + 86_400
    os.utime(file, (later, later))
    assert "1 unchanged" in nightjar("ledger", "add", file)


def test_each_task_is_compared_with_the_last_entry_that_has_it(workdir: Path) -> None:
    """An entry of one task between two of both hides no task."""

    def both(name: str, wrong: int) -> Path:
        folder = Path(name)
        folder.mkdir()
        for task in ("products", "sums"):
            log(f"{name}/{task}", wrong, task)
        return folder

    nightjar("ledger", "add", both("first", 2))
    nightjar("ledger", "add", log("second", 3))
    done = captured(main, ["ledger", "add", str(both("third", 20)), "--json"])
    verdicts = {
        row["benchmark"]: (row["verdict"], row["before"]) for row in json.loads(done.stdout)["verdicts"]
    }
    assert verdicts == {"products": ("worse", 95.0), "sums": ("worse", 92.5)} and done.returncode == 1


def test_a_path_that_is_not_there_leaves_no_ledger(workdir: Path) -> None:
    refused("ledger", "add", "nothing")
    assert not LEDGER.exists()


def test_a_slow_decline_is_worse(workdir: Path) -> None:
    statuses = [captured(main, ["ledger", "add", str(log(f"n{n}", 2 * n))]).returncode for n in range(8)]
    assert statuses[:5] == [0] * 5 and 1 in statuses
    (row,) = json.loads(nightjar("ledger", "last", "--json"))["verdicts"]
    assert row["reason"].startswith("slow decline since ")


def test_samples_of_lm_evaluation_harness_keep_their_numbers(workdir: Path) -> None:
    for model in ("tiny", "other"):
        nightjar("ledger", "add", HARNESSES / "lm_eval" / model, "--name", "nightly")
    result = json.loads(nightjar("ledger", "last", "--json"))
    scores = {(row["benchmark"], row["metric"]): row["value"] for row in result["scores"]}
    (file,) = (HARNESSES / "lm_eval/other").glob("results_*.json")
    published = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert scores["tiny_choice", "acc_norm"] == pytest.approx(100 * published["tiny_choice"]["acc_norm,none"])
    assert scores["tiny_loss", "word_perplexity"] == pytest.approx(
        published["tiny_loss"]["word_perplexity,none"], rel=1e-6
    )
    assert {row["verdict"] for row in result["verdicts"]} == {"unchanged"} and len(result["verdicts"]) == 8


def test_what_cannot_be_added_is_refused(workdir: Path) -> None:
    nightjar("ledger", "add", log("first", 2))
    assert "add needs a run" in refused("ledger", "add")
    assert "go with add" in refused("ledger", "last", "--name", "x")
    assert "no run of a harness in it" in refused("ledger", "add", str(LEDGER))
    shutil.copytree(HARNESSES / "lm_eval/tiny", "protoqa")
    (file,) = Path("protoqa").glob("samples_tiny_choice_*")
    file.rename("protoqa/samples_protoqa.jsonl")
    assert "protoqa has the name of a benchmark of Nightjar" in refused("ledger", "add", "protoqa")
    assert nightjar("ledger", "--check") == "1 run, all of them readable.\n"


def test_nights_are_compared_with_nights_alone(workdir: Path) -> None:
    add(LEDGER, "night")
    nightjar("ledger", "add", log("first", 2))
    assert [it["run"] for it in ledgers.good(LEDGER)][1:] == ["night"]
    references = night._references(LEDGER, lambda line: None)
    assert [it.facts["run"] for it in references] == ["night"]
