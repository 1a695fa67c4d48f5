"""The stage with a model behind a server: its requests, its rows, and a run that is broken off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.core import tables
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from stages._runtime.stage import StageRun
from tests.completions_server import Script, Served, completion, serving
from tests.conftest import ROOT
from tests.in_process import finish_stage
from tests.nightjar.predict import stage_project
from tests.questions import question

ITEM = "supernatinst-served"
TASK = {"definition": ["Count"], "positive_examples": [], "negative_examples": []}
CALCULATOR = {"calculator": read_yaml(ROOT / "params.yaml")["augment"]["tools"]["calculator"]}


def project(folder: Path, model: Path, url: str, benchmark: str = "supernatinst", **changes: Any) -> None:
    """Four questions, the tokenizer of `model`, and a system behind the server; calls are of the calculator alone."""
    settings = {key: changes.pop(key) for key in ("temperature", "cut_at_full_stop") if key in changes}
    task = changes.pop("task", TASK)
    numbers = [question({"task_id": "t", "id": str(n), "input": f"number {n}"}, task) for n in range(4)]
    questions = changes.pop("questions", numbers)
    calculator = {"tools": {"all": {"calculator": {}}}, "augment": {"tools": CALCULATOR}}
    groups = calculator if "calls" in changes else {}
    weights = changes.pop("weights", "server:{url}").format(url=url)
    served = {"weights": weights, "index": "data/none", **changes}
    stage_project.project(folder, model, questions, settings, {"served": served}, **groups)


def finish(item: str = ITEM) -> tuple[StageRun, list[dict[str, Any]]]:
    return finish_stage(f"predict@{item}"), stage_project.predictions(
        Path(), item.partition("-")[0], "served"
    )


def answered(
    script: Script, folder: Path, model: Path, **changes: Any
) -> tuple[Served, StageRun, list[dict[str, Any]]]:
    """Run the stage once with a server that answers by the script."""
    with serving(script) as served:
        project(folder, model, served.url, **changes)
        return served, *finish()


def number(body: dict[str, Any]) -> str:
    return str(body["prompt"].partition("number ")[2][:1])


def test_rows_have_the_prompts_of_the_graph_and_the_counts_of_the_server(
    workdir: Path, tiny_model: Path
) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return completion(f" {number(body)}. ", completion_tokens=3, prompt_tokens=70)

    served, stage, rows = answered(script, workdir, tiny_model)
    assert [row["answers"] for row in rows] == [["0."], ["1."], ["2."], ["3."]]
    assert {(row["new_tokens"], row["prompt_tokens"]) for row in rows} == {(3, 70)}
    prompt = "Definition: Count.\n\nNow complete the following example -\nInput: number 2.\nOutput:"
    assert rows[2]["prompt"] == prompt
    assert {body["prompt"] for body in served.asked} == {row["prompt"] for row in rows}
    assert {(body["max_tokens"], *body["stop"]) for body in served.asked} == {(32, "\n\n")}
    assert stage.details["server"] == {
        "url": served.url,
        "model": "tiny",
        "call_top_k": 1,
        "without_penalty": True,
    }


def test_counts_that_no_table_holds_together_are_not_recorded(workdir: Path, tiny_model: Path) -> None:
    counts = [2**31 - 1]

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        text = " pens." if body["prompt"].endswith("]") else " [Calculator(12 * 8) ->"
        return completion(text, completion_tokens=counts[0])

    with serving(script) as served:
        project(workdir, tiny_model, served.url, calls="on")
        with pytest.raises(NightjarError, match="the counts of an answer's requests are too large"):
            finish()
        counts[0] = 3
        _, rows = finish()
    assert [row["new_tokens"] for row in rows] == [6] * 4


def test_a_run_that_fails_in_the_middle_asks_for_the_rest_alone(workdir: Path, tiny_model: Path) -> None:
    broken = {"2"}

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return (400, {"error": "no"}) if number(body) in broken else completion(number(body))

    with serving(script) as served:
        project(workdir, tiny_model, served.url, cut_at_full_stop=True)
        with pytest.raises(NightjarError, match="it refuses the request"):
            finish()
        answered = {number(body) for body in served.asked} - broken
        broken.clear()
        before = len(served.asked)
        _, rows = finish()
    # Every answer that arrived was recorded, those that were under way at the fault included.
    assert {number(body) for body in served.asked[before:]} == set("0123") - answered
    assert [row["answers"] for row in rows] == [["0"], ["1"], ["2"], ["3"]]
    assert not list(Path(".nightjar").rglob("whole.jsonl"))


def test_tools_are_called_where_the_model_writes_a_call(workdir: Path, tiny_model: Path) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if body["prompt"].endswith("]"):
            return completion(" pens.")
        return completion(" There are [Calculator(12 * 8) -> 100] 100")

    served, _, rows = answered(script, workdir, tiny_model, calls="on")
    assert rows[0]["answers"] == ["There are pens."]
    assert rows[0]["calls"] == [{"tool": "Calculator", "input": "12 * 8", "result": "96"}]
    assert served.asked[-1]["prompt"].endswith("There are [Calculator(12 * 8) -> 96]")


def test_an_error_after_a_call_is_no_answer(workdir: Path, tiny_model: Path) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if body["prompt"].endswith("]"):
            return completion(" pens", "error" if "number 2" in body["prompt"] else "stop")
        return completion(" There are [Calculator(12 * 8) ->")

    _, stage, rows = answered(script, workdir, tiny_model, calls="on")
    assert [row["id"] for row in rows] == ["0", "1", "3"] and stage.rows_rejected == 1


@pytest.mark.parametrize("reason", ["error", "content_filter"])
def test_a_resumed_run_asks_again_where_the_answer_was_an_error(
    workdir: Path, tiny_model: Path, reason: str
) -> None:
    """A filtered text is the model's answer, which is not asked for again."""
    broken, failing = {"3"}, {"1"}

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if number(body) in broken:
            return 400, {"error": "broken off"}
        return completion("text", reason if number(body) in failing else "stop")

    with serving(script) as served:
        project(workdir, tiny_model, served.url)
        with pytest.raises(NightjarError, match="broken off"):
            finish()
        broken.clear()
        failing.clear()
        before = len(served.asked)
        stage, rows = finish()
    again = {number(body) for body in served.asked[before:]}
    assert ("1" in again) == (reason == "error")
    assert len(rows) == 4 - (reason != "error") and "errors" not in stage.details


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"temperature": 0.5}, "does not sample with the seed"),
        ({"calls": "disabled"}, "cannot be kept from writing calls"),
        ({"evidence": "data/retrieve/supernatinst"}, "a server without a recipe gets no evidence"),
    ],
)
def test_settings_that_no_server_follows(
    workdir: Path, tiny_model: Path, changes: dict[str, Any], told: str
) -> None:
    project(workdir, tiny_model, "http://127.0.0.1:9", **changes)
    with pytest.raises(NightjarError, match=told):
        finish()


def test_a_task_that_needs_log_probabilities_is_refused_after_one_try(
    workdir: Path, tiny_model: Path
) -> None:
    text = question({"task_id": "wikitext", "id": "1"}, TASK, "tool_use")
    with serving(lambda body: completion("!")) as served:
        project(workdir, tiny_model, served.url, "tool_use", questions=[text])
        with pytest.raises(
            NightjarError, match="wikitext: a server gives no log-probabilities of a given text"
        ):
            finish("tool_use-served")
    assert {body["prompt"] for body in served.asked} == {"The capital of France is"}


def test_an_error_in_the_place_of_an_answer_is_rejected_and_named(
    workdir: Path, tiny_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return completion("half", "error" if number(body) == "1" else "stop")

    _, stage, rows = answered(script, workdir, tiny_model)
    assert [(row["id"], row["answers"]) for row in rows] == [(id, ["half"]) for id in ("0", "2", "3")]
    rejected = tables.read_rejected(Path("data/predict/supernatinst/served")).to_pylist()
    assert [(row["id"], row["reason"]) for row in rejected] == [("1", "error")]
    assert stage.rows_rejected == 1
    told = "questions of supernatinst without an answer: 1 (error 1), such as 1 of t: error"
    assert f"{told}; they get no prediction" in caplog.messages
