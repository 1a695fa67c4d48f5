"""The list schedule: limits, order, no waiting for ever, and how long it takes, on random graphs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from pipelines.execution.schedule import Limits, Needs, Schedule, longest_way, simulate


@dataclass(frozen=True)
class Case:
    upstream: dict[str, list[str]]
    seconds: dict[str, float]
    needs: dict[str, Needs]
    limits: Limits


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = [f"s{number}" for number in range(draw(st.integers(1, 9)))]
    upstream = {
        name: draw(st.lists(st.sampled_from(names[:at]), unique=True, max_size=3)) if at else []
        for at, name in enumerate(names)
    }
    seconds = {name: float(draw(st.integers(1, 9))) for name in names}
    needs = {
        name: Needs(memory_gb=draw(st.sampled_from([0.0, 0.0, 1.0, 2.5, 4.0, 9.0])), gpu=draw(st.booleans()))
        for name in names
        if draw(st.booleans())
    }
    limits = Limits(
        draw(st.integers(1, 4)), draw(st.sampled_from([3.0, 5.0, float("inf")])), draw(st.booleans())
    )
    return Case(upstream, seconds, needs, limits)


def need(case: Case, name: str) -> Needs:
    return case.needs.get(name, Needs())


def check_limits(case: Case, running: set[str]) -> None:
    assert len(running) <= case.limits.jobs
    memory = [gb for name in running if (gb := need(case, name).memory_gb)]
    assert sum(memory) <= case.limits.memory_gb or len(memory) == 1
    if case.limits.one_gpu:
        assert sum(need(case, name).gpu for name in running) <= 1


@given(cases(), st.data())
def test_any_order_of_ends_keeps_the_limits_and_starts_every_stage_once(
    case: Case, data: st.DataObject
) -> None:
    needs = {name: need(case, name) for name in case.upstream}
    schedule = Schedule(case.upstream, needs, case.limits, case.seconds)
    started: list[str] = []
    done: set[str] = set()
    while schedule.waiting:
        refused: list[str] = []

        def gpu(name: str, refused: list[str] = refused) -> bool:
            # Somebody else may hold the GPU, but not for ever: with nothing else running it is free.
            free = not schedule.running or data.draw(st.booleans())
            if not free:
                refused.append(name)
            return free

        ready = [name for name in schedule.waiting if set(case.upstream[name]) <= done]
        now = schedule.start(gpu)
        assert not set(refused) & set(now)
        for name in now:
            assert set(case.upstream[name]) <= done
        check_limits(case, schedule.running)
        # Nobody waits for memory while others that need some and have less way to go start before it.
        for name in set(ready) - set(now):
            before_it = [other for other in now if schedule.way[other] < schedule.way[name]]
            if not (case.limits.one_gpu and need(case, name).gpu):
                assert not [other for other in before_it if need(case, other).memory_gb]
        assert schedule.running, "nothing runs and nothing can start"
        started += now
        ended = data.draw(st.sampled_from(sorted(schedule.running)))
        schedule.done(ended)
        done.add(ended)
    assert sorted(started) == sorted(case.upstream)


@given(cases())
def test_the_expected_time_lies_between_its_bounds(case: Case) -> None:
    took = simulate(case.upstream, case.seconds, case.limits, case.needs)
    whole, way = sum(case.seconds.values()), max(brute_force_ways(case))
    assert max(way, whole / case.limits.jobs) - 1e-6 <= took <= whole + 1e-6
    if case.limits.one_gpu:
        assert took >= sum(case.seconds[name] for name in case.seconds if need(case, name).gpu)
    free = Limits(case.limits.jobs)
    bound = whole / free.jobs + (1 - 1 / free.jobs) * way
    assert simulate(case.upstream, case.seconds, free) <= bound + 1e-6
    assert simulate(case.upstream, case.seconds, Limits(64)) == way


def brute_force_ways(case: Case) -> list[float]:
    """Seconds along every path of the graph."""

    def walk(name: str) -> list[float]:
        before = [way for other in case.upstream[name] for way in walk(other)] or [0.0]
        return [case.seconds[name] + way for way in before]

    return [way for name in case.upstream for way in walk(name)]


def test_the_longest_way_to_go_is_first() -> None:
    upstream: Mapping[str, list[str]] = {"a": [], "b": [], "c": [], "after_c": ["c"]}
    seconds = {"a": 1.0, "b": 5.0, "c": 2.0, "after_c": 9.0}
    assert longest_way(upstream, seconds) == {"a": 1.0, "b": 5.0, "c": 11.0, "after_c": 9.0}
    schedule = Schedule(upstream, dict.fromkeys(upstream, Needs()), Limits(2), seconds)
    assert schedule.start() == ["c", "b"]
    assert schedule.start() == []
    schedule.done("b")
    assert schedule.start() == ["a"]


def test_one_that_is_passed_over_for_memory_gets_its_turn() -> None:
    upstream: dict[str, list[str]] = {"large": [], **{f"s{number}": [] for number in range(20)}}
    seconds = {"large": 2.0, **{f"s{number}": 1.0 for number in range(20)}}
    needs = {"large": Needs(4.0), **{f"s{number}": Needs(1.0) for number in range(20)}}
    schedule = Schedule(upstream, needs, Limits(4, 4.0), seconds)
    order = schedule.start()
    assert order == ["large"]
    # Later large ones meet a machine that is never empty by itself.
    upstream = {"first": [], "large": ["first"], **{f"s{number}": [] for number in range(20)}}
    schedule = Schedule(upstream, needs | {"first": Needs(1.0)}, Limits(4, 4.0), seconds | {"first": 1.0})
    order = []
    for _ in itertools.count():
        order += schedule.start()
        if "large" in order:
            break
        schedule.done(next(name for name in order if name in schedule.running))
    assert order.index("large") == 4, "none starts in its place"


def test_one_that_waits_for_the_gpu_takes_nothing_from_others() -> None:
    upstream: dict[str, list[str]] = {"gpu": [], "other": []}
    needs = {"gpu": Needs(4.0, gpu=True), "other": Needs(4.0)}
    schedule = Schedule(upstream, needs, Limits(1, 4.0, one_gpu=True), {"gpu": 9.0, "other": 1.0})
    assert schedule.start(lambda name: False) == ["other"]
    schedule.done("other")
    assert schedule.start(lambda name: False) == []
    assert schedule.start(lambda name: True) == ["gpu"]


def test_without_a_gpu_there_is_no_slot() -> None:
    upstream: dict[str, list[str]] = {"a": [], "b": []}
    both = {name: Needs(gpu=True) for name in upstream}
    assert len(Schedule(upstream, both, Limits(2, one_gpu=True)).start()) == 1
    assert len(Schedule(upstream, both, Limits(2)).start()) == 2


def test_one_that_finds_its_needs_waits_for_them_and_nobody_waits_to_find_its_own() -> None:
    upstream: dict[str, list[str]] = {"first": [], "large": [], "small": [], "after": ["large"]}
    seconds = {"first": 9.0, "large": 5.0, "small": 1.0}
    schedule = Schedule(upstream, {"first": Needs(3.0)}, Limits(2, 4.0), seconds)
    assert schedule.start() == ["first", "large"]
    schedule.again("large", Needs(4.0))
    assert schedule.start() == ["small"], "large waits for the memory of first"
    schedule.again("small", Needs(1.0))
    assert schedule.start() == [], "small waits behind large"
    schedule.done("first")
    assert schedule.start() == ["large"]
    schedule.done("large")
    assert schedule.start() == ["small", "after"]
