"""Seeded choices: nested, balanced, and independent of what else there is."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stages.split.choose import choose_balanced, choose_dev, choose_published, choose_rows, choose_tasks

NAMES = st.sets(st.integers(0, 99).map("task{:03}".format), max_size=20)


@given(NAMES, NAMES, st.integers(0, 25), st.integers(0, 3))
def test_tasks(names: set[str], others: set[str], limit: int, seed: int) -> None:
    chosen = choose_tasks(names, limit, seed)
    assert chosen <= names and len(chosen) == min(limit, len(names))
    assert chosen <= choose_tasks(names, limit + 1, seed), "a larger limit keeps what a smaller one chose"
    assert choose_tasks(names, None, seed) == names
    # Of the tasks that were not chosen, none comes in when others arrive.
    assert choose_tasks(names | others, limit, seed) & names <= chosen


@given(
    st.dictionaries(st.integers(0, 99).map("task{:03}".format), st.sampled_from("abcd"), max_size=20),
    st.integers(0, 25),
)
def test_balance(categories: dict[str, str], limit: int) -> None:
    groups = {task: ("default", category) for task, category in categories.items()}
    chosen = choose_balanced(groups, limit, 1)
    assert len(chosen) == min(limit, len(groups)) and chosen <= groups.keys()
    have, took = Counter(groups.values()), Counter(groups[task] for task in chosen)
    # No category has two tasks more than another that still has some left.
    for one in have:
        for other in have:
            assert took[one] <= took[other] + 1 or took[other] == have[other]
    assert choose_balanced(groups, None, 1) == groups.keys()


@given(
    st.dictionaries(
        st.integers(0, 99).map("task{:03}".format), st.sets(st.sampled_from("abcdefgh")), max_size=12
    ),
    st.integers(0, 14),
    st.integers(0, 3),
)
def test_dev(sources: dict[str, set[str]], limit: int, seed: int) -> None:
    chosen = choose_dev(sources, limit, seed)
    assert chosen <= sources.keys() and len(chosen) == min(limit, len(sources))
    assert chosen <= choose_dev(sources, limit + 1, seed)

    def alone(task: str) -> bool:
        return not any(sources[task] & names for other, names in sources.items() if other != task)

    if any(not alone(task) for task in chosen):
        assert {task for task in sources if alone(task)} <= chosen, "tasks that share nothing come first"


def published_by_hand(outputs: list[str], limit: int, generator: random.Random) -> list[int]:
    """The round robin of reorder_instances_for_testing.py in single steps: a pointer goes round the groups."""
    order = list(dict.fromkeys(outputs))
    left = {output: [n for n, other in enumerate(outputs) if other == output] for output in order}
    chosen: list[int] = []
    turn = 0
    while len(chosen) < min(limit, len(outputs)):
        group = left[order[turn % len(order)]]
        turn += 1
        if group:
            chosen.append(group.pop(generator.choice(range(len(group)))))
    return chosen


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=40), max_size=4), st.integers(1, 30))
def test_the_published_choice(tasks: list[list[str]], limit: int) -> None:
    one, other = random.Random(123), random.Random(123)
    for outputs in tasks:
        chosen = choose_published(outputs, limit, one)
        assert chosen == published_by_hand(outputs, limit, other), "one generator goes through all the tasks"
        assert len(set(chosen)) == len(chosen) == min(limit, len(outputs))
        took, have = Counter(outputs[row] for row in chosen), Counter(outputs)
        assert all(took[a] <= took[b] + 1 or took[b] == have[b] for a in have for b in have)


@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 3))
def test_rows(count: int, limit: int, seed: int) -> None:
    rows = choose_rows(count, limit, seed, "task001")
    assert rows == sorted(set(rows)) and len(rows) == min(limit, count) and set(rows) <= set(range(count))
    assert set(rows) <= set(choose_rows(count, limit + 3, seed, "task001"))
    assert choose_rows(count, None, seed, "task001") == list(range(count))


def test_the_seed_and_the_task_decide() -> None:
    assert choose_rows(1000, 10, 1, "a") == choose_rows(1000, 10, 1, "a")
    assert choose_rows(1000, 10, 1, "a") != choose_rows(1000, 10, 2, "a") != choose_rows(1000, 10, 2, "b")
    names = {f"task{n}" for n in range(50)}
    assert choose_tasks(names, 10, 1) != choose_tasks(names, 10, 2)
    spread = Counter(row // 250 for seed in range(200) for row in choose_rows(1000, 10, seed, "a"))
    assert min(spread.values()) > 400, "not only the first rows: 500 are expected of each quarter"
