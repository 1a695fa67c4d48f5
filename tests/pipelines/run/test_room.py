"""Room on the machine: limits, order, and no waiting for ever, with real threads on random graphs."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.run.resources import Limits, Needs, Room, critical_path


@dataclass(frozen=True)
class Case:
    needs: dict[str, Needs]
    limits: Limits


@st.composite
def cases(draw: st.DrawFn) -> Case:
    needs = {
        f"s{number}": Needs(
            memory_gb=draw(st.sampled_from([0.0, 0.0, 1.0, 2.5, 4.0, 9.0])), gpu=draw(st.booleans())
        )
        for number in range(draw(st.integers(1, 7)))
    }
    most = draw(st.sampled_from([3.0, 5.0, float("inf")]))
    return Case(needs, Limits(draw(st.integers(1, 4)), most, draw(st.booleans())))


class Users:
    """Threads that want room, one each; `let_go` ends the use of one."""

    def __init__(self, room: Room, needs: dict[str, Needs], stop: threading.Event) -> None:
        self.had: list[str] = []
        self.over = {name: threading.Event() for name in needs}
        self.refused: list[str] = []
        self._room, self._needs, self._stop = room, needs, stop
        self._threads = {name: threading.Thread(target=self._use, args=(name,)) for name in needs}

    def _use(self, name: str) -> None:
        with self._room.taken(name, self._needs[name], self._stop) as had:
            (self.had if had else self.refused).append(name)
            if had:
                self.over[name].wait(30)

    def start(self, names: Sequence[str]) -> None:
        """Start the threads; each waits, or has room, when this returns."""
        for name in names:
            self._threads[name].start()
        self.settle(set(names))

    def settle(self, names: set[str]) -> None:
        """Until no thread moves: all of `names` are known to the room, and it has looked at all since."""
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline:
            with self._room._changed:
                known = self._room._waiting.keys() | self._room._running.keys()
                first = any(self._room._starts(name) for name in self._room._waiting)
                if names <= known | set(self.refused) and not first and set(self.running) <= set(self.had):
                    return
            time.sleep(0.001)
        raise AssertionError("the threads did not come to rest")

    @property
    def running(self) -> list[str]:
        return list(self._room._running)

    def let_go(self, name: str) -> None:
        self.over[name].set()
        self._threads[name].join(20)
        self.settle(set())


@settings(deadline=None, max_examples=60)
@given(cases(), st.data())
def test_any_order_of_ends_keeps_the_limits_and_all_get_their_turn(case: Case, data: st.DataObject) -> None:
    names = list(case.needs)
    users = Users(Room(case.limits, dict.fromkeys(names, 1.0)), case.needs, threading.Event())
    users.start(names)
    while len(users.had) < len(names) or users.running:
        running = users.running
        assert running, "all wait for ever"
        assert len(running) <= case.limits.jobs
        memory = [gb for name in running if (gb := case.needs[name].memory_gb)]
        assert sum(memory) <= case.limits.memory_gb or len(memory) == 1
        if case.limits.one_gpu:
            assert sum(case.needs[name].gpu for name in running) <= 1
        users.let_go(data.draw(st.sampled_from(running)))
    assert sorted(users.had) == sorted(names)


def test_the_longest_way_to_go_is_first() -> None:
    way = critical_path({"a": [], "b": [], "c": ["b"]}, {"a": 2.0, "b": 1.0, "c": 3.0})
    assert way == {"a": 2.0, "b": 4.0, "c": 3.0}
    users = Users(Room(Limits(1), way), dict.fromkeys("abc", Needs()), threading.Event())
    users.start("c")
    users.start("ab")
    users.let_go("c")
    assert users.running == ["b"]
    users.let_go("b")
    users.let_go("a")


def test_one_that_is_passed_over_for_memory_gets_its_turn() -> None:
    needs = {"first": Needs(3.0), "large": Needs(4.0), "small": Needs(1.0), "none": Needs()}
    users = Users(Room(Limits(4, 5.0), dict.fromkeys(needs, 1.0)), needs, threading.Event())
    users.start(list(needs))
    assert users.running == ["first", "none"], "small waits behind large"
    users.let_go("first")
    assert set(users.running) == {"none", "large", "small"}
    for name in ("none", "large", "small"):
        users.let_go(name)


def test_one_that_waits_for_the_gpu_takes_nothing_from_others_and_gives_it_back() -> None:
    free, given_back = threading.Event(), list[str]()
    needs = {"gpu": Needs(gpu=True), "other": Needs()}
    room = Room(
        Limits(1, one_gpu=True), {"gpu": 2.0, "other": 1.0}, lambda name: free.is_set(), given_back.append
    )
    users = Users(room, needs, threading.Event())
    users.start(list(needs))
    assert users.running == ["other"]
    free.set()
    users.let_go("other")
    assert users.running == ["gpu"] and not given_back
    users.let_go("gpu")
    assert given_back == ["gpu"]


def test_a_stop_ends_the_wait_without_room() -> None:
    stop = threading.Event()
    users = Users(Room(Limits(1), {"a": 1.0, "b": 1.0}), dict.fromkeys("ab", Needs()), stop)
    users.start("a")
    users.start("b")
    stop.set()
    users.let_go("a")
    users._threads["b"].join(20)
    assert (users.had, users.refused) == (["a"], ["b"])
