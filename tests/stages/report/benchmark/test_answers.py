"""Examples of answers, chosen by a rule, and the calls that were made at test time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.core import contracts, tables
from stages.report.benchmark import answers
from tests.stages.report.building import MODELS, NAME, QUESTIONS, SCORED
from tests.stages.report.test_stage import OUT, parsed, run, text

PREDICTED = Path("data/predict", NAME)


def scores(metric: str = "exact_match") -> list[dict[str, Any]]:
    """A row an instance and system."""
    rows = tables.read_rows(SCORED, contracts.INSTANCE_SCORES)
    return [row for row in rows if row["metric"] == metric]


def shown() -> list[dict[str, Any]]:
    card = registry.card(NAME)
    found = answers.read(card, list(MODELS), PREDICTED, SCORED, Path(QUESTIONS), 42)
    return [example for block in answers.context(card, found)["blocks"] for example in block["examples"]]


def test_every_system_has_a_right_and_a_wrong_answer_in_every_category(reported: Path) -> None:
    verdicts = {0.0: "wrong", 1.0: "right"}
    wanted = {(row["track"], row["category"], row["system"], verdicts[row["value"]])
              for row in scores() if row["system"] in MODELS}  # fmt: skip
    category = {row["id"]: (row["track"], row["category"]) for row in scores()}
    examples = shown()
    found = {(*category[example["id"]], one["system"], one["right"])
             for example in examples for one in example["answers"]}  # fmt: skip
    assert found == wanted
    assert max(Counter(category[example["id"]] for example in examples).values()) <= answers.MOST


def test_answers_are_those_that_were_scored(reported: Path) -> None:
    right = {(row["system"], row["id"]): row["value"] for row in scores()}
    overlap = {(row["system"], row["id"]): row["value"] for row in scores("rougeL")}
    for example in shown():
        assert [one["system"] for one in example["answers"]] == list(MODELS)
        for one in example["answers"]:
            key = one["system"], example["id"]
            assert (one["right"] == "right") == right[key] and one["value"] == f"{100 * overlap[key]:.0f}"
            missing = one["system"] == "untuned" and example["id"] in ("task900-0", "task900-1")
            assert one["text"] == ("" if missing else answers.cut(
                "right" if right[key] else f"{one['system']} is wrong about {example['id']}"))  # fmt: skip


def test_without_a_part_that_tells_right_from_wrong_the_seed_alone_chooses(reported: Path) -> None:
    card = registry.card(NAME)
    card = replace(card, metrics=tuple(replace(metric, right=False) for metric in card.metrics))
    found = answers.read(card, list(MODELS), PREDICTED, SCORED, Path(QUESTIONS), 42)
    assert {len(keys) for keys in found.chosen.values()} == {answers.UNJUDGED}
    blocks = answers.context(card, found)["blocks"]
    every = [one for block in blocks for example in block["examples"] for one in example["answers"]]
    assert {one["right"] for one in every} == {""} and {block["metric"] for block in blocks} == {"ROUGE-L"}


def test_the_choice_depends_on_the_seed_and_nothing_else(reported: Path) -> None:
    rows = scores()
    one, same, other = (
        answers.choose(given, list(MODELS), seed, "exact_match")
        for given, seed in ((rows, 1), (rows[::-1], 1), (rows, 2))
    )
    assert one == same != other


def test_the_page_shows_them_cut_and_as_text(reported: Path) -> None:
    ids = [example["id"] for example in shown()]
    told = text(f"{NAME}.html")
    assert all(id in told for id in ids)
    assert f"<{ids[0]}>" in told and "word word" in told and "word " * 150 not in told
    assert "also right" in told and "nightjar trace" in told and "second" not in told
    assert not {id for id in ids if f"<{id}>" in (OUT / f"{NAME}.html").read_text()}
    assert "b" not in parsed(f"{NAME}.html").tags


def test_calls_at_test_time_are_counted_and_shown(reported: Path) -> None:
    made = [row for row in tables.read_rows(PREDICTED / "combined", contracts.PREDICTIONS) if row["calls"]]
    right = {row["id"] for row in scores() if row["system"] == "combined" and row["value"]}
    rows = [[cell.strip() for cell in row] for row in parsed(f"{NAME}.html").rows]
    (line,) = [row for row in rows if row[0] == "combined" and row[1] == "yes"]
    with_result = sum(row["calls"][0]["result"] is not None for row in made)
    called = sum(row["id"] in right for row in made)
    assert line[2:7] == [str(number) for number in (208, len(made), len(made), with_result, called)]
    assert 0 < with_result < len(made) and 0 < called < len(made)
    assert [row[3] for row in rows if row[0] in ("untuned", "supervised") and row[1] == "no"] == ["none"] * 2
    assert "Calculator(14 * 30)" in text(f"{NAME}.html")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"tool": "Calendar", "input": "2023, <b>", "result": None}, "No call gave a result"),
        (None, "No system called a tool"),
    ],
)
def test_calls_that_are_missing_or_have_no_result(
    project: Path, call: dict[str, Any] | None, words: str
) -> None:
    for system in MODELS:
        rows = tables.read_rows(PREDICTED / system, contracts.PREDICTIONS)
        with tables.ArtifactWriter(PREDICTED / system) as writer:
            made = [row | {"calls": [call] if call and row["calls"] else []} for row in rows]
            writer.write(contracts.PREDICTIONS, made)
    run()
    page = text(f"{NAME}.html")
    assert words in page and ("Calendar(2023, <b>)" in page) == bool(call)


def test_long_texts_are_cut_between_words() -> None:
    assert answers.cut("a  b\nc") == "a b c"
    assert answers.cut("word " * 100, 12) == "word word …"
    assert answers.cut("x" * 50, 10) == "x" * 10 + " …"
