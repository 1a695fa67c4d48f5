"""The rule against a second version that follows the published steps with plain sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stages.split.roles import EVALUATION_CATEGORIES, Task, roles_by_rule, task_of

BY_NAME = "task1415_youtube_caption_corrections_grammar_correction"
NAMES = st.one_of(st.integers(1, 30).map("task{:03}_x".format), st.just(BY_NAME))
CATEGORIES = st.sampled_from(
    ["Misc.", "Question Answering", "Word Analogy", "Title Generation", "word analogy"]
)
TASKS = st.lists(
    st.builds(
        Task,
        NAMES,
        st.lists(CATEGORIES, max_size=2).map(tuple),
        st.lists(st.sampled_from("abcdefgh"), max_size=2).map(tuple),
        st.booleans(),
    ),
    unique_by=lambda task: task.task_id,
    max_size=14,
)


CATEGORY_NAMES = {
    "Textual Entailment",
    "Cause Effect Classification",
    "Coreference Resolution",
    "Dialogue Act Recognition",
    "Answerability Classification",
    "Overlap Extraction",
    "Word Analogy",
    "Keyword Tagging",
    "Question Rewriting",
    "Title Generation",
    "Data to Text",
    "Grammar Error Correction",
}


def by_steps(tasks: list[Task], track: str) -> tuple[set[str], set[str], set[str]]:
    """train, test and excluded task ids: steps (a) to (f) of split_tasks.py, one after another."""
    test = {task for task in tasks if CATEGORY_NAMES & set(task.categories)}
    excluded = set()
    for task in tasks:
        if task not in test and any(set(task.sources) & set(other.sources) for other in test):
            excluded.add(task)
    excluded |= {task for task in test if task.english != (track == "default")}
    if track == "default":
        excluded |= {task for task in tasks if not task.english}
    excluded |= {task for task in tasks if task.task_id == BY_NAME}
    test -= excluded
    train = set(tasks) - test - excluded
    return tuple({task.task_id for task in side} for side in (train, test, excluded))  # type: ignore[return-value]


@given(TASKS, st.sampled_from(["default", "xlingual"]))
def test_against_the_steps(tasks: list[Task], track: str) -> None:
    given_roles = roles_by_rule(tasks, track)
    sides = tuple({name for name, role in given_roles.items() if role.role == side} for side in SIDES)
    assert sides == by_steps(tasks, track)
    assert all(role.reason for role in given_roles.values())
    assert list(given_roles) == sorted(given_roles), "the order of the files does not matter"


SIDES = ("train", "test", "excluded")


def test_twelve_categories() -> None:
    assert set(EVALUATION_CATEGORIES) == CATEGORY_NAMES


def test_reasons() -> None:
    tasks = [
        Task("task001_t", ("Word Analogy",), ("books",), True),
        Task("task002_shares", ("Misc.",), ("news", "books"), True),
        Task("task003_german", ("Misc.",), ("talks",), False),
        Task("task004_german_test", ("Data to Text",), ("films",), False),
        Task("task006_free", ("Misc.",), (), True),
        Task(BY_NAME, ("Grammar Error Correction",), ("captions",), True),
    ]
    assert {name: role.reason for name, role in roles_by_rule(tasks, "default").items()} == {
        "task001_t": "evaluation category 'Word Analogy'",
        "task002_shares": "shares the source 'books' with the test task task001_t",
        "task003_german": "not English",
        "task004_german_test": "test task of the track xlingual",
        "task006_free": "no evaluation category, and no source in common with a test task",
        BY_NAME: "excluded by name in the published split",
    }


def test_english_is_english_throughout() -> None:
    row = {"task_id": "t", "categories": [], "sources": []}
    for languages, english in (
        ((["English"], ["English"]), True),
        ((["English"], ["English", "German"]), False),
        ((["German"], ["English"]), False),
        (([], []), False),
        (([], ["English"]), True),
    ):
        found = task_of(row | dict(zip(("input_language", "output_language"), languages, strict=True)))
        assert found.english is english
