"""Test tasks: textual entailment and cause effect classification."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.causes import HOUSEHOLD, VILLAGE
from data.sample_generator.core import Pair, TaskSpec, an, turn, two
from data.sample_generator.passages import FOLLOWS, RELATED
from data.sample_generator.words import DAYS, TOWNS, couple, fill

LABELS = ("entailment", "contradiction", "neutral")
GOODS = [
    "piano",
    "boat",
    "cottage",
    "camera",
    "guitar",
    "tractor",
    "sewing machine",
    "stamp collection",
    "motorbike",
]
GROUPS = ("pupils", "runners", "drivers", "apprentices", "nurses", "swimmers")
TALL = ("church", "mill", "water tower", "hotel", "lighthouse", "oak tree", "radio mast", "silo")


def _size(rng: Random) -> list[str]:
    a, b = two(rng, TALL)
    town = rng.choice(TOWNS)
    return [
        f"The {a} in {town} is taller than the {b} next to it.",
        rng.choice((f"The {b} in {town} is shorter than the {a}.", f"There is {an(b)} in {town}.")),
        rng.choice((f"The {b} in {town} is taller than the {a}.", f"The {a} and the {b} in {town} are equally tall.")),
        rng.choice((f"The {a} in {town} is older than the {b}.", f"Many tourists come to {town} to see the {b}.")),
    ]  # fmt: skip


def _test(rng: Random) -> list[str]:
    group, n, town = rng.choice(GROUPS), rng.randint(6, 28), rng.choice(TOWNS)
    return [
        f"All {n} {group} from {town} passed the test on {rng.choice(DAYS)}.",
        rng.choice((f"None of the {group} from {town} failed the test.", f"There were {n} {group} from {town}.")),
        rng.choice((f"Two of the {group} from {town} failed the test.", f"Only {n - 3} {group} from {town} passed.")),
        rng.choice((f"The {group} from {town} found the test easy.", f"The {group} had prepared for {n} days.")),
    ]  # fmt: skip


def _deal(rng: Random) -> list[str]:
    a, b = couple(rng)
    good = rng.choice(GOODS)
    return [
        f"{a} sold a {good} to {b} on {rng.choice(DAYS)}.",
        rng.choice((f"{b} bought a {good} from {a}.", f"{b} paid {a} for a {good}.")),
        rng.choice((f"{b} sold the {good} to {a}.", f"{a} gave the {good} away for nothing.")),
        rng.choice((f"{b} had been looking for a {good} for years.", f"{a} inherited the {good} from an aunt.")),
    ]  # fmt: skip


def _relation(rng: Random, index: int) -> Pair | None:
    label = index % 3
    made = index // 3 % 5
    texts = (_size, _test, _deal)[made](rng) if made < 3 else fill(rng, rng.choice(RELATED))
    return f"Premise: {texts[0]} Hypothesis: {texts[1 + label]}", [LABELS[label]]


def _follows(rng: Random, index: int) -> Pair | None:
    text, sound, unsound = fill(rng, turn(FOLLOWS, index, 2))
    return f"Facts: {text} Conclusion: {unsound if index % 2 else sound}", ["no" if index % 2 else "yes"]


def _role(rng: Random, index: int) -> Pair | None:
    cause, effect = fill(rng, turn(VILLAGE, index, 2))
    first, second = (effect, cause) if index % 2 else (cause, effect)
    return f"Sentence 1: {first} Sentence 2: {second}", ["effect" if index % 2 else "cause"]


def _choice(rng: Random, index: int) -> Pair | None:
    pair = turn(HOUSEHOLD, index)
    other = rng.choice([line for line in HOUSEHOLD if line != pair])
    cause, effect, other_cause, other_effect = fill(rng, (*pair, *other))
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
