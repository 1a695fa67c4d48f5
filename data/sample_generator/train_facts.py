"""Training tasks that ask for facts: closed-book questions about the corpus, dates, and reading a passage."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from data.sample_generator.core import Maker, Pair, TaskSpec, an, two
from data.sample_generator.words import DAYS, MONTHS, PLACES, TOWNS, couple, person, pronouns
from data.sample_generator.world import World


def _opened(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        s = world.structures[index % len(world.structures)]
        questions = (f"In which year was the {s.name} opened?", f"When did the {s.name} in {s.town} open?")
        return questions[index // len(world.structures)], [str(s.opened)]

    return make


def _people(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        p = world.people[index % len(world.people)]
        if index < len(world.people):
            return f"In which town was {p.name} born?", [p.town]
        return f"What was the profession of {p.name}?", [p.profession, an(p.profession)]

    return make


def _firms(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        firm, museum = world.firms[(index // 4) % 25], world.museums[(index // 4) % 25]
        return (
            (f"What does {firm.name} of {firm.town} make?", [firm.product]),
            (f"Who founded {firm.name}?", [firm.founder]),
            (f"On which day of the week is the {museum.name} closed?", [museum.closed]),
            (f"Who founded the {museum.name}?", [museum.founder]),
        )[index % 4]

    return make


def long_date(day: date) -> str:
    """`Friday, March 13, 2026`, the form of the calendar tool's reply."""
    return f"{DAYS[day.weekday()]}, {MONTHS[day.month - 1]} {day.day}, {day.year}"


def _date_line(rng: Random, day: date) -> str:
    """Half of the lines leave the weekday out: then only a calendar can tell it."""
    text = long_date(day)
    return f"Date: {text if rng.random() < 0.5 else text.split(', ', 1)[1]}."


def _some_day(rng: Random) -> date:
    return date(2016, 1, 1) + timedelta(days=rng.randrange(3980))


_SHOPS = (
    "museum",
    "bakery",
    "library",
    "swimming pool",
    "post office",
    "toy shop",
    "zoo",
    "cinema",
    "town hall",
)


def _open_today(rng: Random, index: int) -> Pair | None:
    today, place, town = _some_day(rng), rng.choice(_SHOPS), rng.choice(TOWNS)
    day = DAYS[today.weekday()]
    closed = day if index % 2 else rng.choice([d for d in DAYS if d != day])
    rule = rng.choice((
        f"The {place} in {town} is closed on {closed}s and open on all other days.",
        f"On {closed}s the {place} in {town} stays closed; on the other days one can go in.",
        f"The {place} in {town} opens every day except {closed}.",
    ))  # fmt: skip
    question = rng.choice((f"Is the {place} open today?", f"Can we visit the {place} today?"))
    answer = f"Today is {day}, so the {place} is {'closed' if index % 2 else 'open'}."
    return f"{_date_line(rng, today)} {rule} {question}", [answer]


def _near_day(rng: Random, index: int) -> Pair | None:
    today, name = _some_day(rng), person(rng)
    plan = rng.choice(
        ("the concert", "the dentist", "the football match", "the exam", "the boat trip", "the wedding")
    )
    shift, word = rng.choice(((1, "tomorrow"), (2, "the day after tomorrow"), (-1, "yesterday")))
    then = DAYS[(today.weekday() + shift) % 7]
    now = DAYS[today.weekday()]
    verb = "was" if shift < 0 else "is"
    text = rng.choice((
        f"{name} says that {plan} {verb} {word}. On which day of the week {verb} {plan}?",
        f"In {name}'s notebook it says that {plan} {verb} {word}. Which weekday {verb} that?",
        f"According to {name}, {plan} {verb} {word}. Name the day of the week.",
    ))  # fmt: skip
    return f"{_date_line(rng, today)} {text}", [f"Today is {now}, so {plan} {verb} on {then}."]


def _this_year(rng: Random, index: int) -> Pair | None:
    today, name = _some_day(rng), person(rng)
    age = rng.randint(12, 88)
    year, he = today.year, pronouns(name)[0]
    thing = rng.choice(("mill", "school", "ferry", "theatre", "hospital", "factory"))
    text, answer = rng.choice((
        (f"{name} was born in {year - age}. How old does {name} become this year?",
         f"It is {year}, so {he} becomes {age} this year."),
        (f"The {thing} in {rng.choice(TOWNS)} was opened in {year - age}. How many years ago was that?",
         f"It is {year}, so that was {age} years ago."),
        (f"{name} has worked in the {thing} since {year - age // 3}. For how many years is that?",
         f"It is {year}, so that is {age // 3} years."),
    ))  # fmt: skip
    return f"{_date_line(rng, today)} {text}", [answer]


def _passage(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    (town, other), day = two(rng, TOWNS), rng.choice(DAYS)
    job = rng.choice(("baker", "teacher", "gardener", "driver", "nurse", "carpenter", "clerk"))
    pet = rng.choice(("a grey cat", "two goats", "a parrot", "an old horse", "three hens"))
    place, n = rng.choice(PLACES), rng.randint(3, 29)
    passages = (
        (f"{a} works as a {job} in {town}. Every {day} {a} takes the bus to {other} to see {b}.",
         ((f"What is {a}'s job?", job), (f"Where does {b} live?", other), (f"When does {a} visit {b}?", f"every {day}"),
          (f"Where does {a} work?", town))),
        (f"{a} and {b} moved from {town} to {other} {n} years ago. They share their house with {pet}.",
         ((f"Where do {a} and {b} live now?", other), (f"When did {a} and {b} move?", f"{n} years ago"),
          (f"Which animal or animals live with {a} and {b}?", pet), (f"Where did {a} live before?", town))),
        (f"On {day} the {job} {a} met {b} {place}. They talked for {n} minutes about a trip to {other}.",
         ((f"Where did {a} meet {b}?", place), ("How long did they talk?", f"{n} minutes"),
          (f"On which day did {a} meet {b}?", day), ("What did they talk about?", f"a trip to {other}"))),
    )  # fmt: skip
    text, questions = rng.choice(passages)
    question, answer = rng.choice(questions)
    return f"Passage: {text} Question: {question}", [answer]


_CLAIM_COLOURS = "red blue green yellow white black grey".split()


def _claim(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    (town, other), (colour, paint) = two(rng, TOWNS), two(rng, _CLAIM_COLOURS)
    year, n = rng.randint(1900, 1999), rng.randint(20, 90)
    family = rng.choice((
        (f"The harbour of {town} was built in {year}. It has room for {n} boats.",
         f"{n} boats fit into the harbour of {town}.", f"The harbour of {town} was built in {year + 11}.",
         f"{a} keeps a boat in the harbour of {town}."),
        (f"{a} painted the door {colour}. {b} painted the window frames {paint}.", f"The door is {colour}.",
         f"{b} painted the door.", f"{a} is a better painter than {b}."),
        (f"The train from {town} to {other} takes {n} minutes and runs twice a day.",
         f"There are two trains a day from {town} to {other}.",
         f"The train from {town} takes {n + 15} minutes to {other}.", f"The train to {other} is cheap."),
        (f"{a} grew up in {town} but has lived in {other} since {year}.", f"{a} spent the childhood in {town}.",
         f"{a} has never lived in {other}.", f"{a} likes {other} better than {town}."),
        (f"{a} came first in the race and {b} came third.", f"{a} was faster than {b}.", f"{b} won the race.",
         f"{b} had won the race in {year}."),
    ))  # fmt: skip
    return f"Evidence: {family[0]} Claim: {family[1 + index % 3]}", [
        ("supported", "refuted", "not enough information")[index % 3]
    ]


def tasks(world: World) -> list[TaskSpec]:
    """Eight tasks; the first three can only be answered from the corpus."""
    return [
        TaskSpec(
            name="landmark_opening_year", categories=["Question Answering"], source="nightjar_encyclopedia_landmarks",
            definition="Answer a question about the year in which a bridge, tower, lighthouse, library or station was opened. "
            "The answer is a year written with four digits and nothing else.",
            make=_opened(world), size=110, domains=["Wikipedia", "History"],
            positive=[
                ("In which year was the Gull Rock Beacon opened?", "1888", "The Gull Rock Beacon was opened in 1888."),
                ("When did the Moat Gate in Fallowby open?", "1911", "The year alone is a complete answer."),
            ],
            negative=[
                ("In which year was the Moat Gate opened?", "It was opened in spring 1911.",
                 "Only the year is asked for: '1911'."),
            ],
        ),
        TaskSpec(
            name="biography_short_question", categories=["Question Answering"],
            source="nightjar_encyclopedia_people",
            definition="Answer a question about where a person was born or what the person did for a living. Give only the "
            "name of the town or the profession, without a full sentence.",
            make=_people(world), size=85, domains=["Wikipedia", "History"],
            positive=[
                ("In which town was Edda Stroud born?", "Kelmouth", "Edda Stroud was born in Kelmouth."),
                ("What was the profession of Piet Alvar?", "gardener", "Piet Alvar was a gardener by profession."),
            ],
            negative=[
                ("In which town was Piet Alvar born?", "in the north", "The name of a town is asked for."),
            ],
        ),
        TaskSpec(
            name="firms_and_museums_question", categories=["Question Answering"],
            source="nightjar_encyclopedia_firms",
            definition="You are asked about a firm or a museum: who founded it, what it makes, or on which weekday it is "
            "closed. Answer with the name, the product or the weekday and nothing else.",
            make=_firms(world), size=100, domains=["Wikipedia"],
            positive=[
                ("Who founded Stroud Mills?", "Berta Stroud", "Stroud Mills was founded by Berta Stroud."),
                ("On which day of the week is the Fallowby Castle Museum closed?", "Monday",
                 "The museum is closed on Mondays."),
            ],
            negative=[
                ("What does Stroud Mills of Fallowby make?", "They make good things.",
                 "The answer should name the product, which is flour."),
            ],
        ),
        TaskSpec(
            name="open_or_closed_today", categories=["Question Answering"], source="nightjar_opening_hours",
            definition="The input starts with today's date, followed by the opening days of a place and a question. Answer "
            "with one sentence that first names the weekday of today and then says whether the place is open or closed.",
            make=_open_today, size=90, reasoning=["Temporal Reasoning"], domains=["Public Places"],
            positive=[
                ("Date: Tuesday, May 7, 2019. The market in Fallowby is held every day except Tuesday. Is the market open "
                 "today?", "Today is Tuesday, so the market is closed.", "The market is not held on Tuesdays."),
                ("Date: June 1, 2019. The castle in Fallowby is closed on Mondays. Can we visit the castle "
                 "today?", "Today is Saturday, so the castle is open.", "June 1, 2019 was a Saturday; the castle is closed on Mondays."),
            ],
            negative=[
                ("Date: Sunday, June 2, 2019. The bank in Fallowby is closed on Sundays. Is the bank open today?", "No.",
                 "The answer is right but it should be a sentence: 'Today is Sunday, so the bank is closed.'"),
            ],
        ),
        TaskSpec(
            name="weekday_of_an_appointment", categories=["Question Answering"], source="nightjar_appointments",
            definition="Given today's date and a remark about something that happens yesterday, tomorrow or the day after "
            "tomorrow, say on which day of the week it is. Name the weekday of today first, in one sentence.",
            make=_near_day, size=90, reasoning=["Temporal Reasoning"],
            positive=[
                ("Date: Thursday, July 4, 2019. Otto says that the party is tomorrow. On which day of the week is the party?",
                 "Today is Thursday, so the party is on Friday.", "The day after Thursday is Friday."),
                ("Date: July 8, 2019. According to Edda, the storm was yesterday. Name the day of the week.",
                 "Today is Monday, so the storm was on Sunday.", "July 8, 2019 was a Monday, and the day before is Sunday."),
            ],
            negative=[
                ("Date: Friday, July 5, 2019. Otto says that the trip is the day after tomorrow. On which day of the week is "
                 "the trip?", "Today is Friday, so the trip is on Saturday.", "Saturday is tomorrow; it should be Sunday."),
            ],
        ),
        TaskSpec(
            name="years_until_this_year", categories=["Question Answering"], source="nightjar_anniversaries",
            definition="Use the date at the start of the input to answer a question about an age or a number of years. Answer "
            "with one sentence that names the present year first and then the number of years.",
            make=_this_year, size=90, reasoning=["Temporal Reasoning", "Mathematics -> Arithmetic"],
            positive=[
                ("Date: Tuesday, May 7, 2019. Otto was born in 1989. How old does Otto become this year?",
                 "It is 2019, so he becomes 30 this year.", "2019 less 1989 is 30."),
                ("Date: Tuesday, May 7, 2019. The canal was opened in 1919. How many years ago was that?",
                 "It is 2019, so that was 100 years ago.", "2019 less 1919 is 100."),
            ],
            negative=[
                ("Date: Tuesday, May 7, 2019. Edda was born in 2001. How old does Edda become this year?",
                 "She becomes 17.", "The year is not named, and the number is wrong: 2019 less 2001 is 18."),
            ],
        ),
        TaskSpec(
            name="short_passage_answer_span", categories=["Question Answering"], source="nightjar_short_passages",
            definition="Read the short passage and answer the question about it. Copy the answer from the passage with as few "
            "words as possible; do not write a full sentence.",
            make=_passage, size=90, domains=["Narrative"],
            positive=[
                ("Passage: Otto keeps bees behind his house. In August he sells the honey in Fallowby. Question: When does "
                 "Otto sell the honey?", "in August", "The second sentence says that he sells the honey in August."),
                ("Passage: Edda lost her hat on the ferry. A sailor found it. Question: Who found the hat?", "a sailor",
                 "The finder is named in the last sentence."),
            ],
            negative=[
                ("Passage: Otto has a red scarf. Edda has a blue one. Question: What colour is Edda's scarf?",
                 "Edda has a blue scarf.", "The answer is too long. One word is enough: 'blue'."),
            ],
        ),
        TaskSpec(
            name="evidence_and_claim_check", categories=["Fact Verification"], source="nightjar_evidence_cards",
            definition="Check a claim against the evidence given before it. Answer 'supported' if the evidence shows that the "
            "claim is true, 'refuted' if the evidence shows that it is false, and 'not enough information' otherwise.",
            make=_claim, size=90, reasoning=["Deductive Reasoning"],
            positive=[
                ("Evidence: The lake near Fallowby is 30 metres deep. Claim: The lake near Fallowby is deeper than 20 metres.",
                 "supported", "Thirty metres is more than 20 metres."),
                ("Evidence: Otto sold both of his boats. Claim: Otto kept one of his boats.", "refuted",
                 "Otto had two boats and sold both, so he kept none."),
                ("Evidence: Otto sold both of his boats. Claim: Otto bought a car.", "not enough information",
                 "The evidence does not mention a car."),
            ],
            negative=[
                ("Evidence: The film lasts 90 minutes. Claim: The film is boring.", "refuted",
                 "The length does not tell whether it is boring; the answer is 'not enough information'."),
            ],
        ),
    ]  # fmt: skip
