"""Task files: the card that one makes, what is refused in a file and in a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import own_task, registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Question, Record, Refused
from nightjar.benchmarks.question_set import Choice
from nightjar.benchmarks.scores import score
from nightjar.benchmarks.task_check import check_task_file
from nightjar.core.errors import NightjarError
from nightjar.text import rouge

SUMS = r"""
name: sums
version: 1
data: sums.jsonl
id: "{{ id }}"
prompt: "Question: {{ question }}\nAnswer:"
references: ["{{ answer }}"]
metric: [exact_match, normalised_match, f1, rouge_l]
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


def made(folder: Path, text: str, rows: list[dict[str, Any]]) -> Benchmark:
    """The card of a task file with these rows beside it."""
    file = folder / "task.yaml"
    file.write_text(text.lstrip())
    name = own_task.YamlTask.model_validate(own_task.parse(text, file)).data
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return own_task.task_benchmark(file)


def asked(card: Benchmark, folder: Path) -> tuple[list[Question], list[Refused]]:
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
        "exact_match": [0, 0],
        "normalised_match": [1, 0],
        "f1": [1, 0.667],
        "rouge_l": [1, 0.8],
    }


def scores_of(folder: Path, pairs: list[tuple[str, Any]]) -> dict[str, list[float]]:
    """The parts of all metrics for pairs of an answer and a reference."""
    rows = [{"id": str(place), "question": "?", "answer": text} for place, (_, text) in enumerate(pairs)]
    card = made(folder, SUMS, rows)
    questions, refused = asked(card, folder)
    assert not refused
    parts = score(card, "x", questions, [[answer] for answer, _ in pairs]).parts
    return {name: values.round(3).tolist() for name, values in parts.items()}


@pytest.mark.parametrize(
    ("answer", "reference", "exact", "normalised"),
    [
        ("-5", "5", 0, 1),
        ("15", "1.5", 0, 1),
        ("<", ">", 0, 1),
        ("C", "C++", 0, 1),
        (" 5\n", "5", 1, 1),
        ("paris", "Paris", 0, 1),
        ("5", 5.0, 1, 1),
        ("-2", -2.0, 1, 1),
        ("2.5", 2.5, 1, 1),
    ],
)
def test_exact_match_compares_the_texts_as_they_are(
    tmp_path: Path, answer: str, reference: Any, exact: float, normalised: float
) -> None:
    parts = scores_of(tmp_path, [(answer, reference)])
    assert (parts["exact_match"], parts["normalised_match"]) == ([exact], [normalised])


@pytest.mark.parametrize(
    "text",
    [
        "กรุงเทพมหานคร",
        "नमस्ते दुनिया",
        "你好，世界",
        "Привет, мир",
        "שלום",
        "١٢٣",
        "é",
        "A",
        "the",
        "a an",
        "<=",
        "😀",
        "5",
    ],
)
def test_a_text_that_is_its_reference_has_all_points(tmp_path: Path, text: str) -> None:
    names = ("exact_match", "normalised_match", "f1", "rouge_l")
    assert scores_of(tmp_path, [(text, text)]) == {name: [1.0] for name in names}


def test_rouge_l_takes_the_published_tokens_by_the_reference(tmp_path: Path) -> None:
    pairs = [
        ("the cats sat", "A cat sat."),
        ("кошка сидит", "кошка сидела дома"),
        ("ученик", "учебник"),
        ("手机 iPhone", "电脑 iPhone"),
        ("Кошка", "cat"),
    ]
    tracks = ("default", "xlingual", "xlingual", "xlingual", "default")
    published = [
        rouge.score([answer], [[text]], track).rougeL[0].round(3)
        for (answer, text), track in zip(pairs, tracks, strict=True)
    ]
    parts = scores_of(tmp_path, pairs)
    assert parts["rouge_l"] == published
    assert 0 < parts["rouge_l"][1] < 1 and parts["rouge_l"][3] < 1


def test_f1_keeps_articles_and_signs_only_where_nothing_else_is(tmp_path: Path) -> None:
    pairs = [("A.", "A"), ("A", "B"), ("the cat", "a cat"), ("<", ">"), ("", "A"), ("an A", "A")]
    assert scores_of(tmp_path, pairs)["f1"] == [1, 0, 1, 0, 0, 0.667]


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        (["5.0", "", "-12.0"], ["5", None, "-12"]),
        (["5.0", "7.0"], ["5.0", "7.0"]),
        (["5.0", "", "2.5"], ["5.0", None, "2.5"]),
        (["1.0.0", "", "2.0"], ["1.0.0", None, "2.0"]),
        (["", ""], [None, None]),
    ],
)
def test_a_column_with_gaps_has_whole_numbers(
    tmp_path: Path, cells: list[str], texts: list[str | None]
) -> None:
    card = made(tmp_path, SUMS.replace("sums.jsonl", "sums.csv"), [])
    lines = [f"{place},?,{cell}\n" for place, cell in enumerate(cells)]
    (tmp_path / "sums.csv").write_text("id,question,answer\n" + "".join(lines))
    assert card.load
    records = list(card.load(tmp_path))
    assert [one.references[0] if isinstance(one, Record) else None for one in records] == texts


@pytest.mark.parametrize("answer", ["NaN", "null", "Infinity", "[null]", '["x", NaN]'])
def test_a_gap_is_no_reference(tmp_path: Path, answer: str) -> None:
    text = SUMS.replace('["{{ answer }}"]', '"{{ answer }}"').replace("{{ id }}", "{{ number }}")
    card = made(tmp_path, text, [])
    (tmp_path / "sums.jsonl").write_text(
        f'{{"number": 1.0, "question": "?", "answer": {answer}}}\n'
        '{"number": 2.0, "question": "?", "answer": [5.0, 2.5], "unused": NaN}\n'
    )
    questions, refused = asked(card, tmp_path)
    assert [(it.id, it.raw.count(answer)) for it in refused] == [("1", 1)]
    assert "a value is null" in refused[0].reason
    assert [(one.id, one.references, one.parts["unused"]) for one in questions] == [("2", ("5", "2.5"), None)]


def test_a_question_is_not_among_its_own_examples(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "1 + 1?", "answer": 2},
        {"id": "b", "question": "2 + 3?", "answer": 5.0},
        {"id": "c", "question": "4 + 4?", "answer": 8},
    ]
    card = made(tmp_path, SUMS + "examples: sums.jsonl\n", rows)
    questions, _ = asked(card, tmp_path)
    texts = ["Question: 1 + 1?\nAnswer:", "Question: 2 + 3?\nAnswer:", "Question: 4 + 4?\nAnswer:"]
    for place, question in enumerate(questions):
        others = [(texts[other], str((2, 5, 8)[other])) for other in range(3) if other != place]
        prompt = "\n\n".join(f"{text} {answer}" for text, answer in others)
        assert card.prompt(question, ANY) == f"{prompt}\n\n{texts[place]}"
        assert card.turns(question, ANY) == (others, texts[place])


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
        (("[exact_match, normalised_match, f1, rouge_l]", "bleu"), 7, "metric = 'bleu' is not allowed"),
        (("[exact_match, normalised_match, f1, rouge_l]", "accuracy"), 7, "accuracy needs choices"),
        (("sums.jsonl", "none.jsonl"), 3, "no file"),
        (("sums.jsonl", "task.yaml"), 3, "task.yaml is no file of rows"),
        (("sums.jsonl", r'"a\0.jsonl"'), 3, "no file"),
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
    faults = own_task.read(file, allow_outside=False)[2]
    assert [one.line for one in faults] == [line] and told in faults[0].what
    with pytest.raises(NightjarError, match=rf"task.yaml:{line}: "):
        own_task.task_benchmark(file)


def test_a_task_file_is_a_benchmark_of_the_project_that_names_it(workdir: Path) -> None:
    made(workdir, SUMS, [{"id": "a", "question": "?", "answer": "2"}])
    group = "{code: task.yaml, data: sums.jsonl, split: data/none, encoder: data/none}"
    Path("params.yaml").write_text(f"benchmarks:\n  sums: {group}\n  plus: {group}\n")
    assert registry.load_benchmark("sums").source == "task.yaml" and "sums" in registry.names()
    with pytest.raises(
        NightjarError, match=r"this task has the name 'sums', at task.yaml; name it plus|name it plus"
    ):
        registry.load_benchmark("plus")
    Path("task.yaml").write_text(SUMS.lstrip().replace("sums", "protoqa", 1))
    with pytest.raises(NightjarError, match="there is a benchmark protoqa already"):
        registry.add(Path("task.yaml"))


@pytest.mark.parametrize("key", ["data", "examples"])
@pytest.mark.parametrize("way", ["absolute", "parent", "inside and out", "link", "link to a folder"])
def test_files_outside_of_the_folder_are_refused_unless_allowed(tmp_path: Path, key: str, way: str) -> None:
    folder, outside = tmp_path / "task", tmp_path / "task other"
    for path in (folder, outside):
        path.mkdir()
    rows = json.dumps({"id": "a", "question": "?", "answer": "2"}) + "\n"
    (outside / "rows.jsonl").write_text(rows)
    (folder / "sums.jsonl").write_text(rows)
    (folder / "link.jsonl").symlink_to(outside / "rows.jsonl")
    (folder / "linked").symlink_to(outside)
    names = {
        "absolute": str(outside / "rows.jsonl"),
        "parent": "../task other/rows.jsonl",
        "inside and out": "linked/../task other/rows.jsonl",
        "link": "link.jsonl",
        "link to a folder": "linked/rows.jsonl",
    }
    file, name = folder / "task.yaml", json.dumps(names[way])
    text = SUMS.lstrip()
    file.write_text(text.replace("sums.jsonl", name) if key == "data" else f"{text}examples: {name}\n")
    line = 3 if key == "data" else 10
    with pytest.raises(NightjarError, match=rf"task.yaml:{line}: {key} is outside of the task file's folder"):
        registry.add(file)
    found = check_task_file(file)
    assert [(fault["line"], found["questions"]) for fault in found["faults"]] == [(line, 0)]
    assert check_task_file(file, allow_outside=True)["questions"] == 1


@pytest.mark.parametrize("name", ["sums.jsonl", "./rows/../sums.jsonl", "rows/sums.jsonl", "link.jsonl"])
def test_files_within_the_folder_need_no_leave(tmp_path: Path, name: str) -> None:
    (tmp_path / "real/rows").mkdir(parents=True)
    (tmp_path / "folder").symlink_to("real")
    for file in ("sums.jsonl", "rows/sums.jsonl"):
        (tmp_path / "real" / file).write_text(json.dumps({"id": "a", "question": "?", "answer": "2"}) + "\n")
    (tmp_path / "real/link.jsonl").symlink_to("rows/sums.jsonl")
    file = tmp_path / "folder/task.yaml"
    file.write_text(SUMS.lstrip().replace("sums.jsonl", name))
    assert check_task_file(file)["errors"] == 0
    registry.add(file)


FIRST, SECOND = (json.dumps({"id": id, "question": "?", "answer": 1}) for id in "ab")


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("sums.jsonl", f"\n{FIRST}\n\n{SECOND}\n", [2, 4]),
        ("sums.json", f"[{FIRST},\n{SECOND}]", [None, None]),
        ("sums.csv", 'id,question,answer\na,"two\nlines",1\nb,y,2\n', [2, 4]),
        ("sums.tsv", "id\tquestion\tanswer\na\tx\t1\n\nb\ty\t2\n", [2, 4]),
    ],
)
def test_a_record_names_the_line_that_its_row_begins_on(
    tmp_path: Path, name: str, text: str, lines: list[int | None]
) -> None:
    card = made(tmp_path, SUMS.replace("sums.jsonl", name), [])
    (tmp_path / name).write_text(text)
    assert card.load
    assert [record.line for record in card.load(tmp_path) if isinstance(record, Record)] == lines
