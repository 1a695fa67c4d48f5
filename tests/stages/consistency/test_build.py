"""The share of consistent passages against counting them one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.search.rankings import Passages, Ranking
from stages.consistency.build import means, write_consistency

LABELS = ("yes", "no", "maybe")
TEXTS = [f"passage {number}" for number in range(9)]


def label(task: str, text: str) -> str:
    """A label of a passage that depends on the task."""
    return LABELS[(int(text.split()[1]) + len(task)) % len(LABELS)]


def passages(folder: Path) -> Passages:
    with tables.ArtifactWriter(folder) as writer:
        rows = [
            {"passage": n, "document_id": "d", "title": "t", "text": text, "start": 0}
            for n, text in enumerate(TEXTS)
        ]
        writer.write(contracts.PASSAGES, rows)
    return Passages(folder)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Passages:
    return passages(tmp_path_factory.mktemp("consistency") / "index")


rankings = st.lists(st.integers(0, len(TEXTS) - 1), max_size=6, unique=True)


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "bb"]), st.sampled_from(LABELS), rankings, rankings), max_size=6
    ),
    st.integers(1, 5),
)
def test_the_share_is_counted(
    index: Passages,
    tmp_path_factory: pytest.TempPathFactory,
    cases: list[tuple[str, str, list[int], list[int]]],
    depth: int,
) -> None:
    questions = [
        Question("made", task, str(n), {"question": "q"}, (gold,)) for n, (task, gold, *_) in enumerate(cases)
    ]
    both: dict[str, dict[tuple[str, str], Ranking]] = {
        name: {
            question.key: (np.array(case[place], np.int64), np.zeros(len(case[place])))
            for question, case in zip(questions, cases, strict=True)
        }
        for name, place in (("retrieve", 2), ("rerank", 3))
    }
    asked: list[tuple[str, str]] = []

    def labels(task: str, texts: Sequence[str]) -> list[str]:
        asked.extend((task, text) for text in texts)
        return [label(task, text) for text in texts]

    output = tmp_path_factory.mktemp("out") / "made"
    facts = write_consistency(questions, both, index, depth, labels, output)
    assert facts.rows_in == 2 * len(cases) == facts.rows_out + facts.rejected
    assert len(asked) == len(set(asked)) == facts.labelled
    rows = tables.read_rows(output, contracts.CONSISTENCY) if cases else []
    assert len(rows) == facts.rows_out
    for row in rows:
        task, gold, *ranked = cases[int(row["id"])]
        own = ranked[0 if row["ranking"] == "retrieve" else 1][:depth]
        hits = sum(label(task, TEXTS[number]) == gold for number in own)
        assert row["passages"] == own and row["consistent"] == hits / len(own)
    for task, values in means(rows).items():
        for ranking, value in values.items():
            shares = [r["consistent"] for r in rows if (r["task_id"], r["ranking"]) == (task, ranking)]
            assert value == pytest.approx(100 * np.mean(shares), abs=1e-4)
