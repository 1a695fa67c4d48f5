"""Vocabularies shared by the tasks. Plain English words, common first names, invented place names."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

WOMEN = (
    "Anna Maria Clara Nadia Ruth Helen Ingrid Leila Sofia Emma Priya Grace Tessa Olga Mina Carla Joan Yuki Dora Ines "
    "Hana Lucy Vera Amara"
).split()
MEN = (
    "Tom Victor Samir Paul Erik Hugo Ben Omar Luis Peter Kofi Daniel Jonas Arun Felix Henry Ivan Marco Noah Oscar "
    "Ravi Simon Theo Walter"
).split()
PEOPLE = WOMEN + MEN

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()


def pronouns(name: str) -> tuple[str, str, str]:
    """(he, him, his) or (she, her, her)."""
    return ("she", "her", "her") if name in WOMEN else ("he", "him", "his")


class Action(NamedTuple):
    """A thing people do: `base`, `past`, `participle`, `ing` of the verb and its object."""

    base: str
    past: str
    participle: str
    ing: str
    thing: str


_ACTIONS = """
repair repaired repaired repairing|an old bicycle
paint painted painted painting|the garden fence
bake baked baked baking|a loaf of bread
write wrote written writing|a long letter
sell sold sold selling|a wooden table
polish polished polished polishing|a silver spoon
clean cleaned cleaned cleaning|the kitchen window
read read read reading|the morning paper
plant planted planted planting|a cherry tree
build built built building|a small boat
draw drew drawn drawing|a map of the valley
mend mended mended mending|a leather glove
cook cooked cooked cooking|a pot of soup
buy bought bought buying|a train ticket
teach taught taught teaching|a drawing class
carry carried carried carrying|a heavy suitcase
photograph photographed photographed photographing|a grey heron
sew sewed sewn sewing|a blue curtain
record recorded recorded recording|a piano lesson
order ordered ordered ordering|a cup of coffee
wash washed washed washing|the delivery van
translate translated translated translating|a short poem
collect collected collected collecting|a bag of shells
open opened opened opening|the upper gate
move moved moved moving|a stack of chairs
pack packed packed packing|a picnic basket
hang hung hung hanging|a large mirror
test tested tested testing|a new radio
borrow borrowed borrowed borrowing|a garden ladder
feed fed fed feeding|the neighbour's cat
knit knitted knitted knitting|a woollen scarf
peel peeled peeled peeling|a bag of potatoes
fold folded folded folding|a clean sheet
wrap wrapped wrapped wrapping|a birthday present
water watered watered watering|the tomato plant
sweep swept swept sweeping|the back staircase
tune tuned tuned tuning|an old piano
grill grilled grilled grilling|a thick sausage
study studied studied studying|a star chart
catch caught caught catching|a large trout
choose chose chosen choosing|a roll of wallpaper
count counted counted counting|the money in the jar
decorate decorated decorated decorating|the dance hall
deliver delivered delivered delivering|a crate of oranges
describe described described describing|a lost umbrella
film filmed filmed filming|a street parade
frame framed framed framing|an oval picture
hide hid hidden hiding|the spare key
iron ironed ironed ironing|a striped shirt
label labelled labelled labelling|a jam jar
lock locked locked locking|the boat shed
pick picked picked picking|a basket of cherries
print printed printed printing|a coloured poster
pour poured poured pouring|a glass of cider
rake raked raked raking|the front lawn
rent rented rented renting|a rowing boat
sharpen sharpened sharpened sharpening|the bread knife
steer steered steered steering|the little ferry
stir stirred stirred stirring|the plum jam
weigh weighed weighed weighing|a parcel of books
sketch sketched sketched sketching|the ruined abbey
"""


def _action(line: str) -> Action:
    verb, thing = line.split("|")
    base, past, participle, ing = verb.split()
    return Action(base, past, participle, ing, thing)


ACTIONS = [_action(line) for line in _ACTIONS.strip().splitlines()]

PLACES = (
    "in the library|at the harbour|in the old mill|behind the station|at the market|in the school hall|near the river|"
    "in the workshop|at the town square|in the garden|by the lake|at the campsite|in the museum|on the terrace|"
    "in the village shop|at the community centre|on the ferry|in the hotel lobby|at the bus stop|in the attic|"
    "behind the barn|on the balcony|in the reading room|at the swimming pool|under the old oak|in the courtyard|"
    "at the fire station|beside the canal|in the greenhouse|at the ticket office|in the boathouse|on the beach|"
    "by the fountain|in the chapel|on the upper deck|in the waiting room"
).split("|")
TIMES = (
    "on Monday morning|on Friday evening|after lunch|before sunrise|last week|on Sunday afternoon|in early April|"
    "during the storm|two days ago|at the end of the summer|on Wednesday|late at night|in the spring|"
    "just before noon|on the first day of the holidays|yesterday|on Thursday evening|in the middle of the night|"
    "before breakfast|three weeks ago|on Tuesday afternoon|at dawn|in late October|after the concert|at half past four|"
    "during the first frost|on Saturday morning|at lunchtime|in the last week of June|shortly after sunset|"
    "on New Year's Day|during the long drought"
).split("|")
TOWNS = (
    "Halvern Brookmere Ostwick Tarnley Penhallow Mirefield Lowgate Sandrick Eastholm Dunmarrow Velbridge Aldcombe "
    "Thornwick Ravensby Ferncastle Kelmouth Ashgrove Norrigan Wexholm Orlecay Stonehithe Whitmere Larkford Corvale"
).split()

RIVER_NAMES = ("Orle", "Tarn", "Velm", "Ister", "Corrie", "Dunwater")

COUNTRIES = dict(
    line.split("=")
    for line in (
        "France=Paris|Japan=Tokyo|Italy=Rome|Spain=Madrid|Germany=Berlin|Portugal=Lisbon|Greece=Athens|Austria=Vienna|"
        "Poland=Warsaw|Norway=Oslo|Sweden=Stockholm|Finland=Helsinki|Denmark=Copenhagen|Ireland=Dublin|Hungary=Budapest|"
        "Egypt=Cairo|Kenya=Nairobi|Ghana=Accra|Morocco=Rabat|Senegal=Dakar|Ethiopia=Addis Ababa|Tunisia=Tunis|"
        "Canada=Ottawa|Mexico=Mexico City|Cuba=Havana|Peru=Lima|Chile=Santiago|Argentina=Buenos Aires|"
        "Colombia=Bogotá|Ecuador=Quito|Uruguay=Montevideo|Brazil=Brasília|China=Beijing|India=New Delhi|Nepal=Kathmandu|"
        "Thailand=Bangkok|Vietnam=Hanoi|Mongolia=Ulaanbaatar|Iran=Tehran|Iraq=Baghdad|Lebanon=Beirut|Jordan=Amman|"
        "Turkey=Ankara|Bulgaria=Sofia|Romania=Bucharest|Serbia=Belgrade|Croatia=Zagreb|Iceland=Reykjavik|Latvia=Riga|"
        "Estonia=Tallinn|Lithuania=Vilnius|Belgium=Brussels|Switzerland=Bern|Australia=Canberra|New Zealand=Wellington|"
        "South Korea=Seoul|Indonesia=Jakarta|Malaysia=Kuala Lumpur|Philippines=Manila|Cyprus=Nicosia"
    ).split("|")
)


PRESENT_YEAR = 2025
"""No text places a past event, or the present day, after the end of this year."""


def table(block: str) -> list[tuple[str, ...]]:
    """The lines of a block of text, each split at its bars."""
    return [tuple(line.split("|")) for line in block.strip().splitlines()]


def fill(rng: Random, texts: Sequence[str]) -> list[str]:
    """The texts with names, numbers and an action put into their fields, the same into all of them.

    {A} {B} {C} are people, {he} {him} {his} the first one's pronouns, {T} {U} towns, {D} {E} weekdays, {M} a month,
    {n} {m} numbers below 40, {k} one below 10, {y} a year, {place} {elsewhere} places, {time} a time; {base} {past}
    {done} {ing} are forms of a verb and {thing} its object. Two fields of a kind differ. A text that starts with a
    field starts with an upper-case letter.
    """
    a, b, c = rng.sample(PEOPLE, 3)
    he, him, his = pronouns(a)
    action = rng.choice(ACTIONS)
    (t, u), (d, e), (place, elsewhere) = (rng.sample(pool, 2) for pool in (TOWNS, DAYS, PLACES))
    n, m = rng.sample(range(3, 40), 2)
    values = {
        "A": a, "B": b, "C": c, "he": he, "him": him, "his": his, "T": t, "U": u, "D": d, "E": e, "n": n, "m": m,
        "k": rng.randint(2, 9), "M": rng.choice(MONTHS), "y": rng.randint(1900, 1995), "place": place, "elsewhere": elsewhere,
        "time": rng.choice(TIMES), "base": action.base, "past": action.past, "done": action.participle,
        "ing": action.ing, "thing": action.thing,
    }  # fmt: skip
    filled = [(text, text.format(**values)) for text in texts]
    return [new[:1].upper() + new[1:] if old.startswith("{") else new for old, new in filled]


def person(rng: Random) -> str:
    """A first name."""
    return rng.choice(PEOPLE)


def two_towns(rng: Random) -> tuple[str, str]:
    """Two different towns."""
    first, second = rng.sample(TOWNS, 2)
    return first, second


def couple(rng: Random, same: bool = False) -> tuple[str, str]:
    """Two different first names; with `same`, of one gender."""
    pool = rng.choice((WOMEN, MEN)) if same else PEOPLE
    first, second = rng.sample(pool, 2)
    return first, second
