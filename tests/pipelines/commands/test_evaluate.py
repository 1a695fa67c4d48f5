"""nightjar evaluate: a folder with predictions, scores and a report; resumed, refused, compared."""

from __future__ import annotations

import contextlib
import html
import json
import shlex
import shutil
import subprocess
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
from tests.in_process import captured, check_refusals, nightjar, refused
from tests.questions import question, write_questions

QUESTIONS = Path("data/questions")
MODEL = ("--model", "models/base/language_model")
BOTH = ("--benchmark", "supernatinst", "--benchmark", "tool_use")
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


def evaluate(*arguments: str, output: str = "../run", status: int = 0) -> subprocess.CompletedProcess[str]:
    """`nightjar evaluate`, which must end with this exit status."""
    done = captured(main, ["evaluate", *arguments, "--output", output])
    assert done.returncode == status, done.stderr
    return done


def answers(system: str, output: str = "../run") -> list[dict[str, Any]]:
    return tables.read_rows(Path(output, "data/predict/supernatinst", system), contracts.PREDICTIONS)


def files(folder: Path) -> dict[str, bytes]:
    return {path.as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def count(body: dict[str, Any]) -> tuple[int, Any]:
    return completion(f" {body['prompt'].partition('number ')[2][:1]}\n")


def test_a_model_is_answered_scored_and_reported_and_the_project_is_not_changed(project: Path) -> None:
    before = files(project)
    options = ("--benchmark", "supernatinst", "--tasks", "t2", "--limit", "2", "--json")
    told = evaluate(*MODEL, *options).stdout
    assert files(project) == before
    record = json.loads(told[told.index("{") :])
    assert (record["name"], record["tasks"]) == ("language_model", {"supernatinst": ["t2"]})
    assert {(row["system"], row["n"]) for row in record["scores"]} == {
        (system, 2) for system in ("copy_input", "copy_demo", "language_model")
    }
    out = project.parent / "run"
    questions = read_questions(out / QUESTIONS / "supernatinst")
    assert [row["id"] for row in answers("language_model")] == [it.id for it in questions]
    page = (out / "data/report/index.html").read_text()
    assert "language_model" in page and str(project) not in page
    assert not any(path.is_symlink() for path in out.rglob("*"))


def test_precision_threads_batch_and_device_are_options_and_each_question_is_a_line(project: Path) -> None:
    rows = [{"task_id": "t1", "id": str(n), "input": f"number {n}"} for n in range(20)]
    shutil.rmtree(QUESTIONS / "supernatinst")
    write_questions(QUESTIONS / "supernatinst", [question(row, TASK) for row in rows])
    options = ("--precision", "bfloat16", "--threads", "2", "--batch-size", "3", "--device", "cpu")
    told = evaluate(*MODEL, "--benchmark", "supernatinst", *options).stdout
    facts = json.loads(Path("../run/evaluation.json").read_text())
    engine = {"precision": "bfloat16", "threads": 2, "batch_size": 3, "device": "cpu"}
    assert facts["asked"]["engine"] == engine
    (row,) = (it for it in facts["scores"] if it["system"] == "language_model")
    for metric in ("exact_match", "rougeL"):
        assert f"[{row[f'{metric}_low']:.2f}, {row[f'{metric}_high']:.2f}]" in told
    lines = list(map(json.loads, Path("../run/samples_supernatinst.jsonl").read_text().splitlines()))
    assert [(it["id"], it["input"], it["resps"], it["filtered_resps"]) for it in lines] == [
        (it["id"], it["prompt"], [[it["text"]]], it["answers"]) for it in answers("language_model")
    ]
    questions = read_questions(QUESTIONS / "supernatinst")
    assert [tuple(it["target"]) for it in lines] == [it.references for it in questions]
    for metric in ("exact_match", "rougeL"):
        assert sum(it["scores"][metric] for it in lines) / 20 == pytest.approx(row[metric])


def test_the_report_names_the_model_and_not_the_project_s(project: Path) -> None:
    facts = {"stage": "base_model", "inputs": [], "outputs": ["models/base/language_model"], "rows_in": 1}
    more = {"rows_out": 1, "rows_rejected": 0, "language_model": {"source": "package:its-own"}}
    Path("data/metrics").mkdir()
    Path("data/metrics/base_model.json").write_text(json.dumps(facts | more))
    shutil.copytree("models/base/language_model", "../copy_demo")
    (project.parent / "copy_demo/checksums.json").unlink()
    sources = {}
    with serving(count) as served:
        server = f"server:{served.url}"
        models = {"own": "models/base/language_model", "other": "../copy_demo", "server": server}
        for name, model in models.items():
            evaluate("--model", model, "--benchmark", "supernatinst", "--limit", "1", output=f"../{name}")
            text = (project.parent / name / "data/report/index.html").read_text()
            sources[name] = text.partition("Language model: ")[2].partition(" (")[0]
    assert sources == {"own": "package:its-own", "other": "../copy_demo", "server": server}
    page = (project.parent / "server/data/report/provenance.html").read_text()
    assert f"The weights {server}." in page
    # A baseline of the benchmark has that name.
    assert answers("model_copy_demo", "../other")


def test_an_adapter_is_read_where_it_is(project: Path) -> None:
    adapter = tiny_models.adapter(Path("models/base/language_model"), project / "models/train/tk_instruct")
    config = json.loads((adapter / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "models/base/language_model"
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    before = files(project)
    arguments = ("--model", "models/train/tk_instruct", "--benchmark", "supernatinst", "--limit", "1")
    evaluate(*arguments)
    assert files(project) == before
    assert {row["adapter_sha256"] for row in answers("tk_instruct")} == {weights_digest(adapter)}
    page = (project.parent / "run/data/report/provenance.html").read_text()
    assert "fine-tuned by the recipe tk_instruct" in page
    # Other weights are another run.
    weights = adapter / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    error = evaluate(*arguments, status=2).stderr
    assert "it holds another run (of other parameters, questions or weights)" in error


def test_nothing_to_score_is_told_with_the_way_to_the_leaderboard(project: Path) -> None:
    """As on the published test files, whose references are not public."""
    examples = {
        name: built(task, "a b c", "who?" if task.query else "", 3).parts() for name, task in TASKS.items()
    }
    questions = [Question(NAME, name, f"{name}-1", parts, (), name) for name, parts in examples.items()]
    write_questions(QUESTIONS / NAME, questions)
    with serving(lambda body: completion(" B")) as served:
        done = evaluate("--model", f"server:{served.url}", "--benchmark", NAME)
    why = (
        f"{NAME}: nothing to score: no question has a reference; hand the predictions in: nightjar submission"
    )
    assert f"warning: {why} --benchmark {NAME}\n" in done.stderr, "the stage's log"
    out = project.parent / "run"
    (predictions,) = (out / "data/predict" / NAME).iterdir()
    command = next(line for line in done.stdout.splitlines() if line.startswith(why) and "--output" in line)
    for page in ("headline.txt", "index.html", f"{NAME}.html"):
        assert why in (out / "data/report" / page).read_text()
    link = f'href="{NAME}.instances.html#system={predictions.name}"'
    assert link in (out / f"data/report/{NAME}.html").read_text()
    # The command that is named works, and the scorer refuses.
    nightjar(*shlex.split(command.partition("nightjar ")[2]))
    assert len(Path(f"{NAME}.csv").read_text().splitlines()) == 1 + len(TASKS)
    options = ("--benchmark", NAME, "--references", str(out / QUESTIONS / NAME))
    for sets in (("score", "--predictions"), ("compare", "--b", str(predictions), "--a")):
        assert refused(*sets, str(predictions), *options).startswith(f"nightjar: {why}")


def test_a_run_that_failed_resumes_and_another_is_refused(project: Path) -> None:
    failing: list[str] = ["number 2"]

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return (400, {}) if any(text in body["prompt"] for text in failing) else count(body)

    def numbers() -> list[str]:
        """Of the questions asked; without the request that tells whether a server gives log-probabilities."""
        prompts = (body["prompt"].partition("number ")[2] for body in served.asked)
        return [text[:1] for text in prompts if text]

    with serving(script) as served:
        model = ("--model", f"server:{served.url}", *BOTH)
        assert "it refuses the request (400" in evaluate(*model, status=2).stderr
        answered = [number for number in numbers() if number not in failing[0]]
        failing.clear()
        before = len(numbers())
        told = evaluate(*model).stdout
        assert len(numbers()) - before == 6 - len(answered)
        reason = "a server gives no log-probabilities of a given text"
        assert f"left out: tool_use, wikitext: {reason}" in told
        before = len(numbers())
        evaluate(*model)  # it is done
        assert len(numbers()) == before
        error = evaluate(*model, "--limit", "1", status=2).stderr
        assert "it holds another run (limit None)" in error


def test_a_larger_limit_asks_only_the_questions_that_are_new(project: Path) -> None:
    def answered(*limit: str) -> list[tuple[str, str]]:
        evaluate(*model, *limit)
        return [(row["id"], row["answers"][0]) for row in answers("server")]

    with serving(count) as served:
        model = ("--model", f"server:{served.url}#server", "--benchmark", "supernatinst")
        first = answered("--limit", "1")
        assert len(first) == len(served.asked) == 2
        second = answered("--limit", "2")
        assert set(first) < set(second) and len(second) == len(served.asked) == 4
        assert "it holds another run (limit 2)" in evaluate(*model, "--limit", "1", status=2).stderr
        assert answered("--limit", "2") == second
        complete = answered()
        assert set(second) < set(complete) and len(complete) == len(served.asked) == 6
        headline = json.loads((project.parent / "run/data/report/headline.json").read_text())
        assert {row["n"] for row in headline} == {6}


def test_the_same_command_asks_again_where_an_answer_was_an_error(project: Path) -> None:
    reasons = ["error", "content_filter"]

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return completion("text", reasons.pop() if reasons else "stop")

    def missing() -> int:
        headline = json.loads((project.parent / "run/data/report/headline.json").read_text())
        return max(row["n"] for row in headline) - len(answers("server"))

    with serving(script) as served:
        command = ("--model", f"server:{served.url}#server", "--benchmark", "supernatinst")
        evaluate(*command)
        assert missing() == 2
        before = len(served.asked)
        evaluate(*command)
        assert missing() == 1 and len(served.asked) == before + 1
        evaluate(*command)
        assert len(served.asked) == before + 1


def test_prompts_with_and_without_a_template_are_not_compared_in_silence(project: Path) -> None:
    model = tiny_models.with_chat_template(Path("models/base/language_model"), project / "chatty")
    write_checksums(model)
    options = ("--model", "chatty", "--benchmark", "supernatinst")
    assert "chat template" not in evaluate(*options, output="../plain").stdout
    ways = {
        "chat": ("chat template", ()),
        "brief": ('chat template, system message "Be brief."', ("--system-message", "Be brief.")),
    }
    for name, (how, more) in ways.items():
        done = evaluate(*options, "--chat-template", *more, output=f"../{name}")
        report = project.parent / name / "data/report"
        assert f"predict@supernatinst-chatty_chat: {how}\n" in done.stderr
        assert f"chatty_chat: {how}\n" in done.stdout
        pages = [html.unescape((report / page).read_text()) for page in ("index.html", "supernatinst.html")]
        assert f"<small>{how}</small>" in pages[0] and f" chatty_chat: {how}." in pages[1]
        assert f"Asked through the {how}." in html.unescape((report / "provenance.html").read_text())
    rag = ("--chat-template", "rag")
    with serving(lambda body: said("0")) as served:
        server = ("--model", f"chat:{served.url}#chatty", *options[2:])
        evaluate(*server, output="../served")
        error = evaluate(*server, *rag, output="../other", status=2).stderr
    assert "--chat-template: a server has its own template; leave it out" in error
    error = evaluate(*options, *rag, output="../other", status=2).stderr
    assert "one chat template, without a name" in error
    (model / "additional_chat_templates").mkdir()
    (model / "chat_template.jinja").rename(model / "additional_chat_templates/rag.jinja")
    write_checksums(model)
    told = evaluate(*options, *rag, output="../rag").stdout
    assert "chatty_chat: chat template rag\n" in told
    plain, brief = ways["chat"][0], ways["brief"][0]
    compare = ("compare", "--benchmark", "supernatinst", "--a")
    for a, b, first in (
        ("plain", "plain", "supernatinst, "),
        ("chat", "chat", f"Prompts of a and b: {plain}.\n"),
        ("chat", "brief", f"The prompts of a and b differ. a: {plain}; b: {brief}.\n"),
        ("plain", "chat", f"The prompts of a and b differ. a: no chat template; b: {plain}.\n"),
        ("chat", "served", f"The prompts of a and b differ. a: {plain}; b: {plain} of the server.\n"),
    ):
        assert nightjar(*compare, f"../{a}", "--b", f"../{b}").startswith(first)
    project.joinpath("mine.jsonl").write_text('{"id": "1-0", "prediction": "0"}\n')
    text = nightjar(*compare, "../chat", "--b", "mine.jsonl")
    assert text.startswith(f"The prompts of a and b differ. a: {plain}; b: not recorded.\n")


@pytest.mark.parametrize("kind", ["server", "chat"])
def test_a_key_is_in_no_file_message_or_command_line(
    kind: str, project: Path, monkeypatch: pytest.MonkeyPatch
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
        arguments = ("--model", f"{kind}:{served.url}", "--benchmark", "supernatinst")
        failed = evaluate(*arguments, status=2)
        healthy[0] = True
        done = evaluate(*arguments)
    assert {it["Authorization"] for it in served.headers} == {f"Bearer {key}"}
    assert "… is not allowed" in failed.stderr
    assert key not in failed.stderr + failed.stdout + done.stderr + done.stdout
    for path, data in files(project.parent).items():
        assert key.encode() not in data, path
        if path.endswith(".parquet"):
            assert key not in str(parquet.read_table(path).to_pylist())


def _occupied() -> None:
    Path("../run").mkdir()
    Path("../run/mine.txt").touch()


def _without_model() -> None:
    shutil.rmtree("models")


@pytest.mark.parametrize(
    ("options", "change", "told"),
    [
        (("--benchmark", "tool_use"), None, "no task can be answered: a server gives no log-prob"),
        (BOTH, _without_model, "models/base/language_model: the project's language model is missing; run: nightj"),
        ((*BOTH, "--system-message", "x"), None, "settings of a chat, but the model gets no chat prompts"),
        (BOTH, _occupied, "it exists already and is not empty"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(
    project: Path, options: tuple[str, ...], change: Callable[[], None] | None, told: str
) -> None:
    if change:
        change()
    with serving(count) as served:
        error = evaluate("--model", f"server:{served.url}", *options, status=2).stderr
    assert told in error and error.count("\n") == 1
    # The corrected command may use the folder.
    assert change is _occupied or not (project.parent / "run").exists()


def test_what_shows_when_the_model_answers_is_one_line_and_no_folder(project: Path, tiny_model: Path) -> None:
    """The configuration does not say that the experts of a token depend on the tokens after it."""
    tiny_families.build("doge", is_moe=True).save_pretrained("both_ways")
    for file in tiny_model.glob("tokenizer*"):
        shutil.copy(file, "both_ways")
    error = evaluate("--model", "both_ways", "--benchmark", "supernatinst", status=2).stderr
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
