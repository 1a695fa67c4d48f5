"""Rankings on disk, read as they were written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar.core.contracts import PASSAGES, RANKINGS
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter
from nightjar.search.rankings import Passages, Rankings, rankings_table, read_rankings

FOUND = Rankings(np.array([[3, 1, 2], [0, -1, -1]]), np.array([[0.5, 0.25, 0.125], [1.0, -np.inf, -np.inf]]))


def _row(split: str, id: str, passages: list[int], scores: list[float]) -> dict[str, Any]:
    return {"split": split, "task_id": "t", "id": id, "passages": passages, "scores": scores}


def test_rankings_are_read_by_side_as_arrays(tmp_path: Path) -> None:
    with ArtifactWriter(tmp_path / "out") as writer:
        writer.write(RANKINGS, rankings_table("test", ["t", "u"], ["a", "b"], FOUND), part="a")
        writer.write(RANKINGS, [_row("train", "a", [], []), _row("test", "c", [7], [2.0])], part="b")
    found = read_rankings(tmp_path / "out", "test")
    assert list(found) == [("t", "a"), ("u", "b"), ("t", "c")]
    assert {key: (n.tolist(), s.tolist()) for key, (n, s) in found.items()} == {
        ("t", "a"): ([3, 1, 2], [0.5, 0.25, 0.125]),
        ("u", "b"): ([0], [1.0]),
        ("t", "c"): ([7], [2.0]),
    }
    assert all(n.dtype == np.int64 and s.dtype == np.float64 for n, s in found.values())
    assert [len(n) for n, _ in read_rankings(tmp_path / "out", "train").values()] == [0]
    assert read_rankings(tmp_path / "out", "dev") == {}


def test_scores_that_do_not_fit(tmp_path: Path) -> None:
    with ArtifactWriter(tmp_path / "out") as writer:
        writer.write(RANKINGS, [_row("test", "a", [1, 2], [1.0]), _row("test", "b", [1], [1.0, 2.0])])
    with pytest.raises(NightjarError, match="not one score for each passage"):
        read_rankings(tmp_path / "out", "test")


def test_passages_by_number(tmp_path: Path) -> None:
    texts = ["zero", "one", "two"]
    rows = [
        {"passage": n, "document_id": f"d{n}", "title": "", "text": text, "start": 0}
        for n, text in enumerate(texts)
    ]
    with ArtifactWriter(tmp_path / "index") as writer:
        writer.write(PASSAGES, rows[:2], part="part-0")
        writer.write(PASSAGES, rows[2:], part="part-1")
    passages = Passages(tmp_path / "index")
    assert len(passages) == 3
    assert passages.texts([2, 0, 2]) == ["two", "zero", "two"]
    assert passages.texts(np.array([], np.int64)) == []
    assert passages.rows([1]) == [{"passage": 1, "document_id": "d1", "title": "", "text": "one"}]
    for number in (3, -1):
        with pytest.raises(NightjarError, match=f"no passage {number}: the index has 3"):
            passages.texts([0, number])
