"""Two prediction sets against each other, from files and from our own artifacts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.answers_and_references import read_answers, read_references, write_references
from nightjar.benchmarks.file_scoring import compare_files, score_files
from nightjar.benchmarks.registry import load_benchmark
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.zeroscrolls.files import put as write
from tests.questions import question, write_questions


def reference(id: str, category: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "references": ["yes it is"], "task_id": f"t{id[0]}", "task_category": category, **more}


BENCHMARK = load_benchmark("supernatinst")
ASKED = Path("data/questions/supernatinst")


def answers_of(path: Path) -> dict[tuple[str, str], list[str]]:
    questions = read_references(BENCHMARK, None)
    found = zip(questions, read_answers(BENCHMARK, path, questions), strict=True)
    return {question.key: given for question, given in found if given is not None}


@pytest.fixture()
def references(tmp_path: Path) -> Path:
    rows = [reference(f"a{number}", "Textual Entailment") for number in range(6)]
    rows += [reference(f"b{number}", "Title Generation") for number in range(4)]
    return write(tmp_path / "r.jsonl", rows)


def answers(path: Path, right: set[str], ids: list[str]) -> Path:
    return write(path, [{"id": id, "prediction": "Yes it is." if id in right else "no"} for id in ids])


IDS = [f"a{number}" for number in range(6)] + [f"b{number}" for number in range(4)]


def test_by_hand(references: Path, tmp_path: Path) -> None:
    a = answers(tmp_path / "a.jsonl", {*IDS[:5], "b0"}, IDS)
    b = answers(tmp_path / "b.jsonl", {"a0", "b1"}, IDS[:-1])
    result = compare_files("supernatinst", a, b, references)
    assert (result["n"], result["missing"]) == (10, {"a": 0, "b": 1})
    line = result["metrics"]["exact_match"]
    assert (line["a"], line["b"], line["value"]) == (60.0, 20.0, 40.0)
    assert (line["better"], line["worse"], line["equal"], line["n"]) == (5, 1, 4, 10)
    assert (line["low"], line["high"], line["p"], line["significant"]) == (None, None, None, False), (
        "ten are too few"
    )
    category = result["by_category"]["textual_entailment"]
    assert (
        category["metric"] == "exact_match"
        and result["by_category"]["title_generation"]["metric"] == "rougeL"
    )
    assert category["exact_match"]["value"] == pytest.approx(400 / 6, abs=1e-4)
    turned = compare_files("supernatinst", b, a, references)["metrics"]["exact_match"]
    assert (turned["value"], turned["better"]) == (-40.0, 1)


def test_a_difference_is_seen_by_its_p(tmp_path: Path) -> None:
    """Of 20 instances, 5 or 6 that are better and none that is worse: p is 2 / 2**5 or 2 / 2**6."""
    ids = [f"a{number}" for number in range(20)]
    references = write(tmp_path / "r.jsonl", [reference(id, "Textual Entailment") for id in ids])
    b = answers(tmp_path / "b.jsonl", set(), ids)
    for right, seen in ((5, False), (6, True)):
        a = answers(tmp_path / "a.jsonl", set(ids[:right]), ids)
        line = compare_files("supernatinst", a, b, references)["metrics"]["exact_match"]
        assert line["low"] > 0, "the interval leaves zero out in both"
        assert (line["p"], line["significant"]) == (pytest.approx(2 / 2**right), seen)
        turned = compare_files("supernatinst", b, a, references)["metrics"]["exact_match"]
        assert (turned["p"], turned["low"], turned["high"]) == (line["p"], -line["high"], -line["low"])


def test_a_fault_in_either_file_is_reported(references: Path, tmp_path: Path) -> None:
    good = answers(tmp_path / "a.jsonl", set(), IDS)
    bad = write(tmp_path / "b.jsonl", [{"id": "zz", "prediction": "x"}])
    for pair in ((good, bad), (bad, good)):
        with pytest.raises(NightjarError, match=r"b.jsonl:1: no reference has the id 'zz'"):
            compare_files("supernatinst", *pair, references)


def test_row(task: str, id: str, track: str = "default") -> dict[str, Any]:
    same = {"category": "Word Analogy", "dataset": "d", "file": f"{task}.json", "index": 0, "input": "x"}
    return {**same, "track": track, "task_id": task, "id": id, "outputs": ["cold", "icy"]}


test_row.__test__ = False  # type: ignore[attr-defined]


def prediction(row: dict[str, Any], text: str) -> dict[str, Any]:
    given = {"task_id": row["task_id"], "id": row["id"], "answers": [text]}
    plain: dict[str, Any] = {"string": "", "int32": 0, "double": 0.0, "bool": False}
    return {
        field.name: given.get(
            field.name, [] if str(field.type).startswith("list") else plain[str(field.type)]
        )
        for field in contracts.PREDICTIONS.schema
    }


@pytest.fixture()
def project(workdir: Path) -> Path:
    """Questions of which two have one id in two tasks, and one system's predictions."""
    rows = [test_row("t1", "same"), test_row("t1", "own"), test_row("t2", "same", "xlingual")]
    example = {"input": "i", "output": "icy", "explanation": None}
    empty = {"definition": [], "positive_examples": [], "negative_examples": []}
    tasks = {"t1": {**empty, "positive_examples": [example], "definition": ["Do it.", "Or so."]}, "t2": empty}
    write_questions(ASKED, [question(row, tasks[row["task_id"]]) for row in rows])
    with tables.ArtifactWriter(Path("data/predict/supernatinst/combined")) as writer:
        writer.write(contracts.PREDICTIONS, [prediction(rows[0], "cold"), prediction(rows[2], "hot")])
    return workdir


def test_our_own_artifacts(project: Path) -> None:
    folder = Path("data/predict/supernatinst/combined")
    result = score_files("supernatinst", folder)
    assert (result["n"], result["missing"]) == (3, 1)
    assert result["by_track"]["default"]["metrics"]["exact_match"] == 50.0
    assert answers_of(folder) == {("t1", "same"): ["cold"], ("t2", "same"): ["hot"]}
    others = write(Path("theirs.jsonl"), [{"id": "own", "prediction": "icy"}])
    line = compare_files("supernatinst", folder, others)["metrics"]["exact_match"]
    assert (line["better"], line["worse"], line["equal"]) == (1, 1, 1)


def test_the_heuristics_by_their_names(project: Path) -> None:
    assert answers_of(Path("copy_demo")) == {
        ("t1", "same"): ["icy"],
        ("t1", "own"): ["icy"],
        ("t2", "same"): [""],
    }
    assert list(answers_of(Path("copy_input")).values()) == [["x"]] * 3
    write(Path("copy_input"), [{"id": "own", "prediction": "a file of that name"}])
    assert answers_of(Path("copy_input")) == {("t1", "own"): ["a file of that name"]}


def test_references_for_others(project: Path) -> None:
    assert write_references(BENCHMARK, Path("out/r.jsonl")) == 3
    lines = [json.loads(line) for line in Path("out/r.jsonl").read_text().splitlines()]
    assert lines[1] == {
        "id": "own", "references": ["cold", "icy"], "task_id": "t1", "task_category": "Word Analogy",
        "track": "default", "input": "x", "definition": "Do it.",
    }  # fmt: skip
    folder = Path("data/predict/supernatinst/combined")
    assert score_files("supernatinst", folder, Path("out/r.jsonl")) == score_files("supernatinst", folder)
    assert json.loads(Path("out/r.jsonl").read_text().splitlines()[2])["definition"] == ""
    with pytest.raises(NightjarError, match="a folder"):
        write_references(BENCHMARK, Path("out"))
    with pytest.raises(NightjarError, match="which is read"):
        write_references(BENCHMARK, ASKED / "r.jsonl")


def test_artifacts_that_do_not_belong_together(project: Path) -> None:
    folder = Path("data/predict/supernatinst/combined")
    few = write(Path("r.jsonl"), [reference("own", "Word Analogy")])
    with pytest.raises(NightjarError, match="no reference has the id 'same' of t1"):
        score_files("supernatinst", folder, few)
    plain = write(Path("r.jsonl"), [reference("same", "Word Analogy")])
    with pytest.raises(NightjarError, match="occurs in two tasks"):
        score_files("supernatinst", folder, plain)


# A line of predictions with a fault: what the message says.
FAULTS: dict[str, str] = {
    '{"id": "a9", "prediction"}': "not JSON",
    "[1]": "not an object with an id",
    '{"prediction": "x"}': "not an object with an id",
    '{"id": 9, "prediction": "x"}': "the id 9 is not a text",
    '{"id": ["a0"], "prediction": "x"}': "the id ['a0'] is not a text",
    '{"id": "a0", "prediction": "x"}': "the id 'a0' is in line 1 already",
    '{"id": "a9", "prediction": null}': "prediction is missing or not a text",
    '{"id": "b9", "prediction": "x"}': "no reference has the id 'b9'",
}


@pytest.mark.parametrize("first", FAULTS)
def test_the_first_fault_of_a_file_is_reported(first: str, tmp_path: Path) -> None:
    """The message is that of the first faulty line, whatever the others are."""
    ids = [f"a{number}" for number in range(20)]
    questions = read_references(
        BENCHMARK, write(tmp_path / "r.jsonl", [reference(id, "Word Analogy") for id in ids])
    )
    good = [json.dumps({"id": id, "prediction": "x"}) for id in ids[:9]]
    path = tmp_path / "a.jsonl"
    for second in FAULTS:
        path.write_text("\n".join([*good, "", first, second]))
        with pytest.raises(NightjarError) as caught:
            read_answers(BENCHMARK, path, questions)
        assert str(caught.value).startswith(f"{path}:11: {FAULTS[first]}")
    path.write_text("\n".join(["", *reversed(good)]))
    assert read_answers(BENCHMARK, path, questions) == [["x"]] * 9 + [None] * 11


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"references": []}, "references is not a list of at least one text"),
        ({"references": ["x", 3]}, "references is not a list of at least one text"),
        ({"task_category": None}, "task_category is missing or not a text"),
        ({"track": "other"}, "the track is 'other'"),
        ({"track": ["default"]}, "the track is"),
        ({"references": "yes"}, "references is not a list of at least one text"),
        ({"id": "a0"}, "the id 'a0' is in line 1 already"),
    ],
)
def test_one_faulty_reference_among_many(more: dict[str, Any], what: str, tmp_path: Path) -> None:
    rows = [reference(f"a{number}", "Word Analogy") for number in range(20)]
    rows[7] |= more
    path = write(tmp_path / "r.jsonl", rows)
    with pytest.raises(NightjarError) as caught:
        read_references(BENCHMARK, path)
    assert str(caught.value).startswith(f"{path}:8: {what}")
