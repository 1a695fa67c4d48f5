"""The card as the registry gives it."""

from __future__ import annotations

from nightjar.benchmarks import registry
from nightjar.benchmarks.tool_use.tasks import GROUPS

LANGUAGES = ["es", "de", "hi", "vi", "zh", "ar"]
NAMES = [
    "lama_squad", "lama_google_re", "lama_trex", "asdiv", "svamp", "mawps", "web_questions", "natural_questions",
    "trivia_qa", "mlqa_en", *(f"mlqa_{code}" for code in LANGUAGES), "templama", "dateset", "wikitext", "held_out",
]  # fmt: skip


def test_tasks_are_tracks() -> None:
    card = registry.load_benchmark("tool_use")
    assert list(card.tasks) == list(card.tracks) == list(GROUPS) == NAMES
    assert card.track_title("web_questions") == "WebQuestions"
    assert [name for name in NAMES if card.task(name).kind == "perplexity"] == ["wikitext", "held_out"]


def test_forbidden_tools() -> None:
    """Toolformer, section 4.2: no search in LAMA, whose statements are from Wikipedia, and no QA tool for questions."""
    card = registry.load_benchmark("tool_use")
    forbidden = {name: card.task(name).forbidden_tools for name in NAMES if card.task(name).forbidden_tools}
    assert forbidden == {
        **dict.fromkeys(["lama_squad", "lama_google_re", "lama_trex"], frozenset({"WikiSearch"})),
        **dict.fromkeys(["web_questions", "natural_questions", "trivia_qa"], frozenset({"QA"})),
    }


def test_an_answer_to_a_question_may_begin_with_an_empty_line() -> None:
    """The published prompts of questions do not end within a sentence; an empty line must not end the answer there."""
    card = registry.load_benchmark("tool_use")
    questions = [name for name in NAMES if GROUPS[name].endswith("answering") or name == "dateset"]
    assert len(questions) == 11
    for name in questions:
        assert card.task(name).stop and not any("\n\n".startswith(mark) for mark in card.task(name).stop)
