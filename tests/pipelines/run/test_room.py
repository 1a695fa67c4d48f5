"""Room on the machine: limits, order, and no waiting for ever, for random needs."""

from __future__ import annotations

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


def room_for(case: Case) -> Room:
    """Return a room in which all stages of the case wait."""
    room = Room(case.limits, dict.fromkeys(case.needs, 1.0))
    for name, needs in case.needs.items():
        room.queue(name, needs)
    return room


def taken(room: Room) -> list[str]:
    """Return the stages that get room now, in order."""
    return list(iter(room.take, None))


@settings(deadline=None)
@given(cases(), st.data())
def test_any_order_of_ends_keeps_the_limits_and_all_get_their_turn(case: Case, data: st.DataObject) -> None:
    room, running, ended = room_for(case), list[str](), list[str]()
    while len(ended) < len(case.needs):
        running += taken(room)
        assert running, "all wait for ever"
        assert len(running) <= case.limits.jobs
        memory = [gb for name in running if (gb := case.needs[name].memory_gb)]
        assert sum(memory) <= case.limits.memory_gb or len(memory) == 1
        if case.limits.one_gpu:
            assert sum(case.needs[name].gpu for name in running) <= 1
        ended.append(running.pop(data.draw(st.integers(0, len(running) - 1))))
        room.release(ended[-1])
    assert sorted(ended) == sorted(case.needs)


def test_the_longest_way_to_go_is_first() -> None:
    way = critical_path({"a": [], "b": [], "c": ["b"]}, {"a": 2.0, "b": 1.0, "c": 3.0})
    assert way == {"a": 2.0, "b": 4.0, "c": 3.0}
    room = Room(Limits(1), way)
    for name in "ab":
        room.queue(name, Needs())
    assert taken(room) == ["b"]
    room.queue("c", Needs())
    room.release("b")
    assert taken(room) == ["c"]


def test_one_that_is_passed_over_for_memory_gets_its_turn() -> None:
    needs = {"first": Needs(3.0), "large": Needs(4.0), "small": Needs(1.0), "none": Needs()}
    room = room_for(Case(needs, Limits(4, 5.0)))
    assert taken(room) == ["first", "none"], "small waits behind large"
    room.release("first")
    assert taken(room) == ["large", "small"]


def test_one_that_waits_for_the_gpu_takes_nothing_from_others_and_gives_it_back() -> None:
    free, given_back = list[bool](), list[str]()
    room = Room(
        Limits(1, one_gpu=True), {"gpu": 2.0, "other": 1.0}, lambda name: bool(free), given_back.append
    )
    room.queue("gpu", Needs(gpu=True))
    room.queue("other", Needs())
    assert taken(room) == ["other"]
    free.append(True)
    assert taken(room) == []
    room.release("other")
    assert taken(room) == ["gpu"] and not given_back
    room.release("gpu")
    room.release("gpu")
    assert given_back == ["gpu"]
