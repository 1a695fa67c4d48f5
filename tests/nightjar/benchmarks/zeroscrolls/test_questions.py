"""Questions of files by the settings, and prompts within the limits of tokens."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Asking, Question
from nightjar.benchmarks.question_artifact import opened
from nightjar.benchmarks.zeroscrolls.prompts import built
from nightjar.benchmarks.zeroscrolls.questions import QUESTION_SET, ZeroScrollsSettings
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.zeroscrolls.files import put, put_all, row
from tests.nightjar.benchmarks.zeroscrolls.words import Words

BENCHMARK = registry.load_benchmark(NAME)


def asking(limit: int, encoder_decoder: bool = False) -> Asking:
    encoding: Any = SimpleNamespace(max_source_length=limit)
    return Asking(encoding, Words(), encoder_decoder=encoder_decoder)


def question(task: str = "qasper", words: int = 400, **shared: Any) -> Question:
    document = " ".join(f"w{number}" for number in range(words))
    example = built(TASKS[task], document, "Which one?" if TASKS[task].query else "", 3)
    return Question(NAME, task, "e1", example.parts(), ("x",), shared=shared)


def test_settings_choose_questions(tmp_path: Path) -> None:
    rows = [row(id=f"t{number}", output=None) for number in range(9)]
    put(put_all(tmp_path) / "qasper" / "test.jsonl", rows)
    chosen = {"tasks": ["qasper"], "questions_per_task": 4, "prompts": "chat", "total_tokens": 4096}
    with opened(BENCHMARK, tmp_path) as (sources, _):
        four = list(BENCHMARK.questions(sources, ZeroScrollsSettings(file="test", **chosen), 1))
        assert {(one.task_id, one.file, one.references) for one in four} == {
            ("qasper", "qasper/test.jsonl", ())
        }
        assert four[0].shared == {"prompts": "chat", "total_tokens": 4096}
        assert len(four) == 4
        with pytest.raises(NightjarError, match=r"in files train\.\*"):
            list(BENCHMARK.questions(sources, ZeroScrollsSettings(file="train"), 1))


@pytest.mark.parametrize("values", [{"prompts": "x"}, {"total_tokens": 1024}])
def test_settings_that_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ZeroScrollsSettings(**values)


@pytest.mark.parametrize(("limit", "total"), [(300, None), (4000, 428), (100, 428)])
def test_the_total_less_what_is_reserved_replaces_the_limit_of_the_encoding(
    limit: int, total: int | None
) -> None:
    found = QUESTION_SET.prompt(question(total_tokens=total), asking(limit))
    assert "[The rest of the article is omitted]" in found
    # The omission message joins the token before it; one token is kept free.
    assert len(Words().encode(found)) == 299


def test_the_total_is_not_for_encoder_decoders() -> None:
    """Their answers have a window of their own."""
    whole = asking(300)
    asked = Asking(whole.encoding, whole.tokenizer, whole.evidence, encoder_decoder=True)
    assert (
        QUESTION_SET.prompt(question(total_tokens=2000), asked)
        == QUESTION_SET.prompt(question(), asked)
        != question().parts["input"]
    )


def test_an_error_names_the_task_and_the_id() -> None:
    with pytest.raises(
        NightjarError, match=r"^zeroscrolls qasper e1: the query and the omission message take 1\d"
    ):
        QUESTION_SET.prompt(question(), asking(12))


def test_evidence_is_searched_by_the_query_or_the_instruction() -> None:
    assert QUESTION_SET.query(question("qasper").parts) == "Question:\nWhich one?"
    assert QUESTION_SET.query(question("gov_report").parts).startswith("You are given a report")
