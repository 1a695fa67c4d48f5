"""Checks that stop what is downstream, in a small repository whose stage writes a real artifact."""

from __future__ import annotations

import json
import re

import pytest

from pipelines.verify import FOLDER
from stages.contracts import TRAIN
from tests.pipelines.conftest import Api, Repo, wait_for

DVC = """
stages:
  split:
    cmd: python make.py
    deps: [make.py]
    params: [leak]
    outs: [data/split]
    metrics: [split.json]
  after:
    cmd: cat split.json > after.out
    deps: [data/split]
    outs: [after.out]
  aside:
    cmd: echo 1 > aside.out
    outs: [aside.out]
"""
# What a stage's author might get wrong: it writes to the tables' rules, and yet a training input is a test input.
MAKE = """
import json
from pathlib import Path
from stages import checks, contracts, tables
leak = int(Path("params.yaml").read_text().split()[1])
row = {"dataset": "d", "file": "f", "index": 0, "outputs": ["o"]}
with tables.ArtifactWriter(Path("data/split")) as writer:
    roles = [("a", "train"), ("z", "test")]
    writer.write(contracts.SPLIT_TASKS, [
        {"track": "default", "task_id": task, "role": role, "reason": "r"} for task, role in roles])
    writer.write(contracts.TRAIN, [
        {**row, "task_id": "a", "id": f"a{n}", "input": f"text {n if n < leak else -n}"} for n in range(1, 15)])
    more = {"track": "default", "category": "c", "task_id": "z"}
    writer.write(contracts.TEST, [{**row, **more, "id": f"z{n}", "input": f" text {n}"} for n in range(1, 15)])
facts = {"stage": "split", "rows_in": 28, "rows_out": 28, "rows_rejected": 0,
         "tables": {"data/split": checks.inventory(Path("data/split"))}}
Path("split.json").write_text(json.dumps(facts))
"""


def states(output: str) -> dict[str, str]:
    return dict(re.findall(r"^(\S+): (ran|cached|failed|skipped) ", output, re.MULTILINE))


@pytest.fixture()
def made(repo: Repo) -> Repo:
    repo.write(dvc=DVC, params="leak: 1\n")
    (repo.root / "make.py").write_text(MAKE)
    return repo


def test_the_command_without_prefect(made: Repo) -> None:
    made.dvc("repro", "--quiet")
    done = made.nightjar("check")
    assert (done.returncode, done.stdout[:18]) == (0, "data/split: ok, 0."), done.stdout + done.stderr
    file = made.root / "data/split" / TRAIN.name / "part-0.parquet"
    whole = file.read_bytes()
    file.unlink()  # DVC may have linked it to its cache
    file.write_bytes(whole[:-30])
    done = made.nightjar("check", "--json", "data/split/")
    told = json.loads(done.stdout)
    assert done.returncode == 1 and not told["passed"]
    (finding,) = told["stages"][0]["findings"]
    assert (finding["check"], finding["table"], finding["blocks"]) == ("readable", "train", True)
    done = made.nightjar("check", "data")
    assert done.returncode == 1 and done.stderr == "nightjar: check: 1 failed\n"
    assert "  failed: data/split/train: readable: " in done.stdout
    for words, said in ((["nowhere"], "no such file"), ([".dvc"], "no artifact is there")):
        done = made.nightjar("check", *words)
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_failed_check_stops_what_is_downstream_until_it_passes(made: Repo, api: Api) -> None:
    api.serve(made)
    made.write(params="leak: 13\n")
    first = made.nightjar("rebuild")
    assert first.returncode == 1, first.stdout + first.stderr
    assert states(first.stdout) == {"split": "failed", "after": "skipped", "aside": "ran"}
    line = next(line for line in first.stdout.splitlines() if line.startswith("split: failed"))
    assert (
        "check failed: data/split/train: disjoint inputs: rows whose input is in test too (12 rows)" in line
    )
    assert not (made.root / "after.out").exists()
    tables = wait_for(lambda: _artifact(api, "check-split"), what="the artifact of the check")
    assert (tables[0]["check"], tables[0]["where"]) == ("disjoint inputs", "data/split/train")
    assert (tables[0]["rows"], tables[0]["verdict"], len(tables)) == (12, "failed", 11)
    assert json.loads(tables[1]["example"]) == {"task_id": "a", "id": "a1", "input": "text 1"}

    # DVC finds nothing to do for split now; the verdict stands all the same.
    again = made.nightjar("rebuild", "split")
    assert again.returncode == 1 and states(again.stdout) == {"split": "failed"}
    assert made.dvc("status", "split").strip() == "Data and pipelines are up to date."

    made.write(params="leak: 13\nchecks:\n  shared_inputs: 12\n")
    allowed = made.nightjar("rebuild")
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr
    assert states(allowed.stdout) == {"split": "cached", "after": "ran", "aside": "cached"}
    kept = json.loads((made.root / FOLDER / "split.json").read_text())
    assert kept["passed"] and [it["blocks"] for it in kept["findings"]] == [False]

    made.write(params="leak: 1\n")
    mended = made.nightjar("rebuild")
    assert mended.returncode == 0 and states(mended.stdout)["split"] == "ran"
    assert made.nightjar("rebuild").stdout.startswith("Nothing to do")

    made.write(params="leak: 1\nchecks: {shared_inputs: many}\n")
    (made.root / FOLDER / "split.json").unlink()
    (made.root / "aside.out").unlink()
    bad = made.nightjar("rebuild")
    assert bad.returncode == 1 and "checks.shared_inputs = 'many' is not allowed" in bad.stdout
    assert "Traceback" not in bad.stdout + bad.stderr


def _artifact(api: Api, key: str) -> list[dict[str, object]] | None:
    found = api.ask("artifacts/filter", artifacts={"key": {"any_": [key]}})
    return json.loads(found[0]["data"]) if found else None
