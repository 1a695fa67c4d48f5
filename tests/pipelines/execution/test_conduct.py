"""The loop over the stages of a graph, with stages that are played: order, failures, stops, and what listeners get."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipelines.execution import conduct
from pipelines.execution.conduct import Conduct
from pipelines.execution.results import Result
from pipelines.execution.run_stage import Outcome
from pipelines.graph.changes import Reason
from pipelines.graph.graph import Graph, Stage

CHAIN = {"a": (), "b": ("a",), "c": ("b",), "other": ()}


def stage(name: str, upstream: tuple[str, ...], changed: bool, **meta: Any) -> Stage:
    reasons = (Reason("command", "edited"),) if changed else ()
    return Stage(name, f"make {name}", "", (), (), (), {}, upstream, reasons, meta)


@dataclass
class Played:
    """What stands for DVC: how each stage ends, and what it does until then."""

    root: Path
    states: dict[str, str] = field(default_factory=dict)
    acts: dict[str, Callable[[threading.Event], object]] = field(default_factory=dict)
    ran: list[tuple[str, bool]] = field(default_factory=list)
    heard: list[Result] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __call__(self, root: Path) -> Played:
        return self

    def __enter__(self) -> Played:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def start(self) -> None:
        pass

    def run(self, name: str, log: Path, lines: Any, stop: Any, lease: Any, earlier: Any, afresh: bool) -> Any:
        self.ran.append((name, afresh))
        lines([f"{name} began", f"{name} of 2"])
        self.acts.get(name, lambda stop: None)(stop)
        state: Any = "stopped" if stop.is_set() else self.states.get(name, "ran")
        code, error = (4, "went wrong") if state == "failed" else (None, None)
        return Outcome(name, state, 1.0, log, code, error)

    def conduct(self, *changed: str, **options: Any) -> dict[str, tuple[str, str]]:
        """Run the graph, of which these stages have changed; the state and the reason or error of each."""
        stages = {name: stage(name, upstream, name in changed) for name, upstream in CHAIN.items()}
        graph = Graph(self.root, stages)
        run = Conduct(graph, self.root / "logs", self.heard.append, self.stop, jobs=2, **options)
        self.heard.clear()
        results = run.run()
        assert [it for it in self.heard if it.ended] == list(results.values())
        self.cancelled = run.cancelled
        return {name: (it.state, it.error or it.why) for name, it in results.items()}


@pytest.fixture()
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    it = Played(tmp_path)
    monkeypatch.setattr(conduct, "Stages", it)
    monkeypatch.setattr(conduct.graphs, "why_now", lambda names, root: dict.fromkeys(names, ""))
    return it


def test_what_follows_a_stage_that_ran_is_examined_and_the_rest_is_cached(played: Played) -> None:
    played.states["b"] = "unchanged"
    found = played.conduct("a")
    assert found == {
        "a": ("ran", "edited"),
        "b": ("cached", "no difference in what it needs (a ran)"),
        "c": ("cached", "nothing changed"),
        "other": ("cached", "nothing changed"),
    }
    assert [name for name, _ in played.ran] == ["a", "b"]


def test_a_failure_skips_what_depends_on_it_and_nothing_else(played: Played) -> None:
    played.states["a"] = "failed"
    found = played.conduct(*CHAIN)
    assert found["a"] == ("failed", "exit status 4: went wrong")
    assert (found["b"], found["c"]) == (("skipped", "a"), ("skipped", "a"))
    assert found["other"][0] == "ran" and not played.cancelled


def test_without_keep_going_a_failure_ends_all(played: Played) -> None:
    played.states["a"] = "failed"
    played.acts["other"] = lambda stop: stop.wait(30)
    found = played.conduct(*CHAIN, keep_going=False)
    reason = "stopped because a failed"
    assert (found["a"][0], found["other"][0]) == ("failed", "stopped")
    assert (found["b"], found["c"]) == (("stopped", reason), ("stopped", reason))
    assert not played.cancelled, "it failed, and was not cancelled"


def test_a_stop_ends_what_runs_and_starts_nothing_more(played: Played) -> None:
    played.acts["a"] = lambda stop: played.stop.set()
    found = played.conduct("a", "b", "c")
    assert {name: state for name, (state, _) in found.items() if name != "other"} == dict.fromkeys(
        "abc", "stopped"
    )
    assert played.cancelled and ("b", False) not in played.ran


def test_an_error_of_our_own_fails_the_stage_and_its_traceback_is_kept(played: Played) -> None:
    def fault(stop: threading.Event) -> None:
        raise ZeroDivisionError("by hand")

    played.acts["a"] = fault
    assert played.conduct("a")["a"] == ("failed", "ZeroDivisionError: by hand")
    (result,) = [it for it in played.heard if it.stage == "a" and it.ended]
    assert result.lines[0].startswith("Traceback")


def test_in_a_clone_every_stage_runs_afresh_and_unchecked(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conduct.checks, "verify", lambda *_: pytest.fail("its outputs were checked"))
    found = played.conduct(clone=played.root / "clone", afresh=True)
    assert set(found.values()) == {("ran", "afresh")} and sorted(played.ran) == [(it, True) for it in CHAIN]
    played.states["a"] = "unchanged"
    assert played.conduct(clone=played.root, afresh=True)["a"] == (
        "failed",
        "DVC did not run it; is it frozen?",
    )


def test_listeners_get_the_lines_of_a_stage_between_its_start_and_its_end(played: Played) -> None:
    played.conduct("a")
    of_a = [(it.state, it.why, it.lines) for it in played.heard if it.stage == "a"]
    assert of_a[1] == ("running", "a of 2", ("a began", "a of 2"))
    assert (of_a[0][0], of_a[0][2]) == ("running", ()) and of_a[-1][0] == "ran"
