"""Task files: the card that one makes, what is refused in a file, in a template and in a row."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import own_task, registry
from nightjar.benchmarks.card import Card, Choice
from nightjar.benchmarks.question import Question, Record, Refused
from nightjar.benchmarks.scores import score
from nightjar.benchmarks.templates import InvalidTemplate, Template
from nightjar.core.errors import NightjarError

SUMS = r"""
name: sums
version: 1
data: sums.jsonl
id: "{{ id }}"
prompt: "Question: {{ question }}\nAnswer:"
references: ["{{ answer }}"]
metric: [exact_match, f1, rouge_l]
stop: ["\n"]
max_new_tokens: 8
"""
QUIZ = r"""
name: quiz
data: quiz.jsonl
prompt: "{% for one in options %}{{ loop.index }}. {{ one }}\n{% endfor %}{{ ask|trim }}"
references: "{{ options[right] }}"
choices: "{{ options }}"
examples: [{ask: "Colour?", options: [red, two], right: 0}]
"""
ANY: Any = None


def made(folder: Path, text: str, rows: list[dict[str, Any]]) -> Card:
    """The card of a task file with these rows beside it."""
    file = folder / "task.yaml"
    file.write_text(text.lstrip())
    name = own_task.TaskFile.model_validate(own_task.parse(text, file)).data
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return own_task.card(file)


def asked(card: Card, folder: Path) -> tuple[list[Question], list[Refused]]:
    assert card.load
    found = list(card.load(folder))
    records = [one for one in found if isinstance(one, Record)]
    questions = [Question(card.name, it.task_id, it.id, it.parts, it.references) for it in records]
    return questions, [one for one in found if isinstance(one, Refused)]


def test_a_row_becomes_a_question_and_its_answer_is_scored(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "1 + 1?", "answer": 2},
        {"id": "b", "question": "A tree?", "answer": "an oak"},
    ]
    card = made(tmp_path, SUMS, [*rows, {"id": "c", "question": "?"}, {**rows[0]}])
    questions, refused = asked(card, tmp_path)
    assert [card.prompt(one, ANY) for one in questions] == [
        "Question: 1 + 1?\nAnswer:",
        "Question: A tree?\nAnswer:",
    ]
    assert [(it.id, it.reason) for it in refused] == [
        ("c", "references: 'answer' is undefined"),
        ("a", "the id 'a' occurs twice"),
    ]
    assert (card.task("sums").stop, card.task("sums").max_new_tokens) == (("\n",), 8)
    parts = score(card, "x", questions, [["2."], ["an old oak"]]).parts
    # F1 drops the article: oak of (old, oak). ROUGE-L: (an, oak) of (an, old, oak).
    assert {name: values.round(3).tolist() for name, values in parts.items()} == {
        "exact_match": [1, 0],
        "f1": [1, 0.667],
        "rouge_l": [1, 0.8],
    }


def test_choices_may_be_a_list_of_the_row_and_examples_come_first(tmp_path: Path) -> None:
    rows = [
        {"ask": " Metal?\n", "options": ["iron", "milk", "air"], "right": 0},
        {"ask": "?", "options": ["a", "a"], "right": 0},
        {"ask": "?", "options": ["a", "b"], "right": 2},
    ]
    card = made(tmp_path, QUIZ, rows)
    questions, refused = asked(card, tmp_path)
    assert card.prompt(questions[0], ANY) == (
        "1. red\n2. two\nColour? red\n\n1. iron\n2. milk\n3. air\nMetal?"
    )
    assert card.choices(questions[0])[1] == Choice("milk", " milk")
    assert [it.reason for it in refused] == [
        "2 choices, of which 1 differ",
        "references: list object has no element 2",
    ]
    assert score(card, "x", questions, [["iron"]]).parts["accuracy"].tolist() == [1]
    assert card.metrics[0].name == "accuracy"


def test_matthews_counts_an_answer_that_is_none_as_wrong(tmp_path: Path) -> None:
    text = "name: cola\ndata: c.csv\nprompt: \"{{ text }}\"\nreferences: \"{{ ['no', 'yes'][label|int] }}\"\n"
    card = made(tmp_path, f"{text}choices: ['no', 'yes']\nmetric: matthews\n", [])
    (tmp_path / "c.csv").write_text("text,label\nx,1\ny,0\nz,1\n")
    questions, _ = asked(card, tmp_path)
    found = score(card, "x", questions, [["yes"], ["no"], ["maybe"]]).parts
    assert (found["predicted"].tolist(), found["gold"].tolist()) == ([1, 0, -1], [1, 0, 1])


@pytest.mark.parametrize(
    ("change", "line", "told"),
    [
        (("prompt:", "promt:"), 5, "unknown key promt"),
        (("name: sums", "name: My Sums"), 1, "name = 'My Sums' is not allowed"),
        (("[exact_match, f1, rouge_l]", "bleu"), 7, "metric = 'bleu' is not allowed"),
        (("[exact_match, f1, rouge_l]", "accuracy"), 7, "accuracy needs choices"),
        (("sums.jsonl", "none.jsonl"), 3, "no file"),
        (("sums.jsonl", "task.yaml"), 3, "task.yaml is no file of rows"),
        (("{{ question }}", "{{ question"), 5, "prompt is no template: line 2 of the template"),
        (("{{ question }}", "{{ question|eval }}"), 5, "no filter eval; filters are capitalize"),
        (
            ("{{ id }}", "{{ range(9) }}"),
            4,
            "id is no template: line 1 of the template: this call is not allowed",
        ),
    ],
)
def test_a_fault_is_named_with_its_line(
    tmp_path: Path, change: tuple[str, str], line: int, told: str
) -> None:
    made(tmp_path, SUMS, [])
    file = tmp_path / "task.yaml"
    file.write_text(SUMS.lstrip().replace(*change))
    faults = own_task.read(file)[2]
    assert [one.line for one in faults] == [line] and told in faults[0].what
    with pytest.raises(NightjarError, match=rf"task.yaml:{line}: "):
        own_task.card(file)


@pytest.mark.parametrize(
    "source",
    [
        "{{ a.__class__.__mro__ }}",
        "{{ a * 99999999 }}",
        "{{ a ** 99 }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '{:>99999999}'.format(1) }}",
        "{{ a.ljust(999999999) }}",
        "{% for i in l %}{% for j in l %}{% for k in l %}x{% endfor %}{% endfor %}{% endfor %}",
        "{% for i in l recursive %}{{ loop(l) }}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% include 'params.yaml' %}",
        "{% import 'os' as os %}",
        "{{ cycler }}",
        "{{ a|join(a)|join(a)|join(a)|join(a)|join(a) }}",
        "{{ a|replace('x', a)|replace('x', a)|replace('x', a) }}",
        "{% for i in l %}{{ a }}{% endfor %}",
        "{{ l.append }}",
        "{{ none }}",
        "x" * 30_000,
        "{{ " + "(" * 3000 + "a" + ")" * 3000 + " }}",
    ],
)
def test_a_template_reads_its_row_and_is_bounded(source: str) -> None:
    row = {"a": "x" * 1_100, "l": list(range(1_000))}
    started = time.process_time()
    with pytest.raises(InvalidTemplate):
        Template(source).text(row)
    assert time.process_time() - started < 5


def test_a_task_file_is_a_benchmark_of_the_project_that_names_it(workdir: Path) -> None:
    made(workdir, SUMS, [{"id": "a", "question": "?", "answer": "2"}])
    group = "{code: task.yaml, data: sums.jsonl, split: data/none, encoder: data/none}"
    Path("params.yaml").write_text(f"benchmarks:\n  sums: {group}\n  plus: {group}\n")
    assert registry.card("sums").source == "task.yaml" and "sums" in registry.names()
    with pytest.raises(
        NightjarError, match=r"this task has the name 'sums', at task.yaml; name it plus|name it plus"
    ):
        registry.card("plus")
    Path("task.yaml").write_text(SUMS.lstrip().replace("sums", "protoqa", 1))
    with pytest.raises(NightjarError, match="there is a benchmark protoqa already"):
        registry.add(Path("task.yaml"))
