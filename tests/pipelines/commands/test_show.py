"""A rebuild on a terminal and in a file, and its outcome as JSON: the only thing on standard output."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from nightjar.core import contracts, tables
from pipelines.commands import show
from pipelines.graph import repository as graphs
from pipelines.run import report
from pipelines.run.results import End, Result
from stages._runtime import history
from tests.pipelines.commands.test_console import Terminal, terminal
from tests.pipelines.conftest import Api, Repo, run_of, wait_for


@pytest.mark.slow
def test_a_rebuild_tells_its_outcome_as_json(repo: Repo) -> None:
    repo.write(
        dvc="stages:\n  good:\n    cmd: echo hello && touch a.out\n    outs: [a.out]\n"
        "  bad:\n    cmd: exit 3\n    outs: [b.out]\n"
    )
    result = repo.nightjar("rebuild", "--json")
    assert result.returncode == 1
    told = {stage["stage"]: stage for stage in json.loads(result.stdout)["stages"]}
    assert told["good"]["state"] == "ran"
    assert told["bad"]["state"] == "failed"
    assert "3" in told["bad"]["error"]
    assert result.stderr.endswith("\nnightjar: rebuild: 1 failed, 1 ran\n")


REPORT = """
stages:
  split: {cmd: cp source.txt split.txt, deps: [source.txt], outs: [split.txt]}
  predict: {cmd: cp split.txt model.txt, deps: [split.txt, setting.txt], outs: [model.txt]}
  report:
    cmd: mkdir data && cp -r page data/report
    deps: [model.txt]
    outs: [data/report]
"""


def with_report(repo: Repo) -> None:
    (repo.root / "page").mkdir()
    (repo.root / "page/index.html").touch()
    (repo.root / "page/headline.txt").write_text("system  score\nplain   1.0\n")
    (repo.root / "page/headline.json").write_text('[{"system": "plain"}]')
    repo.write(dvc=REPORT, source="1", setting="1")
    repo.dvc("repro", "--quiet")


def test_scores_are_printed_only_where_they_hold(repo: Repo) -> None:
    with_report(repo)
    assert repo.here("rebuild", "split").stdout.endswith("plain   1.0\n")
    told = json.loads(repo.here("rebuild", "split", "--json").stdout)
    assert (told["headline"], told["headline_stale"]) == ([{"system": "plain"}], None)
    repo.write(setting="2")  # the report is not among the stages of a rebuild of split
    done = repo.here("rebuild", "split")
    assert done.returncode == 0
    line = (
        "The scores of the last report may be stale: predict was not up to date. "
        "Renew them with: nightjar rebuild report"
    )
    assert done.stdout.endswith(f"{line}\n") and "1.0" not in done.stdout
    told = json.loads(repo.here("rebuild", "split", "--json").stdout)
    assert (told["headline"], told["headline_stale"]) == (None, line)


@pytest.mark.slow
def test_the_last_good_output_of_a_failed_stage_can_be_restored(repo: Repo, api: Api) -> None:
    """DVC removes what a stage made before it runs again: the report is restored, of others the command is named."""
    with_report(repo)
    failing = REPORT.replace("cp split.txt model.txt", "cp setting.txt model.txt; exit 3")
    repo.write(dvc=failing, setting="2")
    done = repo.nightjar("rebuild")
    command = "dvc checkout --force predict"
    assert done.returncode == 1 and (repo.root / "model.txt").read_text() == "2"
    assert f"The last good output of predict comes back with: {command}\n" in done.stdout
    about = {"flow_run_id": {"any_": [run_of(api, repo)["id"]]}, "key": {"any_": ["rebuild"]}}
    (page,) = wait_for(lambda: api.ask("artifacts/filter", artifacts=about), what="the page of the run")
    assert page["data"].startswith(f"[The report]({api.server.url}/report/index.html): ")
    repo.dvc(*command.split()[1:])
    assert (repo.root / "model.txt").read_text() == "1"

    repo.write(dvc=REPORT.replace("data/report\n", "data/report; exit 3\n", 1), setting="1")
    done = repo.nightjar("rebuild")
    assert done.returncode == 1 and "The last good output" not in done.stdout
    assert "may be stale: report failed. Renew them with: nightjar rebuild report" in done.stdout
    assert (repo.root / "data/report/headline.txt").read_text() == "system  score\nplain   1.0\n"


SCORED = """
stages:
  evaluate:
    cmd: mkdir -p data/evaluate && cp -r made data/evaluate/b
    deps: [made]
    outs: [data/evaluate/b]
"""


@pytest.mark.slow
def test_a_rebuild_of_an_evaluation_prints_its_scores(repo: Repo) -> None:
    cell = {"benchmark": "supernatinst", "track": "default", "level": "overall", "name": "overall", "n": 144}
    scores = {"untuned": (43.9, 36.6, 50.8), "tuned": (59.0, 51.6, 65.7)}
    rows = [
        cell | {"system": system, "metric": metric, "value": value, "low": low, "high": high}
        for system, (value, low, high) in scores.items()
        for metric in ("rougeL", "exact_match")
    ]
    with tables.ArtifactWriter(repo.root / "made") as writer:
        writer.write(contracts.SCORES, rows)
    repo.write(dvc=SCORED)
    for done in (repo.nightjar("rebuild", "evaluate"), repo.here("rebuild", "evaluate")):
        assert done.returncode == 0
        shown = [line.split() for line in done.stdout.splitlines() if line.startswith("supernatinst")]
        assert shown == [
            ["supernatinst", "English", "track", system, "rougeL", "144", str(value), f"[{low},", f"{high}]"]
            for system, (value, low, high) in scores.items()
        ]


ALONE = "stages:\n  split: {cmd: 'true', outs: [split.txt]}\n"


@pytest.mark.parametrize(
    ("graph", "results", "reason"),
    [
        (REPORT, [Result("predict", "ran"), Result("report", "ran")], ""),
        (REPORT, [Result("predict", "restored"), Result("report", "unchanged")], ""),
        (REPORT, [Result("predict", "ran"), Result("report", "failed")], "report failed"),
        (
            REPORT,
            [Result("predict", "failed"), Result("report", "skipped", error="predict")],
            "predict failed",
        ),
        (REPORT, [Result("predict", "ran"), Result("report", "stopped")], "report was stopped"),
        (ALONE, [Result("split", "ran")], "is not known: no stage makes"),
    ],
)
def test_the_results_say_whether_the_scores_of_the_report_hold(
    repo: Repo, graph: str, results: list[Result], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = repo.root / report.HEADLINE
    page.parent.mkdir(parents=True)
    page.write_text("plain   1.0\n")
    repo.write(dvc=graph)
    show.headline(repo.root, report.stale(graphs.outline(repo.root), results))
    printed = capsys.readouterr().out
    assert ("plain   1.0" in printed) == (not reason)
    assert reason in printed


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
@pytest.mark.parametrize("name", ["sub/dvc.yaml:train:", "b@[red]", "b@{0}", "b@%s", "-rf"])
def test_stages_are_shown_by_their_names(
    name: str, stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = terminal(monkeypatch, 200, stream=stream)
    line = "[bold]{1} %d :train: \x1b]0;title\x07\x9b2J\rover\u202e"
    escaped = "[bold]{1} %d :train: \\x1b]0;title\\x07\\x9b2J\\rover\\u202e"
    with show.Progress(Path(), [name], verbose=True) as progress:
        for state in ("waiting", "running", "running"):
            progress.update(Result(name, state, why=line))
        progress.update(Result(name, "failed", 1.0, error=line, log="x.log"))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())  # without rich's own styles and moves
    assert f"{name}: {escaped}\n" in text
    assert f"{name}: starts: {escaped}\n" in text
    line = rf"1 of 1(, \d+ s left)? +failed +1\.0 s  {re.escape(f'{name}  {escaped} (log: x.log)')}\n"
    assert re.search(line, text)
    assert not set("\x1b\x07\x9b\u202e") & set(text)


SEVERAL = [
    Result("made", "ran", 75.0, why="params.yaml:seed: 1 → 2"),
    Result("train@one", "failed", 3.25, error="exit status 3: no room", log="a.log", exit_code=3),
    Result("left@a", "skipped", why="needs train@one", error="train@one"),
    Result("left@b", "skipped", why="needs train@one", error="train@one"),
    Result("ended", "stopped", 2.0, error="the run was stopped", log="b.log"),
    *(Result(f"later{n}", "stopped", error="the run was stopped") for n in range(60)),
]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_stage_is_one_line_and_what_was_stopped_or_left_out_is_said_once(
    quiet: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [it.stage for it in SEVERAL]
    with show.Progress(tmp_path, names, verbose=False, quiet=quiet) as progress:
        for result in SEVERAL:
            progress.update(Result(result.stage, "running", why="never run"))
            progress.update(result)
    # The time that is left depends on how long the test took.
    left = re.compile(r"(, \d+ s left)? +(?=ran|failed)")
    lines = [left.sub("  ", line) for line in capsys.readouterr().out.splitlines()]
    failed = " 2 of 65  failed        3.2 s  train@one  exit status 3: no room (log: a.log)"
    assert lines == [" 1 of 65  ran          75.0 s  made  seed: 1 → 2", failed][quiet:]
    assert progress.summary(End.of(SEVERAL, cancelled=True)) == (
        "1 failed, 1 ran, 2 skipped, 61 stopped; not run because of train@one; ended while running: ended"
    )


def test_nothing_is_wider_than_the_terminal_and_no_number_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = terminal(monkeypatch, 60)
    why = "predict.systems.a_name_that_is_rather_long.evidence: 1234567 → 7654321"
    with show.Progress(tmp_path, ["predict@classification"], verbose=False) as progress:
        progress.update(Result("predict@classification", "running", why="12,345 of 67,890 instances"))
        progress.update(Result("predict@classification", "failed", 1.0, error=why, log="x.log"))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    assert max(map(len, re.split("[\r\n]", text))) <= 60
    assert "1234567" in text and "7654321" in text


@pytest.mark.parametrize(
    ("known", "done"),
    [
        (
            {"a": 100.0, "b": 300.0, "c": 50.0},
            [(20.0, 450.0), (100.0, 450.0), (100.0, 150.0), (150.0, 150.0)],
        ),
        ({"a": 100.0, "d": 10.0}, [(0.2, 3.0), (1.0, 3.0), (1.0, 2.0), (2.0, 2.0)]),
    ],
)
def test_the_bar_of_all_stages_is_as_far_as_their_seconds_or_their_number(
    tmp_path: Path, known: dict[str, float], done: list[tuple[float, float]]
) -> None:
    for name, seconds in known.items():
        history.append(tmp_path, name, seconds)
    found = []
    with show.Progress(tmp_path, ["a", "b", "c"], False) as progress:
        whole = progress._bars.tasks[0]
        for line in ("never run", "40 of 200 instances", "loads"):
            progress.update(Result("a", "running", why=line))
        progress.update(Result("b", "running", why="never run"))
        _, a, b = progress._bars.tasks
        assert [(bar.completed, bar.total) for bar in (a, b)] == [(40, 200), (0, None)]
        found.append((whole.completed, whole.total))
        for name, state in (("a", "ran"), ("b", "unchanged"), ("c", "ran")):
            progress.update(Result(name, state))
            found.append((whole.completed, whole.total))
    assert found == done
