"""nightjar evaluate without a project: a task file, and the published files of a benchmark; the same from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import nightjar
from nightjar.benchmarks import registry
from nightjar.core import NightjarError, contracts, tables
from pipelines.cli import main
from tests.completions_server import said, serving
from tests.gguf_models import as_gguf
from tests.in_process import captured

TASK = r"""
name: sums
data: sums.jsonl
id: "{{ id }}"
prompt: "{{ question }}\nAnswer:"
references: ["{{ answer }}"]
metric: [exact_match, f1]
stop: ["\n"]
max_new_tokens: 3
"""
QUIZ = r"""
name: quiz
data: quiz.csv
prompt: "Is {{ word }} a metal?"
references: "{{ metal }}"
choices: ["yes", "no"]
metric: [accuracy, matthews]
examples: [{word: iron, metal: "yes"}]
"""
PROTOQA = {
    "metadata": {"id": "q1"},
    "question": {"original": "Name a fruit.", "normalized": "name a fruit."},
    "answers": {"raw": {"apple": 3}, "clusters": {"q1.0": {"count": 3, "answers": ["apple"]}}},
}


@pytest.fixture()
def folder(workdir: Path) -> Iterator[Path]:
    """A folder with two task files, and nothing of a project."""
    Path("sums.yaml").write_text(TASK)
    rows = [{"id": f"r{n}", "question": f"{n} + 1?", "answer": n + 1} for n in range(3)]
    Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"id": "r9"}\n')
    Path("outside.yaml").write_text(TASK.replace("sums.jsonl", "/etc/passwd"))
    Path("quiz.yaml").write_text(QUIZ)
    Path("quiz.csv").write_text("word,metal\ntin,yes\nmilk,no\n")
    yield workdir
    registry._added.clear()


def test_a_task_file_is_evaluated_and_compared(folder: Path, tiny_model: Path) -> None:
    command = ["evaluate", "--model", str(tiny_model), "--task"]
    done = captured(main, [*command, "sums.yaml", "--limit", "2", "--output", "a", "--json"])
    assert done.returncode == 0, done.stderr
    assert (
        "1 rows of sums.jsonl are refused, the first in sums.jsonl: prompt: 'question' is undefined"
        in done.stderr
    )
    record = json.loads(done.stdout)
    assert (record["tasks"], [row["n"] for row in record["scores"]]) == ({"sums": ["sums"]}, [2])
    # The file has changed: another run.
    Path("sums.yaml").write_text(TASK.replace("Answer", "Sum"))
    other = captured(main, [*command, "sums.yaml", "--limit", "2", "--output", "a"])
    assert other.returncode == 2 and "it holds another run" in other.stderr.splitlines()[-1]
    Path("sums.yaml").write_text(TASK)
    assert captured(main, [*command, "sums.yaml", "--output", "a", "--json"]).returncode == 0, (
        "more questions"
    )
    assert captured(main, [*command, "sums.yaml", "--output", "b", "--json"]).returncode == 0
    registry._added.clear()
    compared = captured(main, ["compare", "--benchmark", "sums.yaml", "--a", "a", "--b", "b", "--json"])
    assert json.loads(compared.stdout)["n"] == 3, compared.stderr
    rows = tables.read_rows(Path("a/data/predict/sums") / record["name"], contracts.PREDICTIONS)
    assert rows[0]["prompt"] == "0 + 1?\nAnswer:" and all(row["new_tokens"] <= 3 for row in rows)


def test_python_gives_the_same_numbers_in_data_frames(folder: Path, tiny_model: Path) -> None:
    before = sorted((file.name, file.stat().st_mtime_ns) for file in tiny_model.iterdir())
    found = nightjar.evaluate(str(tiny_model), task="quiz.yaml")
    assert sorted((file.name, file.stat().st_mtime_ns) for file in tiny_model.iterdir()) == before
    assert (found.benchmark, found.left_out, list(found.instances["references"])) == (
        "quiz",
        {},
        [["yes"], ["no"]],
    )
    assert found.instances["prompt"][0] == "Is iron a metal? yes\n\nIs tin a metal?"
    right = [answers == ["yes", "no"][n : n + 1] for n, answers in enumerate(found.instances["answers"])]
    assert list(found.instances["accuracy"]) == [float(one) for one in right]
    assert found.scores.set_index("metric")["value"]["accuracy"] == 100 * sum(right) / 2
    done = captured(
        main, ["evaluate", "--model", str(tiny_model), "--task", "quiz.yaml", "--output", "a", "--json"]
    )
    rows = tables.read_rows(Path("a/data/predict/quiz", found.model), contracts.PREDICTIONS)
    assert [row["answers"] for row in rows] == list(found.instances["answers"]), done.stderr


def test_published_files_are_evaluated_where_no_project_is(folder: Path, tiny_model: Path) -> None:
    file = folder / "dev.other.jsonl"
    file.write_text(json.dumps(PROTOQA) + "\n")
    for data in (file, folder):
        found = nightjar.evaluate(str(tiny_model), "protoqa", data, settings={"predict.protoqa.samples": 2})
        assert list(found.instances["id"]) == ["q1"] and len(found.instances["answers"][0]) <= 2
    with pytest.raises(NightjarError, match=r"samples = 0 is not allowed"):
        nightjar.evaluate(str(tiny_model), "protoqa", file, settings={"predict.protoqa.samples": 0})


def test_a_chat_server_needs_the_tokenizer_of_a_model_and_no_weights(folder: Path, tiny_model: Path) -> None:
    Path("gguf").mkdir()
    as_gguf(tiny_model, Path("gguf"))
    tokenizer = "models.language_model.source=gguf"
    with serving(lambda body: said("1")) as served:
        command = ["evaluate", "--model", f"chat:{served.url}", "--task", "sums.yaml", "--set", tokenizer]
        done = captured(main, [*command, "--output", "a", "--json"])
        assert done.returncode == 0, done.stderr
        settings = {"models.language_model.source": "gguf"}
        found = nightjar.evaluate(f"chat:{served.url}", task="sums.yaml", settings=settings)
    assert json.loads(done.stdout)["name"] == found.model and found.model.endswith("_chat")
    assert not list(Path("a").rglob("*.safetensors"))
    counts = {"prompt": 30, "completion": 6}
    assert json.loads(Path("a/tokens.json").read_text()) == {f"sums-{found.model}": counts}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--benchmark", "protoqa"), "no project in this folder"),
        (("--task", "sums.jsonl"), "sums.jsonl"),
        (("--task", "sums.yaml", "--set", "predict.nothing.x=1"), "unknown key predict.nothing.x"),
        (
            ("--task", "outside.yaml"),
            "outside.yaml:3: data is outside of the task file's folder: /etc/passwd",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(
    folder: Path, tiny_model: Path, words: tuple[str, ...], told: str
) -> None:
    done = captured(main, ["evaluate", "--model", str(tiny_model), *words, "--output", "out"])
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and told in last and not Path("out").exists(), done.stderr
