"""`nightjar compare` of runs of other harnesses, as a user runs it: no project, no model."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from pipelines.cli import main
from tests.conftest import ROOT
from tests.in_process import captured, nightjar, refused

LM_EVAL, INSPECT = ROOT / "tests/data/harness/lm_eval", ROOT / "tests/data/harness/inspect_ai"
TINY, OTHER = LM_EVAL / "tiny", LM_EVAL / "other"


def test_two_runs_are_a_table(workdir: Path) -> None:
    lines = nightjar("compare", "--a", TINY, "--b", OTHER).splitlines()
    assert lines[:2] == ["a: tiny (lm-evaluation-harness)", "b: other (lm-evaluation-harness)"]
    (row,) = [line.split() for line in lines if " acc_norm " in line]
    assert row[:7] == ["tiny_choice", "none", "acc_norm", "(%)", "25", "28.00", "44.00"]
    assert "-16.00 [-36.00, +0.00]" in " ".join(row) and "1 / 5 / 19" in " ".join(row)


def test_json_and_csv_have_the_same_numbers(workdir: Path) -> None:
    words = ("compare", "--a", INSPECT / "sums-1.eval", "--b", INSPECT / "sums-2.json")
    result = json.loads(nightjar(*words, "--json"))
    rows = list(csv.DictReader(io.StringIO(nightjar(*words, "--csv"))))
    assert [float(row["p"]) for row in rows] == [row["p"] for row in result["differences"]]
    assert [run["harness"] for run in result["runs"]] == ["inspect_ai"] * 2


def test_several_runs_are_a_table_and_their_pairs(workdir: Path) -> None:
    runs = [INSPECT / name for name in ("sums-1.eval", "sums-2.eval", "sums-2.json")]
    printed = nightjar("compare", *(word for run in runs for word in ("--run", run)))
    assert printed.splitlines()[0].split()[-3:] == list(map(str, runs))
    assert "2 of 9 differences are significant." in printed


def test_the_page_has_numbers_and_changed_answers(workdir: Path) -> None:
    words = ("compare", "--a", TINY, "--b", OTHER, "--html", "page")
    assert "The comparison: page/index.html" in nightjar(*words)
    page = Path("page/index.html").read_text(encoding="utf-8")
    assert f"now: tiny ({TINY}). before: other ({OTHER})." in page
    assert "tiny_choice" in page and "acc_norm (%)" in page and "Answers that changed" in page
    assert len(json.loads(Path("page/comparison.json").read_text())["numbers"]) == 8
    nightjar(*words)  # a page of its own is replaced


def test_folders_of_evaluate_are_runs(workdir: Path, tiny_model: Path) -> None:
    rows = [{"word": f"w{n}", "metal": "yes" if n % 3 else "no"} for n in range(24)]
    Path("quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = 'name: quiz\ndata: quiz.jsonl\nprompt: "Is {{ word }} a metal?"\nreferences: ["{{ metal }}"]\n'
    Path("quiz.yaml").write_text(text + 'choices: ["yes", "no"]\n')
    done = captured(
        main, ["evaluate", "--model", str(tiny_model), "--task", "quiz.yaml", "--output", "first"]
    )
    assert done.returncode == 0, done.stderr
    shutil.copytree("first", "second")
    registry._added.clear()  # as in a process of its own
    result = json.loads(nightjar("compare", "--a", "first", "--b", "second", "--json"))
    (row,) = result["differences"]
    assert (row["task"], row["n"], row["value"], row["equal"]) == ("quiz", 24, 0.0, 24)
    assert row["a_value"] == row["b_value"] and [run["harness"] for run in result["runs"]] == ["nightjar"] * 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--a", TINY], "give two runs"),
        (["--a", TINY, "--b", INSPECT / "sums-1.eval"], "no task in common"),
        (["--a", TINY, "--b", OTHER, "--references", TINY], "--references goes with --benchmark"),
        (["--benchmark", "protoqa", "--a", TINY], "--benchmark needs --a and --b"),
        (["--benchmark", "protoqa", "--a", TINY, "--b", OTHER, "--common"], "leave --benchmark out"),
        (["--a", TINY, "--b", OTHER, "--run", INSPECT, "--html", "page"], "a page compares two runs"),
    ],
)
def test_wrong_words_are_refused(words: list[object], message: str, workdir: Path) -> None:
    assert message in refused("compare", *map(str, words))
    assert not Path("page").exists()
