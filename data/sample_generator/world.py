"""The invented world: people, structures, museums and firms whose facts the corpus states and tasks ask for."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random
from typing import NamedTuple

from data.sample_generator.words import DAYS, MEN, TOWNS, WOMEN

SURNAMES = (
    "Lorring Vask Tamblyn Osgood Merrow Calloway Dresner Ilves Pask Renner Solberg Tirrell Quill Harrow Benning Castell "
    "Dovey Elgar Farrant Gowrie Hask Inskip Jessop Kestle Lunt Marsden Nettle Orrin Pellow Rusk Sayle Thrale Ullman "
    "Verrin Wickes Yarrow Zeller Bramley Cossar Dunmore Ewart Fenwick Grell Holm Ivory"
).split()
STEMS = (
    "Halvern|Kestrel|Saint Orrin|Old Quarry|Marlow|Northgate|Silver Reach|Alder|Wren|Harbour|Copper|King's Ferry|"
    "Long Meadow|Petrel|Tolland|Granite|Mill Lane|Swan|Heather|Ember|Lantern|Stag|Rowan|Cinder|Otter|Falcon"
).split("|")
KINDS = {
    "Bridge": "bridge",
    "Tower": "tower",
    "Lighthouse": "lighthouse",
    "Library": "library",
    "Station": "station",
}
MATERIALS = (
    "grey granite",
    "red brick",
    "steel",
    "pale limestone",
    "timber and steel",
    "reinforced concrete",
)
PROFESSIONS = {
    "painter": "a series of {n} harbour pictures",
    "engineer": "the design of {n} railway bridges",
    "botanist": "a catalogue of {n} mountain plants",
    "composer": "{n} pieces for string quartet",
    "novelist": "{n} novels about fishing villages",
    "astronomer": "the discovery of {n} small comets",
    "architect": "{n} public libraries",
    "photographer": "{n} portraits of lighthouse keepers",
    "chemist": "{n} papers on natural dyes",
    "cartographer": "{n} maps of the northern coast",
}
PRODUCTS = (
    "bicycles", "wool blankets", "garden tools", "paper boxes", "sailing boats", "kitchen scales", "oil lamps",
    "children's books", "apple juice", "leather shoes", "clocks", "musical boxes", "glass bottles", "wooden toys",
    "rain coats", "tea cups", "fishing nets", "school desks", "candles", "pocket knives", "umbrellas", "pianos",
    "postcards", "bread ovens", "ceramic tiles",
)  # fmt: skip
MUSEUM_SUBJECTS = (
    "Clock", "Fishing", "Railway", "Glass", "Map", "Toy", "Textile", "Bread", "Lighthouse", "Bicycle", "Paper", "Salt",
    "Music", "Mining", "Postal", "Garden", "Radio", "Ceramics", "Coin", "Bird", "Bridge", "Kite", "Wool", "Photography",
    "Cider",
)  # fmt: skip


LATEST_DESIGNER = 1925
"""Designers are born before this year, so that no article tells of years still to come."""


class Person(NamedTuple):
    """Born in `born` in `town`; `work` is what the person is known for."""

    name: str
    pronoun: str
    born: int
    town: str
    profession: str
    work: str


class Structure(NamedTuple):
    """Work began in `begun`, it opened in `opened`; `metres` is a length for a bridge, else a height."""

    name: str
    kind: str
    town: str
    begun: int
    opened: int
    designer: str
    metres: int
    material: str


class Museum(NamedTuple):
    """`closed` is the weekday on which the museum does not open."""

    name: str
    town: str
    founded: int
    founder: str
    closed: str
    rooms: int
    per_room: int


class Firm(NamedTuple):
    """A firm that makes `product`."""

    name: str
    town: str
    founded: int
    founder: str
    product: str


class World(NamedTuple):
    """Everything that is known of the invented world."""

    people: list[Person]
    structures: list[Structure]
    museums: list[Museum]
    firms: list[Firm]


def make_world(seed: int) -> World:
    """The world of a seed: 45 people, 60 structures, 25 museums, 25 firms, all names different."""
    rng = Random(f"{seed}:world")
    people = _people(rng)
    makers = [p for p in people if p.profession in ("architect", "engineer") and p.born < LATEST_DESIGNER]
    structures = []
    pairs = [(stem, kind) for stem in STEMS for kind in KINDS]
    for stem, kind in rng.sample(pairs, 60):
        designer = rng.choice(makers)
        begun = designer.born + rng.randint(26, 58)
        metres = rng.randint(90, 640) if kind == "Bridge" else rng.randint(9, 78)
        structures.append(
            Structure(
                f"{stem} {kind}", KINDS[kind], stem if stem in TOWNS else rng.choice(TOWNS), begun,
                begun + rng.randint(2, 9), designer.name, metres, rng.choice(MATERIALS),
            )
        )  # fmt: skip
    museums = []
    for subject in MUSEUM_SUBJECTS:
        town, founder = rng.choice(TOWNS), rng.choice(people)
        museums.append(
            Museum(
                f"{town} {subject} Museum", town, founder.born + rng.randint(30, 61), founder.name, rng.choice(DAYS),
                rng.randint(4, 19), rng.randint(12, 60),
            )
        )  # fmt: skip
    firms = []
    for surname, product in zip(rng.sample(SURNAMES, len(PRODUCTS)), PRODUCTS, strict=True):
        first = rng.choice(WOMEN + MEN)
        kind = rng.choice(("Works", "Company", "and Daughters" if first in WOMEN else "and Sons"))
        year = rng.randint(1871, 1989)
        firms.append(Firm(f"{surname} {kind}", rng.choice(TOWNS), year, f"{first} {surname}", product))
    return World(people, structures, museums, firms)


def _people(rng: Random) -> list[Person]:
    people = []
    for surname in SURNAMES:
        woman = rng.random() < 0.5
        profession = rng.choice(sorted(PROFESSIONS))
        people.append(
            Person(
                f"{rng.choice(WOMEN if woman else MEN)} {surname}", "she" if woman else "he", rng.randint(1836, 1948),
                rng.choice(TOWNS), profession, PROFESSIONS[profession].format(n=rng.randint(5, 48)),
            )
        )  # fmt: skip
    return people
