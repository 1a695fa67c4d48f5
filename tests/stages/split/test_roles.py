"""The role of each task. The rule against a second version that follows the published steps with plain sets; and the
published lists, which decide where they exist, while the rule fills what they lack.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from stages.split.roles import (
    EVALUATION_CATEGORIES,
    ROLES,
    TRACKS,
    Lists,
    TaskTraits,
    read_lists,
    roles_by_lists,
    roles_by_rule,
    task_of,
)

BY_NAME = "task1415_youtube_caption_corrections_grammar_correction"
NAMES = st.one_of(st.integers(1, 30).map("task{:03}_x".format), st.just(BY_NAME))
CATEGORIES = st.sampled_from(
    ["Misc.", "Question Answering", "Word Analogy", "Title Generation", "word analogy"]
)
TASKS = st.lists(
    st.builds(
        TaskTraits,
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


def by_steps(tasks: list[TaskTraits], track: str) -> tuple[set[str], set[str], set[str]]:
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
def test_against_the_steps(tasks: list[TaskTraits], track: str) -> None:
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
        TaskTraits("task001_t", ("Word Analogy",), ("books",), True),
        TaskTraits("task002_shares", ("Misc.",), ("news", "books"), True),
        TaskTraits("task003_german", ("Misc.",), ("talks",), False),
        TaskTraits("task004_german_test", ("Data to Text",), ("films",), False),
        TaskTraits("task006_free", ("Misc.",), (), True),
        TaskTraits(BY_NAME, ("Grammar Error Correction",), ("captions",), True),
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


LISTED = [
    TaskTraits("task001_t", ("Word Analogy",), ("books",), True),
    TaskTraits("task002_new", ("Word Analogy",), ("songs",), True),
    TaskTraits("task003_train", ("Misc.",), ("news",), True),
    TaskTraits("task004_free", ("Misc.",), ("papers",), True),
    TaskTraits("task005_shares", ("Misc.",), ("books",), True),
    TaskTraits("task006_named", ("Misc.",), ("books",), True),
]


def write(folder: Path, **lists: str) -> Path:
    for name, text in lists.items():
        track, role = name.split("_")
        (folder / track).mkdir(parents=True, exist_ok=True)
        (folder / track / f"{role}_tasks.txt").write_text(text)
    return folder


def sides_by_lists(lists: Lists) -> dict[str, str]:
    return {name: role.role for name, role in roles_by_lists(LISTED, "default", lists).items()}


def test_whole_lists_decide_everything(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        default_test="task001_t\ntask999_absent\n",
        default_train="task003_train\ntask006_named",
        default_excluded="",
    )
    lists = read_lists(folder)["default"]
    assert sides_by_lists(lists) == {
        "task001_t": "test",
        "task002_new": "excluded",
        "task003_train": "train",
        "task004_free": "excluded",
        "task005_shares": "excluded",
        "task006_named": "train",
    }
    assert lists.absent(LISTED) == {"excluded": 0, "test": 1, "train": 0}
    reasons = {name: role.reason for name, role in roles_by_lists(LISTED, "default", lists).items()}
    assert reasons["task006_named"] == "on the published list; the rule alone would make it excluded"
    assert reasons["task005_shares"] == "shares the source 'books' with the test task task001_t"


def test_the_rule_fills_a_list_that_is_not_there(tmp_path: Path) -> None:
    lists = read_lists(write(tmp_path, default_test="task001_t"))["default"]
    found = sides_by_lists(lists)
    assert found["task003_train"] == found["task004_free"] == "train"
    assert found["task002_new"] == "excluded", (
        "a test task that is not on the test list does not train either"
    )
    assert found["task005_shares"] == "excluded"


def test_no_lists(tmp_path: Path) -> None:
    assert read_lists(tmp_path / "nowhere") == {}
    assert list(read_lists(write(tmp_path, xlingual_test=" \n\n"))) == ["xlingual"]


def test_lists_that_contradict_each_other(tmp_path: Path) -> None:
    write(tmp_path, default_test="task001_t", default_train="task003_train\ntask001_t")
    with pytest.raises(NightjarError, match="task001_t is listed under"):
        read_lists(tmp_path)


def test_the_rule_gives_the_published_lists(real_data: Path, real_tasks: list[TaskTraits]) -> None:
    """For the real tasks present: the test lists exactly; of the train list every task.

    The rule may let more tasks train than the list, as most test tasks, and so their sources, are not
    present.
    """
    folder = real_data / "natural-instructions"
    present = {task.task_id for task in real_tasks}
    listed = {
        (track, role): set((folder / "splits" / track / f"{role}_tasks.txt").read_text().split()) & present
        for track, role in (("default", "train"), ("default", "test"), ("xlingual", "test"))
    }
    by_rule = {
        (track, role): {
            name for name, given in roles_by_rule(real_tasks, track).items() if given.role == role
        }
        for track in TRACKS
        for role in ROLES
    }
    assert by_rule["default", "test"] == listed["default", "test"] and len(listed["default", "test"]) == 17
    assert by_rule["xlingual", "test"] == listed["xlingual", "test"]
    assert (
        listed["default", "train"] <= by_rule["default", "train"] and len(listed["default", "train"]) == 109
    )
    lists = read_lists(folder / "splits")
    found = {
        name
        for name, role in roles_by_lists(real_tasks, "default", lists["default"]).items()
        if role.role == "train"
    }
    assert found == listed["default", "train"], "with the list, exactly the list"
