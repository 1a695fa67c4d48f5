"""The seconds of an index that is built once, and of one that is refreshed, added up one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.index_cost import seconds, table


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100), st.integers(1, 9), st.integers(1, 9))
def test_seconds(index: int, retrieve: int, rerank: int, tasks: int, refreshes: int) -> None:
    static, refreshed = index, 0
    for _ in range(tasks):
        static += retrieve + rerank
        for _ in range(refreshes):
            refreshed += index + retrieve
    assert seconds(index, retrieve, rerank, tasks, None) == static
    assert seconds(index, retrieve, rerank, tasks, refreshes) == refreshed


def test_the_table() -> None:
    lines = table(10, 2, 3, [1, 8], [1, 5])
    assert (
        lines[0] == "| tasks | one index and reranking, s | 1 refreshes a task, s | 5 refreshes a task, s |"
    )
    assert lines[2:] == ["| 1 | 15 | 12 (0.8 ×) | 60 (4.0 ×) |", "| 8 | 50 | 96 (1.9 ×) | 480 (9.6 ×) |"]
