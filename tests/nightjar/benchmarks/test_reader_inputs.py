"""What a reader reads: passages with their weights, and demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.reader_inputs import check_form, pool_of, with_demonstrations, with_passages
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from tests.made_benchmark import BENCHMARK, NAME, changed


def demonstrated(question: Question, examples: Any, form: str, words: int | None) -> str:
    shown = [question.id]
    for it in examples:
        shown += ["word"] * min(LONG.get(it.id, 0), 99 if words is None else words)
        shown.append(f"{it.id}={it.references[0]}")
    return " ".join(shown)


class Words:
    """A tokenizer by blanks."""

    def length(self, text: str) -> int:
        return len(text.split())


TOKENS: Any = Words()
# Words that an example has beside its label.
LONG: dict[str, int] = {}


def inputs(question: Question, passages: Any, form: str) -> list[str]:
    return [f"{passage} {question.id}" for passage in passages] or [question.id]


READ = changed(
    BENCHMARK,
    reader_forms=("plain",),
    reader_inputs=inputs,
    demonstrated_input=demonstrated,
    reader_targets=lambda task: {"yes": "y", "no": "n"},
)
QUESTIONS = [
    Question(NAME, "task", f"q{number}", {}, ("yes" if number % 3 else "no",)) for number in range(12)
]


def artifacts(folder: Path, scores: list[float]) -> tuple[Path, Path]:
    with tables.ArtifactWriter(folder / "index") as writer:
        rows = [
            {"passage": n, "document_id": str(n), "title": "", "text": f"p{n}", "start": 0} for n in range(4)
        ]
        writer.write(contracts.PASSAGES, rows)
    with tables.ArtifactWriter(folder / "found") as writer:
        row = {"split": "dev", "task_id": "task", "id": "q1", "passages": [3, 0, 2][: len(scores)]}
        writer.write(contracts.RANKINGS, [row | {"scores": scores}])
    return folder / "found", folder / "index"


@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_weights_are_the_softmax_of_the_passages_that_are_read(tmp_path: Path, temperature: float) -> None:
    found, index = artifacts(tmp_path, [0.9, 0.8, 0.7])
    (read,) = with_passages(READ, "plain", [QUESTIONS[1]], found, index, "dev", 2, temperature)
    assert read.texts == ["p3 q1", "p0 q1"] and read.question == "q1"
    first = 1 / (1 + np.exp(-0.1 / temperature))
    np.testing.assert_allclose(np.exp(read.prior), [first, 1 - first])


def test_a_question_without_passages_is_read_alone(tmp_path: Path) -> None:
    found, index = artifacts(tmp_path, [])
    (read,) = with_passages(READ, "plain", [QUESTIONS[1]], found, index, "dev", 2)
    (alone,) = with_passages(READ, "plain", [QUESTIONS[1]], None, index, "dev", 0)
    assert read.texts == alone.texts == ["q1"]
    assert read.prior.tolist() == alone.prior.tolist() == [0.0]


def test_other_sides_have_rankings_of_their_own(tmp_path: Path) -> None:
    found, index = artifacts(tmp_path, [1.0])
    with pytest.raises(NightjarError, match=r"no ranking for the question q1 of task \(test\)"):
        with_passages(READ, "plain", [QUESTIONS[1]], found, index, "test", 2)


def test_one_example_of_each_answer_and_never_the_question_itself() -> None:
    pool = pool_of(QUESTIONS, ["yes", "no"], 3, 0)
    assert {name: len(members) for name, members in pool.items()} == {"yes": 3, "no": 3}
    assert pool == pool_of(QUESTIONS, ["yes", "no"], 3, 0)
    assert any(pool_of(QUESTIONS, ["yes", "no"], 3, seed) != pool for seed in range(1, 9))
    larger = pool_of(QUESTIONS, ["yes", "no"], 4, 0)
    assert all({one.id for one in pool[name]} < {one.id for one in larger[name]} for name in pool)
    members = {one.id for own in pool.values() for one in own}
    orders = set()
    for read in with_demonstrations(READ, "plain", QUESTIONS, {"task": pool}, 5, TOKENS, 99):
        own, *shown = read.texts[0].split()
        assert own == read.question
        orders.add(labels := tuple(it.partition("=")[2] for it in shown))
        assert sorted(labels) == ["no", "yes"]
        assert {it.partition("=")[0] for it in shown} <= members - {own}
    # The seed draws the order.
    assert len(orders) == 2


@pytest.mark.parametrize(
    ("most", "words"), [(99, (9, 2)), (14, (9, 2)), (13, (8, 2)), (8, (3, 2)), (5, (1, 1)), (2, (0, 0))]
)
def test_examples_are_cut_evenly_and_keep_their_labels(
    most: int, words: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for id, words_of in {"q1": 9, "q3": 2}.items():
        monkeypatch.setitem(LONG, id, words_of)
    pool = {"yes": [QUESTIONS[1]], "no": [QUESTIONS[3]]}
    (read,) = with_demonstrations(READ, "plain", [QUESTIONS[0]], {"task": pool}, 5, TOKENS, most)
    shown = read.texts[0].split()
    assert {"q1=yes", "q3=no"} < set(shown)
    assert shown.count("word") == sum(words)


def test_the_only_example_of_an_answer_does_not_show_itself() -> None:
    few = QUESTIONS[:3]
    (read,) = with_demonstrations(
        READ, "plain", [few[0]], {"task": pool_of(few, ["yes", "no"], 1, 0)}, 0, TOKENS, 99
    )
    assert "q0=no" not in read.texts[0]


def test_a_card_without_texts_for_a_reader() -> None:
    with pytest.raises(NightjarError, match="made has no texts for a reader"):
        check_form(BENCHMARK, "plain")
