"""Training tasks that ask for facts: closed-book questions about the corpus, dates, and reading a passage."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from data.sample_generator import questions
from data.sample_generator.core import Maker, Pair, TaskSpec, an, turn
from data.sample_generator.passages import CLAIMS, READ
from data.sample_generator.words import (
    DAYS,
    MONTHS,
    PRESENT_YEAR,
    TOWNS,
    couple,
    fill,
    person,
    pronouns,
    table,
    two_towns,
)
from data.sample_generator.world import World


def _opened(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        number = len(world.structures)
        s = world.structures[index % number]
        wording, year = (questions.OPENED, s.opened) if index < number else (questions.BEGUN, s.begun)
        return turn(wording, index).format(S=s.name, T=s.town, N=person(rng)), [str(year)]

    return make


def _people(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        p = turn(world.people, index)
        wording, answers = (
            (questions.BORN_IN, [p.town]),
            (questions.PROFESSION, [p.profession, an(p.profession)]),
            (questions.BORN, [str(p.born)]),
            (questions.WORK, [p.work]),
        )[index % 4]
        return turn(wording, index // 4).format(P=p.name), answers

    return make


def _firms(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        firm, museum = world.firms[(index // 4) % 25], world.museums[(index // 4) % 25]
        wording, answer = (
            (questions.MAKES, firm.product),
            (questions.FIRM_FOUNDER, firm.founder),
            (questions.CLOSED, museum.closed),
            (questions.MUSEUM_FOUNDER, museum.founder),
        )[index % 4]
        text = turn(wording, index // 4).format(F=firm.name, T=firm.town, M=museum.name, N=person(rng))
        return text, [answer]

    return make


def _date_line(rng: Random, day: date) -> str:
    """Half of the lines leave the weekday out: then only a calendar can tell it."""
    weekday = f"{DAYS[day.weekday()]}, " if rng.random() < 0.5 else ""
    return f"Date: {weekday}{MONTHS[day.month - 1]} {day.day}, {day.year}."


_FIRST_DAY, _LAST_DAY = date(2016, 1, 1), date(PRESENT_YEAR, 12, 31)


def _some_day(rng: Random) -> date:
    return _FIRST_DAY + timedelta(days=rng.randint(0, (_LAST_DAY - _FIRST_DAY).days))


_SHOPS = [
    "museum",
    "bakery",
    "library",
    "swimming pool",
    "post office",
    "toy shop",
    "zoo",
    "cinema",
    "town hall",
    "flower shop",
    "barber's shop",
    "climbing hall",
    "tourist office",
    "fish market",
    "ice rink",
    "bookshop",
    "botanical garden",
    "sauna",
    "tea house",
    "bicycle shop",
    "pharmacy",
    "farm shop",
    "pottery",
]
_RULES = (
    "The {p} in {T} is closed on {c}s and open on all other days.",
    "On {c}s the {p} in {T} stays closed; on the other days one can go in.",
    "The {p} in {T} opens every day except {c}.",
    "The {p} of {T} has one day of rest a week, and that is {c}.",
    "A sign at the {p} in {T} says: closed on {c}s.",
    "One finds the {p} in {T} open all week, but never on a {c}.",
    "The {p} in {T} takes {c} off and works on the other six days.",
    "Every day but {c} the {p} in {T} opens at nine.",
    "According to {N}, the {p} in {T} shuts on {c}s only.",
    "In {T} the {p} can be visited on any day other than {c}.",
)
_OPEN_QUESTIONS = (
    "Is the {p} open today?", "Can we visit the {p} today?", "Is it worth going to the {p} today?",
    "Would we find the {p} open today?", "{B} wants to go to the {p} now. Is it open?", "Shall we try the {p} today?",
    "Does the {p} open today?", "Can {B} go to the {p} today?",
)  # fmt: skip


def _open_today(rng: Random, index: int) -> Pair | None:
    today, place = _some_day(rng), turn(_SHOPS, index, 2)
    day = DAYS[today.weekday()]
    closed = day if index % 2 else rng.choice([d for d in DAYS if d != day])
    name, other = couple(rng)
    values = {"p": place, "T": rng.choice(TOWNS), "c": closed, "N": name, "B": other}
    rule, question = (rng.choice(texts).format(**values) for texts in (_RULES, _OPEN_QUESTIONS))
    answer = f"{'No' if index % 2 else 'Yes'}, it is {day}, and the {place} is {'closed' if index % 2 else 'open'}."
    return f"{_date_line(rng, today)} {rule} {question}", [answer]


_PLANS = [
    "concert",
    "visit to the dentist",
    "football match",
    "exam",
    "boat trip",
    "wedding",
    "school play",
    "flea market",
    "job interview",
    "chess game",
    "piano lesson",
    "parents' evening",
    "birthday party",
    "bicycle race",
    "choir rehearsal",
    "blood test",
    "garden party",
    "swimming lesson",
    "reading",
    "theatre evening",
    "council meeting",
    "driving test",
    "picnic",
    "farewell dinner",
    "puppet show",
    "lecture on bees",
    "class trip",
    "fire drill",
    "harvest feast",
]
_REMARKS = (
    "{N} says that the {p} {v} {w}. On which day of the week {v} the {p}?",
    "In {N}'s notebook it says that the {p} {v} {w}. Which weekday {v} that?",
    "According to {N}, the {p} {v} {w}. Name the day of the week.",
    "The {p} {v} {w}, {N} writes. What day of the week {v} that?",
    "A note on {N}'s door reads: the {p} {v} {w}. Which weekday {v} it?",
    "{N} told {B} that the {p} {v} {w}. Which weekday is meant?",
    "Everybody in {T} knows that the {p} {v} {w}. On what day of the week {v} it?",
    "The {p} in {T} {v} {w}. Can you tell {N} the weekday?",
    "{N} has forgotten the weekday of the {p} but remembers that it {v} {w}. Help {N}.",
    "I hear from {T} that the {p} {v} {w}. Which day of the week {v} that?",
    "{N} and {B} cannot agree on the weekday of the {p}, which {v} {w}. What is it?",
    "If the {p} in {T} {v} {w}, which weekday {v} it?",
)


_SAME_WEEKDAY = ((0, "today"), (0, "in a week"), (0, "a week ago"))
_SHIFTED = ((1, "tomorrow"), (2, "the day after tomorrow"), (-1, "yesterday"))


def _near_day(rng: Random, index: int) -> Pair | None:
    today = _some_day(rng)
    name, other = couple(rng)
    shift, word = rng.choice(_SHIFTED if index % 2 else _SAME_WEEKDAY)
    plan, verb = turn(_PLANS, index), "was" if word in ("yesterday", "a week ago") else "is"
    text = turn(_REMARKS, index).format(p=plan, v=verb, w=word, N=name, B=other, T=rng.choice(TOWNS))
    answer = f"{DAYS[(today.weekday() + shift) % 7]} {verb} the day of the {plan}."
    return f"{_date_line(rng, today)} {text}", [answer]


# most years|question about the year {y}|answer with the years {d} since then
_AGES = table("""
88|{N} was born in {y}. How old does {N} become this year?|{N} turns {d} this year.
88|The mill in {T} was opened in {y}. How many years ago was that?|The mill was opened {d} years ago.
40|{N} has worked in the theatre since {y}. For how many years is that?|{N} has worked there for {d} years.
40|{N} and {B} got married in {y}. For how many years have they been married?|They have been married for {d} years.
88|The choir of {T} has existed since {y}. How old is it this year?|The choir is {d} years old.
88|The last bear near {T} was seen in {y}. How long ago is that?|It was seen {d} years ago.
40|{N} bought the house in {T} in {y}. How long has {he} owned it?|{N} has owned it for {d} years.
88|The lime tree of {T} was planted in {y}. How long has it been growing?|It has been growing for {d} years.
40|{N} left school in {y}. How many years have passed since then?|Since then {d} years have passed.
88|The towns {T} and {U} have been partners since {y}. How long is that now?|They have been partners for {d} years.
40|{N} has lived in {T} since {y}. How many years does that make?|{N} has lived there for {d} years.
40|The clock on the tower of {T} stopped in {y}. How long has it stood still?|It has stood still for {d} years.
40|{N} has been collecting stamps since {y}. For how many years now?|{N} has been collecting stamps for {d} years.
40|{N} and {B} last met in {T} in {y}. How many years have they not seen each other?|They have not seen each other for {d} years.
40|The bridge to {T} was closed in {y} and never opened again. How long has it been closed?|It has been closed for {d} years.
20|{N} painted the fence in {y}. How many years has the paint lasted?|The paint has lasted {d} years.
20|The council of {T} promised a new school in {y}. How long have people been waiting for it?|They have been waiting for {d} years.
10|{N}'s passport was issued in {y}. How old is it now?|The passport is {d} years old.
40|A bottle of wine in {N}'s cellar is from {y}. How old is the wine?|The wine is {d} years old.
20|{N} has had the same bicycle since {y}. How long is that?|{N} has had it for {d} years.
40|The band of {N} gave its first concert in {y}. How many years has it been playing?|It has been playing for {d} years.
40|The last snow in {T} fell in {y}. For how long has there been no snow?|There has been no snow for {d} years.
40|{N} learned to swim in {y}. How many years ago was this?|{N} learned it {d} years ago.
88|The inn of {T} has belonged to one family since {y}. How many years is it now?|It has belonged to the family for {d} years.
20|{B} lent {N} a book in {y} and still has not got it back. How long has {N} had it?|{N} has had the book for {d} years.
20|The statue in {T} was stolen in {y} and has not been found. How long has it been missing?|It has been missing for {d} years.
40|{N} gave up smoking in {y}. How many years without a cigarette does that make?|That makes {d} years without a cigarette.
88|The first bus came to {T} in {y}. How long has the town had a bus?|The town has had a bus for {d} years.
""")


def _this_year(rng: Random, index: int) -> Pair | None:
    today = _some_day(rng)
    name, other = couple(rng)
    most, *texts = turn(_AGES, index)
    age = rng.randint(2, int(most))
    town, another = two_towns(rng)
    values = {"N": name, "B": other, "he": pronouns(name)[0], "T": town, "U": another}
    text, answer = (part.format(y=today.year - age, d=age, **values) for part in texts)
    return f"{_date_line(rng, today)} {text}", [answer]


def _passage(rng: Random, index: int) -> Pair | None:
    line = turn(READ, index)
    at = 1 + 2 * (index // len(READ) % 4)
    text, question, answer = fill(rng, (line[0], line[at], line[at + 1]))
    # `fill` begins with an upper-case letter; the answer is copied as it occurs in the passage.
    copied = answer if answer in text else answer[0].lower() + answer[1:]
    return f"Passage: {text} Question: {question}", [copied]


def _claim(rng: Random, index: int) -> Pair | None:
    texts = fill(rng, turn(CLAIMS, index, 3))
    return f"Evidence: {texts[0]} Claim: {texts[1 + index % 3]}", [
        ("supported", "refuted", "not enough information")[index % 3]
    ]


def tasks(world: World) -> list[TaskSpec]:
    """The training tasks of this module; the first three can only be answered from the corpus."""
    return [
        TaskSpec(
            name="landmark_opening_year", categories=["Question Answering"], source="nightjar_encyclopedia_landmarks",
            definition="Answer a question about the year in which a bridge, tower, lighthouse, library or station was opened, or "
            "in which work on it began. The answer is a year written with four digits and nothing else.",
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
            definition="Answer a question about a person of former times: where or when the person was born, the profession, "
            "or what the person is known for. Give only the town, year, profession or work, without a full sentence.",
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
            "with one sentence that begins with 'Yes' or 'No' and names the day of the week and whether the place is open.",
            make=_open_today, size=90, reasoning=["Temporal Reasoning"], domains=["Public Places"],
            positive=[
                ("Date: Tuesday, May 7, 2019. The market in Fallowby is held every day except Tuesday. Is the market open "
                 "today?", "No, it is Tuesday, and the market is closed.", "The market is not held on Tuesdays."),
                ("Date: June 1, 2019. The castle in Fallowby is closed on Mondays. Can we visit the castle "
                 "today?", "Yes, it is Saturday, and the castle is open.", "June 1, 2019 was a Saturday; the castle is closed on Mondays."),
            ],
            negative=[
                ("Date: Sunday, June 2, 2019. The bank in Fallowby is closed on Sundays. Is the bank open today?", "No.",
                 "The answer is right but it should be a sentence: 'No, it is Sunday, and the bank is closed.'"),
            ],
        ),
        TaskSpec(
            name="weekday_of_an_appointment", categories=["Question Answering"], source="nightjar_appointments",
            definition="Given today's date and a remark about something that happens on a near day, say on which day of the week "
            "it is or was. Answer with one sentence that begins with this weekday.",
            make=_near_day, size=90, reasoning=["Temporal Reasoning"],
            positive=[
                ("Date: Thursday, July 4, 2019. Otto says that the party is tomorrow. On which day of the week is the party?",
                 "Friday is the day of the party.", "The day after Thursday is Friday."),
                ("Date: July 8, 2019. According to Edda, the storm was yesterday. Name the day of the week.",
                 "Sunday was the day of the storm.", "July 8, 2019 was a Monday, and the day before is Sunday."),
            ],
            negative=[
                ("Date: Friday, July 5, 2019. Otto says that the trip is the day after tomorrow. On which day of the week is "
                 "the trip?", "Saturday is the day of the trip.", "Saturday is tomorrow; it should be Sunday."),
            ],
        ),
        TaskSpec(
            name="years_until_this_year", categories=["Question Answering"], source="nightjar_anniversaries",
            definition="Use the date at the start of the input to answer a question about an age or a number of years. Answer "
            "with one short sentence that states the number of years and what it is about.",
            make=_this_year, size=90, reasoning=["Temporal Reasoning", "Mathematics -> Arithmetic"],
            positive=[
                ("Date: Tuesday, May 7, 2019. Otto was born in 1989. How old does Otto become this year?",
                 "Otto turns 30 this year.", "2019 less 1989 is 30."),
                ("Date: Tuesday, May 7, 2019. The canal was opened in 1919. How many years ago was that?",
                 "The canal was opened 100 years ago.", "2019 less 1919 is 100."),
            ],
            negative=[
                ("Date: Tuesday, May 7, 2019. Edda was born in 2001. How old does Edda become this year?",
                 "Edda turns 17 this year.", "The number is wrong: 2019 less 2001 is 18."),
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
