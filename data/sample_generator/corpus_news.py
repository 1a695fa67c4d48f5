"""Short news: reports with a sum that a calculator could check, and notes that depend on the day they were written."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from datetime import date
from random import Random

from data.sample_generator.core import cap
from data.sample_generator.words import DAYS, MONTHS, TOWNS, person, pronouns

SUM_COUNT = 21
DAILY_COUNT = 21


def _sum_sentences(rng: Random, town: str, name: str) -> list[tuple[str, str]]:
    """(title, sentence) of each kind of sum; the numbers are drawn anew at every call."""
    he = pronouns(name)[0]
    n, m, q = rng.randint(6, 38), rng.randint(7, 48), rng.randint(12, 95)
    a, b = rng.randint(160, 880), rng.randint(25, 150)
    y, d = rng.randint(1880, 1960), rng.randint(13, 60)
    hours, speed, price = rng.randint(2, 9), rng.randint(42, 98), rng.randint(6, 45)
    mean, off = rng.randint(30, 80), rng.randint(3, 12)
    pack, thing = rng.choice(
        ("boxes pens", "crates bottles", "trays eggs", "bags onions", "rolls stickers")
    ).split()
    day = rng.choice(DAYS[:5])
    return [
        (f"A Good Week for a Shop in {town}",
         f"The shop sold {n} {pack} of {m} {thing} each, which is {n * m} {thing} in all."),
        (f"Full Market in {town}",
         f"On Saturday {a} people came to the market and on Sunday {b}, a total of {a + b} visitors."),
        (f"Fewer Members for the Club in {town}",
         f"The club had {a} members last year; {b} of them have left, so it now has {a - b} members."),
        (f"Money for the Schools of {town}",
         f"The {n * q} dollars from the lottery were divided equally among {n} schools, so each got {q} dollars."),
        (f"A Lesson at the Fair of {town}", f"On the board at the fair stood in large figures: {a} + {b} = {a + b}."),
        (f"New Football Field for {town}",
         f"The new field is {n + 20} metres wide and {m + 50} metres long, and so it has an area of "
         f"{(n + 20) * (m + 50)} square metres."),
        (f"Faster Train to {town}",
         f"The train covered {hours * speed} kilometres in {hours} hours, an average of {speed} kilometres per hour."),
        (f"{name} Leaves {town}", f"{name} came to {town} in {y} and left it in {y + d}, that is after {d} years."),
        (f"The Choir of {town} Travels", f"The choir bought {n} tickets at {price} dollars each and paid {n * price} dollars."),
        (f"Trees Cut Down in {town}", f"Of the {a} trees along the road {b} were cut down, so {a - b} are left."),
        (f"{name} Prepares for a Concert",
         f"{name} practises {hours} hours a day, and in {n} days that makes {hours * n} hours."),
        (f"Archers of {town} Do Well",
         f"The three archers reached {mean - off}, {mean} and {mean + off} points, an average of {mean} points."),
        (f"New Seats in the Theatre of {town}", f"The hall has {n} rows of {m} seats each, so {n * m} people can sit there."),
        (f"{town} Grows", f"The town had {a * 10} inhabitants and has gained {b}, so that it now counts {a * 10 + b}."),
        (f"Hens of {town} Lay Well", f"The hens laid {b} eggs a day, which in 7 days equals {b * 7} eggs."),
        (f"A Full Ferry at {town}",
         f"There were {a - 100} passengers on the ferry; {b - 20} got off at the first stop and {a - b - 80} went on."),
        (f"Flour for the Bakers of {town}",
         f"A lorry brought {n} sacks of {q} kilograms each, and the scales showed {n * q} kilograms."),
        (f"Prices Fall in {town}",
         f"A bicycle that cost {a} dollars is now {b} dollars cheaper and costs {a - b} dollars."),
        (f"Library of {town} Counts Its Books",
         f"The library owns {a} novels and {b + 40} atlases, a total of {a + b + 40} books."),
        (f"{name} Saves for a Boat", f"{name} put {price} dollars aside each month, and after {n} months {he} had {n * price}."),
        (f"Bricks for a Wall in {town}",
         f"The {n * q} bricks were carried by {n} helpers, who on {day} took {q} bricks each in their carts."),
    ]  # fmt: skip


_REMARKS = (
    "{N} was pleased and thanked all who had helped.", "\"It was more work than we thought,\" said {N}.",
    "The mayor wrote it down in the town's book.", "Not everybody agrees, but most people do.",
    "Some had hoped for even more.", "{N} checked the sum on the back of an envelope.",
)  # fmt: skip


def sums(rng: Random) -> list[tuple[str, str]]:
    """(title, text) of reports with a sum each."""
    reports = []
    for index in range(SUM_COUNT):
        kinds = _sum_sentences(rng, rng.choice(TOWNS), person(rng))
        title, sentence = kinds[index % len(kinds)]
        reports.append((title, f"{sentence} {rng.choice(_REMARKS).format(N=person(rng))}"))
    return reports


def daily(rng: Random, number: int, day: date) -> tuple[str, str]:
    """(title, text) of a note written on `day`, which names its weekday, its month or its year, by turns."""
    town, name = rng.choice(TOWNS), person(rng)
    he = pronouns(name)[0]
    today, tomorrow, yesterday = (DAYS[(day.weekday() + s) % 7] for s in (0, 1, -1))
    elsewhere = rng.choice([t for t in TOWNS if t != town])
    month, span = MONTHS[day.month - 1], rng.randint(15, 120)
    place = rng.choice(("museum", "library", "swimming pool", "market hall", "post office", "zoo"))
    building = rng.choice(("mill", "theatre", "hospital", "town hall", "school", "railway"))
    closed = rng.choice([today, *(d for d in DAYS if d != today)][:2])
    state = "closed" if closed == today else "open"
    weekday_lines = [
        f"Today is {today}, and the {place} in {town} is {state}, for its only day of rest is {closed}.",
        f"The {place} in {town} never opens on {closed}s, and since today is {today}, it is {state}.",
        f"Today is {today}, so tomorrow, on {tomorrow}, {name} will travel to {elsewhere}.",
        f"Yesterday was {yesterday}, and today, on {today}, {name} is back at work.",
        f"The current day of the week is {today}, and the weekly meeting in {town} begins at noon.",
    ]
    date_lines = [
        f"It is {month} {day.day}, {day.year}, and the {building} in {town} has its day of open doors.",
        f"Today, on {today}, {month} {day.day}, {day.year}, {name} opened the new exhibition in {town}.",
        f"We write {month} {day.year}, and the garden of {name} is already the talk of {town}.",
        f"As this is the month of {month}, {name} has put the summer chairs away." if day.month in (10, 11, 12) else
        f"As this is the month of {month}, {name} is making plans for the summer.",
    ]  # fmt: skip
    year_lines = [
        f"It is now {day.year}, and the {building}, opened in {day.year - span}, is {span} years old.",
        f"The current year is {day.year}, so {name}, who was born in {day.year - 70}, becomes 70 this year.",
        f"{name} came to {town} in {day.year - span % 30 - 2}; now it is {day.year}, and {he} is still here.",
        f"Next year will be {day.year + 1}, and by then the {building} should be repaired.",
    ]
    title = rng.choice(
        (f"Notes from {town}", f"{today} in {town}", f"{town} in {month} {day.year}", f"A Day with {name}")
    )
    line = rng.choice((weekday_lines, date_lines, year_lines)[number % 3])
    closing = rng.choice(("Until then we wish all our readers well.", "More will follow as soon as we know it.",
                          "The weather is fair and the shops are busy."))  # fmt: skip
    return cap(title), f"{line} {closing}"
