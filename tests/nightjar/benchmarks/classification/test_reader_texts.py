"""The reader's inputs: the golden vectors (published form), and the paper's form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.benchmarks.classification.prompts import (
    reader_inputs,
    reader_passage,
    reader_question,
    target,
)
from nightjar.benchmarks.classification.tasks import of_code
from nightjar.core.errors import NightjarError

NAMES = {"SST-2": "sst2", "sst-5": "sst5"}
QUERY = "the performances take the movie to a higher level ."


def test_inputs_as_the_published_code_makes_them(golden: Path) -> None:
    made = json.loads((golden / "pgra_reader_inputs_as_published.json").read_text("utf-8"))
    assert len(made["cases"]) == 24
    for case in made["cases"]:
        task = NAMES.get(case["task"], case["task"])
        passages = []
        for context in made["contexts"][: case["n_context"] or 0]:
            label = of_code(task, context["answers"]) if "answers" in context else None
            passages.append(reader_passage(task, context["text"], label.name if label else None))
        assert passages == (case["passages"] or [])
        assert reader_question(task, QUERY, "published") == case["question"]
        assert reader_inputs(task, QUERY, passages, "published") == case["encoder_inputs"]
        label = of_code(task, case["label"])
        assert label and target(task, label.name) == case["target"]


def test_the_intended_form() -> None:
    assert reader_question("sst2", "a film .") == "a film . This is <extra_id_0> ."
    assert reader_question("trec", "who ?") == "<extra_id_0> : who ?"
    assert reader_inputs("cola", "it is .", ["one .", "two ."]) == [
        "one . it is . This is <extra_id_0> .",
        "two . it is . This is <extra_id_0> .",
    ]
    assert reader_inputs("cola", "it is .", []) == ["it is . This is <extra_id_0> ."]


@pytest.mark.parametrize("form", ["intended", "published"])
def test_a_pair_has_its_mask_between_the_sentences(form: str) -> None:
    question = reader_question("rte", "A cat.\tAn animal.", form)
    assert question == "A cat. ? <extra_id_0> , An animal."
    assert reader_passage("rte", "A cat.\tAn animal.", "entailment") == "A cat. ? Yes , An animal."
    assert target("mrpc", "equivalent") == "<extra_id_0> No <extra_id_1>"


def test_words_of_the_reader() -> None:
    assert target("fever", "NOT ENOUGH INFO") == "<extra_id_0> Not Sure <extra_id_1>"
    assert reader_passage("trec", "what is wwf ?", "Abbreviation") == "Expression :  what is wwf ? ."
    with pytest.raises(NightjarError, match="'great' is no label of sst2"):
        target("sst2", "great")
