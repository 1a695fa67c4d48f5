"""nightjar evaluate: a folder with predictions, scores and a report; resumed, refused, compared."""

from __future__ import annotations

import contextlib
import html
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.records import read_questions
from nightjar.benchmarks.zeroscrolls.prompts import built
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from nightjar.core import contracts, tables
from nightjar.models.directory.weights import weights_digest, write_checksums
from nightjar.models.servers.http_client import KEY
from pipelines.cli import main
from pipelines.commands.evaluate import _print
from tests import tiny_families, tiny_models
from tests.completions_server import completion, said, serving
from tests.conftest import ROOT
from tests.in_process import captured, check_refusals, nightjar
from tests.questions import question, write_questions

QUESTIONS = Path("data/questions")
TASK = {"definition": ["Count"], "positive_examples": [], "negative_examples": []}


@pytest.fixture()
def project(workdir: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two tasks of two benchmarks and a language model."""
    home = workdir / "project"
    home.mkdir()
    monkeypatch.chdir(home)
    shutil.copytree(ROOT / "profiles", "profiles")
    shutil.copyfile(ROOT / "params.yaml", "params.yaml")
    shutil.copytree(tiny_model, "models/base/language_model")
    write_checksums(Path("models/base/language_model"))
    rows = [
        {"task_id": f"t{task}", "id": f"{task}-{n}", "input": f"number {n}"}
        for task in (1, 2)
        for n in range(3)
    ]
    write_questions(QUESTIONS / "supernatinst", [question(row, TASK) for row in rows])
    texts = [{"task_id": "wikitext", "id": "w", "input": "x"}]
    write_questions(QUESTIONS / "tool_use", [question(row, TASK, "tool_use") for row in texts])
    return home


def run(*arguments: str) -> int:
    done = captured(main, ["evaluate", *arguments])
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


def files(folder: Path) -> dict[str, bytes]:
    return {path.as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def count(body: dict[str, Any]) -> tuple[int, Any]:
    return completion(f" {body['prompt'].partition('number ')[2][:1]}\n")


def test_a_model_is_answered_scored_and_reported_and_the_project_is_not_changed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(project)
    options = ("--benchmark", "supernatinst", "--tasks", "t2", "--limit", "2", "--output", "../run")
    assert run("--model", "models/base/language_model", *options, "--json") == 0
    assert files(project) == before
    told = capsys.readouterr().out
    found = json.loads(told[told.index("{") :])
    assert (found["name"], found["tasks"]) == ("language_model", {"supernatinst": ["t2"]})
    assert {(row["system"], row["n"]) for row in found["scores"]} == {
        (system, 2) for system in ("copy_input", "copy_demo", "language_model")
    }
    out = project.parent / "run"
    questions = read_questions(out / QUESTIONS / "supernatinst")
    rows = tables.read_rows(out / "data/predict/supernatinst/language_model", contracts.PREDICTIONS)
    assert [row["id"] for row in rows] == [one.id for one in questions]
    assert "language_model" in (out / "data/report/index.html").read_text()
    assert str(project) not in (out / "data/report/index.html").read_text()
    assert not any(path.is_symlink() for path in out.rglob("*"))


def test_precision_threads_batch_and_device_are_options_and_each_question_is_a_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"task_id": "t1", "id": str(n), "input": f"number {n}"} for n in range(20)]
    shutil.rmtree(QUESTIONS / "supernatinst")
    write_questions(QUESTIONS / "supernatinst", [question(row, TASK) for row in rows])
    model = ("--model", "models/base/language_model", "--benchmark", "supernatinst", "--output", "../run")
    given = ("--precision", "bfloat16", "--threads", "2", "--batch-size", "3", "--device", "cpu")
    assert run(*model, *given) == 0
    facts = json.loads(Path("../run/evaluation.json").read_text())
    assert facts["asked"]["engine"] == {
        "precision": "bfloat16",
        "threads": 2,
        "batch_size": 3,
        "device": "cpu",
    }
    (row,) = (one for one in facts["scores"] if one["system"] == "language_model")
    told = capsys.readouterr().out
    for metric in ("exact_match", "rougeL"):
        assert f"[{row[f'{metric}_low']:.2f}, {row[f'{metric}_high']:.2f}]" in told
    lines = list(map(json.loads, Path("../run/samples_supernatinst.jsonl").read_text().splitlines()))
    answers = tables.read_rows(Path("../run/data/predict/supernatinst/language_model"), contracts.PREDICTIONS)
    asked = read_questions(QUESTIONS / "supernatinst")
    assert [(one["id"], one["input"], one["resps"], one["filtered_resps"]) for one in lines] == [
        (one["id"], one["prompt"], [[one["text"]]], one["answers"]) for one in answers
    ]
    assert [tuple(one["target"]) for one in lines] == [one.references for one in asked]
    for metric in ("exact_match", "rougeL"):
        assert sum(one["scores"][metric] for one in lines) / 20 == pytest.approx(row[metric])


def test_the_report_names_the_model_and_not_the_project_s(project: Path) -> None:
    facts = {"stage": "base_model", "inputs": [], "outputs": ["models/base/language_model"], "rows_in": 1}
    more = {"rows_out": 1, "rows_rejected": 0, "language_model": {"source": "package:its-own"}}
    Path("data/metrics").mkdir()
    Path("data/metrics/base_model.json").write_text(json.dumps(facts | more))
    shutil.copytree("models/base/language_model", "../copy_demo")
    (project.parent / "copy_demo/checksums.json").unlink()
    options = ("--benchmark", "supernatinst", "--limit", "1", "--output")
    sources = {}
    with serving(count) as served:
        for name, model in {
            "own": "models/base/language_model",
            "other": "../copy_demo",
            "server": f"server:{served.url}",
        }.items():
            assert run("--model", model, *options, f"../{name}") == 0
            text = (project.parent / name / "data/report/index.html").read_text()
            sources[name] = text.partition("Language model: ")[2].partition(" (")[0]
    assert sources == {"own": "package:its-own", "other": "../copy_demo", "server": f"server:{served.url}"}
    page = (project.parent / "server/data/report/provenance.html").read_text()
    assert f"The weights server:{served.url}." in page
    # A baseline of the benchmark has that name.
    assert (project.parent / "other/data/predict/supernatinst/model_copy_demo").is_dir()


def test_an_adapter_is_read_where_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adapter = tiny_models.adapter(Path("models/base/language_model"), project / "models/train/tk_instruct")
    config = json.loads((adapter / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "models/base/language_model"
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    before = files(project)
    arguments = ("--model", "models/train/tk_instruct", "--benchmark", "supernatinst", "--limit", "1")
    assert run(*arguments, "--output", "../run") == 0
    assert files(project) == before
    rows = tables.read_rows(
        project.parent / "run/data/predict/supernatinst/tk_instruct", contracts.PREDICTIONS
    )
    assert {row["adapter_sha256"] for row in rows} == {weights_digest(adapter)}
    report = project.parent / "run/data/report"
    assert "fine-tuned by the recipe tk_instruct" in (report / "provenance.html").read_text()
    # Other weights are another run.
    (adapter / "adapter_model.safetensors").write_bytes(
        (adapter / "adapter_model.safetensors").read_bytes()[:-4] + b"\0\0\0\0"
    )
    capsys.readouterr()
    assert run(*arguments, "--output", "../run") == 2
    assert "it holds another run (of other parameters, questions or weights)" in capsys.readouterr().err


def test_nothing_to_score_is_told_with_the_way_to_the_leaderboard(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on the published test files, whose references are not public."""
    asked = [
        Question(
            NAME, name, f"{name}-1", built(task, "a b c", "who?" if task.query else "", 3).parts(), (), name
        )
        for name, task in TASKS.items()
    ]
    write_questions(QUESTIONS / NAME, asked)
    with serving(lambda body: completion(" B")) as served:
        out = project.parent / "run"
        assert run("--model", f"server:{served.url}", "--benchmark", NAME, "--output", str(out)) == 0
    told = capsys.readouterr()
    why = (
        f"{NAME}: nothing to score: no question has a reference; hand the predictions in: nightjar submission"
    )
    assert f"warning: {why} --benchmark {NAME}\n" in told.err, "the stage's log"
    (system,) = (folder.name for folder in (out / "data/predict" / NAME).iterdir())
    command = next(line for line in told.out.splitlines() if line.startswith(why) and "--output" in line)
    assert why in (out / "data/report/headline.txt").read_text()
    for page in ("index.html", f"{NAME}.html"):
        assert why in (out / "data/report" / page).read_text()
    assert f'href="{NAME}.instances.html#system={system}"' in (out / f"data/report/{NAME}.html").read_text()
    # The command that is named works, and the scorer refuses.
    with pytest.raises(SystemExit) as raised:
        main(shlex.split(command.partition("nightjar ")[2]))
    assert not raised.value.code and len(Path(f"{NAME}.csv").read_text().splitlines()) == 1 + len(TASKS)
    files_of = ["--references", str(out / QUESTIONS / NAME)]
    for options in (
        ["score", "--predictions"],
        ["compare", "--b", str(out / "data/predict" / NAME / system), "--a"],
    ):
        with pytest.raises(SystemExit) as raised:
            main([*options, str(out / "data/predict" / NAME / system), "--benchmark", NAME, *files_of])
        told = capsys.readouterr()
        assert (
            raised.value.code == 2 and told.err.startswith(f"nightjar: {why}") and told.err.count("\n") == 1
        )


def test_a_run_that_failed_resumes_and_another_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing: list[str] = ["number 2"]

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return (400, {}) if any(text in body["prompt"] for text in failing) else count(body)

    def numbers() -> list[str]:
        """Of the questions asked; without the request that tells whether a server gives log-probabilities."""
        prompts = (body["prompt"].partition("number ")[2] for body in served.asked)
        return [text[:1] for text in prompts if text]

    with serving(script) as served:
        model = ("--model", f"server:{served.url}", "--benchmark", "supernatinst", "--benchmark", "tool_use")
        assert run(*model, "--output", "../run") == 2
        assert "it refuses the request (400" in capsys.readouterr().err
        answered = [number for number in numbers() if number not in failing[0]]
        failing.clear()
        asked = len(numbers())
        assert run(*model, "--output", "../run") == 0
        assert len(numbers()) - asked == 6 - len(answered)
        told = capsys.readouterr().out
        reason = "a server gives no log-probabilities of a given text"
        assert f"left out: tool_use, wikitext: {reason}" in told
        asked = len(numbers())
        assert run(*model, "--output", "../run") == 0  # it is done
        assert len(numbers()) == asked
        assert run(*model, "--limit", "1", "--output", "../run") == 2
        assert "it holds another run (limit None)" in capsys.readouterr().err


def test_a_larger_limit_asks_only_the_questions_that_are_new(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answered(*limit: str) -> list[tuple[str, str]]:
        assert run(*model, *limit, "--output", "../run") == 0
        rows = tables.read_rows(
            project.parent / "run/data/predict/supernatinst/server", contracts.PREDICTIONS
        )
        return [(row["id"], row["answers"][0]) for row in rows]

    with serving(count) as served:
        model = ("--model", f"server:{served.url}#server", "--benchmark", "supernatinst")
        first = answered("--limit", "1")
        assert len(first) == len(served.asked) == 2
        second = answered("--limit", "2")
        assert set(first) < set(second) and len(second) == len(served.asked) == 4
        assert run(*model, "--limit", "1", "--output", "../run") == 2
        assert "it holds another run (limit 2)" in capsys.readouterr().err
        assert answered("--limit", "2") == second
        whole = answered()
        assert set(second) < set(whole) and len(whole) == len(served.asked) == 6
        headline = json.loads((project.parent / "run/data/report/headline.json").read_text())
        assert {row["n"] for row in headline} == {6}


def test_the_same_command_asks_again_where_an_answer_was_an_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reasons = ["error", "content_filter"]

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return completion("text", reasons.pop() if reasons else "stop")

    def missing() -> int:
        rows = tables.read_rows(
            project.parent / "run/data/predict/supernatinst/server", contracts.PREDICTIONS
        )
        headline = json.loads((project.parent / "run/data/report/headline.json").read_text())
        return max(row["n"] for row in headline) - len(rows)

    with serving(script) as served:
        command = ("--model", f"server:{served.url}#server", "--benchmark", "supernatinst")
        assert run(*command, "--output", "../run") == 0 and missing() == 2
        asked = len(served.asked)
        assert run(*command, "--output", "../run") == 0 and missing() == 1
        assert len(served.asked) == asked + 1
        assert run(*command, "--output", "../run") == 0
        assert len(served.asked) == asked + 1


def test_prompts_with_and_without_a_template_are_not_compared_in_silence(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_models.with_chat_template(Path("models/base/language_model"), project / "chatty")
    write_checksums(model)
    options = ("--model", "chatty", "--benchmark", "supernatinst", "--output")
    assert run(*options, "../plain") == 0
    assert "chat template" not in capsys.readouterr().out
    ways = {
        "chat": ("chat template", ()),
        "brief": ('chat template, system message "Be brief."', ("--system-message", "Be brief.")),
    }
    for name, (how, more) in ways.items():
        assert run(*options, f"../{name}", "--chat-template", *more) == 0
        told, report = capsys.readouterr(), project.parent / name / "data/report"
        assert f"predict@supernatinst-chatty_chat: {how}\n" in told.err
        assert f"chatty_chat: {how}\n" in told.out
        pages = [html.unescape((report / page).read_text()) for page in ("index.html", "supernatinst.html")]
        assert f"<small>{how}</small>" in pages[0] and f" chatty_chat: {how}." in pages[1]
        assert f"Asked through the {how}." in html.unescape((report / "provenance.html").read_text())
    with serving(lambda body: said("0")) as served:
        server = ("--model", f"chat:{served.url}#chatty", *options[2:])
        assert run(*server, "../served") == 0
        assert run(*server, "../other", "--chat-template", "rag") == 2
    assert "--chat-template: a server has its own template; leave it out" in capsys.readouterr().err
    assert run(*options, "../other", "--chat-template", "rag") == 2
    assert "one chat template, without a name" in capsys.readouterr().err
    (model / "additional_chat_templates").mkdir()
    template = (model / "chat_template.jinja").rename(model / "additional_chat_templates/rag.jinja")
    write_checksums(model)
    assert template.exists() and run(*options, "../rag", "--chat-template", "rag") == 0
    assert "chatty_chat: chat template rag\n" in capsys.readouterr().out
    one, other = ways["chat"][0], ways["brief"][0]
    for a, b, first in (
        ("plain", "plain", "supernatinst, "),
        ("chat", "chat", f"Prompts of a and b: {one}.\n"),
        ("chat", "brief", f"The prompts of a and b differ. a: {one}; b: {other}.\n"),
        ("plain", "chat", f"The prompts of a and b differ. a: no chat template; b: {one}.\n"),
        ("chat", "served", f"The prompts of a and b differ. a: {one}; b: {one} of the server.\n"),
    ):
        text = nightjar("compare", "--benchmark", "supernatinst", "--a", f"../{a}", "--b", f"../{b}")
        assert text.startswith(first)
    project.joinpath("mine.jsonl").write_text('{"id": "1-0", "prediction": "0"}\n')
    text = nightjar("compare", "--benchmark", "supernatinst", "--a", "../chat", "--b", "mine.jsonl")
    assert text.startswith(f"The prompts of a and b differ. a: {one}; b: not recorded.\n")


@pytest.mark.parametrize("kind", ["server", "chat"])
def test_a_key_is_in_no_file_message_or_command_line(
    kind: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key, answer = "sk-0123456789-abcdefghijkl", said if kind == "chat" else completion
    monkeypatch.setenv(KEY, key)
    healthy = [False]

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                assert key.encode() not in file.read_bytes()
        return answer(f"{key} 0") if healthy[0] else (400, {"error": f"{key} is not allowed"})

    with serving(script, (f"m-{key}",)) as served:
        arguments = ("--model", f"{kind}:{served.url}", "--benchmark", "supernatinst", "--output", "../run")
        assert run(*arguments) == 2
        healthy[0] = True
        assert run(*arguments) == 0
    assert {one["Authorization"] for one in served.headers} == {f"Bearer {key}"}
    told = capsys.readouterr()
    assert "… is not allowed" in told.err and key not in told.err + told.out
    for path, data in files(project.parent).items():
        assert key.encode() not in data, path
        if path.endswith(".parquet"):
            assert key not in str(parquet.read_table(path).to_pylist())


def _occupied(folder: Path) -> None:
    (folder.parent / "run").mkdir()
    (folder.parent / "run/mine.txt").touch()


def _without_model(folder: Path) -> None:
    shutil.rmtree(folder / "models")


SERVER = ("--model", "server:http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "change", "told"),
    [
        ((*SERVER, "--benchmark", "tool_use"), None, "no task can be answered: a server gives no log-prob"),
        (
            SERVER,
            _without_model,
            "models/base/language_model: the project's language model is missing; run: nightj",
        ),
        ((*SERVER, "--system-message", "x"), None, "settings of a chat, but the model gets no chat prompts"),
        (SERVER, _occupied, "it exists already and is not empty"),
    ],
)
def test_wrong_input_is_one_line(
    project: Path,
    arguments: tuple[str, ...],
    change: Callable[[Path], None] | None,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [name for name in ("supernatinst", "tool_use") if "--benchmark" not in arguments]
    for name in names:
        arguments += ("--benchmark", name)
    if "--output" not in arguments:
        arguments += ("--output", "../run")
    if change:
        change(project)
    with serving(count) as served:
        assert run(*(it.replace(SERVER[1], f"server:{served.url}") for it in arguments)) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
    # The corrected command may use the folder.
    assert change is _occupied or not (project.parent / "run").exists()


def test_what_shows_when_the_model_answers_is_one_line_and_no_folder(
    project: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The configuration does not say that the experts of a token depend on the tokens after it."""
    tiny_families.build("doge", is_moe=True).save_pretrained("both_ways")
    for file in tiny_model.glob("tokenizer*"):
        shutil.copy(file, "both_ways")
    capsys.readouterr()
    assert run("--model", "both_ways", "--benchmark", "supernatinst", "--output", "../run") == 2
    error = capsys.readouterr().err
    assert "is no decoder" in error and error.count("\n") == 1 and not Path("../run").exists()


def test_scores_have_intervals_or_a_mark_and_the_mean_of_tasks_is_one_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "data/report/headline.txt"
    page.parent.mkdir(parents=True)
    page.write_text("system  b\n\nb: accuracy\n")
    row = {
        "benchmark": "tool_use",
        "system": "s",
        "level": "overall",
        "name": "overall",
        "metric": "accuracy",
    }
    few = {**row, "track": "svamp", "n": 8, "value": 12.5, "low": None, "high": None}
    mean = {**row, "track": "accuracy", "n": 24, "value": 12.5, "low": 2.659, "high": 32.36}
    with tables.ArtifactWriter(tmp_path / "data/evaluate/tool_use") as writer:
        writer.write(contracts.SCORES, [few, mean])
    _print({"left_out": {}, "tasks": {"tool_use": ["svamp"]}, "output": tmp_path, "unscored": []})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:3]]
    assert lines == [
        ["tool_use", "SVAMP", "s", "accuracy", "8", "12.50", "n<20"],
        ["tool_use", "mean", "of", "tasks", "s", "accuracy", "24", "12.50", "[2.66,", "32.36]"],
    ]


def test_wrong_options_are_one_line(project: Path) -> None:
    check_refusals("evaluate")
