"""`nightjar judge` on an ingested task, a predictions artifact and files; and on wrong input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nightjar.core.contracts import PREDICTIONS
from nightjar.core.tables import ArtifactWriter
from tests.in_process import check_refusals, nightjar, refused
from tests.questions import question, row_of, write_questions

TWICE = ("n-0", "task1_colours:n-0")
INGESTED = "data/ingest/natural_instructions"
HEAD = {
    "Categories": ["Word Analogy"],
    "Source": ["made"],
    "Domains": [],
    "URL": [],
    "Input_language": ["English"],
    "Output_language": ["English"],
    "Instruction_language": ["English"],
    "Definition": ["Say the colour."],
    "Negative Examples": [{"input": "snow", "output": "cold", "explanation": "no colour"}],
    "Positive Examples": [{"input": "grass", "output": "green", "explanation": "it is"}],
}


def predictions(path: Path, system: str, answers: dict[tuple[str, str], str], more: str = "") -> None:
    rows = [
        row_of(PREDICTIONS, system=system, task_id=task, id=id, answers=[prediction])
        for (task, id), prediction in answers.items()
    ]
    if more:
        rows.append({**rows[0], "system": more})
    with ArtifactWriter(path) as writer:
        writer.write(PREDICTIONS, rows)


@pytest.fixture()
def project(workdir: Path) -> Path:
    """A project with two ingested tasks that share ids, and predictions for all their instances."""
    tasks = workdir / "tasks"
    tasks.mkdir()
    answers = {}
    for task in ("task1_colours", "task2_colours"):
        instances = [{"id": f"n-{i}", "input": f"thing {i}", "output": [f"{task} {i}"]} for i in range(6)]
        (tasks / f"{task}.json").write_text(json.dumps({**HEAD, "Instances": instances}))
        answers |= {(task, f"n-{i}"): f"{task} answer {i}" for i in range(6)}
    nightjar("ingest", "--dataset", "natural_instructions", "--input", "tasks", "--output", INGESTED)
    predictions(workdir / "good", "good", answers)
    predictions(workdir / "less", "less", dict(list(answers.items())[:-1]))
    predictions(workdir / "two", "two", answers, more="three")
    predictions(workdir / "strange", "strange", {("task3", "n-0"): "x"})
    (workdir / "answers.jsonl").write_text('{"id": "n-1", "prediction": "x"}\n')
    (workdir / "broken.jsonl").write_text('{"id": "n-1", "prediction": 1}\n')
    (workdir / "empty.jsonl").write_text("\n")
    return workdir


def test_export_and_score_of_the_pipelines_own_artifacts(project: Path) -> None:
    sets = ["--a", "good", "--b", "references"]
    sets += ["--output", "page.html", "--tasks", "2", "--instances", "3"]
    told = json.loads(nightjar("judge", "export", *sets, "--json"))
    assert (told["items"], told["tasks"], told["key"]) == (6, 2, "page.key.json")
    page = (project / "page.html").read_text()
    for text in ("Say the colour.", "grass", "no colour", "task1_colours answer "):
        assert text in page
    key = json.loads((project / "page.key.json").read_text())
    for item in key["items"]:
        assert item["category"] == "word_analogy" and item["task_id"] in ("task1_colours", "task2_colours")
    answers = [{"item": item["item"], "answer": "left"} for item in key["items"][:4]]
    file = {"format": "nightjar-judge-answers/1", "page": told["digest"], "judge": "Ann", "items": 6}
    (project / "ann.json").write_text(json.dumps({**file, "answers": answers}))
    (project / "bo.json").write_text(json.dumps({**file, "judge": "Bo", "answers": answers[:1]}))
    credit = 25.0 * sum(item["left"] == "a" for item in key["items"][:4])
    scored = json.loads(nightjar("judge", "score", "--key", "page.key.json", "ann.json", "bo.json", "--json"))
    assert scored["credit"]["value"] == credit and scored["credit"]["n"] == 4
    assert scored["agreement"] == {"n": 1, "raw": 100.0, "alpha": None}
    text = nightjar("judge", "score", "--key", "page.key.json", "ann.json", "bo.json")
    assert "Ann: 4 answered, 2 left open" in text
    assert f"A at least as good as B: {credit:.1f}% n<20 of " in text
    assert "undefined" in text


def test_wrong_sets_get_one_line_and_nothing_is_written(project: Path) -> None:
    for name in ("set.html", "a.key.json"):
        (project / name).write_text('{"id": "n-1", "prediction": "precious"}\n')
    row = {"id": "n-1", "references": ["gold"], "task_id": "task1_colours", "task_category": "c"}
    row |= {"input": "thing 1", "definition": "Say the colour."}
    (project / "r.html").write_text(json.dumps(row) + "\n")
    (project / "link.html").symlink_to("set.html")
    os.mkfifo(project / "pipe.key.json")
    check_refusals("judge")
    assert (
        "precious" in (project / "set.html").read_text()
        and "precious" in (project / "a.key.json").read_text()
    )


def test_nightjars_own_references_are_enough_without_the_ingested_tasks(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = [
        {"track": "default", "category": "Word Analogy", "dataset": "natural_instructions", "file": f"{task}.json",
         "task_id": task, "id": f"n-{i}", "index": i, "input": f"thing {i}", "outputs": [f"{task} {i}", "other"]}
        for task in ("task1_colours", "task2_colours") for i in range(6)
    ]  # fmt: skip
    task = {"definition": HEAD["Definition"], "positive_examples": [], "negative_examples": []}
    write_questions(project / "data/questions/supernatinst", [question(row, task) for row in test])
    nightjar("references", "--benchmark", "supernatinst", "--output", "elsewhere/r.jsonl")
    lines = [json.loads(line) for line in (project / "elsewhere/r.jsonl").read_text().splitlines()]
    assert lines[7]["id"] == "task2_colours:n-1"  # the other task has an instance n-1 too
    assert (lines[7]["input"], lines[7]["definition"]) == ("thing 1", "Say the colour.")
    answers = [{"id": line["id"], "prediction": f"mine {number}"} for number, line in enumerate(lines)]
    (project / "elsewhere/mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    options = ["--references", "r.jsonl", "--tasks", "2", "--instances", "6", "--output", "page.html"]
    monkeypatch.chdir(project / "elsewhere")
    for a, b in (("../good", "references"), ("mine.jsonl", "../good"), ("mine.jsonl", "references")):
        nightjar("judge", "export", "--a", a, "--b", b, *options)
        page = Path("page.html").read_text()
        texts = ["thing 5", "Say the colour.", "mine 7" if a == "mine.jsonl" else "task2_colours answer 1"]
        assert all(text in page for text in texts) and "grass" not in page
        Path("page.key.json").unlink()
    Path("r.jsonl").write_text(
        "".join(json.dumps(line | {"id": id}) + "\n" for line in lines[:1] for id in TWICE)
    )
    told = refused("judge", "export", "--a", "mine.jsonl", "--b", "references", *options)
    assert "r.jsonl:2: task1_colours:n-0 occurs twice; give every id once" in told
    rows = [{"id": id, "prediction": "x"} for id in TWICE]
    Path("twice.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:1]))
    told = refused("judge", "export", "--a", "twice.jsonl", "--b", "references", *options)
    assert "twice.jsonl: task1_colours:n-0 has two answers; give every id once" in told
    # A file without the texts, as others may write it, says what it lacks.
    for lacking in ("input", "definition"):
        rows = [{key: value for key, value in line.items() if key != lacking} for line in lines]
        Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        told = refused("judge", "export", "--a", "mine.jsonl", "--b", "references", *options)
        assert f"r.jsonl:1: {lacking} is missing" in told and "`nightjar references`" in told
