"""Test tasks: textual entailment (two English, one German) and cause effect classification."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.causes import CAUSES, fill_causes
from data.sample_generator.core import Pair, TaskSpec, an, cap, cycle, two
from data.sample_generator.words import (
    ACTIONS,
    DAYS,
    MEN,
    PLACES,
    TIMES,
    TOWNS,
    WOMEN,
    couple,
    person,
    pronouns,
)

LABELS = ("entailment", "contradiction", "neutral")
GOODS = (
    "piano",
    "boat",
    "cottage",
    "camera",
    "guitar",
    "tractor",
    "sewing machine",
    "stamp collection",
    "motorbike",
)
GROUPS = ("pupils", "runners", "drivers", "apprentices", "nurses", "swimmers")
TALL = ("church", "mill", "water tower", "hotel", "lighthouse", "oak tree", "radio mast", "silo")


def _scene(rng: Random) -> tuple[str, str, str, str]:
    name, action = person(rng), rng.choice(ACTIONS)
    place, other = two(rng, PLACES)
    pronoun = pronouns(name)[0]
    return (
        f"{name} {action.past} {action.thing} {place} {rng.choice(TIMES)}.",
        rng.choice((f"{cap(action.thing)} was {action.participle} {place}.", f"{name} was {place}.")),
        rng.choice((f"{name} has never {action.participle} {action.thing}.",
                    f"The only place where {name} {action.past} {action.thing} was {other}.")),
        rng.choice((f"{name} was paid for {action.ing} {action.thing}.",
                    f"{name} wanted to show a friend what {pronoun} could do.",
                    f"It was the third time that {name} {action.past} {action.thing}.")),
    )  # fmt: skip


def _size(rng: Random) -> tuple[str, str, str, str]:
    a, b = two(rng, TALL)
    town = rng.choice(TOWNS)
    return (
        f"The {a} in {town} is taller than the {b} next to it.",
        rng.choice((f"The {b} in {town} is shorter than the {a}.", f"There is {an(b)} in {town}.")),
        rng.choice(
            (f"The {b} in {town} is taller than the {a}.", f"The {a} and the {b} in {town} are equally tall.")
        ),
        rng.choice(
            (f"The {a} in {town} is older than the {b}.", f"Many tourists come to {town} to see the {b}.")
        ),
    )


def _test(rng: Random) -> tuple[str, str, str, str]:
    group, n, town = rng.choice(GROUPS), rng.randint(6, 28), rng.choice(TOWNS)
    return (
        f"All {n} {group} from {town} passed the test on {rng.choice(DAYS)}.",
        rng.choice(
            (f"None of the {group} from {town} failed the test.", f"There were {n} {group} from {town}.")
        ),
        rng.choice(
            (f"Two of the {group} from {town} failed the test.", f"Only {n - 3} {group} from {town} passed.")
        ),
        rng.choice(
            (f"The {group} from {town} found the test easy.", f"The {group} had prepared for {n} days.")
        ),
    )


def _deal(rng: Random) -> tuple[str, str, str, str]:
    a, b = couple(rng)
    good, place = rng.choice(GOODS), rng.choice(PLACES)
    return (
        f"{a} sold a {good} to {b} {rng.choice(TIMES)}.",
        rng.choice((f"{b} bought a {good} from {a}.", f"{b} paid {a} for a {good}.")),
        rng.choice((f"{b} sold the {good} to {a}.", f"{a} gave the {good} away for nothing.")),
        rng.choice((f"{b} had been looking for a {good} for years.", f"{a} first saw the {good} {place}.")),
    )


def _relation(rng: Random, index: int) -> Pair | None:
    label = cycle(LABELS, index)
    texts = rng.choice((_scene, _scene, _size, _test, _deal))(rng)
    return f"Premise: {texts[0]} Hypothesis: {texts[1 + LABELS.index(label)]}", [label]


def _rule(rng: Random) -> tuple[str, str, str]:
    floor, room = rng.randint(2, 6), rng.randint(1, 19)
    what = rng.choice(("a balcony", "a fireplace", "a view of the sea", "a desk", "two windows"))
    text = f"Every room on floor {floor} has {what}. Room {floor}{room:02d} is on floor {floor}."
    return (
        text,
        f"Room {floor}{room:02d} has {what}.",
        f"Room {floor}{room:02d} costs more than the other rooms.",
    )


def _order(rng: Random) -> tuple[str, str, str]:
    a, b, c = rng.sample(WOMEN + MEN, 3)
    verb = rng.choice(("arrived", "finished", "left", "woke up"))
    return (
        f"{a} {verb} before {b}. {b} {verb} before {c}.",
        f"{a} {verb} before {c}.",
        f"{c} {verb} before {a}.",
    )


def _condition(rng: Random) -> tuple[str, str, str]:
    event = rng.choice(("match", "market", "concert", "boat race", "open-air play"))
    weather = rng.choice(("it rains", "it snows", "there is a storm", "there is fog"))
    past = {"it rains": "It rained", "it snows": "It snowed"}.get(
        weather, weather.replace("there is", "There was")
    )
    day, town = rng.choice(DAYS), rng.choice(TOWNS)
    text = f"If {weather}, the {event} in {town} is cancelled. {past} in {town} on {day}."
    return (
        text,
        f"The {event} in {town} was cancelled on {day}.",
        f"The {event} in {town} took place on {day}.",
    )


def _inside(rng: Random) -> tuple[str, str, str]:
    item = rng.choice(("key", "letter", "ring", "map", "ticket", "torch", "passport"))
    box = rng.choice(("drawer", "blue box", "suitcase", "tin", "cupboard", "basket"))
    room, other = two(rng, ("kitchen", "garage", "cellar", "bedroom", "attic", "hall"))
    owner = person(rng)
    text = f"{owner}'s {item} is in the {box}. The {box} is in the {room}."
    return text, f"{owner}'s {item} is in the {room}.", f"{owner}'s {item} is in the {other}."


def _follows(rng: Random, index: int) -> Pair | None:
    text, sound, unsound = rng.choice((_rule, _order, _condition, _inside))(rng)
    yes = index % 2 == 0
    return f"Facts: {text} Conclusion: {sound if yes else unsound}", ["yes" if yes else "no"]


_DE_THINGS = (
    "ein Fahrrad",
    "einen Tisch",
    "eine Lampe",
    "ein Buch",
    "einen Mantel",
    "eine Gitarre",
    "ein Zelt",
)
_DE_CITIES = ("Berlin", "Hamburg", "Wien", "Bern", "Köln", "Dresden", "Graz", "Basel")
_DE_DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")


def _german(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    (city, other), (day, later) = two(rng, _DE_CITIES), two(rng, _DE_DAYS)
    thing = rng.choice(_DE_THINGS)
    family = rng.choice((
        (f"{a} hat am {day} {thing} von {b} gekauft.", f"{b} hat {thing} verkauft.", f"{b} hat {thing} gekauft."),
        (f"{a} wohnt in {city}, aber {b} wohnt in {other}.", f"{b} wohnt in {other}.", f"{b} wohnt in {city}."),
        (f"{a} fährt am {day} mit dem Zug nach {city}.", f"{a} reist nach {city}.", f"{a} bleibt am {day} zu Hause."),
        (f"Das Museum in {city} ist nur am {day} geschlossen.", f"Das Museum in {city} hat am {later} geöffnet.",
         f"Das Museum in {city} hat am {day} geöffnet."),
        (f"{a} ist älter als {b}.", f"{b} ist jünger als {a}.", f"{b} ist älter als {a}."),
    ))  # fmt: skip
    yes = index % 2 == 0
    return f"Text: {family[0]} Aussage: {family[1 if yes else 2]}", ["ja" if yes else "nein"]


def _role(rng: Random, index: int) -> Pair | None:
    cause, effect = fill_causes(rng, [rng.choice(CAUSES[:26])])[0]
    is_cause = index % 2 == 0
    first, second = (cause, effect) if is_cause else (effect, cause)
    return f"Sentence 1: {first} Sentence 2: {second}", ["cause" if is_cause else "effect"]


def _choice(rng: Random, index: int) -> Pair | None:
    (cause, effect), (other_cause, other_effect) = fill_causes(rng, rng.sample(CAUSES[26:], 2))
    if (index // 2) % 2:
        question, event, options = "What was the cause?", effect, [cause, other_cause]
    else:
        question, event, options = "What happened as a result?", cause, [effect, other_effect]
    if index % 2:
        options.reverse()
    return f"Event: {event} {question} A: {options[0]} B: {options[1]}", ["B" if index % 2 else "A"]


TASKS = [
    TaskSpec(
        name="notebook_sentence_pair_relation", categories=["Textual Entailment"], source="nightjar_notebook_pairs",
        definition="You are given a premise and a hypothesis. Answer 'entailment' if the hypothesis must be true whenever "
        "the premise is true, 'contradiction' if it cannot be true when the premise is true, and 'neutral' if the "
        "premise does not settle the matter.",
        make=_relation, size=96, domains=["Miscellaneous"], reasoning=["Textual Entailment", "Deductive Reasoning"],
        positive=[
            ("Premise: Clara lent her tent to Omar in June. Hypothesis: Omar borrowed a tent from Clara.", "entailment",
             "To lend something to a person means that the person borrows it, so the hypothesis has to be true."),
            ("Premise: The bakery in Tarnley opens at 6 every day. Hypothesis: The bakery in Tarnley is closed on "
             "Sundays.", "contradiction", "A shop that opens every day is also open on Sundays."),
            ("Premise: Paul walked to the post office. Hypothesis: Paul sent a parcel to his aunt.", "neutral",
             "We do not learn why Paul went there; the hypothesis may or may not be true."),
        ],
        negative=[
            ("Premise: Grace has two brothers. Hypothesis: Grace has a sister.", "contradiction",
             "Having two brothers does not rule out a sister. The right answer is 'neutral'."),
            ("Premise: Nobody was at home. Hypothesis: The house was empty.", "true",
             "The answer has to be one of the three words; here it should be 'entailment'."),
        ],
    ),
    TaskSpec(
        name="notebook_conclusion_follows", categories=["Textual Entailment"], source="nightjar_rules_and_facts",
        definition="Read the given facts and the conclusion after them. Decide with the facts alone whether the "
        "conclusion must be true. Answer 'yes' if it follows from the facts, otherwise answer 'no'.",
        make=_follows, size=90, reasoning=["Logical Reasoning", "Deductive Reasoning"],
        positive=[
            ("Facts: Every ferry to the island carries lifeboats. The Petrel is a ferry to the island. Conclusion: The "
             "Petrel carries lifeboats.", "yes", "The rule holds for every ferry to the island, and the Petrel is one."),
            ("Facts: The red car is faster than the blue car. The blue car is faster than the van. Conclusion: The van "
             "is faster than the red car.", "no", "The van is the slowest of the three, so this cannot be true."),
        ],
        negative=[
            ("Facts: Helen's scarf is in the bag. The bag is on the chair. Conclusion: Helen's scarf is on the table.",
             "yes", "The bag with the scarf is on the chair and not on the table, so the answer is 'no'."),
        ],
    ),
    TaskSpec(
        name="german_statement_follows", categories=["Textual Entailment"], source="nightjar_german_statements",
        definition="You are given a short text and a statement, both in German. Answer 'ja' if the statement follows "
        "from the text. Answer 'nein' if the text says something else.",
        make=_german, size=60, reasoning=["Textual Entailment"], input_language=["German"], output_language=["German"],
        positive=[
            ("Text: Lukas hat zwei Schwestern und keinen Bruder. Aussage: Lukas hat Schwestern.", "ja",
             "The text says that Lukas has two sisters, so the statement follows."),
            ("Text: Der Laden schließt am Samstag um 14 Uhr. Aussage: Der Laden ist am Samstagabend offen.", "nein",
             "The shop closes at 14:00 on Saturday, so it is not open in the evening."),
        ],
        negative=[
            ("Text: Eva trinkt gern Tee, aber keinen Kaffee. Aussage: Eva mag Tee.", "nein",
             "Eva likes to drink tea, so the statement follows and the answer is 'ja'."),
        ],
    ),
    TaskSpec(
        name="village_cause_or_effect", categories=["Cause Effect Classification"], source="nightjar_village_events",
        definition="The input has two sentences about the same event: one is the cause of the other. Answer 'cause' if "
        "Sentence 1 tells the cause of Sentence 2, and 'effect' if Sentence 1 tells the result of Sentence 2.",
        make=_role, size=90, reasoning=["Causal Reasoning", "Commonsense Reasoning"], domains=["Commonsense"],
        positive=[
            ("Sentence 1: The baker forgot the yeast. Sentence 2: The dough did not rise.", "cause",
             "Dough without yeast does not rise: Sentence 1 tells why Sentence 2 happened."),
            ("Sentence 1: The whole street was dark. Sentence 2: A falling tree cut the power line.", "effect",
             "The lights went out because the line was cut, so Sentence 1 is the result."),
        ],
        negative=[
            ("Sentence 1: The boat began to leak. Sentence 2: The boat hit a rock.", "cause",
             "Hitting the rock came first and made the leak; Sentence 1 is the effect."),
        ],
    ),
    TaskSpec(
        name="household_more_plausible_alternative", categories=["Cause Effect Classification"],
        source="nightjar_household_events",
        definition="You are given an event, a question about its cause or its result, and two alternatives marked A and "
        "B. Choose the alternative that is the more plausible cause or result, and answer with its letter, 'A' or 'B'.",
        make=_choice, size=84, reasoning=["Causal Reasoning", "Commonsense Reasoning"], domains=["Commonsense"],
        positive=[
            ("Event: The milk stood in the sun all day. What happened as a result? A: The milk turned sour. B: The cow "
             "gave more milk.", "A", "Milk that is kept warm turns sour; the cow has nothing to do with it."),
            ("Event: Ruth shivered at the bus stop. What was the cause? A: The bus was painted green. B: Ruth had left "
             "her coat at home.", "B", "Without a coat one is cold; the colour of the bus does not make anybody shiver."),
        ],
        negative=[
            ("Event: Hugo dropped the glass on the stone floor. What happened as a result? A: The glass broke. B: The "
             "glass was filled with juice.", "B", "A glass that falls on stone most likely breaks, so A is right."),
            ("Event: The dog barked. What was the cause? A: Somebody rang the bell. B: The bell was made of brass.",
             "Somebody rang the bell.", "Only the letter is asked for; the answer should be 'A'."),
        ],
    ),
]  # fmt: skip
