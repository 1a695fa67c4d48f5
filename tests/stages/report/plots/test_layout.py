"""What a drawing of any graph must satisfy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from stages.report.plots.drawings import layers, layout

GRAPHS = st.sets(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), max_size=16
).map(lambda edges: {f"n{n}": {f"n{a}" for a, b in edges if b == n} for n in range(10)})


@given(GRAPHS)
def test_edges_run_down_layer_by_layer_and_nodes_keep_apart(sources: dict[str, set[str]]) -> None:
    plan = layout(sources, 100, 20, 10)
    assert plan.places.keys() == sources.keys()
    wanted = {
        (plan.places[above], plan.places[below]) for below, direct in sources.items() for above in direct
    }
    assert {(way[0], way[-1]) for way in plan.ways} == wanted
    for way in plan.ways:
        assert [y for _, y in way] == list(range(way[0][1], way[-1][1] + 1))
    for x, y in plan.places.values():
        assert 50 <= x <= plan.width - 50 and 0 <= y < plan.layers
        beside = [other for other, level in plan.places.values() if level == y and other != x]
        assert all(abs(x - other) >= 120 for other in beside)
        passing = [at for way in plan.ways for at, level in way[1:-1] if level == y]
        assert all(abs(x - at) >= 75 for at in passing)
    assert layout(sources, 100, 20, 10) == plan


def test_as_low_as_the_readers_allow() -> None:
    chain = {"a": set(), "late": set(), "b": {"a"}, "c": {"b", "late"}}
    assert layers(chain) == {"a": 0, "b": 1, "late": 1, "c": 2}


def test_crossings_are_taken_out() -> None:
    crossed = {"a": set(), "b": set(), "c": set(), "x": {"c"}, "y": {"b"}, "z": {"a"}}
    plan = layout(crossed, 10, 2, 1)
    order = [
        sorted(names, key=lambda name: plan.places[name][0]) for names in (("a", "b", "c"), ("x", "y", "z"))
    ]
    partner = {"a": "z", "b": "y", "c": "x"}
    assert [partner[name] for name in order[0]] == order[1]


def test_a_circle() -> None:
    with pytest.raises(NightjarError, match="circle"):
        layers({"a": {"b"}, "b": {"a"}})
    assert layout({}, 1, 1, 1).width == 0
