"""Annotation on a tiny random model: losses against plain passes, and what is recorded of every candidate."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import torch

from nightjar.core.params import Tool
from nightjar.lm.generate import Generated
from nightjar.lm.load import LanguageModel, load, prepare
from stages.augment import annotate
from stages.augment.annotate import Annotator, Settings, tokens_with_offsets
from stages.augment.formulas import weighted_loss
from stages.augment.texts import Text, choose, from_instances

TOOL = Tool(sampling_threshold=0.0, positions=3, samples=4, filter_threshold=-5.0)
TEXT = Text("corpus", None, "d1", 0, "", "A box holds 12 pens, so 8 boxes hold 96 pens.", date(2023, 1, 30))
TARGET = Text(
    "train", "task001_x", "i1", 0, "Input: 8 boxes of 12 pens.\nOutput:", "There are 96 pens.", None
)


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def settings(seed: int = 1) -> Settings:
    return Settings(TOOL, temperature=1.0, max_call_tokens=6, max_text_tokens=64, seed=seed)


def scripted(monkeypatch: pytest.MonkeyPatch, answers: list[str]) -> None:
    """Let the model "sample" these texts, one after the other, at whatever place."""

    def branch(
        lm: object, prefix: object, lengths: list[int], *rest: object, **more: object
    ) -> list[Generated]:
        return [Generated(answers[n % len(answers)], 5, True) for n in range(len(lengths))]

    monkeypatch.setattr(annotate, "branch", branch)


@pytest.mark.parametrize("text", [TEXT, TARGET])
def test_losses_are_those_of_plain_passes_over_the_written_out_texts(
    lm: LanguageModel, monkeypatch: pytest.MonkeyPatch, text: Text
) -> None:
    scripted(monkeypatch, ["Calculator(8 * 12)", "Calculator(oops)", "Calendar()", "no call"])
    rows = list(Annotator(lm, "calculator", settings()).candidates(text))
    encode = lm.tokenizer.encode
    body, offsets = tokens_with_offsets(lm, text.body, 64)
    context = encode(f" {text.context}") if text.context else []

    def plain_loss(before: str, place: int) -> float:
        ids = [lm.tokenizer.end, *encode(before), *context, *body]
        with torch.inference_mode():
            table = lm.model(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(-1)
        first = len(ids) - len(body) + place
        return weighted_loss([float(table[n - 1, ids[n]]) for n in range(first, min(first + 5, len(ids)))])

    statuses = {row["call"]: row["status"] for row in rows}
    assert statuses["[Calculator(oops)]"] == "no_result"
    assert statuses["[Calendar()]"] == "malformed"
    assert statuses["no call"] == "malformed"
    measured = [row for row in rows if row["call"] == "[Calculator(8 * 12)]"]
    assert measured
    for row in measured:
        place = row["token"]
        assert row["offset"] == offsets[place]
        assert row["result"] == "96"
        assert row["loss_no_call"] == pytest.approx(plain_loss("", place), rel=1e-4)
        without = plain_loss(" [Calculator(8 * 12) -> ]", place)
        assert row["loss_call_without_result"] == pytest.approx(without, rel=1e-4)
        result = plain_loss(" [Calculator(8 * 12) -> 96]", place)
        assert row["loss_call_with_result"] == pytest.approx(result, rel=1e-4)
        assert row["gain"] == pytest.approx(min(row["loss_no_call"], without) - result, rel=1e-3, abs=1e-4)
        assert row["status"] == ("kept" if row["gain"] >= -5.0 else "below_threshold")


def test_two_spellings_of_a_call_are_one_candidate(
    lm: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, ["Calculator(8 * 12)", "Calculator( 8 * 12 )"])
    rows = list(Annotator(lm, "calculator", settings()).candidates(TEXT))
    assert [row["call"] for row in rows] == ["[Calculator(8 * 12)]"] * 3
    assert len({row["token"] for row in rows}) == 3


def test_sampling_depends_on_the_text_and_the_seed_alone(lm: LanguageModel) -> None:
    first, second = Annotator(lm, "calculator", settings()), Annotator(lm, "calculator", settings())
    list(second.candidates(TARGET))
    rows = list(first.candidates(TEXT))
    assert rows == list(second.candidates(TEXT))
    other = list(Annotator(lm, "calculator", settings(seed=2)).candidates(TEXT))
    assert [row["call"] for row in other] != [row["call"] for row in rows]


def test_offsets_are_where_the_tokens_begin_in_the_body(lm: LanguageModel) -> None:
    body = "A box of 12 pens."
    ids, offsets = tokens_with_offsets(lm, body, 64)
    assert offsets[0] == 0
    for place, offset in enumerate(offsets):
        # What stands before the token, decoded, is what stands before the offset.
        assert lm.tokenizer.decode(ids[:place]).removeprefix(" ") == body[:offset]
    assert tokens_with_offsets(lm, body, 3) == (ids[:3], offsets[:3])


def test_texts_are_chosen_by_the_heuristics_and_the_seed() -> None:
    rows = [
        {"task_id": "t", "id": str(n), "input": f"{n} boxes of 3 pens", "outputs": [f"{3 * n} pens", "many"]}
        for n in range(2, 9)
    ]
    texts = from_instances(rows)
    assert len(texts) == 14
    suitable = choose("calculator", texts, None, seed=1)
    # Only the references with a number, which is a product of the other two.
    assert [(text.id, text.target) for text in suitable] == [(str(n), 0) for n in range(2, 9)]
    some = choose("calculator", texts, 3, seed=1)
    assert len(some) == 3
    assert some == choose("calculator", texts, 3, seed=1)
    assert [text.id for text in some] == sorted(text.id for text in some)
    assert choose("calendar", texts, None, seed=1) == []
