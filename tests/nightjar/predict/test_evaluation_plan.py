"""Plans of evaluations: what a model answers, and every request that command and library refuse."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.core.errors import NightjarError
from nightjar.core.paths import LANGUAGE_MODEL, QUESTIONS
from nightjar.models.directory.weights import write_checksums
from nightjar.predict.evaluation_plan import (
    EvaluationPlan,
    EvaluationRequest,
    model_of,
    parameters,
    plan,
    task_source,
)
from nightjar.predict.standalone import questions_of
from tests.completions_server import completion, serving
from tests.conftest import ROOT
from tests.questions import question, write_questions

TASK = {"definition": ["Count"], "positive_examples": [], "negative_examples": []}
MODEL = LANGUAGE_MODEL.as_posix()
SUMS = 'name: sums\ndata: sums.jsonl\nprompt: "{{ question }}"\nreferences: "{{ answer }}"\nmetric: exact_match\n'


@pytest.fixture()
def project(workdir: Path, tiny_model: Path) -> Path:
    """A project with two tasks of supernatinst, a text of tool_use, a language model and a task file."""
    shutil.copytree(ROOT / "profiles", "profiles")
    shutil.copyfile(ROOT / "params.yaml", "params.yaml")
    shutil.copytree(tiny_model, LANGUAGE_MODEL)
    write_checksums(LANGUAGE_MODEL)
    rows = [{"task_id": f"t{task}", "id": str(task), "input": "x"} for task in (1, 2)]
    write_questions(QUESTIONS / "supernatinst", [question(row, TASK) for row in rows])
    text = {"task_id": "wikitext", "id": "w", "input": "x"}
    write_questions(QUESTIONS / "tool_use", [question(text, TASK, "tool_use")])
    Path("sums.yaml").write_text(SUMS)
    Path("sums.jsonl").write_text(json.dumps({"question": "1 + 1?", "answer": 2}) + "\n")
    return workdir


def planned(request: EvaluationRequest) -> EvaluationPlan:
    source = task_source(request)
    params = parameters(request, source)
    model = model_of(request, params, source)
    with questions_of(source[0], params) if source else nullcontext(QUESTIONS) as questions:
        return plan(request, model, params, questions, model.base(Path()))


def trained(folder: Path, evidence: int) -> str:
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_text(json.dumps({"evidence": evidence, "calls": False}))
    return folder.as_posix()


def test_the_parameters_have_the_system_of_the_plan_alone(project: Path) -> None:
    benchmarks = ["supernatinst", "tool_use"]
    engine = {"threads": 2, "precision": "bfloat16", "batch_size": 3}
    request = EvaluationRequest(MODEL, benchmarks, ["t2", "wikitext"], engine=engine, calls="off", chat={})
    evaluation = planned(request)
    assert evaluation.tasks == {"supernatinst": ["t2"], "tool_use": ["wikitext"]} and not evaluation.left_out
    assert evaluation.name == "language_model_chat"
    job = evaluation.job("supernatinst", QUESTIONS / "supernatinst", LANGUAGE_MODEL)
    assert (job.system.kind, job.system.weights, job.system.calls) == ("model", MODEL, "off")
    assert (job.threads, job.settings.precision, job.settings.batch_size) == (2, "bfloat16", 3)
    assert job.system.evidence is job.system.index is None and job.system.chat is not None
    assert list(evaluation.params.predict.systems) == [f"{name}-{evaluation.name}" for name in benchmarks]
    assert list(evaluation.params.benchmarks) == benchmarks
    assert evaluation.params.models.language_model.source == MODEL
    assert not evaluation.params.consistency.benchmarks


def test_a_benchmark_that_a_model_cannot_answer_is_left_out_with_the_reason(project: Path) -> None:
    with serving(lambda body: completion("x")) as served:
        evaluation = planned(EvaluationRequest(f"server:{served.url}", ["supernatinst", "tool_use"]))
    assert evaluation.tasks == {"supernatinst": ["t1", "t2"]}
    reason = "a server gives no log-probabilities of a given text"
    assert evaluation.left_out == {"tool_use": {"wikitext": reason}}


def test_a_model_that_reads_evidence_answers_no_questions_without(project: Path) -> None:
    combined = trained(Path("models/train/combined"), 2)
    with pytest.raises(NightjarError, match="run: nightjar rebuild retrieve@supernatinst"):
        planned(EvaluationRequest(combined, ["supernatinst"]))
    with pytest.raises(NightjarError, match="the project retrieves none for it"):
        planned(EvaluationRequest(combined, task="sums.yaml"))
    Path("data/retrieve/supernatinst").mkdir(parents=True)
    evaluation = planned(EvaluationRequest(combined, ["supernatinst"]))
    job = evaluation.job("supernatinst", QUESTIONS / "supernatinst", LANGUAGE_MODEL)
    assert job.evidence == Path("data/retrieve/supernatinst") and job.adapter == Path(combined)


def test_a_system_never_has_the_name_of_a_baseline(project: Path) -> None:
    shutil.copytree(MODEL, "copy_demo")
    assert planned(EvaluationRequest("copy_demo", ["supernatinst"])).name == "model_copy_demo"


def test_how_many_questions_and_how_fast_decides_no_answer() -> None:
    plain = EvaluationRequest("chat:http://host", ["protoqa"], chat={"system_message": "x"})
    faster = replace(plain, limit=3, chat={"system_message": "x", "at_once": 9, "token_limit": 8})
    assert plain.decisive == faster.decisive != replace(plain, chat=None).decisive


SERVER = "server:http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("change", "request_fields", "told"),
    [
        (None, {"model": "server:nowhere"}, "not the address of a server"),
        (None, {"benchmarks": ["chess"]}, "chess: no such benchmark in params.yaml; benchmarks are"),
        (
            lambda: shutil.rmtree(QUESTIONS / "tool_use"),
            {"benchmarks": ["tool_use"]},
            "run: nightjar rebuild questions@tool_use",
        ),
        (lambda: Path("params.yaml").unlink(), {}, "no project in this folder; run from the project's root"),
        (None, {"benchmarks": ["supernatinst"], "tasks": ["t9"]}, "t9: no such task of supernatinst; tasks are t1, t2"),
        (None, {"task": "sums.yaml", "tasks": ["t9"]}, "t9: no such task of sums; tasks are sums"),
        (None, {"model": SERVER, "engine": {"batch_size": 3}}, "leave --batch-size out"),
        (None, {"model": SERVER, "chat": {}}, "a server gets no chat template; give a chat: server"),
        (None, {"chat": {"token_limit": 9}}, "--token-limit: it is for a chat server; leave it out"),
        (None, {"chat": {"at_once": 9}}, "--requests-at-once: it is for a chat server; leave it out"),
        (
            None,
            {"model": "chat:http://127.0.0.1:9", "chat": {"date": "1999-01-02"}},
            "--date: a server fills its template by its own clock; leave it out",
        ),
        (
            None,
            {"benchmarks": ["supernatinst"], "chat": {"date": "today"}},
            "chat.date = 'today' is not allowed; give a day as YYYY-MM-DD, in quotes",
        ),
        (None, {"task": "sums.yaml", "calls": "sometimes"}, "calls = 'sometimes' is not allowed"),
        (None, {"benchmarks": ["protoqa"], "data": "none"}, "none: no such file or folder"),
        (None, {"benchmarks": ["protoqa"], "task": "sums.yaml"}, "one benchmark with its data, or one task file"),
        (None, {"data": "sums.jsonl"}, "one benchmark with its data, or one task file"),
        (None, {"benchmarks": ["protoqa", "reading"], "data": "x"}, "--data are those of one benchmark"),
        (None, {"allow_outside": True}, "--allow-outside: it is for a task file"),
        (None, {"task": "sums.yaml", "settings": {"predict.nothing.x": 1}}, "--set: unknown key predict.nothing.x"),
        (None, {"task": "sums.yaml", "settings": {"seed": -1}}, "--set: seed = -1 is not allowed"),
    ],
)  # fmt: skip
def test_a_request_that_is_refused(
    project: Path, change: Callable[[], None] | None, request_fields: dict[str, Any], told: str
) -> None:
    if change:
        change()
    with pytest.raises(NightjarError) as caught:
        planned(EvaluationRequest(**{"model": MODEL, **request_fields}))
    assert told in str(caught.value)
    registry._added.clear()
