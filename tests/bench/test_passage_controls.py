"""Passages of other questions, and passages of the right label, on rankings made by hand."""

from __future__ import annotations

from typing import Any, cast

from bench.passage_controls import labelled, shuffled
from nightjar.search.rankings import Passages

TEXTS = ["a good film", "a bad  film", "weather", "a great film"]


class Texts:
    """Passages by their place in TEXTS."""

    def texts(self, numbers: list[int]) -> list[str]:
        return [TEXTS[number] for number in numbers]


def row(side: str, id: str, passages: list[int]) -> dict[str, Any]:
    scores = [1.0 - place / 10 for place in range(len(passages))]
    return {"split": side, "task_id": "sst2", "id": id, "passages": passages, "scores": scores}


def test_every_question_gets_the_passages_of_another_one_of_its_side() -> None:
    rankings = [row("train", f"{n}", [n]) for n in range(20)] + [
        row("test", f"t{n}", [100 + n]) for n in range(5)
    ]
    rows = list(shuffled(rankings, 1))
    assert {(it["split"], it["id"]) for it in rows} == {(it["split"], it["id"]) for it in rankings}
    own = {it["id"]: it["passages"] for it in rankings}
    assert all(it["passages"] != own[it["id"]] for it in rows)
    for side in ("train", "test"):
        expected = sorted(it["passages"] for it in rankings if it["split"] == side)
        assert sorted(it["passages"] for it in rows if it["split"] == side) == expected
    assert rows == list(shuffled(rankings, 1)) != list(shuffled(rankings, 2))


def test_passages_of_the_right_label_keep_their_order_and_scores() -> None:
    labels = {("sst2", "a good film"): "+", ("sst2", "a bad film"): "-", ("sst2", "a great film"): "+"}
    rankings = [row("test", "x", [3, 2, 1, 0]), row("test", "y", [0, 1]), row("train", "z", [2])]
    answers = {("test", "sst2", "x"): "+", ("test", "sst2", "y"): "-", ("train", "sst2", "z"): "+"}
    rows = list(labelled(rankings, answers, labels, cast(Passages, Texts())))
    assert [it["passages"] for it in rows] == [[3, 0], [1], []]
    assert [it["scores"] for it in rows] == [[1.0, 0.7], [0.9], []]
