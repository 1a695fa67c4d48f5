"""Some questions of a benchmark, and the folder of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks import evaluation_folder, registry
from nightjar.benchmarks.question import QuestionSelection, drawn
from nightjar.benchmarks.records import read_questions
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from tests.questions import question, write_questions


def artifact(folder: Path) -> Path:
    rows = [{"task_id": f"task{t}", "id": f"{t}-{n}"} for t in range(3) for n in range(10)]
    return write_questions(folder / "all", [question(row) for row in rows])


def test_a_subset_has_the_chosen_tasks_and_a_drawn_number_of_each(tmp_path: Path) -> None:
    source = artifact(tmp_path)
    assert evaluation_folder.write_subset(
        source, tmp_path / "some", QuestionSelection(["task0", "task2"], 4, 7)
    ) == {
        "task0": 4,
        "task2": 4,
    }
    assert evaluation_folder.write_subset(
        source, tmp_path / "less", QuestionSelection(["task0", "task2"], 2, 7)
    ) == {
        "task0": 2,
        "task2": 2,
    }
    some, less, whole = (read_questions(tmp_path / name) for name in ("some", "less", "all"))
    assert {one.key for one in less} < {one.key for one in some}
    assert [one for one in whole if one in some] == some
    assert evaluation_folder.tasks_of(some) == ["task0", "task2"]


@given(st.lists(st.integers(0, 99), unique=True), st.integers(1, 40), st.integers(0, 9))
def test_a_draw_keeps_the_order_and_depends_on_seed_and_keys_alone(
    members: list[int], most: int, seed: int
) -> None:
    def chosen(some: list[int], most: int) -> list[int]:
        return list(drawn(some, most, seed, lambda one: ("task", str(one))))

    found = chosen(members, most)
    assert found == [one for one in members if one in found] and len(found) == min(most, len(members))
    assert set(found) <= set(chosen(members, most + 3))
    assert set(found) == set(chosen(members[::-1], most))
    fewer = [one for one in members if one in found or one % 2]
    assert chosen(fewer, most) == found, "the others have no part in it"


def test_the_card_and_the_training_questions_are_copied(tmp_path: Path) -> None:
    rows = [question({"task_id": "a", "id": str(n)}).row() for n in range(3)]
    with tables.ArtifactWriter(tmp_path / "all") as writer:
        (writer.folder("card") / "card.json").write_text("{}")
        writer.write(contracts.QUESTIONS, rows)
        writer.write(contracts.TRAIN_QUESTIONS, rows)
    evaluation_folder.write_subset(tmp_path / "all", tmp_path / "one", QuestionSelection(["a"], 1, 0))
    assert (tmp_path / "one/card/card.json").read_text() == "{}"
    assert tables.read_rows(tmp_path / "one", contracts.TRAIN_QUESTIONS) == rows
    assert len(read_questions(tmp_path / "one")) == 1


def test_tasks_are_left_out_by_their_kind() -> None:
    card = registry.load_benchmark("tool_use")
    assert evaluation_folder.tasks_left_out(card, ["svamp", "wikitext"], {"perplexity": "why"}) == {
        "wikitext": "why"
    }


def test_the_folder_of_an_evaluation_names_its_predictions(tmp_path: Path) -> None:
    assert evaluation_folder.predictions(tmp_path / "mine.jsonl", "protoqa") == tmp_path / "mine.jsonl"
    assert evaluation_folder.questions(tmp_path, "protoqa") is None
    (tmp_path / evaluation_folder.RECORD).write_text(json.dumps({"name": "mine"}))
    with pytest.raises(NightjarError, match="it has no predictions of protoqa"):
        evaluation_folder.predictions(tmp_path, "protoqa")
    (tmp_path / "data/predict/protoqa/mine").mkdir(parents=True)
    assert evaluation_folder.predictions(tmp_path, "protoqa") == tmp_path / "data/predict/protoqa/mine"
    assert evaluation_folder.questions(tmp_path, "protoqa") == tmp_path / "data/questions/protoqa"
