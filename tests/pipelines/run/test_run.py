"""A run of stages that are played, by threads instead of Prefect: looks, failures, stops, and what listeners get."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from pipelines.graph.graph import Graph, Reason, Stage
from pipelines.process import lock
from pipelines.run import run as runs
from pipelines.run.resources import lease_file
from pipelines.run.results import Result
from pipelines.run.run import Run

CHAIN = {"a": (), "b": ("a",), "c": ("b",), "other": ()}


def stage(name: str, upstream: tuple[str, ...], changed: bool, **meta: Any) -> Stage:
    reasons = (Reason("command", "edited"),) if changed else ()
    return Stage(name, f"make {name}", "", (), (), (), {}, upstream, reasons, meta, state="follows")


@dataclass
class Played:
    """What stands for DVC: how each stage ends, and what it does until then."""

    root: Path
    states: dict[str, str] = field(default_factory=dict)
    # What DVC finds when it looks, where it is not that a stage would run.
    finds: dict[str, str] = field(default_factory=dict)
    acts: dict[str, Callable[[threading.Event], object]] = field(default_factory=dict)
    ran: list[tuple[str, bool]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)
    heard: list[Result] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    code: int = 4

    def status(self, name: str, stop: threading.Event) -> dict[str, str]:
        self.looked.append(name)
        return {"state": self.finds.get(name, "would run"), "why": "found by DVC", "error": "cannot be read"}

    def run(self, name: str, log: Path, lines: Any, stop: Any, lease: Any, earlier: Any, force: bool) -> Any:
        self.ran.append((name, force))
        self.logs.append(log.name)
        lines([f"{name} began", f"{name} of 2"])
        self.acts.get(name, lambda stop: None)(stop)
        state: Any = "stopped" if stop.is_set() else self.states.get(name, "ran")
        code, error = (self.code, "went wrong") if state == "failed" else (None, "")
        return Result(name, state, 1.0, error=error, log=str(log), exit_code=code)

    def run_of(self, *stages: Stage, **options: Any) -> Run:
        """A run of a graph of these stages."""
        graph = Graph(self.root, {it.name: it for it in stages})
        options = {"listen": self.heard.append} | options
        return Run(graph, cast(Any, self), self.root / "logs", stop=self.stop, **options)

    def run_all(self, *changed: str, attempts: int = 1, **options: Any) -> dict[str, tuple[str, str]]:
        """Run the graph, of which these stages have changed; the state and the reason or error of each."""
        stages = [stage(name, before, name in changed, attempts=attempts) for name, before in CHAIN.items()]
        run = self.run_of(*stages, jobs=2, **options)
        self.heard.clear()
        results = execute(run)
        assert {it.stage: it for it in self.heard if it.ended} == results
        self.cancelled = run.cancelled
        return {name: (it.state, it.error or it.why) for name, it in results.items()}


def execute(run: Run) -> dict[str, Result]:
    """Do what the flow does with a run, but for Prefect: a thread for each stage that begins."""

    def task(name: str) -> None:
        while name not in run.results or run.again(name):
            run.attempt(name)
        run.conclude(name)

    with ThreadPoolExecutor(len(run.graph.stages)) as pool:
        futures = [pool.submit(task, name) for name in run.starts()]
    for future in futures:
        future.result()
    assert set(run.results) == set(run.affected)
    return run.results


@pytest.fixture()
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


def test_dvc_looks_at_every_stage_and_those_without_a_change_do_not_run(played: Played) -> None:
    played.finds = dict.fromkeys("bc", "up to date")
    played.states["other"] = "restored"
    assert played.run_all("a") == {
        "a": ("ran", "edited"),
        "b": ("unchanged", "no difference in what it needs (a ran)"),
        "c": ("unchanged", "nothing changed"),
        "other": ("restored", "found by DVC"),
    }
    assert sorted(played.ran) == [("a", False), ("other", False)]
    played.states["a"] = "unchanged"  # it changed back while it waited
    assert played.run_all("a")["a"] == ("unchanged", "no difference in what it needs (edited)")


@pytest.mark.parametrize(("finds", "error"), [("failed", "cannot be read"), ("would fail", "found by DVC")])
def test_a_stage_that_cannot_run_fails_with_the_reason(played: Played, finds: str, error: str) -> None:
    played.finds["a"] = finds
    found = played.run_all()
    assert found["a"] == ("failed", error) and found["b"] == ("skipped", "a")
    assert sorted(name for name, _ in played.ran) == ["other"]


def test_what_the_graph_says_of_a_stage_with_nothing_before_it_holds(played: Played) -> None:
    first = replace(stage("first", (), True), state="would run")
    upstream = Reason("upstream", "first")
    after = replace(stage("after", ("first",), False), state="would run", reasons=(upstream,))
    results = execute(played.run_of(first, after))
    assert [it.state for it in results.values()] == ["ran", "ran"] and played.looked == ["after"]


@pytest.fixture()
def one_gpu(played: Played, monkeypatch: pytest.MonkeyPatch) -> Played:
    """A machine with one GPU, whose lease is a file of this test, and memory for one stage."""
    monkeypatch.setattr("tempfile.tempdir", str(played.root))
    settings = "rebuild: {memory_gb: 4, memory_classes: {all: 4}, gpu: always}\n"
    (played.root / "params.yaml").write_text(settings)
    return played


@pytest.mark.parametrize("meta", [{"memory": "all"}, {"gpu": True}])
def test_only_a_stage_that_runs_waits_for_memory_and_the_gpu(one_gpu: Played, meta: dict[str, Any]) -> None:
    names = ("runs", "same", "restored", "waits")
    one_gpu.finds = {"same": "up to date", "restored": "would be restored"}
    one_gpu.states = {"restored": "restored"}
    ended: list[str] = []

    def listen(result: Result) -> None:
        ended.extend([result.stage] if result.ended else [])

    def until_the_others_ended(stop: threading.Event) -> None:
        while set(ended) != {"same", "restored"}:
            assert not stop.wait(0.01)

    one_gpu.acts["runs"] = until_the_others_ended
    stages = [stage(name, (), False, **meta) for name in names]
    results = execute(one_gpu.run_of(*stages, listen=listen, jobs=3))
    assert ended[2:] == ["runs", "waits"]
    assert [results[name].state for name in names] == ["ran", "unchanged", "restored", "ran"]


def test_a_stage_is_tried_until_it_does_not_fail_with_a_log_each(played: Played) -> None:
    (played.root / "params.yaml").write_text("rebuild: {backoff_seconds: 0}\n")
    played.finds = dict.fromkeys(("b", "c", "other"), "up to date")
    played.states["a"] = "failed"
    tried = ["attempt 1 of 3 failed (exit status 4: went wrong); next in 0 s"]
    tried += [tried[0].replace("1 of", "2 of")]
    assert played.run_all("a", attempts=3)["a"] == ("failed", "exit status 4: went wrong (3 attempts)")
    assert played.logs == ["a.log", "a.attempt-2.log", "a.attempt-3.log"]
    assert [it.why for it in played.heard if it.why.startswith("attempt")] == tried
    played.acts["a"] = lambda stop: played.states.update(a="failed" if len(played.logs) < 5 else "ran")
    assert played.run_all("a", attempts=3)["a"] == ("ran", "after 2 attempts (edited)")
    played.states["a"], played.code = "failed", runs.BAD_INPUT
    played.acts.clear()
    assert played.run_all("a", attempts=3)["a"] == ("failed", "exit status 2: went wrong")


def test_pauses_double_up_to_the_longest(played: Played) -> None:
    (played.root / "params.yaml").write_text("rebuild: {backoff_seconds: 120}\n")
    run = played.run_of(stage("a", (), True, attempts=5), stage("b", (), True))
    assert (run.pauses("a"), run.pauses("b")) == ([120, 240, 300, 300], [])


def test_only_affected_stages_are_looked_at_and_wait_for_the_nearest_before_them(played: Played) -> None:
    """b is up to date between a and c, and d is not affected."""
    stages = {name: stage(name, up, True) for name, up in CHAIN.items()}
    stages["b"] = replace(stages["b"], state="up to date")
    stages["other"] = replace(stages["other"], state="up to date")
    run = played.run_of(*stages.values())
    assert run.affected == ["a", "c"] and run.upstream("c") == ["a"]
    played.states["a"] = "failed"
    assert {name: it.state for name, it in execute(run).items()} == {"a": "failed", "c": "skipped"}


def test_a_failure_skips_what_depends_on_it_and_nothing_else(played: Played) -> None:
    played.states["a"] = "failed"
    found = played.run_all(*CHAIN)
    assert found["a"] == ("failed", "exit status 4: went wrong")
    assert (found["b"], found["c"]) == (("skipped", "a"), ("skipped", "a"))
    assert found["other"][0] == "ran" and not played.cancelled


def test_without_keep_going_a_failure_ends_all(played: Played) -> None:
    played.states["a"] = "failed"
    played.acts["other"] = lambda stop: stop.wait(30)
    found = played.run_all(*CHAIN, keep_going=False)
    reason = "stopped because a failed"
    assert (found["a"][0], found["other"][0]) == ("failed", "stopped")
    assert (found["b"], found["c"]) == (("stopped", reason), ("stopped", reason))
    assert not played.cancelled, "it failed, and was not cancelled"


def test_a_task_that_ended_without_an_attempt_is_begun_once_more(played: Played) -> None:
    run = played.run_of(stage("a", (), True), stage("b", ("a",), True), stage("other", (), True))
    lost = {"a": 2, "other": 1}
    begun = []
    for name in run.starts():
        begun.append(name)
        if lost.get(name, 0):
            lost[name] -= 1
            run.conclude(name, "the server is gone")
        else:
            if name not in run.results:
                run.attempt(name)
            run.conclude(name)
    assert sorted(begun) == ["a", "a", "b", "other", "other"]
    assert {name: result.state for name, result in run.results.items()} == {
        "a": "failed",
        "b": "skipped",
        "other": "ran",
    }
    assert run.results["a"].error == "Prefect did not run its task: the server is gone"


def lease_is_free() -> bool:
    try:
        os.close(lock.take(lease_file(), {"stage": "x", "project": "y"}))
    except lock.LockTaken:
        return False
    return True


@pytest.mark.parametrize("stopped_before_its_end", [True, False])
def test_a_stop_frees_the_gpu_of_a_task_without_an_attempt(
    one_gpu: Played, stopped_before_its_end: bool
) -> None:
    """The stop comes before the task ends, or after it, when it would be begun again."""
    run = one_gpu.run_of(stage("a", (), True, gpu=True))
    for name in run.starts():
        assert not lease_is_free()
        if stopped_before_its_end:
            one_gpu.stop.set()
        run.conclude(name, "the server is gone")
        one_gpu.stop.set()
    assert run.results["a"].state == "stopped" and lease_is_free()


def test_a_stage_keeps_the_gpu_between_its_attempts(one_gpu: Played) -> None:
    one_gpu.states["a"] = "failed"
    run = one_gpu.run_of(stage("a", (), True, gpu=True, attempts=2))
    for name in run.starts():
        run.attempt(name)
        assert run.again(name) and not lease_is_free()
        run.attempt(name)
        run.conclude(name)
        assert lease_is_free()


def test_a_run_that_is_stopped_waits_for_tasks_that_have_begun(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that was submitted before the stop may begin after it; its stage must not be left out meanwhile."""
    monkeypatch.setattr(runs, "LAST_SECONDS", 60.0)
    run = played.run_of(stage("a", (), True))
    starts = run.starts()
    assert next(starts) == "a"
    played.stop.set()
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(list, starts)
        with pytest.raises(TimeoutError):
            rest.result(0.3)
        assert run.attempt("a").error == "the run was stopped"
        run.conclude("a")
        assert rest.result(60) == []


def test_after_a_stop_no_stage_is_looked_at(played: Played) -> None:
    look = played.status

    def status(name: str, stop: threading.Event) -> dict[str, str]:
        played.stop.set()
        return look(name, stop)

    played.status = status  # type: ignore[method-assign]
    run = played.run_of(*(stage(name, (), True) for name in "abc"))
    assert list(run.starts()) == [] and len(played.looked) == 1
    assert {result.state for result in run.results.values()} == {"stopped"}


def test_a_stage_begins_before_dvc_has_looked_at_the_others(played: Played) -> None:
    run = played.run_of(*(stage(name, (), True) for name in "abc"), jobs=1)
    assert next(run.starts()) == "a" and played.looked == ["a"]


def test_a_stop_ends_what_runs_and_starts_nothing_more(played: Played) -> None:
    played.acts["a"] = lambda stop: played.stop.set()
    found = played.run_all("a", "b", "c")
    assert {name: state for name, (state, _) in found.items() if name != "other"} == dict.fromkeys(
        "abc", "stopped"
    )
    assert played.cancelled and ("b", False) not in played.ran


def test_an_error_of_our_own_fails_the_stage_and_its_traceback_is_kept(played: Played) -> None:
    def fault(stop: threading.Event) -> None:
        raise ZeroDivisionError("by hand")

    played.acts["a"] = fault
    assert played.run_all("a")["a"] == ("failed", "ZeroDivisionError: by hand")
    (result,) = [it for it in played.heard if it.stage == "a" and it.ended]
    assert result.lines[0].startswith("Traceback")


def test_in_a_clone_every_stage_is_forced_and_unchecked(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs.checks, "checked", lambda *_: pytest.fail("its outputs were checked"))
    found = played.run_all(clone=played.root / "clone", force=True)
    assert set(found.values()) == {("ran", "force")} and sorted(played.ran) == [(it, True) for it in CHAIN]
    played.states["a"] = "unchanged"
    assert played.run_all(clone=played.root, force=True)["a"] == (
        "failed",
        "DVC did not run it; is it frozen?",
    )


def test_listeners_get_the_lines_of_a_stage_between_its_start_and_its_end(played: Played) -> None:
    played.run_all("a")
    of_a = [(it.state, it.why, it.lines) for it in played.heard if it.stage == "a"]
    assert of_a[1] == ("running", "a of 2", ("a began", "a of 2"))
    assert (of_a[0][0], of_a[0][2]) == ("running", ()) and of_a[-1][0] == "ran"
