"""Prompts: the texts of Guo et al. 2023, and shortening against Jinja's filter, which PromptSource uses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment

from nightjar.benchmarks.classification import prompts
from nightjar.benchmarks.classification.prompts import Labelled
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
    with pytest.raises(NightjarError, match="no task 'sst'"):
        prompts.prompt("sst", "a film .")


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


def test_a_text_with_braces_or_templates_is_kept() -> None:
    assert prompts.prompt("sst2", "{} {0} {{ x }}").endswith("\n{} {0} {{ x }}")


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


def test_labels_are_the_words_of_the_reranker() -> None:
    assert prompts.choice("fever", "NOT ENOUGH INFO") == " Not Sure"
    assert prompts.choice("trec", "Abbreviation") == " Abbreviation"
    assert prompts.demonstration("sst2", "fine .", "positive").endswith("\nfine .\nThe answer is positive")


def test_demonstrations_are_left_out_before_anything_of_a_query() -> None:
    shown = shots(("one ?", "Human"), ("two ?", "Human"), ("three ?", "Human"))
    queries = [prompts.query("trec", "short ?"), prompts.query("trec", "long " * 9)]
    for most in range(0, 1200, 50):
        kept = prompts.fitting("trec", shown, queries, lambda text, most=most: len(text) <= most)
        assert kept == shown[: len(kept)]
        longest = [max(len(prompts.prefix("trec", shown[:n]) + query) for query in queries) for n in range(4)]
        assert len(kept) == max([n for n in range(4) if longest[n] <= most], default=0)
