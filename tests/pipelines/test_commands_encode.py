"""`nightjar encode`: named encodings, TSV, and what does not go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.cli import main

TASK = {
    "Definition": ["Say the colour."],
    "Positive Examples": [{"input": "grass", "output": "green", "explanation": "it is"}],
    "Negative Examples": [{"input": "snow", "output": "wet", "explanation": "no colour"}],
    "Instances": [
        {"id": "t-1", "input": "the\tsky", "output": ["blue"]},
        {"id": "t-2", "input": "wine " * 200, "output": ["red", "white"]},
    ],
}


@pytest.fixture()
def task(workdir: Path) -> Path:
    file = workdir / "task1_colour.json"
    file.write_text(json.dumps(TASK))
    return file


def run(capsys: pytest.CaptureFixture[str], arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_a_named_encoding_is_its_flags(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = f"encode --task {task.name} --instance 0 --json"
    by_name = run(capsys, f"{start} --encoding def_pos2_neg2_expl")
    by_flags = run(capsys, f"{start} --positive-examples 2 --negative-examples 2 --explanation")
    assert by_name == by_flags and by_name[0] == 0
    assert json.loads(by_name[1])["source"].count("Explanation: ") == 2
    default = run(capsys, start)
    assert default == run(capsys, f"{start} --encoding def_pos2") != by_name


def test_trim_input_keeps_the_cue(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = f"encode --task {task.name} --instance 1 --max-source-length 60 --json"
    lost = json.loads(run(capsys, start)[1])["source"]
    kept = json.loads(run(capsys, f"{start} --trim-input")[1])["source"]
    assert not lost.rstrip().endswith("Output:") and kept.endswith("wine.\nOutput: ")
    code, _, err = run(capsys, f"{start} --trim-input --max-source-length 5")
    assert code == 2 and "no room for the answer cue" in err and err.count("\n") == 1


def test_tsv_is_one_line_an_instance(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, f"encode --task {task.name} --tsv --encoding input_only")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first == "Now complete the following example - Input: the sky. Output:\tblue"
    assert second.endswith("wine wine. Output:\tred") or second.endswith("wine wine. Output:\twhite")
    labels = {
        run(capsys, f"encode --task {task.name} --tsv --seed {seed}")[1].split("\t")[-1] for seed in range(12)
    }
    assert labels == {"red\n", "white\n"}


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("", "no instance chosen"),
        ("--tsv --instance 0", "prints all instances"),
        ("--tsv --json", "prints all instances"),
        ("--instance 0 --encoding def_pos9", "'def_pos9': no such encoding; encodings are input_only"),
        ("--instance 0 --encoding def --task-name", "an encoding by name and --task-name"),
        ("--instance 0 --encoding def --positive-examples 2", "an encoding by name and --positive-examples"),
        ("--instance 0 --seed -1", "Invalid value for '--seed'"),
    ],
)
def test_wrong_input(task: Path, capsys: pytest.CaptureFixture[str], arguments: str, wanted: str) -> None:
    code, out, err = run(capsys, f"encode --task {task.name} {arguments}")
    assert (code, out) == (2, "")
    assert wanted in err and err.count("\n") == 1 and err.startswith("nightjar: ")
