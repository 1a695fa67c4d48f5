"""The prompts that others answer are those that the stage shows the untuned model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nightjar import params
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.predict.requests import write_prompts
from tests.questions import question, write_questions
from tests.stages.predict.test_stage import configure, finish, instance, project

FILE = Path("prompts.jsonl")
BENCHMARK = "supernatinst"


def written(encoding: str | None = None) -> list[dict[str, Any]]:
    count = write_prompts(params.load(), BENCHMARK, FILE, encoding)
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert count == len(rows)
    return rows


@pytest.mark.parametrize("model", ["tiny_model", "tiny_t5"])
def test_the_prompts_are_those_of_the_stored_predictions(
    model: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"encoding": "task_name", "max_new_tokens": 2, "batch_size": 8}
    folder = project(tmp_path, request.getfixturevalue(model), 2, stop=["\n\n", "Input:"], **settings)
    finish(folder, monkeypatch)
    stored = tables.read_rows(folder / "data/predict/supernatinst/untuned", contracts.PREDICTIONS)
    rows = written()
    assert [(row["task_id"], row["id"], row["prompt"]) for row in rows] == [
        (row["task_id"], row["id"], row["prompt"]) for row in stored
    ]
    assert all(row["stop"] == ["\n\n", "Input:"] and row["max_tokens"] == 2 for row in rows)
    other = written("input_only")
    assert [row["id"] for row in other] == [row["id"] for row in rows]
    assert all(
        row["prompt"].startswith(f"{row['task_id']}. ") and row["prompt"].endswith(one["prompt"])
        for row, one in zip(rows, other, strict=True)
    )


def test_an_id_of_several_tasks_is_written_with_its_task(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, tiny_model, 1)
    asked = [(0, 0, "same"), (1, 0, "same"), (1, 1, "own")]
    write_questions(
        tmp_path / "data/questions/supernatinst",
        [question({**instance(task, number), "id": id}) for task, number, id in asked],
    )
    monkeypatch.chdir(tmp_path)
    assert [row["id"] for row in written()] == ["task0:same", "task1:same", "own"]


def test_nothing_is_written_where_something_is_wrong(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, tiny_model, 1)
    monkeypatch.chdir(tmp_path)

    def refused(benchmark: str = BENCHMARK, output: Path = FILE, encoding: str | None = None) -> str:
        with pytest.raises(NightjarError) as caught:
            write_prompts(params.load(), benchmark, output, encoding)
        assert "\n" not in str(caught.value) and not FILE.exists()
        return str(caught.value)

    assert "'sonnets': no such benchmark; benchmarks are supernatinst" in refused(benchmark="sonnets")
    assert "'def_pos3': no such encoding" in refused(encoding="def_pos3")
    inside = Path("data/questions/supernatinst/new.jsonl")
    assert f"{inside}: it is in {inside.parent}, which is read" in refused(output=inside)
    assert "params.yaml: this file is read" in refused(output=Path("params.yaml"))
    configure(tmp_path, encoding="def_pos3")
    assert "predict.supernatinst.encoding = 'def_pos3' is not allowed" in refused()
    configure(tmp_path)
    shutil.rmtree(tmp_path / "models")
    assert "no tokenizer in this model directory" in refused()
    shutil.rmtree(tmp_path / "data/questions")
    assert "data/questions/supernatinst/questions: no such table" in refused()
