"""Questions and training pairs from ingested records, and prompts against the published transformation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import cast

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.protoqa.questions import QUESTION_SET, ProtoQASettings, statement
from nightjar.benchmarks.question import Asking, Sources
from nightjar.core.errors import NightjarError
from stages.ingest.datasets import ingest
from tests.nightjar.benchmarks.protoqa.files import put, row

# As ProtoQA_GPT2 writes lines: the prompt, and the answer with a full stop.
FINETUNE = ["one thing that falls is\train.", " the best day is\td.c.", "Q: is it cold? A: \tyes, in may."]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("protoqa")
    source = folder / "source"
    source.mkdir()
    unanswered = {key: value for key, value in row("q9").items() if key not in ("answers", "num")}
    put(source / "dev.crowdsourced.jsonl", [*(row(f"q{number}") for number in range(5)), unanswered])
    put(source / "dev.scraped.jsonl", [row("s1")])
    put(source / "train.jsonl", [row("t1"), row("t2"), dict(unanswered, metadata={"id": "t3"})])
    put(source / "finetune_train.txt", FINETUNE)
    put(source / "dev.assessments.jsonl", [{"question_id": "q1", "assessments": {"drizzle": "q1.rain"}}])
    put(source / "test.questions.jsonl", [unanswered])
    put(source / "train.question_answer_pairs.txt", [f"what falls?\tthing {number}" for number in range(9)])
    ingest("protoqa", source, folder / "data")
    return Sources(folder / "data", folder / "data")


def test_questions_have_clusters_and_the_best_list(sources: Sources) -> None:
    found = list(QUESTION_SET.questions(sources, ProtoQASettings(), 1))
    assert [it.id for it in found] == ["q0", "q1", "q2", "q3", "q4"]
    assert found[0].references == ("rain", "snow")
    assert [it["count"] for it in found[0].parts["clusters"]] == [60, 40]
    assert (found[0].task_id, found[0].track, found[0].file) == (
        "dev.crowdsourced",
        "default",
        "dev.crowdsourced.jsonl",
    )


def test_questions_whose_answers_are_not_published_are_asked(sources: Sources) -> None:
    (found,) = QUESTION_SET.questions(sources, ProtoQASettings(evaluated="test.questions"), 1)
    assert (found.id, found.references) == ("q9", ())
    assert (
        registry.load_benchmark("protoqa").prompt(found, cast(Asking, None))
        == "one thing that falls from the sky is"
    )


def test_training_pairs(sources: Sources) -> None:
    files = {"train": "train.question_answer_pairs", "dev": "dev.scraped"}
    found = list(QUESTION_SET.training_questions(sources, ProtoQASettings(**files, train_pairs=4), 1))
    assert [side for side, _ in found] == ["train"] * 4 + ["dev"] * 3
    assert found[0][1].parts == {"question": "what falls?"}
    assert [it.references for side, it in found if side == "dev"] == [("rain",), ("a shower",), ("snow",)]
    assert len({it.key for _, it in found}) == 7
    # The published GPT-2 baseline: in lower case, with a full stop.
    assert QUESTION_SET.training_target(found[4][1]._replace(references=("A Shower",))) == "a shower."


def test_a_file_of_questions_gives_a_pair_for_each_answer_of_each_cluster(sources: Sources) -> None:
    """As protoqa-data is published: train.jsonl has questions with clusters."""
    found = [
        one
        for side, one in QUESTION_SET.training_questions(sources, ProtoQASettings(train="train"), 1)
        if side == "train"
    ]
    assert [one.references for one in found] == [("rain",), ("a shower",), ("snow",)] * 2
    assert len({one.key for one in found}) == 6
    assert [QUESTION_SET.training_target(one) for one in found[:3]] == ["rain.", "a shower.", "snow."]


def test_published_lines_for_finetuning_are_not_transformed_again(sources: Sources) -> None:
    """ProtoQA_GPT2: prompt and target are those of the line, without blanks around the prompt."""
    card, asking = registry.load_benchmark("protoqa"), cast(Asking, None)
    pairs = [
        pair
        for _, pair in QUESTION_SET.training_questions(sources, ProtoQASettings(train="finetune_train"), 1)
    ]
    lines = [f"{card.prompt(pair, asking)}\t{QUESTION_SET.training_target(pair)}" for pair in pairs]
    assert lines == ["\t".join(cell.strip() for cell in line.split("\t")) for line in FINETUNE]
    assert lines != FINETUNE


@pytest.mark.parametrize("text", ["what falls?", "the best day is named", "do you like rain?"])
def test_prompts_of_pairs_have_no_blanks_at_their_ends(tmp_path: Path, text: str) -> None:
    card, asking = registry.load_benchmark("protoqa"), cast(Asking, None)
    (tmp_path / "source").mkdir()
    put(tmp_path / "source" / "train.pairs.txt", [f"{text}\train"])
    ingest("protoqa", tmp_path / "source", tmp_path / "data")
    sources = Sources(tmp_path / "data", tmp_path / "data")
    ((_, pair),) = QUESTION_SET.training_questions(sources, ProtoQASettings(train="train.pairs"), 1)
    assert card.prompt(pair, asking) == statement(text).strip()


@pytest.mark.parametrize("file", ["test.questions", "dev.assessments"])
def test_a_file_without_answers_to_train_on(sources: Sources, file: str) -> None:
    with pytest.raises(NightjarError, match=f"no question of {file} has an answer"):
        list(QUESTION_SET.training_questions(sources, ProtoQASettings(train=file), 1))


def test_real_pairs(real_data: Path, tmp_path: Path) -> None:
    """The 4,963 lines that ProtoQA_GPT2 has of dev.scraped."""
    (tmp_path / "source").mkdir()
    shutil.copy(real_data / "protoqa/dev.scraped.jsonl", tmp_path / "source/train.jsonl")
    ingest("protoqa", tmp_path / "source", tmp_path / "data")
    settings = ProtoQASettings(train="train")
    assert (
        len(list(QUESTION_SET.training_questions(Sources(tmp_path / "data", tmp_path / "data"), settings, 1)))
        == 4_963
    )


def test_no_training_pairs_without_files_of_them(sources: Sources) -> None:
    assert list(QUESTION_SET.training_questions(sources, ProtoQASettings(), 1)) == []
    with pytest.raises(NightjarError, match=r"benchmarks\.protoqa\.train is absent, which is not in it"):
        list(QUESTION_SET.training_questions(sources, ProtoQASettings(train="absent"), 1))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("dev.assessments", "dev.assessments has no questions to answer"),
        ("train.question_answer_pairs", "train.question_answer_pairs has no questions to answer"),
        (
            "absent",
            "benchmarks.protoqa.evaluated is absent, which is not in it; files are dev.assessments, dev",
        ),
    ],
)
def test_a_file_without_questions_to_answer(sources: Sources, file: str, reason: str) -> None:
    with pytest.raises(NightjarError, match=reason):
        list(QUESTION_SET.questions(sources, ProtoQASettings(evaluated=file), 1))


def test_golden_prompts(golden: Path) -> None:
    cases = json.loads((golden / "protoqa_question_transform.json").read_text("utf-8"))["cases"]
    assert {it["question"]: statement(it["question"]) for it in cases} == {
        it["question"]: it["prompt"] for it in cases
    }


def test_rules() -> None:
    assert statement("Name something you eat.") == "one thing you eat is"
    assert statement("Which season is best") == "one season is best is"
    assert statement("How many?") == "Q: how many? A: "
