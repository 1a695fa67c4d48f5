"""The sample's questions for tool use: their arithmetic, and their answers in the corpus.

As in test_sample.py, the checks read the files only.
"""

from __future__ import annotations

import ast
import json
import operator
import re
import xml.etree.ElementTree as ET
from collections import Counter
from fractions import Fraction
from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "data" / "sample"

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def computed(expression: str) -> Fraction:
    """The exact value of an expression of numbers, + - * / and parentheses."""

    def value(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            result: Fraction = OPERATORS[type(node.op)](value(node.left), value(node.right))
            return result
        return Fraction(ast.unparse(node))

    return value(ast.parse(expression.strip(), mode="eval").body)


def exact_numbers(text: str) -> Counter[Fraction]:
    return Counter(Fraction(n) for n in re.findall(r"\d+(?:\.\d+)?", text))


def is_hard(expression: str) -> bool:
    """Not a sum of the times table."""
    return sum(len(n) for n in re.findall(r"\d+", expression.replace(".0", ""))) >= 5


def test_word_problems_of_svamp() -> None:
    rows = json.loads((SAMPLE / "tool_use" / "svamp" / "SVAMP.json").read_text(encoding="utf-8"))
    assert len(rows) == 24 == len({row["ID"] for row in rows}) == len({row["Body"] for row in rows})
    for row in rows:
        assert list(row) == ["ID", "Body", "Question", "Equation", "Answer", "Type"]
        assert computed(row["Equation"]) == Fraction(row["Answer"]) == int(row["Answer"]) > 0
        assert exact_numbers(row["Equation"]) <= exact_numbers(f"{row['Body']} {row['Question']}"), row[
            "Body"
        ]
        assert is_hard(row["Equation"])
    assert len({row["Type"] for row in rows}) == 4


def test_word_problems_of_asdiv() -> None:
    problems = ET.parse(SAMPLE / "tool_use" / "asdiv" / "ASDiv.xml").getroot().findall("ProblemSet/Problem")
    assert len(problems) == 24 == len({p.get("ID") for p in problems})
    for p in problems:
        assert [e.tag for e in p] == ["Body", "Question", "Solution-Type", "Answer", "Formula"]
        body, question, _, answer, formula = [e.text or "" for e in p]
        expression, _, result = formula.partition("=")
        assert re.fullmatch(r"[0-9.]+ \([a-z ]+\)", answer)
        assert computed(expression) == Fraction(result) == Fraction(answer.split()[0]) > 0
        assert is_hard(expression)
        # Beside constants such as the 2 of a perimeter.
        known = exact_numbers(f"{body} {question}")
        assert all(n in known or n < 10 for n in exact_numbers(expression)), body


def test_open_questions_are_answered_by_the_corpus_and_by_no_training_task() -> None:
    rows = json.loads((SAMPLE / "tool_use" / "webquestions" / "test.json").read_text(encoding="utf-8"))
    assert len(rows) == 24 == len({row["qId"] for row in rows}) == len({row["qText"] for row in rows})
    texts = (SAMPLE / "corpus" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) for line in texts]
    tasks = [
        json.loads(p.read_text(encoding="utf-8")) for p in SAMPLE.glob("natural_instructions/tasks/*.json")
    ]
    asked = [i for t in tasks if "Question Answering" in t["Categories"] for i in t["Instances"]]
    assert len(asked) > 600
    for row in rows:
        assert list(row) == ["qId", "answers", "qText"]
        assert row["qText"] == row["qText"].lower() and row["qText"].endswith("?")
        (about,) = [d for d in documents if f" {d['title'].lower()} " in row["qText"].replace("?", " ")]
        assert row["answers"][0] in about["text"]
        title = about["title"].lower()
        told = [i for i in asked if title in i["input"].lower() and set(row["answers"]) & set(i["output"])]
        assert told == []
