"""Shares of passages with the question's label, and right answers by them, counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from bench.label_consistency import lines
from nightjar.core.errors import NightjarError
from nightjar.statistics import Bootstrap


def scored(system: str, track: str, id: str, **parts: float) -> list[dict[str, object]]:
    row = {"system": system, "track": track, "task_id": track, "id": id}
    return [{**row, "part": name, "unscaled": value} for name, value in parts.items()]


# Two seeds of one system on two questions, and a track that has the labels instead of accuracy.
SCORES = pd.DataFrame(
    scored("pgra", "sst2", "a", accuracy=1)
    + scored("pgra_2", "sst2", "a", accuracy=0)
    + scored("pgra", "sst2", "b", accuracy=1)
    + scored("pgra_2", "sst2", "b", accuracy=1)
    + scored("fid", "sst2", "a", accuracy=0)
    + scored("pgra", "cola", "c", predicted=1, gold=1)
    + scored("pgra_2", "cola", "c", predicted=0, gold=1)
)
CONSISTENCY = pd.DataFrame(
    [
        {"task_id": task, "id": id, "ranking": ranking, "consistent": share}
        for task, id, *shares in (("sst2", "a", 0.0, 0.5), ("sst2", "b", 0.5, 1.0), ("cola", "c", 1.0, 0.5))
        for ranking, share in zip(("retrieve", "rerank"), shares, strict=True)
    ]
)


def test_means_difference_and_right_answers_by_share() -> None:
    head, _, cola, sst2 = lines(SCORES, CONSISTENCY, "pgra", Bootstrap())
    assert head == "| track | n | retriever | reranker | difference | 0.5 | 1 |"
    assert cola == "| cola | 1 | 100.0 | 50.0 | -50.0 [-50.0, -50.0] | 50 (1) | – |"
    assert sst2 == "| sst2 | 2 | 25.0 | 75.0 | +50.0 [+50.0, +50.0] | 50 (1) | 100 (1) |"


def test_a_system_that_was_not_evaluated_is_named() -> None:
    with pytest.raises(NightjarError, match="no system reader"):
        list(lines(SCORES, CONSISTENCY, "reader", Bootstrap()))
