"""`nightjar evaluate --requests`: the answers are those that lm-evaluation-harness wrote with the same weights."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nightjar.models.interface import Model
from pipelines.cli import main
from pipelines.commands import request_run
from tests.completions_server import completion, serving
from tests.conftest import ROOT
from tests.in_process import captured, nightjar, refused
from tests.nightjar.harness.test_lm_eval_samples import sample_file

SAMPLES = ROOT / "tests/data/harness/lm_eval/tiny"
# Log-likelihoods in float32 differ by that at most.
TOLERANCE = 1e-4


def rows_of(file: Path) -> dict[tuple[int, str], dict[str, Any]]:
    """The lines of a file of samples, by document and filter."""
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {(row["doc_id"], row["filter"]): row for row in rows}


def words(model: Path, task: str, *more: str) -> list[str]:
    """The command that answers the samples of a task."""
    requests = ["--requests", str(sample_file(SAMPLES, task))]
    return ["evaluate", "--model", str(model), *requests, "--precision", "float32", "--output", "out", *more]


def test_choices_are_those_of_the_harness(workdir: Path, tiny_model: Path) -> None:
    done = captured(main, words(tiny_model, "tiny_choice"))
    assert done.returncode == 0 and "tiny_choice: 25 documents answered" in done.stdout
    ours = rows_of(Path("out/samples_tiny_choice.jsonl"))
    theirs = rows_of(sample_file(SAMPLES, "tiny_choice"))
    assert ours.keys() == theirs.keys()
    for key, row in ours.items():
        assert (row["acc"], row["acc_norm"]) == (theirs[key]["acc"], theirs[key]["acc_norm"])
        for ((our_value,),), ((their_value, _),) in zip(row["resps"], theirs[key]["resps"], strict=True):
            assert float(our_value) == pytest.approx(float(their_value), abs=TOLERANCE)
    result = json.loads(
        nightjar("compare", "--a", "out", "--b", sample_file(SAMPLES, "tiny_choice"), "--json")
    )
    assert [(row["metric"], row["value"], row["equal"]) for row in result["differences"]] == [
        ("acc", 0.0, 25),
        ("acc_norm", 0.0, 25),
    ]


def test_texts_are_those_of_the_harness_and_a_killed_run_resumes(
    workdir: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_answers, numbers_of_runs = request_run.answers, list[int]()

    def cut_off(
        model: Model, units: Sequence[Any], numbers: Sequence[int]
    ) -> Iterator[tuple[int, list[Any]]]:
        numbers_of_runs.append(len(numbers))
        for count, answer in enumerate(whole_answers(model, units, numbers)):
            if count == 10 and len(numbers_of_runs) == 1:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(request_run, "answers", cut_off)
    assert captured(main, words(tiny_model, "tiny_generate")).returncode == 130
    assert not Path("out/samples_tiny_generate.jsonl").exists()
    done = captured(main, words(tiny_model, "tiny_generate"))
    assert done.returncode == 0 and numbers_of_runs == [25, 15]
    # No answer of the file matches, so what exact_match means there is not known.
    assert "written, not scored: tiny_generate, filter strict: exact_match" in done.stdout
    ours = rows_of(Path("out/samples_tiny_generate.jsonl"))
    theirs = rows_of(sample_file(SAMPLES, "tiny_generate"))
    assert ours.keys() == theirs.keys()
    for key, row in theirs.items():
        assert ours[key]["resps"] == row["resps"]
        assert key[1] != "strict" or ours[key]["filtered_resps"] == row["filtered_resps"]


def test_a_server_answers_the_prompts_as_they_are(workdir: Path) -> None:
    prompts: list[str] = []

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        prompts.append(body["prompt"])
        return completion(" yes")

    requests = sample_file(SAMPLES, "tiny_generate")
    with serving(reply) as server:
        nightjar("evaluate", "--model", f"server:{server.url}#m", "--requests", requests, "--output", "out")
    theirs = rows_of(requests)
    assert {row["arguments"]["gen_args_0"]["arg_0"] for row in theirs.values()} <= set(prompts)
    ours = rows_of(Path("out/samples_tiny_generate.jsonl"))
    assert [row["resps"] for row in ours.values()] == [[[" yes"]]] * 50
    assert ours[0, "strict"]["filtered_resps"] == ["yes"]


def test_another_run_and_other_options_are_refused(workdir: Path, tiny_model: Path) -> None:
    nightjar(*words(tiny_model, "tiny_choice"))
    assert "out: it holds another run" in refused(*words(tiny_model, "tiny_last_word"))
    assert "--requests goes with --model" in refused(*words(tiny_model, "tiny_choice", "--limit", "3"))
    assert "a running text" in refused(*words(tiny_model, "tiny_loss", "--output", "other"))
    assert not Path("other").exists()
