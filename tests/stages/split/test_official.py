"""The published lists: they decide where they exist, and the rule fills what they lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from stages.split import roles
from stages.split.roles import Task

TASKS = [
    Task("task001_t", ("Word Analogy",), ("books",), True),
    Task("task002_new", ("Word Analogy",), ("songs",), True),
    Task("task003_train", ("Misc.",), ("news",), True),
    Task("task004_free", ("Misc.",), ("papers",), True),
    Task("task005_shares", ("Misc.",), ("books",), True),
    Task("task006_named", ("Misc.",), ("books",), True),
]


def write(folder: Path, **lists: str) -> Path:
    for name, text in lists.items():
        track, role = name.split("_")
        (folder / track).mkdir(parents=True, exist_ok=True)
        (folder / track / f"{role}_tasks.txt").write_text(text)
    return folder


def sides(lists: roles.Lists) -> dict[str, str]:
    return {name: role.role for name, role in roles.roles_by_lists(TASKS, "default", lists).items()}


def test_whole_lists_decide_everything(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        default_test="task001_t\ntask999_absent\n",
        default_train="task003_train\ntask006_named",
        default_excluded="",
    )
    lists = roles.read_lists(folder)["default"]
    assert sides(lists) == {
        "task001_t": "test",
        "task002_new": "excluded",
        "task003_train": "train",
        "task004_free": "excluded",
        "task005_shares": "excluded",
        "task006_named": "train",
    }
    assert lists.absent(TASKS) == {"excluded": 0, "test": 1, "train": 0}
    reasons = {name: role.reason for name, role in roles.roles_by_lists(TASKS, "default", lists).items()}
    assert reasons["task006_named"] == "on the published list; the rule alone would make it excluded"
    assert reasons["task005_shares"] == "shares the source 'books' with the test task task001_t"


def test_the_rule_fills_a_list_that_is_not_there(tmp_path: Path) -> None:
    lists = roles.read_lists(write(tmp_path, default_test="task001_t"))["default"]
    found = sides(lists)
    assert found["task003_train"] == found["task004_free"] == "train"
    assert found["task002_new"] == "excluded", (
        "a test task that is not on the test list does not train either"
    )
    assert found["task005_shares"] == "excluded"


def test_no_lists(tmp_path: Path) -> None:
    assert roles.read_lists(tmp_path / "nowhere") == {}
    assert list(roles.read_lists(write(tmp_path, xlingual_test=" \n\n"))) == ["xlingual"]


def test_lists_that_contradict_each_other(tmp_path: Path) -> None:
    write(tmp_path, default_test="task001_t", default_train="task003_train\ntask001_t")
    with pytest.raises(NightjarError, match="task001_t is listed under"):
        roles.read_lists(tmp_path)


def test_the_rule_gives_the_published_lists(real_data: Path, real_tasks: list[Task]) -> None:
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
            name for name, given in roles.roles_by_rule(real_tasks, track).items() if given.role == role
        }
        for track in roles.TRACKS
        for role in roles.ROLES
    }
    assert by_rule["default", "test"] == listed["default", "test"] and len(listed["default", "test"]) == 17
    assert by_rule["xlingual", "test"] == listed["xlingual", "test"]
    assert (
        listed["default", "train"] <= by_rule["default", "train"] and len(listed["default", "train"]) == 109
    )
    lists = roles.read_lists(folder / "splits")
    found = {
        name
        for name, role in roles.roles_by_lists(real_tasks, "default", lists["default"]).items()
        if role.role == "train"
    }
    assert found == listed["default", "train"], "with the list, exactly the list"
