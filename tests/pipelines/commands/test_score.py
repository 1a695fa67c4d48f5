"""`nightjar score`, `compare`, `references` and `prompts` as a user runs them, one after the other."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Sources
from tests.completions_server import completion, serving
from tests.conftest import ROOT
from tests.in_process import nightjar, refused
from tests.made_benchmark import made_benchmark
from tests.questions import question, write_questions
from tests.stages.predict.test_stage import finish, project

__all__ = ["made_benchmark"]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def yes_to_number_1(asked: dict[str, Any]) -> tuple[int, Any]:
    assert asked["stop"] == ["\n\n"] and asked["max_tokens"] == 2
    return completion(" yes" if "Input: number 1." in asked["prompt"] else " no")


def test_the_documented_way_from_prompts_to_a_comparison(
    tiny_model: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands and the program of docs/own-model.md; the server is a stub."""
    folder = project(workdir, tiny_model, 2, max_new_tokens=2)
    numbers = [
        {"task_id": f"task{task}", "id": f"task{task}-{n}", "input": f"number {n}", "outputs": ["yes"]}
        for task in range(3)
        for n in range(2)
    ]
    write_questions(folder / "data/questions/supernatinst", map(question, numbers))
    finish(folder, monkeypatch)
    text = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8").partition("## A file of prompts")[2]
    first, *others = re.findall("^nightjar (.*)$", text, re.MULTILINE)
    program = re.findall("^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0]
    assert nightjar(*first.split()) == "prompts.jsonl: 6 instances\n"
    assert "http://localhost:8000" in program
    with serving(yes_to_number_1) as server:
        program = program.replace("http://localhost:8000", server.url)
        subprocess.run([sys.executable, "-c", program], check=True, timeout=200)
    assert [command.split()[0] for command in others] == ["score", "score", "compare"]
    score, table, compare = (nightjar(*command.split()) for command in others)
    assert score.startswith("supernatinst, English track: 6 instances\n") and "50.00 n<20" in score
    assert table.splitlines()[1].startswith("default,overall,overall,rougeL,6,50.0,")
    assert " 50.00 " in compare


@pytest.fixture()
def both(workdir: Path) -> tuple[str, ...]:
    """Options for references of both tracks: of four instances each, a is right on three and one, b on two and two."""
    rows = [
        {
            "id": f"{track[0]}{number}",
            "references": ["yes"],
            "task_id": f"task, {track}",
            "task_category": "Word Analogy",
            "track": track,
        }
        for track in ("xlingual", "default")
        for number in range(4)
    ]
    for name, right in (("a", ("d0", "d1", "d2", "x0")), ("b", ("d0", "d1", "x0", "x1"))):
        answers = [{"id": row["id"], "prediction": "yes" if row["id"] in right else "no"} for row in rows]
        write(workdir / f"{name}.jsonl", answers)
    write(workdir / "default.jsonl", rows[4:])
    write(workdir / "d.jsonl", lines(workdir / "a.jsonl")[4:])
    return ("--benchmark", "supernatinst", "--references", write(workdir / "references.jsonl", rows))


METRICS = ["rougeL", "exact_match", "rouge1"]
CHANGES = [("75.00", "50.00", "+25.00"), ("25.00", "50.00", "-25.00")]
SCORE, COMPARE = ("score", "--predictions", "a.jsonl"), ("compare", "--a", "a.jsonl", "--b", "b.jsonl")


def by_title(text: str) -> dict[str, list[list[str]]]:
    """The words of the lines of each track, and of all tracks together."""
    found: dict[str, list[list[str]]] = {}
    title = ""
    for line in text.splitlines():
        if line in ("English track", "cross-lingual track") or line.startswith("all tracks together"):
            title = line
        elif line:
            found.setdefault(title, []).append(line.split())
    return found


def test_score_has_each_track_as_a_heading_and_ends_with_all_together(both: tuple[str, ...]) -> None:
    found = by_title(nightjar(*SCORE, *both, "--samples", "0"))
    assert list(found)[1:] == [
        "English track",
        "cross-lingual track",
        "all tracks together (not a published number)",
    ]
    for title, track, value in zip(
        list(found)[1:3], ("default", "xlingual"), ("75.00", "25.00"), strict=True
    ):
        assert found[title] == [
            ["metric", "n", "score"],
            *([metric, "4", value] for metric in METRICS),
            ["category", "n", "metric", *METRICS],
            ["word_analogy", "4", "exact_match", *[value] * 3],
            ["task", "n", *METRICS],
            ["task,", track, "4", *[value] * 3],
        ]
    assert list(found.values())[3][1:] == [[metric, "8", "50.00"] for metric in METRICS]


def test_compare_has_each_track_as_a_heading_and_ends_with_both(both: tuple[str, ...]) -> None:
    found = list(by_title(nightjar(*COMPARE, *both)).values())
    for rows, (a, b, difference) in zip(found[1:3], (CHANGES[0], CHANGES[1]), strict=True):
        assert ["exact_match", a, b, difference] in [row[:4] for row in rows]
        assert ["word_analogy", "exact_match", a, b, difference] in [row[:5] for row in rows]
    assert ["exact_match", "50.00", "50.00", "+0.00"] in [row[:4] for row in found[3]]


def test_one_track_is_named_and_has_no_column(both: tuple[str, ...], workdir: Path) -> None:
    given = ("--benchmark", "supernatinst", "--references", "default.jsonl")
    text = nightjar("score", "--predictions", "d.jsonl", *given)
    assert text.startswith("supernatinst, English track: 4 instances\n") and "all tracks" not in text
    assert not any(line.startswith("track") for line in text.splitlines())
    text = nightjar("compare", "--a", "d.jsonl", "--b", "d.jsonl", *given)
    assert text.startswith("supernatinst, English track: 4 instances\n") and "all tracks" not in text


def test_the_csv_of_a_score_is_one_flat_table(both: tuple[str, ...]) -> None:
    told = json.loads(nightjar(*SCORE, *both, "--json"))
    table = pd.read_csv(io.StringIO(nightjar(*SCORE, *both, "--csv")))
    assert list(table) == ["track", "level", "name", "metric", "n", "value", "low", "high"]
    assert len(table) == 2 * 3 * 3 and table["n"].unique().tolist() == [4]
    assert table["track"].unique().tolist() == told["tracks"] == ["default", "xlingual"]
    for track, part in told["by_track"].items():
        ends = part["intervals"]
        cells = {("overall", "overall"): (part["metrics"], ends["metrics"])}
        for level in ("category", "task"):
            for name, row in part[f"by_{level}"].items():
                cells[level, name] = row, ends[f"by_{level}"][name]
        assert ("task", f"task, {track}") in cells
        for row in table[table["track"] == track].to_dict("records"):
            values, interval = cells[row["level"], row["name"]]
            assert row["value"] == values[row["metric"]]
            assert interval[row["metric"]] is None and np.isnan([row["low"], row["high"]]).all()
    rows = list(csv.DictReader(io.StringIO(nightjar(*SCORE, *both, "--csv", "--samples", "0"))))
    assert {(row["low"], row["high"]) for row in rows} == {("", "")}


def test_the_csv_of_a_comparison_is_one_flat_table(both: tuple[str, ...]) -> None:
    told = json.loads(nightjar(*COMPARE, *both, "--json"))
    table = pd.read_csv(io.StringIO(nightjar(*COMPARE, *both, "--csv")))
    assert list(table) == [
        "track", "level", "name", "metric", "n", "a", "b", "difference", "low", "high", "p", "better", "worse", "equal"
    ]  # fmt: skip
    assert len(table) == 2 * 2 * 3
    for row in table.to_dict("records"):
        part = told["by_track"][row["track"]]
        cells = part["metrics"] if row["level"] == "overall" else part["by_category"][row["name"]]
        cell = cells[row["metric"]]
        assert row["difference"] == cell["value"] and row["difference"] in (25, -25)
        for key in ("n", "a", "b", "better", "worse", "equal"):
            assert row[key] == cell[key]
        assert pd.isna(row["p"]) and cell["p"] is None
        assert cell["low"] is cell["high"] is None and np.isnan([row["low"], row["high"]]).all()


def test_only_enough_instances_have_intervals_and_are_seen(workdir: Path) -> None:
    """Eight that are better of 8 and of 20: p is 2 / 2**8."""
    for n in (8, 20):
        rows = [
            {"id": f"i{k}", "references": ["yes"], "task_id": "t", "task_category": "c"} for k in range(n)
        ]
        given = ("--benchmark", "supernatinst", "--references", write(workdir / "r.jsonl", rows))
        for name, right in (("a", 8), ("b", 0)):
            answers = [{"id": f"i{k}", "prediction": "yes" if k < right else "no"} for k in range(n)]
            write(workdir / f"{name}.jsonl", answers)
        scored, compared = (nightjar(*command, *given) for command in (SCORE, COMPARE))
        told = json.loads(nightjar(*COMPARE, *given, "--json"))["metrics"]["exact_match"]
        table = pd.read_csv(io.StringIO(nightjar(*SCORE, *given, "--csv")))
        lines_ = [line.split()[-7:] for line in compared.splitlines() if line.startswith("exact_match")]
        p, word = ("n<20", "no") if n == 8 else ("0.0078", "yes")
        assert lines_ == [[p, word, "8", "/", "0", "/", str(n - 8)]]
        if n == 8:
            assert scored.count("100.00 n<20") == 9 and "n<20" in compared
            assert "[" not in scored + compared
        else:
            assert scored.count("40.00 [") == 9 and "n<20" not in scored + compared
            assert told["low"] < 40 < told["high"] and table["low"].notna().all()
        assert told["significant"] == (n == 20) and (told["low"] is None) == (n == 8)


@pytest.fixture()
def tasks(made_benchmark: Benchmark, workdir: Path) -> tuple[str, ...]:
    """Options for references of a benchmark whose tasks are tracks; a is right on all of one, b on none."""
    asked = list(made_benchmark.questions(Sources(workdir, workdir), None, 0))
    rows = [{"task": it.task_id, "id": it.id, "references": list(it.references)} for it in asked]
    for name, word in (("a", ""), ("b", "long")):
        answers = [
            {
                "task": it.task_id,
                "id": it.id,
                "prediction": it.references[0] if it.task_id == "sums" else word,
            }
            for it in asked
        ]
        write(workdir / f"{name}.jsonl", answers)
    write(workdir / "one.jsonl", rows[:4])
    write(workdir / "first.jsonl", lines(workdir / "a.jsonl")[:4])
    return ("--benchmark", "made", "--references", write(workdir / "references.jsonl", rows))


def test_a_benchmark_whose_tasks_are_tracks_has_one_line_a_task(tasks: tuple[str, ...]) -> None:
    text = nightjar(*SCORE, *tasks, "--samples", "0").splitlines()
    assert text[0] == "made: 8 instances"
    assert [line.split() for line in text[2:]] == [
        ["task", "metric", "n", "score"],
        ["sums", "ratio", "4", "100.00"],
        ["sums", "errors", "4", "0.00"],
        ["words", "ratio", "4", "0.00"],
        ["words", "errors", "4", "1.00"],
        ["mean", "of", "tasks", "ratio", "8", "50.00"],
    ]
    one = ("--benchmark", "made", "--references", "one.jsonl", "--samples", "0")
    text = nightjar("score", "--predictions", "first.jsonl", *one).splitlines()
    assert text[0] == "made, task sums: 4 instances" and len(text) == 5
    table = nightjar("score", "--predictions", "first.jsonl", *one, "--csv").splitlines()
    assert table[1:] == ["sums,overall,overall,ratio,4,100.0,,", "sums,overall,overall,errors,4,0.0,,"]


def test_the_help_names_the_benchmarks(made_benchmark: Benchmark) -> None:
    for command in ("score", "compare", "references", "prompts"):
        assert "One of: made." in nightjar(command, "--help")


def test_references_are_written_for_any_benchmark(made_benchmark: Benchmark, workdir: Path) -> None:
    write_questions(
        workdir / "data/questions/made", made_benchmark.questions(Sources(workdir, workdir), None, 0)
    )
    told = nightjar("references", "--benchmark", "made", "--output", "r.jsonl", "--json")
    assert json.loads(told) == {"output": "r.jsonl", "n": 8}
    assert lines(workdir / "r.jsonl")[0] == {"id": "sums-0", "references": ["0"], "task": "sums"}


def test_a_system_s_name_in_place_of_its_folder_is_told(workdir: Path) -> None:
    (workdir / "data/predict/supernatinst/tk_instruct").mkdir(parents=True)
    command = ["compare", "--benchmark", "supernatinst", "--b", "x", "--a"]
    assert "give the folder of a system: data/predict/supernatinst/tk_instruct" in refused(
        *command, "tk_instruct"
    )
    assert "nothing: no such file or folder; check the path" in refused(*command, "nothing")
