"""`nightjar encode`: named encodings, TSV, and what does not go together."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.task_file import read_any
from pipelines.cli import main
from tests.in_process import captured, check_refusals, nightjar, refused

TASK = {
    "Definition": ["Say the colour."],
    "Positive Examples": [{"input": "grass", "output": "green", "explanation": "it is"}],
    "Negative Examples": [{"input": "snow", "output": "wet", "explanation": "no colour"}],
    "Instances": [
        {"id": "t-1", "input": "the\tsky", "output": ["blue"]},
        {"id": "t-2", "input": "wine " * 200, "output": ["red", "white"]},
    ],
}
GOOD: dict[str, Any] = {"id": "g", "input": "coal", "output": ["black"]}


@pytest.fixture()
def task(workdir: Path) -> Path:
    file = workdir / "task1_colour.json"
    file.write_text(json.dumps(TASK))
    return file


def encode(*options: str, note: str = "") -> str:
    """What `nightjar encode` prints of the task; standard error must have a line with `note`, or nothing."""
    done = captured(main, ["encode", "--task", "task1_colour.json", *" ".join(options).split()])
    assert (done.returncode, done.stderr.count("\n")) == (0, bool(note)) and note in done.stderr, done.stderr
    return done.stdout


def unsuitable(options: str) -> str:
    """The one line with which it refuses the task."""
    return refused("encode", "--task", "task1_colour.json", *options.split())


def test_an_encoding_by_its_name_and_the_default(task: Path) -> None:
    first = "--instance 0 --json"
    by_name = encode(first, "--encoding def_pos2_neg2_expl")
    assert json.loads(by_name)["source"].count("Explanation: ") == 2
    assert encode(first) == encode(first, "--encoding def_pos2") != by_name
    bare = encode(first, "--encoding input_only")
    assert "Say the colour" not in bare and "Positive Example" not in bare


def test_trim_input_keeps_the_cue(task: Path) -> None:
    second = "--instance 1 --max-source-length 60 --json"
    cut, trimmed = (json.loads(encode(second, option))["source"] for option in ("", "--trim-input"))
    assert not cut.rstrip().endswith("Output:") and trimmed.endswith("wine.\nOutput: ")
    error = unsuitable("--instance 1 --trim-input --max-source-length 5")
    assert "no room for the answer cue" in error


def test_tsv_is_one_line_an_instance(task: Path) -> None:
    first, second = encode("--tsv --encoding input_only").splitlines()
    assert first == "Now complete the following example - Input: the sky. Output:\tblue"
    assert second.endswith("wine wine. Output:\tred") or second.endswith("wine wine. Output:\twhite")
    labels = {encode(f"--tsv --seed {seed}").split("\t")[-1] for seed in range(12)}
    assert labels == {"red\n", "white\n"}


def test_an_explanation_of_null_gets_no_line(task: Path) -> None:
    examples = [{"input": "a", "output": "b", "explanation": None}]
    task.write_text(json.dumps({**TASK, "Positive Examples": examples, "Negative Examples": examples}))
    text = encode("--instance 0 --encoding def_pos2_neg2_expl")
    assert "Positive Example 1" in text and "Explanation" not in text


def test_examples_that_are_left_out_are_told(task: Path) -> None:
    examples = [{"input": "half a \ud83d", "output": "x", "explanation": ""}, TASK["Positive Examples"][0]]
    task.write_text(json.dumps({**TASK, "Positive Examples": examples}))
    text = encode("--instance 0", note="1 examples left out, first Positive Examples: number 1 ")
    assert " Positive Example 1 -\nInput: grass." in text and "half" not in text


def test_an_instance_that_ingest_refuses_has_its_reason(task: Path) -> None:
    bad, reason = {**GOOD, "output": ["black", ""]}, "output is blank"
    text = json.dumps({**TASK, "Instances": [TASK["Instances"][0], bad, GOOD]})
    task.write_text(text)
    assert [row.reason for row in read_any(text.encode(), "", "", "", complete=False).refused] == [reason]
    assert f"{task.name}: Instances[1]: {reason}; " in unsuitable("--instance 1")
    # Places are those of the file: the refused one keeps its own.
    assert json.loads(encode("--instance 2 --json"))["references"] == ["black"]
    assert "no instance 3 among 3" in unsuitable("--instance 3")
    rows = encode("--tsv", note=f"3 instances in, 2 out, 1 refused (first Instances[1]: {reason})")
    assert [line.split("\t")[1] for line in rows.splitlines()] == ["blue", "black"]
    task.write_text(json.dumps({**TASK, "Instances": [bad]}))
    error = unsuitable("--tsv")
    assert f"none of its 1 instances can be used (first Instances[0]: {reason})" in error


TEXT = json.dumps(TASK)


def test_a_file_that_ingest_refuses(task: Path) -> None:
    task.write_text(TEXT.replace('"Negative Examples"', '"Bad"'))
    for options in ("--instance 0", "--tsv"):
        assert f"{task.name}: no Negative Examples; give a Super-NaturalInst" in unsuitable(options)


def test_tsv_prints_nothing_if_one_input_cannot_be_made(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nightjar.core.errors import NightjarError
    from nightjar.prompts import encodings

    made = encodings.encode

    def fail_late(head: Any, text: str, *others: Any) -> Any:
        if text.startswith("wine"):
            raise NightjarError("no room", "x", "y")
        return made(head, text, *others)

    monkeypatch.setattr(encodings, "encode", fail_late)
    assert unsuitable("--tsv") == "nightjar: x: no room; y\n"


def test_a_file_name_that_is_not_utf8(workdir: Path) -> None:
    file = workdir / os.fsdecode(b"task\xe9.json")
    file.write_text(TEXT)
    told = nightjar("encode", "--task", file, "--instance", "0", "--encoding", "task_name", "--json")
    assert json.loads(told)["source"].startswith("task\\xe9. ")


def test_the_inputs_of_task_files_are_shown_unchanged(task_files: list[Path], workdir: Path) -> None:
    for file in task_files[::16]:
        rows = json.loads(file.read_bytes())["Instances"]
        number = len(rows) // 2
        told = json.loads(nightjar("encode", "--task", file, "--instance", number, "--json"))
        assert told["references"] == rows[number]["output"]
        assert rows[number]["input"].strip()[:50] in told["source"]


def test_wrong_input_is_one_line(task: Path) -> None:
    check_refusals("encode")
