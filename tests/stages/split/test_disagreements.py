"""Every way in which a list and the rule can part, with its reason; and the real folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.split import roles
from stages.split.disagreements import disagreements
from stages.split.roles import ROLES, TRACKS, Lists, TaskTraits, read_lists

ENGLISH, GERMAN = ("English",), ("English", "German")
TEST = TaskTraits("task001_books_analogy", ("Word Analogy",), ("books",), True, ENGLISH)
SHARES = TaskTraits("task002_books_question", ("Misc.",), ("books",), True, ENGLISH)
FREE = TaskTraits("task003_news_question", ("Misc.",), ("news",), True, ENGLISH)
FOREIGN = TaskTraits("task004_words_german", ("Misc.",), ("words",), False, GERMAN)
FOREIGN_TEST = TaskTraits("task005_tables_german", ("Data to Text",), ("tables",), False, GERMAN)
TASKS = [TEST, SHARES, FREE, FOREIGN, FOREIGN_TEST]
# What the rule gives on the default track.
RULE = {"train": {FREE}, "test": {TEST}, "excluded": {SHARES, FOREIGN, FOREIGN_TEST}}


def lists(**moved: str) -> Lists:
    """Lists as the rule would write them on the default track, but for the tasks `task00N=role` that are moved."""
    role_of = {task.task_id: role for role, tasks in RULE.items() for task in tasks}
    for start, role in moved.items():
        name = next((task.task_id for task in TASKS if task.task_id.startswith(start)), start)
        role_of.pop(name, None)
        if role != "none":
            role_of[name] = role
    return Lists(role_of, frozenset(ROLES))


def test_agreement() -> None:
    assert disagreements(TASKS, {"default": lists()}) == []
    assert disagreements(TASKS, {}) == []
    # A track that lists only its test tasks says nothing about training.
    assert (
        disagreements(TASKS, {"xlingual": Lists({FOREIGN_TEST.task_id: "test"}, frozenset({"test"}))}) == []
    )


@pytest.mark.parametrize(
    ("moved", "task", "rule", "reason"),
    [
        ({"task002": "train"}, SHARES, "excluded",
         "listed as train; shares the source 'books' with the test task task001_books_analogy"),
        ({"task004": "train"}, FOREIGN, "excluded",
         "listed as train; not English"),
        ({"task003": "test"}, FREE, "train",
         "listed as test; none of its categories ('Misc.') is one of the 12 evaluation categories"),
        ({"task005": "test"}, FOREIGN_TEST, "excluded",
         "listed as test; tests on the track xlingual, by its languages 'English', 'German' on xlingual"),
        ({"task001": "excluded", "task002": "excluded"}, TEST, "test",
         "listed as excluded; evaluation category 'Word Analogy'"),
        ({"task002": "none"}, SHARES, "excluded",
         "on no list of this track; shares the source 'books' with the test task task001_books_analogy"),
        ({"task003": "none"}, FREE, "train",
         "on no list of this track; nothing in the data at hand shows why, and every listed test task is "
         "at hand"),
        ({"task003": "excluded", "task009_News_titles": "test"}, FREE, "train",
         "listed as excluded; nothing in the data at hand shows why: 1 of the 3 test tasks are absent, and "
         "may share its source ('news')"),
    ],
)  # fmt: skip
def test_reasons(moved: dict[str, str], task: TaskTraits, rule: str, reason: str) -> None:
    (row,) = disagreements(TASKS, {"default": lists(**moved)})
    listed = next(role for start, role in moved.items() if task.task_id.startswith(start))
    found = tuple(row[name] for name in ("track", "task_id", "listed", "rule", "reason"))
    assert found == ("default", task.task_id, listed, rule, reason)


def test_a_source_of_a_task_that_only_the_list_lets_test() -> None:
    other = TaskTraits("task006_news_titles", ("Misc.",), ("news",), True, ENGLISH)
    found = disagreements([*TASKS, other], {"default": lists(task003="excluded", task006_news_titles="test")})
    reasons = {row["task_id"]: row["reason"] for row in found}
    assert reasons[FREE.task_id] == (
        "listed as excluded; shares the source 'news' with task006_news_titles, which only the lists let test"
    )


def test_both_tracks() -> None:
    english = TaskTraits("task007_tables_german", ("Data to Text",), ("tables",), True, ENGLISH)
    given = {
        "default": Lists({TEST.task_id: "test"}, frozenset({"test"})),
        "xlingual": Lists({english.task_id: "test"}, frozenset({"test"})),
    }
    found = {row["track"]: row for row in disagreements([TEST, english], given)}
    assert found["default"]["reason"] == (
        "on no list of this track; tests on the track xlingual, by its languages 'English' on default"
    )
    assert found["xlingual"]["listed"] == "test" and found["xlingual"]["rule"] == "excluded"


@given(
    st.dictionaries(st.sampled_from(TASKS), st.sampled_from([*ROLES, "none"])),
    st.sets(st.sampled_from(ROLES)),
)
def test_it_names_exactly_the_tasks_that_differ(moved: dict[TaskTraits, str], written: set[str]) -> None:
    role_of = {task.task_id: role for task, role in moved.items() if role in written}
    given_lists = Lists(role_of, frozenset(written))
    for track in TRACKS:
        by_rule = {name: role.role for name, role in roles.roles_by_rule(TASKS, track).items()}
        # Whoever reads the lists knows of a task that it is under a role, or under none of the written ones.
        expected = {
            name: (role_of.get(name, "none"), role)
            for name, role in by_rule.items()
            if (name in role_of and role_of[name] != role) or (name not in role_of and role in written)
        }
        found = disagreements(TASKS, {track: given_lists})
        assert {row["task_id"]: (row["listed"], row["rule"]) for row in found} == expected
        assert all(row["reason"] for row in found)


def test_real_data(real_data: Path, real_tasks: list[TaskTraits]) -> None:
    """25 training tasks by the rule that the train list leaves out; that their test tasks are absent is why."""
    given = read_lists(real_data / "natural-instructions" / "splits")
    found = disagreements(real_tasks, given)
    assert len(found) == 25 and {row["track"] for row in found} == {"default"}
    listed = set(given["default"].role_of)
    absent = {name for lists_ in given.values() for name, role in lists_.role_of.items() if role == "test"}
    absent -= {task.task_id for task in real_tasks}
    assert len(absent) == 137
    for row in found:
        assert row["task_id"] not in listed and (row["listed"], row["rule"]) == ("none", "train")
        assert "137 of the 154 test tasks are absent" in row["reason"]
