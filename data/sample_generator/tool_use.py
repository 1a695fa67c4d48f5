"""Questions in the published formats of SVAMP, ASDiv and WebQuestions, 24 each.

The word problems have numbers that are too large for the head of a small model, and a calculator gives each answer. The
open questions ask what only the corpus says, and nothing that a training task asks.
"""

# ruff: noqa: E501
# Sentences are easier to read and to extend on one line than wrapped.

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from xml.sax.saxutils import escape

from data.sample_generator.words import TOWNS, couple, pronouns
from data.sample_generator.world import World

SIZE = 24
Problem = dict[str, str]


def tool_use_files(world: World, seed: int) -> dict[str, str]:
    """Relative path to text of the three files."""
    rng = Random(f"{seed}:tool_use")
    return {
        "tool_use/svamp/SVAMP.json": _json(_svamp(rng)),
        "tool_use/asdiv/ASDiv.xml": _xml(_asdiv(rng)),
        "tool_use/webquestions/test.json": _json(_web_questions(world, rng)),
    }


def _json(rows: Sequence[dict[str, object]]) -> str:
    return json.dumps(rows, indent=4, ensure_ascii=False) + "\n"


_SIGNS = {"Addition": "+", "Subtraction": "-", "Multiplication": "*", "Common-Division": "/"}


def _svamp(rng: Random) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for number in range(SIZE):
        body, question, kind, a, b = _two_numbers(rng)[number % 12]
        sign = _SIGNS[kind]
        answer = {"+": a + b, "-": a - b, "*": a * b, "/": a // b}[sign]
        rows.append(
            {
                "ID": f"nightjar-{number + 1}",
                "Body": body,
                "Question": question,
                "Equation": f"( {float(a)} {sign} {float(b)} )",
                "Answer": float(answer),
                "Type": kind,
            }
        )
    return rows


def _two_numbers(rng: Random) -> list[tuple[str, str, str, int, int]]:
    """(body, question, type, first number, second number), one of every kind. Some bodies have a number to ignore."""
    a, b, c = rng.randint(2150, 9860), rng.randint(318, 1987), rng.randint(12, 95)
    n, m = rng.randint(137, 489), rng.randint(23, 78)
    town = rng.choice(TOWNS)
    name, other = couple(rng)
    he = pronouns(name)[0]
    return [
        (f"The workshop in {town} painted {a} chairs in spring and {b} chairs in autumn", "How many chairs did it paint in the two seasons?", "Addition", a, b),
        (f"{name} owned {a} shells. {he.capitalize()} gave {b} of them to {other} and found {c} round stones.", f"How many shells does {name} have left?", "Subtraction", a, b),
        (f"A train has {n} seats in each coach and {c} tables in all. It runs with {m} coaches.", "How many seats are there on the train?", "Multiplication", n, m),
        (f"{n * m} bottles are packed into crates of {m} bottles. An empty crate weighs {c} kilograms.", "How many crates are filled?", "Common-Division", n * m, m),
        (f"{name} walks {n * m} steps in {m} minutes, the same number in every minute", f"How many steps does {name} walk in a minute?", "Common-Division", n * m, m),
        (f"The old stairs to the castle of {town} have {a} steps. The new stairs have {b} steps more.", "How many steps do the new stairs have?", "Addition", a, b),
        (f"{a} people came to the fair on Saturday. That is {b} more than on Friday.", "How many people came on Friday?", "Subtraction", a, b),
        (f"A baker needs {n} grams of flour for a loaf and {c} grams of sugar for a cake.", f"How many grams of flour does the baker need for {m} loaves?", "Multiplication", n, m),
        (f"The ferry of {town} takes {n} passengers on every trip", f"How many passengers does it take on {m} trips?", "Multiplication", n, m),
        (f"{name} earned {a} dollars and spent {b} dollars on a boat with {c} lamps", f"How many dollars does {name} have left?", "Subtraction", a, b),
        (f"From the tower {name} counted {a} swallows and {b} sparrows, but only {c} herons.", f"How many swallows and sparrows did {he} count altogether?", "Addition", a, b),
        (f"A cable of {n * m} metres is cut into pieces of {m} metres.", "How many pieces are there?", "Common-Division", n * m, m),
    ]  # fmt: skip


def _asdiv(rng: Random) -> list[Problem]:
    return [_with_unit(rng)[number % 12] for number in range(SIZE)]


def _decimal(cents: int) -> str:
    """Dollars as the published file writes them: 83.2, 12.45, 40."""
    return f"{cents // 100}.{cents % 100:02d}".rstrip("0").rstrip(".")


def _with_unit(rng: Random) -> list[Problem]:
    """One problem of every kind."""
    a, b, n = rng.randint(213, 987), rng.randint(31, 97), rng.randint(13, 48)
    price = rng.randint(325, 4895)
    name, other = couple(rng)
    he = pronouns(name)[0]
    days = [rng.randint(110, 890) for _ in range(4)]
    days[0] += -sum(days) % 4
    listed = ", ".join(map(str, days[:3]))
    dollars = _decimal(price)
    return [
        _problem(f"A ticket for the night ferry costs ${price / 100:.2f}.", f"How much do {n} tickets cost?", "Multiplication", _decimal(price * n), "dollars", f"{dollars}*{n}"),
        _problem(f"{name} buys a coat for ${price / 100:.2f} and pays with ${a}.00.", f"How much money does {he} get back?", "Subtraction", _decimal(100 * a - price), "dollars", f"{a}-{dollars}"),
        _problem(f"A truck drives {a} kilometers every day and {b} kilometers every night.", f"How far does it drive in {n} days and nights?", "Sequential-Operation", str((a + b) * n), "kilometers", f"({a}+{b})*{n}"),
        _problem(f"{n} neighbours share a bill of ${price * n / 100:.2f} equally.", "How much does each of them pay?", "Common-Division", dollars, "dollars", f"{_decimal(price * n)}/{n}"),
        _problem(f"A field is {a} meters long and {b} meters wide.", "Find its area.", "Geometry", str(a * b), "square meters", f"{a}*{b}"),
        _problem(f"A rectangular pond is {a} feet long and {b} feet wide.", "What is the length of the fence around it?", "Geometry", str(2 * (a + b)), "feet", f"2*({a}+{b})"),
        _problem(f"A machine prints {a} posters an hour. If it runs for {b} hours,", "how many posters does it print?", "Multiplication", str(a * b), "posters", f"{a}*{b}"),
        _problem(f"On four days {listed} and {days[3]} visitors came to the museum.", "What was the average number of visitors?", "Sum", str(sum(days) // 4), "visitors", f"({'+'.join(map(str, days))})/4"),
        _problem(f"{name} has {a} stamps. {other} has {n} times as many.", f"How many stamps does {other} have more than {name}?", "Comparison", str(a * n - a), "stamps", f"{a}*{n}-{a}"),
        _problem(f"A tank holds {a * n} liters of water. Every minute {b} liters flow out.", f"How many liters are in it after {n} minutes?", "TVQ-Final", str(a * n - b * n), "liters", f"{a * n}-{b}*{n}"),
        _problem(f"The mill ground {a * 7} sacks of corn in 7 weeks and {b * 9} sacks of rye in 9 weeks.", "How many sacks of corn and rye is that in one week on average?", "Sequential-Operation", str(a + b), "sacks", f"{a * 7}/7+{b * 9}/9"),
        _problem(f"{name} saves ${dollars} a week.", f"How much has {he} saved after {n} weeks if {he} had ${a} at the beginning?", "Sum", _decimal(price * n + 100 * a), "dollars", f"{a}+{dollars}*{n}"),
    ]  # fmt: skip


def _problem(body: str, question: str, kind: str, answer: str, unit: str, formula: str) -> Problem:
    return {
        "Body": body,
        "Question": question,
        "Solution-Type": kind,
        "Answer": f"{answer} ({unit})",
        "Formula": f"{formula}={answer}",
    }


def _xml(problems: Sequence[Problem]) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8" ?>', "<Machine-Reading-Corpus-File>", "", "<ProblemSet>"]
    for number, problem in enumerate(problems, start=1):
        lines.append(
            f'\t<Problem ID="nightjar-{number:04d}" Grade="5" Source="https://example.org/nightjar-sample">'
        )
        lines += [f"\t\t<{name}>{escape(text)}</{name}>" for name, text in problem.items()]
        lines.append("\t</Problem>")
    return "\n".join([*lines, "</ProblemSet>", "", "</Machine-Reading-Corpus-File>", ""])


def _web_questions(world: World, rng: Random) -> list[dict[str, object]]:
    """Four questions of each of six kinds, in lower case as the published ones."""
    structures = iter(rng.sample(world.structures, 12))
    museums, people, firms = (rng.sample(list(of), 4) for of in (world.museums, world.people, world.firms))
    asked: list[tuple[str, list[str]]] = []
    for number in range(4):
        designed, made, measured = next(structures), next(structures), next(structures)
        museum, person, firm = museums[number], people[number], firms[number]
        # No training task asks the same of the same person.
        about_person = (
            (f"what year was {person.name} born?", [str(person.born)])
            if number % 2 == 0
            else (f"what was the profession of {person.name}?", [person.profession])
        )
        size = "long" if measured.kind == "bridge" else "high"
        asked += [
            (f"who designed the {designed.name}?", [designed.designer]),
            (f"what is the {made.name} made of?", [made.material]),
            (
                f"how many metres {size} is the {measured.name}?",
                [str(measured.metres), f"{measured.metres} metres"],
            ),
            (f"what year was the {museum.name} founded?", [str(museum.founded)]),
            about_person,
            (f"what year was the firm {firm.name} founded?", [str(firm.founded)]),
        ]
    return [
        {"qId": f"nightjar{number:06d}", "answers": answers, "qText": question.lower()}
        for number, (question, answers) in enumerate(asked, start=1)
    ]
