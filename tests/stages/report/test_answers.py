"""Examples of answers, chosen by a rule, and the calls that were made at test time."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core import params as params_module
from stages.report import answers
from tests.stages.report.conftest import SYSTEMS
from tests.stages.report.test_stage import OUT, parsed, run

ROOT = Path(__file__).parents[3]
MODELS = ("untuned", "tk_instruct", "combined", "supervised")


def text(file: str) -> str:
    return " ".join(unescape((OUT / file).read_text()).split())


def scores() -> list[dict[str, Any]]:
    return tables.read_rows(Path("data/evaluate/supernatinst"), contracts.INSTANCE_SCORES)


def shown() -> list[dict[str, Any]]:
    params = params_module.load(ROOT / "params.yaml")
    found = answers.read(Path("data/predict"), Path("data/evaluate/supernatinst"), Path("data/split"), 42)
    blocks = answers.context(found, params, list(SYSTEMS))["answers"]
    assert blocks is not None
    return [example for block in blocks for example in block["examples"]]


def test_every_system_has_a_right_and_a_wrong_answer_in_every_category(project: Path) -> None:
    wanted = {(row["track"], row["category"], row["system"], bool(row["exact_match"]))
              for row in scores() if row["system"] in MODELS}  # fmt: skip
    category = {row["id"]: (row["track"], row["category"]) for row in scores()}
    found = {(*category[example["id"]], one["system"], one["right"])
             for example in shown() for one in example["answers"]}  # fmt: skip
    assert found == wanted
    per_category: dict[tuple[str, str], int] = {}
    for example in shown():
        per_category[category[example["id"]]] = per_category.get(category[example["id"]], 0) + 1
    assert max(per_category.values()) <= answers.MOST


def test_answers_are_those_that_were_scored(project: Path) -> None:
    by_key = {(row["system"], row["id"]): row for row in scores()}
    for example in shown():
        assert [one["system"] for one in example["answers"]] == list(MODELS)
        for one in example["answers"]:
            row = by_key[one["system"], example["id"]]
            assert one["right"] == bool(row["exact_match"]) and one["rougeL"] == 100 * row["rougeL"]
            missing = one["system"] == "untuned" and example["id"] in ("task900-0", "task900-1")
            assert one["text"] == ("" if missing else answers.cut(
                "right" if one["right"] else f"{one['system']} is wrong about {example['id']}"))  # fmt: skip


def test_the_choice_depends_on_the_seed_and_nothing_else(project: Path) -> None:
    def chosen(seed: int, rows: list[dict[str, Any]]) -> list[str]:
        return [key[1] for keys in answers.choose(rows, MODELS, seed).values() for key in keys]

    rows = scores()
    assert chosen(1, rows) == chosen(1, rows[::-1])
    assert chosen(1, rows) != chosen(2, rows)


def test_the_page_shows_them_cut_and_as_text(project: Path) -> None:
    assert run().returncode == 0
    ids = [example["id"] for example in shown()]
    for file in ("index.html", "report.md"):
        told = text(file)
        assert all(id in told for id in ids)
        assert f"<{ids[0]}>" in told and "word word" in told and "word " * 150 not in told
        assert "also right" in told and "nightjar trace" in told
    assert not {id for id in ids if f"<{id}>" in (OUT / "index.html").read_text()}
    assert "b" not in parsed().tags


def test_calls_at_test_time_are_counted_and_shown(project: Path) -> None:
    run()
    made = [row for row in scores() if row["calls"]]
    rows = [[cell.strip() for cell in row] for row in parsed().rows]
    (line,) = [row for row in rows if row[0] == "combined" and row[1] == "yes"]
    with_result = sum(number % 2 == 0 for number, row in enumerate(
        row for row in scores() if row["system"] == "combined") if row["calls"])  # fmt: skip
    assert line[2:6] == [str(number) for number in (208, len(made), len(made), with_result)]
    assert [row[3] for row in rows if row[0] in ("untuned", "supervised") and row[1] == "no"] == [
        "none",
        "none",
    ]
    for file in ("index.html", "report.md"):
        assert re.search(r"14 \* 30", text(file)) and "420" in text(file)
        assert text(file).count("none") >= 3


def test_calls_without_a_result_are_said_to_have_none(project: Path) -> None:
    for system in MODELS:
        folder = Path("data/predict") / f"supernatinst-{system}"
        rows = tables.read_rows(folder, contracts.PREDICTIONS)
        for row in rows:
            row["calls"] = [{"tool": "Calendar", "input": "2023, <b>", "result": None} for _ in row["calls"]]
        with tables.ArtifactWriter(folder) as writer:
            writer.write(contracts.PREDICTIONS, rows)
    run()
    for file in ("index.html", "report.md"):
        assert "No call gave a result" in text(file) and "Calendar(2023, <b>)" in text(file)


def test_that_no_system_called_a_tool_is_said(project: Path) -> None:
    for system in MODELS:
        folder = Path("data/predict") / f"supernatinst-{system}"
        rows = tables.read_rows(folder, contracts.PREDICTIONS)
        with tables.ArtifactWriter(folder) as writer:
            writer.write(contracts.PREDICTIONS, [row | {"calls": []} for row in rows])
    run()
    for file in ("index.html", "report.md"):
        assert "No system called a tool" in text(file)


def test_without_predictions_nothing_is_said_of_calls(project: Path) -> None:
    Path("data/predict").rename("elsewhere")
    assert run().returncode == 0
    for file in ("index.html", "report.md"):
        assert "Examples of answers" not in text(file) and "No system called a tool" not in text(file)


def test_long_texts_are_cut_between_words() -> None:
    assert answers.cut("a  b\nc") == "a b c"
    assert answers.cut("word " * 100, 12) == "word word …"
    assert answers.cut("x" * 50, 10) == "x" * 10 + " …"
