"""Prompts and demonstrations of Guo et al. 2023, the reader's golden vectors, and shortening against Jinja's filter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment

from nightjar.benchmarks.classification import prompts
from nightjar.benchmarks.classification.prompts import (
    Labelled,
    demonstrations,
    reader_inputs,
    reader_passage,
    reader_question,
    target,
)
from nightjar.benchmarks.classification.tasks import names, of_code
from nightjar.core.errors import NightjarError

SENTIMENT = "Does the following sentence have a positive or negative sentiment?\na film ."
ASKED = {
    "sst2": SENTIMENT,
    "cr": SENTIMENT,
    "mr": SENTIMENT,
    "mpqa": SENTIMENT,
    "sst5": "What sentiment does this sentence have? terrible, bad, okay, good or great\na film .",
    "cola": 'The following sentence is either "acceptable", meaning it is grammatically correct and makes sense, '
    'or "unacceptable". Which is it?\na film .',
    "subj": "Is this a subjective or objective description?\na film .",
    "trec": "Which category best describes the following question: a film . \n\nChoose from the following list: \n"
    "Description, Entity, Abbreviation, Person, Quantity, Location",
}


def shots(*pairs: tuple[str, str]) -> list[Labelled]:
    return [Labelled("trec", str(n), text, label) for n, (text, label) in enumerate(pairs)]


@pytest.mark.parametrize("task", ASKED)
def test_prompts_of_the_eight_tasks(task: str) -> None:
    assert prompts.prompt(task, "a film .") == ASKED[task]
    assert prompts.query(task, "a film .") == ASKED[task] + "\nThe answer is"


def test_the_prompt_of_a_pair() -> None:
    asked = "Does the first sentence entail the second? Yes or No\n"
    assert prompts.prompt("rte", "A cat.\tAn animal.") == f"{asked}A cat.\nAn animal."
    # A passage is no pair.
    assert prompts.prompt("rte", "A cat.") == f"{asked}A cat."


@given(st.lists(st.text("ab ", min_size=0, max_size=9), max_size=9).map(" ".join), st.integers(4, 40))
def test_fields_are_shortened_as_by_jinja(text: str, most: int) -> None:
    environment = Environment(autoescape=True)
    wanted = environment.from_string("{{ text | string | truncate(most) }}").render(text=text, most=most)
    assert prompts.shortened(text, most) == wanted


def test_a_field_has_at_most_2048_characters() -> None:
    text = "word " * 500
    asked = prompts.prompt("subj", text)
    head = "Is this a subjective or objective description?\n"
    assert asked == head + ("word " * 409).rstrip() + "..." and len(asked) <= len(head) + 2048
    assert prompts.shortened("x" * 2053) == "x" * 2053 and len(prompts.shortened("x" * 2054)) == 2048


def test_demonstrations_have_no_blank_lines_but_the_query_keeps_them() -> None:
    shown = shots(("what is a tree ?", "Description"), ("who ?", "Human"))
    text = prompts.prefix("trec", shown) + prompts.query("trec", "how many ?")
    head = "Which category best describes the following question: "
    tail = "Choose from the following list: \nDescription, Entity, Abbreviation, Person, Quantity, Location"
    first = f"{head}what is a tree ? \n{tail}\nThe answer is Description"
    second = f"{head}who ? \n{tail}\nThe answer is Human"
    query = f"{head}how many ? \n\n{tail}\nThe answer is"
    assert text == f"Follow the demonstrations:\n{first}\n\n{second}\n\n{query}"
    assert prompts.prefix("trec", []) == ""


def train(task: str, places: list[int]) -> list[Labelled]:
    return [Labelled(task, str(n), f"text {n}", names(task)[place]) for n, place in enumerate(places)]


def walked(places: list[int], labels: int, shots: int) -> list[int] | None:
    """The rule by brute force: the shortest beginning whose capped choice is enough; None if a label is missing."""
    if len(set(places)) < labels:
        return None
    for end in range(1, len(places) + 1):
        kept = [n for n in range(end) if places[:n].count(places[n]) < shots // labels + 1]
        if len(kept) >= shots and len({places[n] for n in kept}) == labels:
            break
    return kept


@given(
    st.sampled_from(["sst2", "sst5", "trec", "fever"]).flatmap(
        lambda task: st.tuples(st.just(task), st.lists(st.integers(0, len(names(task)) - 1), max_size=40))
    ),
    st.integers(1, 12),
    st.integers(0, 99),
)
def test_the_rule_and_the_seeded_order(case: tuple[str, list[int]], shots: int, seed: int) -> None:
    task, places = case
    rows, wanted = train(task, places), walked(places, len(names(task)), shots)
    if wanted is None:
        with pytest.raises(NightjarError, match="no training sentence has the label"):
            demonstrations(rows, task, shots, seed)
        return
    found = demonstrations(rows, task, shots, seed)
    assert sorted(int(it.id) for it in found) == wanted
    assert found == demonstrations(iter(rows), task, shots, seed)


def test_published_counts() -> None:
    """Two labels: 5 + 3 of a sorted file; six labels, the last one late: eleven."""
    found = demonstrations(train("sst2", [1] * 40 + [0] * 40), "sst2")
    assert Counter(it.label for it in found) == {"positive": 5, "negative": 3}
    late = demonstrations(train("trec", [0, 1, 2, 3, 4] * 9 + [5]), "trec")
    assert len(late) == 11 and Counter(it.label for it in late)["Number"] == 1


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
