"""nightjar ask: prompts by recipe, calls as they happen, files of questions, wrong input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nightjar.params.search import Index
from nightjar.predict import direct_questions as asking
from nightjar.tools import ToolRequest, make
from pipelines.cli import main
from stages.index.passage_index import build
from tests.conftest import ROOT
from tests.in_process import captured, check_refusals, refused
from tests.scripted_model import Script, scripted
from tests.stages.index.test_passage_index import write_corpus


@pytest.fixture()
def project(workdir: Path, tiny_model: Path) -> Path:
    shutil.copyfile(ROOT / "params.yaml", workdir / "params.yaml")
    (workdir / "models/base").mkdir(parents=True)
    (workdir / "models/base/language_model").symlink_to(tiny_model)
    for name, recipe in {
        "instructed": {"data": "train", "calls": False, "evidence": 0},
        "texts": {"data": "corpus", "calls": True, "evidence": 0},
    }.items():
        (workdir / "models/train" / name).mkdir(parents=True)
        (workdir / "models/train" / name / "recipe.json").write_text(json.dumps(recipe))
    return workdir


@pytest.fixture()
def script(project: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> list[Script]:
    """The model continues texts by the script that the test puts here; the only tool is the calculator."""
    scripts: list[Script] = []
    monkeypatch.setattr("nightjar.models.engine.loading.load", lambda *_: scripted(tiny_model, scripts[0]))
    monkeypatch.setattr(asking, "tools_of", lambda *arguments: [make("calculator")])
    return scripts


def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = captured(main, ["ask", *arguments])
    assert done.returncode == 0, done.stderr
    return done


def after(prompt: str, text: str) -> Script:
    """A script that writes `text` after `prompt`, what is fed in included."""

    def continued(seen: str) -> list[str | None]:
        written = seen.removeprefix(prompt)
        assert seen.startswith(prompt)
        return [text[len(written) :] or None] if text.startswith(written) else [None]

    return continued


def test_an_instructed_system_gets_the_prompt_of_its_training(script: list[Script]) -> None:
    prompt = "Definition: {}.\n\nNow complete the following example -\nInput: Why?\nOutput:"
    script.append(after(prompt.format("Answer the question"), " Be\x1bcause."))
    assert ask("Why?", "--system", "instructed").stdout == "Be\\x1bcause.\n"
    script[0] = after(prompt.format("Guess"), " No.")
    done = ask("Why?", "--system", "models/train/instructed", "--definition", "Guess", "--json")
    told = json.loads(done.stdout)
    assert (told["question"], told["answer"], told["calls"]) == ("Why?", "No.", [])
    assert told["prompt"] == prompt.format("Guess")


def test_any_model_is_asked_with_instructions(project: Path, tiny_model: Path) -> None:
    """The base model by its directory, and one from elsewhere; what it answers is not looked at."""
    prompt = "Definition: Answer the question.\n\nNow complete the following example -\nInput: Why?\nOutput:"
    for model in ("models/base/language_model", str(tiny_model)):
        told = json.loads(ask("Why?", "--model", model, "--max-tokens", "2", "--json").stdout)
        assert (told["prompt"], told["calls"]) == (prompt, []) and told["new_tokens"] <= 2


def test_calls_are_shown_as_they_happen(script: list[Script]) -> None:
    text = " [Calculator(12 * 8) -> 96] 96 pens"
    script.append(after("12 boxes hold", text))
    done = ask("12 boxes hold", "--system", "texts")
    assert (done.stdout, done.stderr) == ("96 pens\n", "  Calculator(12 * 8)\n    -> 96\n")
    done = ask("12 boxes hold", "--system", "texts", "--json")
    calls = [{"tool": "Calculator", "input": "12 * 8", "result": "96"}]
    assert (json.loads(done.stdout)["calls"], done.stderr) == (calls, "")


def test_a_call_without_a_result_is_shown_as_such(
    script: list[Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(self: Any, asked: list[ToolRequest]) -> list[None]:
        return [None] * len(asked)

    monkeypatch.setattr("nightjar.tools.calculator.Calculator.run", none)

    def continued(seen: str) -> list[str | None]:
        if "[" in seen:
            return ["Calculator(1) ->"[len(seen.partition("[")[2]) :] or None]
        # The marker first; where it may not be, what follows it.
        return [*([" ["] if seen == "Q" else []), *after("Q", " none")(seen)]

    script.append(continued)
    done = ask("Q", "--system", "texts")
    assert (done.stdout, done.stderr) == ("none\n", "  Calculator(1)\n    no result\n")


def test_evidence_is_shown_as_calls_are(script: list[Script], project: Path) -> None:
    text = "When it was dark, it closed. " * 20
    write_corpus(project / "corpus", {"d1": text}, title="Moat\x1bGate ")
    settings = Index(passage_words=200, dense="none", lexical="words")
    build(project / "corpus", project / "none", project / "data/index", settings, 1)
    params = (project / "params.yaml").read_text()
    by_both = "{training: data/split, passages: 3, retriever: hybrid"
    assert by_both in params
    (project / "params.yaml").write_text(params.replace(by_both, by_both.replace("hybrid", "bm25"), 1))
    (project / "models/train/evident").mkdir()
    recipe = {"data": "train", "calls": False, "evidence": 1}
    (project / "models/train/evident/recipe.json").write_text(json.dumps(recipe))
    script.append(lambda seen: [None] if seen.endswith("No.") else [" No."])
    line = ask("When?", "--system", "evident").stderr.splitlines()[0]
    assert line.startswith("  evidence 1: Moat\\x1bGate d1 (d1): When it was")
    assert line.endswith(" …") and len(line) < 140
    assert "evidence" not in ask("When?", "--system", "evident", "--json").stderr


def test_an_empty_answer_is_named(script: list[Script]) -> None:
    script.append(after("Why?", "\n\n"))
    done = ask("Why?", "--system", "texts")
    assert (done.stdout, done.stderr) == ("\n", "(the answer is empty)\n")


@pytest.mark.parametrize(
    "text",
    [
        "One\n\nTwo\n",
        '{"question": "One"}\n{"question": "Two", "id": 1}\n',
        '{"question": "One", "a": "\u2028 \x85"}\r\n{"question": "Two"}',
    ],
)
def test_a_file_of_questions(script: list[Script], project: Path, text: str) -> None:
    script.append(lambda seen: after(seen[:3], f" {seen[:3]}!")(seen))
    (project / "questions").write_text(text, newline="")
    told = ask("--file", "questions", "--system", "texts", "--json").stdout
    rows = [json.loads(line) for line in told.splitlines()]
    assert [(row["question"], row["answer"]) for row in rows] == [("One", "One!"), ("Two", "Two!")]


def test_wrong_input_is_one_line(project: Path) -> None:
    (project / "empty").touch()
    (project / "lines").write_text('{"question": "a"}\n{"text": "b"}\n')
    (project / "bytes").write_bytes(b"\xff")
    check_refusals("ask")


def test_a_model_of_the_hub_may_be_fetched(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offline = []

    def fetch(name: str, **_: Any) -> str:
        offline.append(os.environ.get("HF_HUB_OFFLINE"))
        raise OSError("no network")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    error = refused("ask", "Why?", "--model", "hub:made/model@main")
    assert "cannot be fetched from the hub (no network)" in error
    assert offline == [None]
