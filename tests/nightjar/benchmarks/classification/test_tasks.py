"""Labels: what published files, prompts and answers call them (PGRA's published code)."""

from __future__ import annotations

import pytest

from nightjar.benchmarks.classification import tasks as labels
from nightjar.core.errors import NightjarError


def words(task: str, of: str) -> list[str]:
    return [getattr(label, of) for label in labels.LABELS[task]]


def test_verbalisers_of_the_reranker_and_of_the_reader_differ() -> None:
    for task in ("sst2", "cr", "mr", "mpqa"):
        assert words(task, "prompt_word") == ["negative", "positive"]
        assert words(task, "reader_word") == ["terrible", "great"]
    assert words("cola", "prompt_word") == ["unacceptable", "acceptable"]
    assert words("cola", "reader_word") == ["incorrect", "correct"]
    grades = ["terrible", "bad", "okay", "good", "great"]
    assert words("sst5", "prompt_word") == words("sst5", "reader_word") == grades
    assert words("subj", "prompt_word") == words("subj", "reader_word") == ["subjective", "objective"]
    trec = ["Description", "Entity", "Abbreviation", "Human", "Location", "Number"]
    assert words("trec", "prompt_word") == trec
    assert words("trec", "reader_word") == [word.replace("Abbreviation", "Expression") for word in trec]
    assert words("fever", "reader_word") == words("fever", "prompt_word") == ["Yes", "No", "Not Sure"]
    assert labels.names("fever") == ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")


@pytest.mark.parametrize("task", labels.LABELS)
def test_every_label_has_words_and_codes_of_its_own(task: str) -> None:
    """Otherwise an answer could name two labels."""
    owners: dict[str, set[int]] = {}
    for place, label in enumerate(labels.LABELS[task]):
        for text in (label.name, *label.codes, label.prompt_word, label.reader_word, *label.others):
            owners.setdefault(text.casefold(), set()).add(place)
            assert labels.number(task, f" {text.upper()}\n") == place
    assert all(len(places) == 1 for places in owners.values())
    for place, label in enumerate(labels.LABELS[task]):
        for code in label.codes:
            assert labels.of_code(task, code) == labels.LABELS[task][place]


def test_what_is_no_label() -> None:
    assert labels.number("sst2", "posit") is labels.number("sst2", "") is None
    assert labels.number("trec", "Quantity") == 5
    assert labels.of_code("sst2", "2") is labels.of_code("trec", "desc") is None
    with pytest.raises(NightjarError, match="'great' is no label of mr; labels are negative, positive"):
        labels.label_of("mr", "great")
