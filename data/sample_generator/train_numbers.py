"""Training tasks with arithmetic. The answer is a sentence with the computed number, which a calculator can give."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, cap
from data.sample_generator.words import DAYS, TOWNS, couple, person, pronouns

_PACKS = (
    "boxes pens|crates bottles|bags oranges|shelves books|rows chairs|trays eggs|packets seeds|baskets apples|"
    "albums stamps|cartons candles|drawers spoons|rolls stickers|buses passengers|tables guests"
).split("|")


def _product(rng: Random, index: int) -> Pair | None:
    pack, thing = rng.choice(_PACKS).split()
    n, each = rng.randint(3, 48), rng.randint(4, 60)
    name, town = person(rng), rng.choice(TOWNS)
    holding = "carry" if pack == "buses" else "seat" if pack == "tables" else "hold"
    text = rng.choice((
        f"There are {n} {pack} in the hall, and each of them has {each} {thing}. How many {thing} are there in all?",
        f"{name} counts {n} {pack} with {each} {thing} each. How many {thing} does that make?",
        f"In {town} stand {n} {pack} that {holding} {each} {thing} each. Find the number of {thing}.",
        f"Each of the {n} {pack} has {each} {thing}, says {name}. How many {thing} are there?",
    ))  # fmt: skip
    return text, [f"In total there are {n * each} {thing}.", f"There are {n * each} {thing} in all."]


_GOODS = "stamps marbles postcards coins tickets eggs buttons candles stickers shells potatoes bricks".split()


def _left(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    thing = rng.choice(_GOODS)
    has, part = rng.randint(120, 900), rng.randint(15, 110)
    he = pronouns(a)[0]
    gain = index % 2
    less = (
        f"{a} had {has} {thing} and gave {part} of them to {b}. How many {thing} does {a} have now?",
        f"Of {has} {thing}, {a} lost {part} on the way home. How many {thing} does {he} have now?",
        f"{a} owned {has} {thing} before {he} sold {part} on {rng.choice(DAYS)}. How many {thing} does {a} have now?",
    )
    more = (
        f"{a} had {has} {thing} and got {part} more from {b}. How many {thing} does {a} have now?",
        f"To the {has} {thing} in the bag {a} adds {part}. How many {thing} does {he} have now?",
        f"{a} owned {has} {thing} before {he} bought {part} on {rng.choice(DAYS)}. How many {thing} does {a} have now?",
    )
    number = has + part if gain else has - part
    return rng.choice(more if gain else less), [f"Now {a} has {number} {thing}."]


_BUILT = "bridge school mill theatre harbour hospital castle factory church railway".split()


def _years(rng: Random, index: int) -> Pair | None:
    start, span = rng.randint(1720, 1950), rng.randint(11, 140)
    thing, town, name = rng.choice(_BUILT), rng.choice(TOWNS), person(rng)
    text, subject = rng.choice((
        (f"The {thing} in {town} was built in {start} and burned down in {start + span}. How long did it stand?",
         f"The {thing} stood for"),
        (f"The {thing} in {town} was begun in {start} and finished in {start + span}. How long did the work take?",
         "The work took"),
        (f"In {start} a family from {town} bought the {thing}, and in {start + span} they sold it. How long did they own "
         "it?", "They owned it for"),
        (f"{name} read that the {thing} in {town} opened in {start}. It closed in {start + span}. For how long was it "
         "open?", f"The {thing} was open for"),
    ))  # fmt: skip
    return text, [f"{subject} {span} years."]


def _share(rng: Random, index: int) -> Pair | None:
    pack, thing = rng.choice(_PACKS).split()
    n, each = rng.randint(3, 24), rng.randint(5, 48)
    one = {"boxes": "box", "shelves": "shelf", "buses": "bus"}.get(pack, pack[:-1])
    name, town = person(rng), rng.choice(TOWNS)
    text = rng.choice((
        f"{n * each} {thing} are divided equally among {n} {pack}. How many {thing} does each {one} get?",
        f"{name} divides {n * each} {thing} equally among {n} {pack}. How many {thing} come to one {one}?",
        f"A school in {town} shares out {n * each} {thing} over {n} {pack}, the same number to each. How many {thing} is "
        f"that for one {one}?",
    ))  # fmt: skip
    return text, [f"Each {one} gets {each} {thing}."]


def _cost(rng: Random, index: int) -> Pair | None:
    n, price, extra = rng.randint(3, 28), rng.randint(3, 45), rng.randint(5, 90)
    name, town = person(rng), rng.choice(TOWNS)
    thing, fee = rng.choice((
        ("tickets for the museum", "a guide"), ("chairs", "the delivery"), ("train tickets", "a map"),
        ("plates of soup", "the drinks"), ("bags of cement", "a shovel"), ("metres of cloth", "a pair of scissors"),
        ("nights in the hostel", "a bicycle"), ("books", "a bag"),
    ))  # fmt: skip
    who = rng.choice((name, f"A group from {town}", f"The choir of {town}", f"{name}'s family"))
    text = rng.choice((
        f"{cap(who)} pays for {n} {thing} at {price} dollars each, and {extra} dollars for {fee}. What does it cost in all?",
        f"One pays {price} dollars each for {thing}. {who} needs {n} of them and spends {extra} dollars on {fee}. What does "
        "it cost in all?",
    ))  # fmt: skip
    return text, [
        f"{n} times {price} is {n * price}, and with the {extra} dollars it costs {n * price + extra} dollars."
    ]


_UNITS = (
    ("hours", "minutes", 60), ("weeks", "days", 7), ("dozens", "eggs", 12), ("metres", "centimetres", 100),
    ("days", "hours", 24), ("minutes", "seconds", 60), ("kilometres", "metres", 1000), ("years", "months", 12),
)  # fmt: skip


def _units(rng: Random, index: int) -> Pair | None:
    big, small, factor = rng.choice(_UNITS)
    n, name = rng.randint(2, 60), person(rng)
    text = rng.choice((
        f"How many {small} are {n} {big}?",
        f"Convert {n} {big} to {small}.",
        f"Write {n} {big} in {small}.",
        f"{name} asks how many {small} there are in {n} {big}.",
        f"The label says {n} {big}. How much is that in {small}?",
    ))  # fmt: skip
    return text, [f"{n} {big} are {n * factor} {small}."]


TASKS = [
    TaskSpec(
        name="boxes_and_bags_total", categories=["Mathematics"], source="nightjar_sums_products",
        definition="Solve a word problem with one multiplication: there are several containers, each with the same number of "
        "things. Answer with one short sentence that states how many things there are in total.",
        make=_product, size=100, domains=["Mathematics"], reasoning=["Mathematics -> Arithmetic"],
        positive=[
            ("Otto fills 6 jars with 30 beans each. How many beans does that make?", "In total there are 180 beans.",
             "6 times 30 is 180."),
            ("There are 11 vases in the shop, and each of them has 9 roses. How many roses are there in all?",
             "In total there are 99 roses.", "11 times 9 is 99."),
        ],
        negative=[
            ("Edda sees 5 ponds with 20 ducks each. How many ducks does that make?", "In total there are 25 ducks.",
             "The numbers were added. They have to be multiplied, which gives 100 ducks."),
        ],
    ),
    TaskSpec(
        name="more_or_fewer_than_before", categories=["Mathematics"], source="nightjar_sums_changes",
        definition="A person owns a number of things and then gets some more or loses some of them. Work out how many the "
        "person has at the end, and say so in one sentence that starts with 'Now' and contains the name.",
        make=_left, size=90, domains=["Mathematics"], reasoning=["Mathematics -> Arithmetic"],
        positive=[
            ("Otto had 90 nails and used 25 of them. How many nails does Otto have now?", "Now Otto has 65 nails.",
             "90 less 25 is 65."),
            ("Edda had 40 cards and got 15 more from Otto. How many cards does Edda have now?", "Now Edda has 55 cards.",
             "40 and 15 make 55."),
        ],
        negative=[
            ("Otto had 50 plums and ate 8 of them. How many plums does Otto have now?", "Now Otto has 58 plums.",
             "Eating plums leaves fewer of them: 50 less 8 is 42."),
        ],
    ),
    TaskSpec(
        name="difference_of_two_years", categories=["Mathematics"], source="nightjar_sums_years",
        definition="Two years are named in the input, one for the beginning of something and one for its end. Find out how many "
        "years lie between them and answer the question in one short sentence.",
        make=_years, size=90, domains=["Mathematics", "History"], reasoning=["Mathematics -> Arithmetic"],
        positive=[
            ("The inn in Fallowby was built in 1801 and torn down in 1901. How long did it stand?",
             "The inn stood for 100 years.", "1901 less 1801 is 100."),
            ("The canal in Fallowby was begun in 1870 and finished in 1888. How long did the work take?",
             "The work took 18 years.", "1888 less 1870 is 18."),
        ],
        negative=[
            ("The tram in Fallowby started in 1905 and stopped in 1950. For how long was it in use?",
             "The tram was in use until 1950.", "The number of years is missing; it is 45."),
        ],
    ),
    TaskSpec(
        name="equal_shares", categories=["Mathematics"], source="nightjar_sums_shares",
        definition="A number of things is divided into equal shares, and nothing is left over. Compute the size of one share "
        "and answer with a sentence of the form 'Each ... gets ...'.",
        make=_share, size=80, domains=["Mathematics"], reasoning=["Mathematics -> Arithmetic"],
        positive=[
            ("80 sweets are divided equally among 16 bowls. How many sweets does each bowl get?",
             "Each bowl gets 5 sweets.", "80 divided by 16 is 5."),
            ("Otto divides 63 walnuts equally among 9 plates. How many walnuts come to one plate?",
             "Each plate gets 7 walnuts.", "63 divided by 9 is 7."),
        ],
        negative=[
            ("44 roses are divided equally among 4 vases. How many roses does each vase get?", "Each vase gets 40 roses.",
             "The numbers were subtracted; 44 divided by 4 is 11."),
        ],
    ),
    TaskSpec(
        name="cost_in_two_steps", categories=["Mathematics"], source="nightjar_sums_costs",
        definition="Somebody buys several things at the same price and one thing more. First multiply, then add. Answer with a "
        "sentence that gives the result of the multiplication and then the whole cost in dollars.",
        make=_cost, size=80, domains=["Mathematics"], reasoning=["Mathematics -> Arithmetic", "Multihop Reasoning"],
        positive=[
            ("Otto pays for 4 cups at 5 dollars each, and 10 dollars for a teapot. What does it cost in all?",
             "4 times 5 is 20, and with the 10 dollars it costs 30 dollars.", "First 4 times 5, then the teapot is added."),
            ("Edda pays for 3 lamps at 20 dollars each, and 8 dollars for a cable. What does it cost in all?",
             "3 times 20 is 60, and with the 8 dollars it costs 68 dollars.", "60 and 8 make 68."),
        ],
        negative=[
            ("Otto pays for 2 hats at 9 dollars each, and 7 dollars for a tie. What does it cost in all?",
             "It costs 16 dollars.", "The price of the second hat was left out: 2 times 9 is 18, and 18 and 7 make 25."),
        ],
    ),
    TaskSpec(
        name="larger_unit_to_smaller_unit", categories=["Number Conversion"], source="nightjar_units",
        definition="Convert a number of larger units into smaller ones, for example hours into minutes or weeks into days. Answer "
        "with a full sentence that names both quantities; write the numbers with digits.",
        make=_units, size=80, domains=["Mathematics"], reasoning=["Mathematics -> Arithmetic"],
        positive=[
            ("Write 3 centuries in years.", "3 centuries are 300 years.", "One century has 100 years."),
            ("How many grams are 7 kilograms?", "7 kilograms are 7000 grams.", "One kilogram has 1000 grams."),
        ],
        negative=[
            ("Convert 2 kilograms to grams.", "200", "The answer is not a sentence and the number should be 2000."),
        ],
    ),
]  # fmt: skip
