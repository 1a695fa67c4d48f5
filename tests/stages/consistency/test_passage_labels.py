"""The share of consistent passages, and the pseudo-labels, against counting and scoring them one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.classification.scoring import BENCHMARK
from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.models import reader
from nightjar.search.rankings import Passages, Ranking
from stages.consistency.passage_labels import labeller, means, write_consistency
from tests.stages.rows import write_passages
from tests.tiny_models import sentence_encoder

LABELS = ("yes", "no", "maybe")
TEXTS = [f"passage {number}" for number in range(9)]


def label(task: str, text: str) -> str:
    """A label of a passage that depends on the task."""
    return LABELS[(int(text.split()[1]) + len(task)) % len(LABELS)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Passages:
    return Passages(write_passages(tmp_path_factory.mktemp("consistency") / "index", TEXTS))


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


FILMS = ["a fine film", "a film that is as long as it is dull , and longer still", "so so"]


def trained(folder: Path, base: Path, **changes: Any) -> Path:
    """Readers of two tasks with random decoders, as the stage train_reader leaves them."""
    torch.manual_seed(3)
    for task in ("sst2", "trec"):
        made = reader.load(base, 1)
        weights = {
            name: torch.randn_like(value) * 0.3 for name, value in made.reader.learning("decoder").items()
        }
        reader.save(weights, folder / task)
    record = {
        "recipe": "reader",
        "form": "intended",
        "passages": 0,
        "shots_per_label": 0,
        "trains": "decoder",
    }
    record |= {"text_maxlength": 64, "decoder_layers": 1, "base": base.as_posix(), "base_sha256": made.sha256}
    record |= {"tasks": {"sst2": {}, "trec": {}}, "fusion": "in_decoder", "learning_rate": 0.001}
    record |= {"batch_size": 2, "max_steps": 1, "evaluate_every": None, "precision": "float32", "seed": 0}
    (folder / "reader.json").write_text(json.dumps(record | changes))
    return folder


def test_the_label_is_the_likeliest_answer(tmp_path: Path) -> None:
    base = sentence_encoder(tmp_path / "base")
    folder = trained(tmp_path / "readers", base)
    labels = labeller(BENCHMARK, folder)
    for task in ("sst2", "trec", "sst2"):
        found = labels(task, FILMS)
        made = reader.load(base, 1)
        reader.restore_weights(made.reader, "decoder", folder / task)
        targets = made.tokens.targets(BENCHMARK.reader_targets(task), made.reader.start)
        for text, label in zip(FILMS, found, strict=True):
            alone = BENCHMARK.reader_text(task, text, "intended")
            with torch.inference_mode():
                states = reader.encode_inputs(made.reader, [made.tokens.input(alone, alone, 64)])
                scores = reader.answer_scores(
                    made.reader, [states], None, targets, reader.all_answers(targets, 1)
                )
            assert label == targets.names[int(scores[0].argmax())]
    assert labels("sst2", []) == []
    with pytest.raises(NightjarError, match="no reader of the task cola"):
        labels("cola", FILMS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"passages": 3}, "trained with passages or demonstrations; set consistency.benchmarks.class"),
        ({"base_sha256": "0"}, "another base model"),
    ],
)
def test_other_readers_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = trained(tmp_path / "readers", sentence_encoder(tmp_path / "base"), **changes)
    with pytest.raises(NightjarError, match=message):
        labeller(BENCHMARK, folder)
