"""Short documents, written like the prompts of Toolformer's evaluations: word problems, questions and statements.

Each ends with its answer, which a tool gives: the calculator, a search in the other documents, or the calendar. What is
evaluated is not among them: no number of a word problem, and no name that a question or statement asks about.
"""

# ruff: noqa: E501
# Sentences are easier to read and to extend on one line than wrapped.

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from random import Random

from data.sample_generator.core import an
from data.sample_generator.words import DAYS, MONTHS, TOWNS, couple, pronouns
from data.sample_generator.world import World

PROBLEMS, QUESTIONS, STATEMENTS, DATED = 60, 110, 60, 40

_SUMS = (
    "A farm near {T} sold {a} eggs in March and {b} eggs in April. How many eggs did it sell in the two months?",
    "{N} cycled {a} kilometres last year and {b} kilometres this year. How many kilometres is that altogether?",
    "The school of {T} has {a} girls and {b} boys. How many pupils does it have?",
    "{N} adds {a} and {b}. What is the sum?",
    "What is {a} plus {b}?",
)
_DIFFERENCES = (
    "A bakery in {T} made {a} rolls and sold {b} of them. How many rolls are left?",
    "A barrel held {a} litres of oil, and {b} litres were used. How many litres remain?",
    "The hotel of {T} has {a} windows, and {b} of them are clean. How many windows are not clean?",
    "{N} writes down {a} and subtracts {b}. What is the difference?",
    "What is {a} minus {b}?",
)
_PRODUCTS = (
    "{N} ordered {n} boxes of {m} nails. How many nails is that?",
    "A field near {T} has {n} rows of {m} vines. How many vines grow there?",
    "A lorry carries {n} pallets, and there are {m} bricks on each pallet. How many bricks does it carry?",
    "{N} multiplies {n} by {m}. What is the product?",
    "What is {n} times {m}?",
)
_SHARES = (
    "{p} apples are put into {m} baskets, the same number into each. How many apples are in a basket?",
    "{N} divides {p} by {m}. What is the result?",
    "What is {p} divided by {m}?",
)


def problems(rng: Random, taken: frozenset[str]) -> list[str]:
    """Word problems with their answers; none has a number of three or more digits that is in `taken`."""
    made: dict[str, None] = {}
    kinds = (_SUMS, _DIFFERENCES, _PRODUCTS, _SHARES)
    while len(made) < PROBLEMS:
        number = len(made)
        kind = kinds[number % 7 % 4]  # shares half as often as the others
        a, b = rng.randint(1120, 8990), rng.randint(215, 1090)
        n, m = rng.randint(112, 480), rng.randint(13, 94)
        values = {"a": a, "b": b, "n": n, "m": m, "p": n * m, "T": rng.choice(TOWNS), "N": couple(rng)[0]}
        text = kind[number // 7 % len(kind)].format(**values)
        if taken.isdisjoint(re.findall(r"\d{3,}", text)):
            answer = {_SUMS: a + b, _DIFFERENCES: a - b, _PRODUCTS: n * m, _SHARES: n}[kind]
            made[f"{text} The answer is {answer}."] = None
    return list(made)


def questions(world: World, rng: Random, taken: str) -> list[str]:
    """Questions and statements about the world with their answers; none names what the lower-case text `taken` names."""
    asked, stated = list[str](), list[str]()
    for name, one in _told(world):
        if name.lower() not in taken:
            for question, statement, answer in one:
                asked.append(f"Answer the following question: {question} The answer is {answer}.")
                stated.append(
                    f"Please complete the following text so that it is factually correct: {statement} {answer}."
                )
    return rng.sample(asked, QUESTIONS) + rng.sample(stated, STATEMENTS)


def _told(world: World) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Each name of the world with questions and beginnings of statements about it, and their common answers."""
    for s in world.structures:
        yield (
            s.name,
            [
                (f"Who designed the {s.name}?", f"The {s.name} was designed by", s.designer),
                (f"What was used to build the {s.name}?", f"The {s.name} was built of", s.material),
                (f"When was the {s.name} opened?", f"The {s.name} was opened in", str(s.opened)),
                (f"Where is the {s.name}?", f"The {s.name} can be seen in the town of", s.town),
            ],
        )
    for p in world.people:
        yield (
            p.name,
            [
                (f"Where was {p.name} born?", f"{p.name} was born in the town of", p.town),
                (f"When was {p.name} born?", f"{p.name} was born in", str(p.born)),
                (f"What was {p.name}?", f"In life, {p.name} was", an(p.profession)),
            ],
        )
    for m in world.museums:
        yield (
            m.name,
            [
                (f"Who founded the {m.name}?", f"The {m.name} was founded by", m.founder),
                (
                    f"On which day is the {m.name} closed?",
                    f"The day on which the {m.name} is closed is",
                    m.closed,
                ),
                (f"When was the {m.name} founded?", f"The {m.name} was founded in", str(m.founded)),
            ],
        )
    for f in world.firms:
        yield (
            f.name,
            [
                (f"What does {f.name} make?", f"The firm {f.name} makes", f.product),
                (f"Who founded {f.name}?", f"The firm {f.name} was founded by", f.founder),
                (f"Where is the firm {f.name}?", f"{f.name} is a firm in the town of", f.town),
            ],
        )


def _weekday(day: date) -> str:
    return DAYS[day.weekday()]


# What is asked, and its answer on a day.
_DATED: tuple[tuple[str, Callable[[date], str]], ...] = (
    ("{N} opens a shop in {T} today. On which day of the week does {he} open it?", _weekday),
    ("{N} starts a new job this month. Which month is it?", lambda day: MONTHS[day.month - 1]),
    ("{N} writes a diary in {T}. Which year does {he} put on the first page today?", lambda day: str(day.year)),
    ("Today the market of {T} is full of people. Which weekday is that?", _weekday),
    ("{N} leaves {T} tomorrow. On which weekday does {he} leave?", lambda day: _weekday(day + timedelta(days=1))),
    ("The choir of {T} gives a concert this month. Which month is that?", lambda day: MONTHS[day.month - 1]),
    ("{N} came back to {T} yesterday. Which weekday was that?", lambda day: _weekday(day - timedelta(days=1))),
    ("{N} sends a parcel to {T} today. Which date does the stamp show?", lambda day: f"{MONTHS[day.month - 1]} {day.day}, {day.year}"),
)  # fmt: skip


def dated(rng: Random, number: int, day: date) -> str:
    """The `number`-th question about the day on which it is asked, with its answer."""
    question, answer = _DATED[number % len(_DATED)]
    name = couple(rng)[0]
    filled = question.format(N=name, T=rng.choice(TOWNS), he=pronouns(name)[0])
    return f"Answer the following question: {filled} The answer is {answer(day)}."
