"""The card as the registry gives it."""

from __future__ import annotations

import numpy as np

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import score
from nightjar.benchmarks.tool_use.tasks import GROUPS

LANGUAGES = ["es", "de", "hi", "vi", "zh", "ar"]
NAMES = [
    "lama_squad", "lama_google_re", "lama_trex", "asdiv", "svamp", "mawps", "web_questions", "natural_questions",
    "trivia_qa", "mlqa_en", *(f"mlqa_{code}" for code in LANGUAGES), "templama", "dateset", "wikitext", "held_out",
]  # fmt: skip


def test_tasks_are_tracks() -> None:
    card = registry.card("tool_use")
    assert list(card.tasks) == list(card.tracks) == list(GROUPS) == NAMES
    assert card.track_title("web_questions") == "WebQuestions"
    assert [name for name in NAMES if card.task(name).kind == "perplexity"] == ["wikitext", "held_out"]


def test_forbidden_tools() -> None:
    """Toolformer, section 4.2: no search in LAMA, whose statements are from Wikipedia, and no QA tool for questions."""
    card = registry.card("tool_use")
    forbidden = {name: card.task(name).forbidden_tools for name in NAMES if card.task(name).forbidden_tools}
    assert forbidden == {
        **dict.fromkeys(["lama_squad", "lama_google_re", "lama_trex"], frozenset({"WikiSearch"})),
        **dict.fromkeys(["web_questions", "natural_questions", "trivia_qa"], frozenset({"QA"})),
    }


def test_settings_come_from_the_parameters() -> None:
    card = registry.card("tool_use")
    values = {"tasks": ["svamp"], "prompts": "instructions", "questions_per_task": 5, "dateset_questions": 7}
    assert registry.settings(card, values).model_dump() == values
    assert registry.settings(card, {}).model_dump() == {
        "tasks": None, "prompts": "published", "questions_per_task": None, "dateset_questions": 9400,
    }  # fmt: skip


def test_accuracy_is_reported_in_percent() -> None:
    card = registry.card("tool_use")
    asked = [Question("tool_use", "svamp", str(n), {}, (str(n),), track="svamp") for n in range(4)]
    scores = score(card, "untuned", asked, [["0"], ["1"], ["2"], ["7"]])
    metric = card.metrics[0]
    values = scores.of(metric)
    assert values.shape == (4, 1)
    assert metric.scale * float(np.squeeze(metric.statistic(values[None]))) == 75.0


def test_perplexity_is_of_all_tokens() -> None:
    card = registry.card("tool_use")
    asked = [Question("tool_use", "wikitext", str(n), {}, ("a text",), track="wikitext") for n in range(3)]
    scores = score(card, "untuned", asked, [["10.5 4"], ["2 6"], []])
    accuracy, perplexity = card.metrics
    assert len(scores.of(accuracy)) == 0
    values = scores.of(perplexity)
    assert values.tolist() == [[10.5, 4], [2, 6]]
    assert float(np.squeeze(perplexity.statistic(values[None]))) == np.exp(1.25)
    assert not perplexity.higher_is_better and perplexity.scale == 1


def test_an_answer_to_a_question_may_begin_with_an_empty_line() -> None:
    """The published prompts of questions do not end within a sentence; an empty line must not end the answer there."""
    card = registry.card("tool_use")
    questions = [name for name in NAMES if GROUPS[name].endswith("answering") or name == "dateset"]
    assert len(questions) == 11
    for name in questions:
        assert card.task(name).stop and not any("\n\n".startswith(mark) for mark in card.task(name).stop)
