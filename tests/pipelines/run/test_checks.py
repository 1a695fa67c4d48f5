"""Checks that stop what is downstream, in a small repository whose stage writes a real artifact."""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nightjar.core import paths
from nightjar.core.contracts import TRAIN
from pipelines.graph.repository import outline
from pipelines.run import checks as verify
from pipelines.run.results import Result
from tests.in_process import refused
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
from nightjar.core import contracts, tables
from nightjar.core import artifact_rules
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
         "tables": {"data/split": artifact_rules.inventory(Path("data/split"))}}
Path("split.json").write_text(json.dumps(facts))
"""


def states(output: str) -> dict[str, str]:
    lines = re.findall(r"^ *\d+ of \d+.*?  (ran|unchanged|failed) .*?  (\S+)(?:  |$)", output, re.MULTILINE)
    return {name: state for state, name in lines}


@pytest.fixture()
def made(repo: Repo) -> Repo:
    repo.write(dvc=DVC, params="leak: 1\n")
    (repo.root / "make.py").write_text(MAKE)
    return repo


def test_the_command_without_prefect(made: Repo) -> None:
    made.dvc("repro", "--quiet")
    done = made.nightjar("check")
    assert (done.returncode, done.stdout[:11]) == (0, "split: ok, "), done.stdout + done.stderr
    assert done.stdout.endswith(
        "looked at 1 artifact and 1 metrics file of 1 stage; 2 stages have made nothing to check\n"
    )
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


@pytest.mark.slow
def test_a_failed_check_stops_what_is_downstream_until_it_passes(made: Repo, api: Api) -> None:
    api.serve(made)
    made.write(params="leak: 13\n")
    first = made.nightjar("rebuild")
    assert first.returncode == 1, first.stdout + first.stderr
    assert states(first.stdout) == {"split": "failed", "aside": "ran"}
    assert first.stderr.endswith("1 failed, 1 ran, 1 skipped; not run because of split\n"), first.stderr
    line = next(line for line in first.stdout.splitlines() if re.search("failed .* split ", line))
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
    assert states(allowed.stdout) == {"split": "unchanged", "after": "ran"}
    kept = json.loads((made.root / paths.CHECKS / "split.json").read_text())
    assert kept["passed"] and [it["blocks"] for it in kept["findings"]] == [False]

    made.write(params="leak: 1\n")
    corrected = made.nightjar("rebuild")
    assert corrected.returncode == 0 and states(corrected.stdout)["split"] == "ran"
    assert made.nightjar("rebuild").stdout.startswith("Nothing to do")

    made.write(params="leak: 1\nchecks: {shared_inputs: many}\n")
    (made.root / paths.CHECKS / "split.json").unlink()
    (made.root / "aside.out").unlink()
    bad = made.nightjar("rebuild")
    assert bad.returncode == 2 and "checks.shared_inputs = 'many' is not allowed" in bad.stderr
    assert "Traceback" not in bad.stdout + bad.stderr


FACTS = Path("data/metrics/split.json")


@pytest.fixture()
def built(made: Repo) -> Repo:
    """What `dvc repro split` leaves, made in this process, with the facts where the project keeps them."""
    made.write(dvc=DVC.replace("metrics: [split.json]", f"metrics: [{FACTS}]"))
    with contextlib.chdir(made.root):
        FACTS.parent.mkdir(parents=True)
        runpy.run_path("make.py")
        Path("split.json").rename(FACTS)
    return made


def damage() -> dict[str, Callable[[Path], object]]:
    """What a finding says of the facts, and what was done to them."""

    def edit(**changes: object) -> Callable[[Path], object]:
        return lambda file: file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return {
        "is missing": lambda file: file.unlink(),
        "not JSON: Expecting value at line 1": lambda file: file.write_text(""),
        "rows_rejected is not a count of rows": edit(rows_rejected=-1),
        "these are the facts of ingest@corpus": edit(stage="ingest@corpus"),
        "is a named pipe": lambda file: (file.unlink(), os.mkfifo(file)),
        "is a broken link": lambda file: (file.unlink(), file.symlink_to("nowhere")),
    }


def test_facts_that_are_missing_or_damaged_are_a_finding_that_blocks(built: Repo) -> None:
    graph = outline(built.root)
    whole = (built.root / FACTS).read_text()
    for what, spoil in damage().items():
        spoil(built.root / FACTS)
        done = built.nightjar("check", "--json")
        told = json.loads(done.stdout)
        (finding,) = told["stages"][0]["findings"]
        assert done.returncode == 1 and not told["passed"]
        assert (finding["check"], finding["artifact"], finding["blocks"]) == ("facts", str(FACTS), True)
        assert what in finding["what"]
        with contextlib.chdir(built.root):
            result = verify.checked(Path(), graph.stages["split"], Result("split", "ran"))
            assert result.state == "failed" and what in result.error
            assert json.loads((paths.CHECKS / "split.json").read_text())["findings"] == [finding]
            assert verify.failing(Path(), graph) == ["split"]
            FACTS.unlink(missing_ok=True)
            FACTS.write_text(whole)
            assert verify.checked(Path(), graph.stages["split"], Result("split", "ran")).state == "ran"
            assert verify.failing(Path(), graph) == []


def test_facts_of_a_stage_without_tables_are_checked_too(repo: Repo) -> None:
    repo.write(dvc="stages: {fit: {cmd: 'true', outs: [model.txt], metrics: [fit.json]}}\n", model="weights")
    (repo.root / "fit.json").write_text("{")
    done = repo.nightjar("check")
    assert done.returncode == 1 and "failed: fit.json: facts: not JSON" in done.stdout
    (repo.root / "fit.json").write_text('{"f1": 0.5}')
    with contextlib.chdir(repo.root):
        assert verify.checked(Path(), outline().stages["fit"], Result("fit", "ran")) == Result("fit", "ran")
    assert repo.nightjar("check").returncode == 0, "metrics of other kinds have no rows"


def test_only_outputs_of_the_graph_and_the_folders_that_are_named_are_looked_at(
    built: Repo, tmp_path: Path
) -> None:
    def names(*words: str) -> list[str]:
        told = json.loads(built.nightjar("check", "--json", *words).stdout)
        return [it["name"] for it in told["stages"]]

    for aside in ("aside/copy", "../outside"):
        shutil.copytree(built.root / "data/split", built.root / aside)
    assert names() == names("data") == names(".") == names("..") == names("/") == ["split"]
    assert names("data/../data/split/") == ["split"]
    assert names("aside/copy", "../outside") == ["aside/copy", "../outside"]
    assert names("aside/copy", "data/split", "aside/copy") == ["split", "aside/copy"]
    (built.root / "aside/copy/train/part-0.parquet").write_text("damaged")
    assert built.nightjar("check").returncode == 0 and built.nightjar("check", "aside/copy").returncode == 1
    shutil.copytree(built.root / "data/split", tmp_path / "elsewhere/out")
    outside = Repo(tmp_path / "elsewhere")
    assert outside.nightjar("check", "out").returncode == 0
    for repo, words, what in (
        (built, [""], "an empty name"),
        (built, ["aside"], "aside: it is neither an artifact nor an output"),
        (built, ["x"], "x: no such file"),
    ):
        assert what in refused("check", *words, cwd=repo.root)


def _artifact(api: Api, key: str) -> list[dict[str, object]] | None:
    found = api.ask("artifacts/filter", artifacts={"key": {"any_": [key]}})
    return json.loads(found[0]["data"]) if found else None
