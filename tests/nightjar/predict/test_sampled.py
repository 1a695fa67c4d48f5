"""The stage on a benchmark whose answers are ranked lists, against one sample at a time without a cache."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.protoqa.questions import answer_of
from nightjar.benchmarks.protoqa.scoring import BENCHMARK
from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.models.engine.loading import load, prepare
from nightjar.models.engine.sampling import generator_for
from nightjar.models.engine.sequences import Prompt
from nightjar.params import load as load_params
from nightjar.predict import extracted
from nightjar.tools.line_generation import generate_lines
from nightjar.tools.question_answering import HEAD, prompt
from tests.conftest import ROOT
from tests.nightjar.models.engine.test_sample_trees import HEAT, TOP_P, alone
from tests.nightjar.predict import stage_project
from tests.stages.predict.test_stage import ends_as_unbroken, finish

NAME = BENCHMARK.name
ITEM, RETRIEVAL = f"{NAME}-untuned", f"{NAME}-retrieval"
QUESTIONS = [
    Question(NAME, "dev", f"q{number}", {"question": text}, ("x",))
    for number, text in enumerate(
        ["name a fruit", "what is in a bag?", "name something of the sea", "name a fruit"]
    )
]


def project(folder: Path, model: Path, **changes: Any) -> Path:
    small = {"max_new_tokens": 5, "temperature": HEAT, "top_p": TOP_P, "precision": "float32", "stop": ["."]}
    small |= {"cut_at_full_stop": True, "batch_size": 5}
    small |= {"samples": 12, "keep": 4, "require_full_stop": False}
    extractive = {"kind": "extractive", "evidence": f"data/retrieve/{NAME}"}
    systems: dict[str, dict[str, Any]] = {"untuned": {}, "retrieval": extractive}
    benchmark = {"code": "c", "data": "d", "split": "s", "encoder": "data/none"}
    benchmarks = {NAME: benchmark}
    return stage_project.project(folder, model, QUESTIONS, small | changes, systems, benchmarks=benchmarks)


def predictions(folder: Path, system: str) -> list[dict[str, Any]]:
    return stage_project.predictions(folder, NAME, system)


def test_lists_of_samples_drawn_alone(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = finish(project(tmp_path, tiny_model), monkeypatch, ITEM)
    assert (stage.rows_in, stage.rows_out) == (4, 4)
    rows, lm = predictions(tmp_path, "untuned"), load(tiny_model)
    for row in rows:
        drawn = [
            alone(
                lm,
                Prompt(0, lm.tokenizer.encode(row["prompt"]), 5, ["."]),
                generator_for(stage.params.seed, f"{row['prompt_sha256']} {number}"),
            )
            for number in range(12)
        ]
        texts = [one.text + (one.stop or "") for one in drawn]
        counts = Counter(answer for text in texts if (answer := answer_of(text)).strip())
        assert row["answers"] == [answer for answer, _ in counts.most_common(4)]
        found = json.loads(row["text"])
        assert found["texts"] == Counter(texts) and list(found["texts"]) == list(dict.fromkeys(texts))
        assert found["answers"] == dict(counts.most_common(4))
        assert found["without_full_stop"] == sum("." not in text for text in texts)
        assert row["new_tokens"] == sum(one.tokens for one in drawn)
    assert rows[0]["answers"] == rows[3]["answers"] != rows[1]["answers"]


def test_a_killed_run_ends_as_an_unbroken_one(tiny_model: Path, tmp_path: Path) -> None:
    whole, killed = (project(tmp_path / name, tiny_model) for name in ("whole", "killed"))
    ends_as_unbroken(whole, killed, ITEM, 2)


def write_evidence(folder: Path, found: dict[str, list[tuple[str, str, float]]]) -> None:
    rows = [
        {
            "split": "test",
            "task_id": "dev",
            "id": id,
            "rank": rank,
            "passage": rank,
            "document_id": "d",
            "title": title,
            "text": text,
            "score": score,
        }
        for id, passages in found.items()
        for rank, (title, text, score) in enumerate(passages, start=1)
    ]
    with tables.ArtifactWriter(folder / "data/retrieve" / NAME) as writer:
        writer.write(contracts.EVIDENCE, rows)


def test_answers_from_passages_have_the_sums_of_their_scores(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path, tiny_model)
    evidence = {
        "q0": [("A", "the example", 4.0), *[("Sea", "a bag of the sea", 2.5)] * 2, ("B", "an input", -1.0)],
        "q1": [("Sea", "a bag of the sea", 1.5)],
        "q2": [],
    }
    write_evidence(folder, evidence)
    stage = finish(folder, monkeypatch, RETRIEVAL)
    assert (stage.rows_in, stage.rows_out, stage.details["passages"]) == (4, 4, 5)
    assert stage.inputs[-1] == "models/base/language_model"
    prepare(0, 1)
    lm = load(tiny_model)
    for question, row in zip(QUESTIONS, predictions(folder, "retrieval"), strict=True):
        sums: dict[str, float] = {}
        for title, text, score in evidence.get(question.id, []):
            (line,) = generate_lines(lm, HEAD, [prompt(question.parts["question"], [(title, text)])], 5)
            if answer := answer_of(f"{line}."):
                sums[answer] = sums.get(answer, 0.0) + max(score, 0.0)
        assert json.loads(row["text"])["answers"] == sums
        assert row["answers"] == sorted(sums, key=lambda one: -sums[one])
        asked = prompt(question.parts["question"], [("", "")]).splitlines()[-2]
        assert row["prompt"].startswith(HEAD)
        assert row["prompt"].count(asked) == len(evidence.get(question.id, []))
    assert predictions(folder, "retrieval")[2]["answers"] == []


def test_what_cannot_be_sampled_is_one_line(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path, tiny_model, temperature=0.0)
    with pytest.raises(NightjarError, match=f"{NAME}.temperature: all samples are equal"):
        finish(folder, monkeypatch, ITEM)


@pytest.mark.parametrize("required", [False, True])
def test_an_answer_is_not_cut_at_a_full_stop_in_it(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch, required: bool
) -> None:
    written = ["dr. pepper", "st. louis.", "dr. pepper", "", "water", "the"]
    monkeypatch.setattr(extracted, "generate_lines", lambda lm, head, prompts, most: written)
    asked = Question("protoqa", "dev", "q1", {"question": "name a drink", "clusters": []}, ())
    reading = extracted.Reading(asked, ["p"] * len(written), [3.0, 2.0, 1.0, 9.0, 1.0, 9.0])
    settings = load_params(ROOT / "params.yaml").predict.benchmark("protoqa")
    settings = settings.model_copy(update={"require_full_stop": required})
    (row,) = extracted.extracted(load(tiny_model), BENCHMARK, [reading], settings)
    assert row["answers"] == ["dr. pepper", "st. louis", "water"]
