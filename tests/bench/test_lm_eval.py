"""The bench against lm-evaluation-harness: what it counts as equal, and that both programs get the same questions."""

import json
import random
from pathlib import Path

import pytest

from bench.lm_eval import MOST_QUESTIONS, ProcessCost, drawn, equal, work_ratio, write_task
from nightjar.benchmarks.own_task import read


@pytest.mark.parametrize(
    ("name", "ours", "theirs", "found"),
    [
        ("problems", [" 5", " 6"], [[[" 5"]], [[" 7"]]], (1, 0, 2)),
        (
            "choices",
            ["great", "great", "great"],
            [
                [["-2.0", "False"], ["-1.0", "False"]],
                [["-1.0", "False"], ["-1.0005", "False"]],
                [["-1.0", "False"], ["-2.0", "False"]],
            ],
            (1, 1, 3),
        ),
    ],
)
def test_equal_answers_and_ties_are_counted(
    name: str, ours: list[str], theirs: list[list[list[str]]], found: tuple[int, int, int], tmp_path: Path
) -> None:
    own = [{"id": str(n), "resps": [[one]], "filtered_resps": [one]} for n, one in enumerate(ours)]
    other = [{"doc": {"id": str(n)}, "resps": one, "filtered_resps": one} for n, one in enumerate(theirs)]
    (tmp_path / "them/model").mkdir(parents=True)
    (tmp_path / "ours.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    file = tmp_path / "them/model/samples_x_1.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in reversed(other)))
    assert equal(name, tmp_path / "ours.jsonl", tmp_path / "them") == found


@pytest.mark.parametrize("name", ["choices", "problems"])
def test_a_task_file_is_one_of_nightjar(name: str, tmp_path: Path) -> None:
    write_task(tmp_path, name, [{"prompt": "It was", "answer": "great"}])
    file, _, faults = read(tmp_path / f"ours/{name}.yaml")
    assert file is not None and file.prompt == "{{ prompt }}" and not faults
    theirs = json.loads((tmp_path / f"theirs/{name}.yaml").read_text())
    (row,) = map(json.loads, Path(theirs["dataset_kwargs"]["data_files"]["test"]).read_text().splitlines())
    assert row == json.loads((tmp_path / "ours" / file.data).read_text())
    assert row["label"] == (1 if name == "choices" else 0)


def test_more_questions_than_there_are_are_refused() -> None:
    rows, source = list(range(24)), random.Random(1)
    assert (
        sorted(drawn(rows, 24, Path("file"), source))
        == sorted(drawn(rows, None, Path("file"), source))
        == rows
    )
    assert len(drawn(range(1000), None, Path("file"), source)) == MOST_QUESTIONS
    with pytest.raises(SystemExit, match="file: it has 24 questions, not 60; give --questions 24"):
        drawn(rows, 60, Path("file"), source)


@pytest.mark.parametrize(
    ("theirs", "ours", "ratio"),
    [((10, 30), (5, 10), 4.0), ((10, 30), (5, 4.9), None), ((10, 11), (5, 10), None)],
)
def test_a_difference_within_noise_has_no_ratio(
    theirs: tuple[float, float], ours: tuple[float, float], ratio: float | None
) -> None:
    runs = [
        dict(zip(("start", "whole"), (ProcessCost(it, 0) for it in one), strict=True))
        for one in (theirs, ours)
    ]
    assert work_ratio(*runs) == ratio
