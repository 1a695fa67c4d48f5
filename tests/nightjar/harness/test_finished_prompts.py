"""Finished prompts: which are answered, and which metrics of the answers are computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.harness.finished_prompts import answered_lines, read_documents, scorings

Rows = list[dict[str, Any]]


def choice(number: int, likelihoods: tuple[float, float], target: str, right: float) -> dict[str, Any]:
    """A line of a multiple choice between " no" and " perhaps"."""
    responses = [[str(it), "False"] for it in likelihoods]
    return {
        "doc_id": number,
        "target": target,
        "arguments": {
            f"gen_args_{n}": {"arg_0": f"Q{number}", "arg_1": text}
            for n, text in enumerate((" no", " perhaps"))
        },
        "resps": [[it] for it in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": ["acc"],
        "acc": right,
    }


def written(number: int, text: str, target: str, filtered: str, right: float) -> dict[str, Any]:
    """A line of a text that was written."""
    settings = {"until": ["\n"], "max_gen_toks": 4, "do_sample": False}
    return {
        "doc_id": number,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"Q{number}", "arg_1": settings}},
        "resps": [[text]],
        "filtered_resps": [filtered],
        "filter": "strict",
        "metrics": ["exact_match"],
        "exact_match": right,
    }


STRIPPED = {"name": "strict", "filter": [{"function": "remove_whitespace"}, {"function": "take_first"}]}
SETTINGS: dict[str, Any] = {"filter_list": [STRIPPED], "metric_list": [{"metric": "exact_match"}]}


def answered(
    folder: Path, rows: Rows, responses: list[list[Any]], settings: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    file = folder / "samples_x.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    documents = read_documents(file)
    return list(answered_lines(documents, responses, scorings(documents, settings or {})))


def test_choices_are_scored_by_the_target_that_the_file_names(tmp_path: Path) -> None:
    rows = [choice(0, (-1.0, -2.0), "0", 1.0), choice(1, (-1.0, -2.0), "perhaps", 0.0)]
    lines = answered(tmp_path, rows, [[-3.0, -2.0], [-3.0, -2.0]])
    assert [line["acc"] for line in lines] == [0.0, 1.0]
    assert (
        lines[0]["filtered_resps"] == [["-3.0"], ["-2.0"]] and lines[0]["arguments"] == rows[0]["arguments"]
    )


def test_a_score_that_no_formula_of_ours_gives_is_left_out(tmp_path: Path) -> None:
    rows = [choice(0, (-1.0, -2.0), "0", 0.0), choice(1, (-1.0, -2.0), "1", 1.0)]
    assert [line["metrics"] for line in answered(tmp_path, rows, [[-3.0, -2.0]] * 2)] == [[], []]
    one_value = [choice(0, (-1.0, -2.0), "0", 1.0), choice(1, (-1.0, -2.0), "0", 1.0)]
    assert [line["metrics"] for line in answered(tmp_path, one_value, [[-3.0, -2.0]] * 2)] == [[], []]


def test_texts_are_scored_where_the_filter_takes_blanks_off(tmp_path: Path) -> None:
    rows = [written(0, " yes ", "yes", "yes", 1.0), written(1, " no", "yes", "no", 0.0)]
    lines = answered(tmp_path, rows, [[" maybe"], [" yes "]], SETTINGS)
    assert [(line["filtered_resps"], line["exact_match"]) for line in lines] == [
        (["maybe"], 0.0),
        (["yes"], 1.0),
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        SETTINGS | {"filter_list": None},
        *(
            SETTINGS | {"filter_list": broken}
            for broken in (5, "strict", {"name": "strict"}, [5], [STRIPPED | {"filter": 5}])
        ),
        *(
            SETTINGS | {"filter_list": [STRIPPED | {"filter": [step]}]}
            for step in (5, {"function": ["take_first"]}, None)
        ),
        SETTINGS | {"metric_list": ["exact_match"]},
        SETTINGS
        | {"filter_list": [{"name": "strict", "filter": [{"function": "regex", "regex_pattern": "a"}]}]},
        SETTINGS | {"metric_list": [{"metric": "exact_match", "ignore_case": True}]},
        SETTINGS | {"metric_list": [{"metric": "a function of the task"}]},
    ],
)
def test_what_the_settings_do_not_say_is_not_scored(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Filters and metrics that give the same for the answers of the file need not do so for those of another model."""
    rows = [written(0, "yes", "yes", "yes", 1.0), written(1, "no", "yes", "no", 0.0)]
    assert [line["metrics"] for line in answered(tmp_path, rows, [["YES"], ["b"]], SETTINGS)] == [
        ["exact_match"]
    ] * 2
    assert [line["metrics"] for line in answered(tmp_path, rows, [["YES"], ["b"]], settings)] == [[], []]


@pytest.mark.parametrize("value", [[1], {}, None, "1", 10**400])
def test_a_score_that_is_no_number_is_left_out(tmp_path: Path, value: Any) -> None:
    rows = [choice(0, (-1.0, -2.0), "0", 1.0), choice(1, (-1.0, -2.0), "1", 0.0)]
    rows.append(choice(2, (-1.0, -2.0), "0", 1.0) | {"acc": value})
    assert [line["metrics"] for line in answered(tmp_path, rows, [[-3.0, -2.0]] * 3)] == [[]] * 3


def test_a_document_has_the_same_requests_for_every_filter(tmp_path: Path) -> None:
    rows = [
        written(0, "a", "a", "a", 1.0),
        written(0, "a", "a", "a", 1.0) | {"filter": "other", "arguments": []},
    ]
    with pytest.raises(
        NightjarError, match=r"x\.jsonl:2: other requests than the same document in .*x\.jsonl:1"
    ):
        answered(tmp_path, rows, [["a"]])


def test_another_filter_leaves_texts_unscored(tmp_path: Path) -> None:
    rows = [written(0, "yes sir", "yes", "yes", 1.0), written(1, "no sir", "yes", "no", 0.0)]
    lines = answered(tmp_path, rows, [["a"], ["b"]], SETTINGS)
    assert [(line["resps"], line["filtered_resps"], line["metrics"]) for line in lines] == [
        ([["a"]], [], []),
        ([["b"]], [], []),
    ]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"arg_0": "a text"}, "a running text"),
        ({"arg_0": "a", "arg_1": ""}, "an empty prompt or continuation"),
        ({"arg_0": "", "arg_1": "b"}, "an empty prompt or continuation"),
        ({"arg_0": "a", "arg_1": 3}, "a request without a continuation or settings"),
        ({"arg_0": "a", "arg_1": {"do_sample": True, "temperature": 0.7}}, "answers are drawn by chance"),
        ({"arg_0": "a", "arg_1": {"temperature": 0.7}}, "answers are drawn by chance"),
        ({"arg_0": "a", "arg_1": {"num_beams": 4}}, "the setting 'num_beams' is not one of ours"),
        ({"arg_0": "a", "arg_1": {"repetition_penalty": 1.2}}, "the setting 'repetition_penalty' is not"),
        ({"arg_0": "a", "arg_1": {"max_gen_toks": 0}}, "max_gen_toks is 0"),
        ({"arg_0": "a", "arg_1": {"until": 3}}, "until is no list of texts"),
    ],
)
def test_requests_that_cannot_be_answered_are_refused(
    argument: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "samples_x.jsonl"
    file.write_text(json.dumps({"doc_id": 0, "arguments": {"gen_args_0": argument}}) + "\n", encoding="utf-8")
    with pytest.raises(NightjarError) as refused:
        read_documents(file)
    assert message in str(refused.value) and f"{file}:1" in str(refused.value)
