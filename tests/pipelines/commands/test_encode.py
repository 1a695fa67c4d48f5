"""`nightjar encode`: named encodings, TSV, and what does not go together."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.task_file import read_any
from pipelines.cli import main
from tests.in_process import captured, check_refusals, nightjar

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


def run(arguments: str) -> tuple[int, str, str]:
    done = captured(main, arguments.split())
    return done.returncode, done.stdout, done.stderr


def test_an_encoding_by_its_name_and_the_default(task: Path) -> None:
    start = f"encode --task {task.name} --instance 0 --json"
    by_name = run(f"{start} --encoding def_pos2_neg2_expl")
    assert by_name[0] == 0
    assert json.loads(by_name[1])["source"].count("Explanation: ") == 2
    default = run(start)
    assert default == run(f"{start} --encoding def_pos2") != by_name
    code, bare, _ = run(f"{start} --encoding input_only")
    assert code == 0 and "Say the colour" not in bare and "Positive Example" not in bare


def test_trim_input_keeps_the_cue(task: Path) -> None:
    start = f"encode --task {task.name} --instance 1 --max-source-length 60 --json"
    lost = json.loads(run(start)[1])["source"]
    kept = json.loads(run(f"{start} --trim-input")[1])["source"]
    assert not lost.rstrip().endswith("Output:") and kept.endswith("wine.\nOutput: ")
    code, _, err = run(f"{start} --trim-input --max-source-length 5")
    assert code == 2 and "no room for the answer cue" in err and err.count("\n") == 1


def test_tsv_is_one_line_an_instance(task: Path) -> None:
    code, out, err = run(f"encode --task {task.name} --tsv --encoding input_only")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first == "Now complete the following example - Input: the sky. Output:\tblue"
    assert second.endswith("wine wine. Output:\tred") or second.endswith("wine wine. Output:\twhite")
    labels = {run(f"encode --task {task.name} --tsv --seed {seed}")[1].split("\t")[-1] for seed in range(12)}
    assert labels == {"red\n", "white\n"}


def test_an_explanation_of_null_gets_no_line(task: Path) -> None:
    examples = [{"input": "a", "output": "b", "explanation": None}]
    task.write_text(json.dumps({**TASK, "Positive Examples": examples, "Negative Examples": examples}))
    code, out, err = run(f"encode --task {task.name} --instance 0 --encoding def_pos2_neg2_expl")
    assert (code, err) == (0, "") and "Positive Example 1" in out and "Explanation" not in out


def test_examples_that_are_left_out_are_told(task: Path) -> None:
    examples = [{"input": "half a \ud83d", "output": "x", "explanation": ""}, TASK["Positive Examples"][0]]
    task.write_text(json.dumps({**TASK, "Positive Examples": examples}))
    code, out, err = run(f"encode --task {task.name} --instance 0")
    assert code == 0 and " Positive Example 1 -\nInput: grass." in out and "half" not in out
    assert "1 examples left out, first Positive Examples: number 1 " in err and err.count("\n") == 1


def test_an_instance_that_ingest_refuses_has_its_reason(task: Path) -> None:
    bad, reason = {**GOOD, "output": ["black", ""]}, "output is blank"
    text = json.dumps({**TASK, "Instances": [TASK["Instances"][0], bad, GOOD]})
    task.write_text(text)
    assert [row.reason for row in read_any(text.encode(), "", "", "", complete=False).refused] == [reason]
    start = f"encode --task {task.name} --encoding input_only"
    code, out, err = run(f"{start} --instance 1 --json")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith(f"nightjar: {task.name}: Instances[1]: {reason}; ")
    # Places are those of the file: the refused one keeps its own.
    code, out, err = run(f"{start} --instance 2 --json")
    assert (code, err) == (0, "") and json.loads(out)["references"] == ["black"]
    assert "no instance 3 among 3" in run(f"{start} --instance 3")[2]
    code, out, err = run(f"{start} --tsv")
    assert code == 0 and [line.split("\t")[1] for line in out.splitlines()] == ["blue", "black"]
    assert f"3 instances in, 2 out, 1 refused (first Instances[1]: {reason})" in err
    assert err.count("\n") == 1
    task.write_text(json.dumps({**TASK, "Instances": [bad]}))
    code, out, err = run(f"{start} --tsv")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert f"none of its 1 instances can be used (first Instances[0]: {reason})" in err


TEXT = json.dumps(TASK)


def test_a_file_that_ingest_refuses(task: Path) -> None:
    task.write_text(TEXT.replace('"Negative Examples"', '"Bad"'))
    for arguments in ("--instance 0", "--tsv"):
        code, out, err = run(f"encode --task {task.name} {arguments}")
        assert (code, out) == (2, "") and err.count("\n") == 1
        assert err.startswith(f"nightjar: {task.name}: no Negative Examples; give a Super-NaturalInst")


def test_tsv_prints_nothing_if_one_input_cannot_be_made(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nightjar.core.errors import NightjarError
    from nightjar.prompts import encodings

    made = encodings.encode

    def fail_late(head: Any, text: str, *others: Any) -> Any:
        if text.startswith("wine"):
            raise NightjarError("no room", "x", "y")
        return made(head, text, *others)

    monkeypatch.setattr(encodings, "encode", fail_late)
    code, out, err = run(f"encode --task {task.name} --tsv")
    assert (code, out, err) == (2, "", "nightjar: x: no room; y\n")


def test_a_file_name_that_is_not_utf8(workdir: Path) -> None:
    file = workdir / os.fsdecode(b"task\xe9.json")
    file.write_text(TEXT)
    told = nightjar("encode", "--task", file, "--instance", "0", "--encoding", "task_name", "--json")
    assert json.loads(told)["source"].startswith("task\\xe9. ")


def test_the_inputs_of_task_files_are_shown_unchanged(task_files: list[Path], workdir: Path) -> None:
    for file in task_files[::16]:
        rows = json.loads(file.read_bytes())["Instances"]
        number = len(rows) // 2
        code, out, err = run(f"encode --task {file} --instance {number} --json")
        told = json.loads(out)
        assert (code, err, told["references"]) == (0, "", rows[number]["output"])
        assert rows[number]["input"].strip()[:50] in told["source"]


def test_wrong_input_is_one_line(task: Path) -> None:
    check_refusals("encode")
