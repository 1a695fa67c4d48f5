"""Questions and training pairs from ingested records."""

from __future__ import annotations

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.protoqa.questions import Settings, questions, target, training
from nightjar.benchmarks.question import Sources
from nightjar.core.errors import NightjarError
from stages.ingest.datasets import ingest
from tests.nightjar.benchmarks.protoqa.files import put, row


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("protoqa")
    source = folder / "source"
    source.mkdir()
    unanswered = {key: value for key, value in row("q9").items() if key not in ("answers", "num")}
    put(source / "dev.crowdsourced.jsonl", [*(row(f"q{number}") for number in range(5)), unanswered])
    put(source / "dev.scraped.jsonl", [row("s1")])
    put(source / "test.questions.jsonl", [unanswered])
    put(source / "train.question_answer_pairs.txt", [f"what falls?\tthing {number}" for number in range(9)])
    ingest("protoqa", source, folder / "data")
    return Sources(folder / "data", folder / "data")


def test_questions_have_clusters_and_the_best_list(sources: Sources) -> None:
    found = list(questions(sources, Settings(), 1))
    assert [it.id for it in found] == ["q0", "q1", "q2", "q3", "q4"]
    assert found[0].references == ("rain", "snow")
    assert [it["count"] for it in found[0].parts["clusters"]] == [60, 40]
    assert (found[0].task_id, found[0].track, found[0].file) == (
        "dev.crowdsourced",
        "default",
        "dev.crowdsourced.jsonl",
    )


def test_fewer_questions_are_among_more(sources: Sources) -> None:
    few = {it.id for it in questions(sources, Settings(questions=2), 1)}
    more = {it.id for it in questions(sources, Settings(questions=3), 1)}
    assert (len(few), len(more)) == (2, 3)
    assert few < more


def test_training_pairs(sources: Sources) -> None:
    files = {"train": "train.question_answer_pairs", "dev": "dev.scraped"}
    found = list(training(sources, Settings(**files, train_pairs=4), 1))
    assert [side for side, _ in found] == ["train"] * 4 + ["dev"] * 3
    assert found[0][1].parts == {"question": "what falls?"}
    assert [it.references for side, it in found if side == "dev"] == [("rain",), ("a shower",), ("snow",)]
    assert len({it.key for _, it in found}) == 7
    # The published GPT-2 baseline: in lower case, with a full stop.
    assert target(found[4][1]._replace(references=("A Shower",))) == "a shower."


def test_no_training_pairs_without_files_of_them(sources: Sources) -> None:
    assert list(training(sources, Settings(), 1)) == []
    with pytest.raises(NightjarError, match=r"benchmarks\.protoqa\.train is absent, which is not in it"):
        list(training(sources, Settings(train="absent"), 1))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("test.questions", "no question of test.questions has clusters"),
        (
            "absent",
            "benchmarks.protoqa.evaluated is absent, which is not in it; files are dev.crowdsourced, dev",
        ),
    ],
)
def test_a_file_without_questions_to_answer(sources: Sources, file: str, reason: str) -> None:
    with pytest.raises(NightjarError, match=reason):
        list(questions(sources, Settings(evaluated=file), 1))


def test_the_card_scores_the_questions_of_the_artifact(sources: Sources) -> None:
    card = registry.card("protoqa")
    asked = list(questions(sources, Settings(), 1))
    found = card.score(asked, [list(it.references) for it in asked])
    assert all(values.tolist() == [1.0] * 5 for values in found.values())
    without_encoder = {metric.name for metric in card.metrics if not metric.name.startswith("encoder/")}
    assert set(found) == without_encoder
