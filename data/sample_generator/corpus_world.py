"""Encyclopedia articles: the invented world's people, structures, museums and firms, and some real countries."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import an, cap
from data.sample_generator.words import COUNTRIES, RIVER_NAMES, TOWNS
from data.sample_generator.world import Firm, Museum, Person, Structure, World

Article = tuple[str, str]
"""(title, text)."""

THIS_YEAR = 2013
"""No article was written before this year."""

_VISITORS = (
    "A path for walkers passes close by, and a board by the road tells its story in a few lines.",
    "It is shown on the coat of arms of the town and on many old postcards.",
    "Local people are proud of it and keep it in good repair with the help of a small society.",
    "School classes come here in spring, and in summer it is lit in the evening.",
    "A drawing of it hangs in the town hall next to the plans of the harbour.",
    "Those who like old buildings often stop here on the way to the coast.",
)


def _structure(rng: Random, s: Structure) -> Article:
    span = s.opened - s.begun
    where = rng.choice((f"in the town of {s.town}", f"in {s.town}", f"on the edge of {s.town}"))
    over = f" over the {rng.choice(RIVER_NAMES)}" if s.kind == "bridge" else ""
    size = f"{s.metres} metres {'long' if s.kind == 'bridge' else 'high'}"
    lead = rng.choice((
        f"The {s.name} is {an(s.kind)} {where}{over}. It was designed by {s.designer} and is made of {s.material}.",
        f"The {s.name} stands {where}{over}. Its designer was {s.designer}, who chose {s.material} for it.",
        f"Made of {s.material}, the {s.name} is a well-known {s.kind} {where}{over}. {s.designer} designed it.",
    ))  # fmt: skip
    history = rng.choice((
        f"Work began in {s.begun} and took {span} years, so the {s.name} was opened in {s.opened}.",
        f"The {s.name} was opened in {s.opened}. Work on it had begun in {s.begun}, {span} years earlier.",
        f"The first stone was laid in {s.begun}; after {span} years of work the {s.name} was opened in {s.opened}.",
    ))  # fmt: skip
    later = rng.randint(8, min(40, THIS_YEAR - s.opened))
    repair = rng.choice((
        f"It was repaired in {s.opened + later}, when it was {later} years old.",
        f"In {s.opened + later}, after {later} years of use, its roof and railings were renewed.",
        f"Its {later}th year was marked by a small feast." if later % 10 in (0, 5, 6, 7, 8, 9) else "",
    ))  # fmt: skip
    parts = [
        lead,
        f"The {s.kind} is {size}.",
        history,
        repair,
        *rng.sample(_VISITORS, 2 if not repair else 1),
    ]
    return s.name, " ".join(p for p in parts if p)


def _person(rng: Random, p: Person) -> Article:
    he, his = (p.pronoun, "her" if p.pronoun == "she" else "his")
    age, more = rng.randint(17, 26), rng.randint(4, 11)
    other = rng.choice([t for t in TOWNS if t != p.town])
    start, end = p.born + age, p.born + age + more
    text = " ".join((
        rng.choice((f"{p.name} was {an(p.profession)} from {p.town}, born there in {p.born}.",
                    f"{p.name}, born in {p.town} in {p.born}, was {an(p.profession)}.",
                    f"{p.name} was born in {p.town} in {p.born} and became {an(p.profession)}.")),
        rng.choice((f"At the age of {age}, in {start}, {he} moved to {other} and stayed there for {more} years, until {end}.",
                    f"{cap(he)} went to {other} in {start}, {age} years old, and left it in {end}, after {more} years.",
                    f"From {start} to {end}, that is for {more} years, {he} lived in {other}.")),
        rng.choice((f"{cap(he)} is known for {p.work}.", f"{p.name} is best remembered for {p.work}.",
                    f"Among the works of {p.name} are {p.work}." if p.work[0].isdigit() else
                    f"The best-known work of {p.name} is {p.work}.")),
        rng.choice((f"A street in {p.town} bears {his} name, and the local library keeps {his} letters and a portrait.",
                    f"After {his} return {he} taught the young people of {p.town} without asking for any money.",
                    f"In {his} last years {he} lived in a small house near the river and seldom travelled.")),
    ))  # fmt: skip
    return p.name, text


def _museum(rng: Random, m: Museum) -> Article:
    total = m.rooms * m.per_room
    text = " ".join((
        rng.choice((f"The {m.name} is a museum in {m.town}. It was founded in {m.founded} by {m.founder}.",
                    f"{m.founder} founded the {m.name} in {m.town} in {m.founded}.")),
        rng.choice((f"It has {m.rooms} rooms with {m.per_room} objects each, which makes {total} objects in all.",
                    f"In each of its {m.rooms} rooms {m.per_room} objects are shown, a total of {total}.")),
        rng.choice((f"The {m.name} is closed on {m.closed}s and open on all other days of the week.",
                    f"On {m.closed}s the {m.name} is closed; on the other days it opens in the morning.")),
        rng.choice(("Children can try out many things, and there is a small café under the roof.",
                    "A guide shows groups through the house and explains how the objects were made and used.",
                    "Most of the objects were given by families of the town, who still come to see them.")),
    ))  # fmt: skip
    return m.name, text


def _firm(rng: Random, f: Firm) -> Article:
    years, workers, lines = (
        rng.randint(12, min(44, THIS_YEAR - f.founded)),
        rng.randint(6, 30),
        rng.randint(3, 9),
    )
    text = " ".join((
        rng.choice((f"{f.name} is a firm in {f.town} that makes {f.product}. {f.founder} founded it in {f.founded}.",
                    f"{f.name} of {f.town} makes {f.product}. The firm was founded in {f.founded} by {f.founder}.")),
        rng.choice((f"In {f.founded + years} it was {years} years old and moved to a larger workshop by the station.",
                    f"After {years} years, in {f.founded + years}, it bought the old mill and put new machines into it.")),
        rng.choice((f"It has {lines} workshops with {workers} workers each, or {lines * workers} workers altogether.",
                    f"With {workers} workers in each of {lines} halls it gives work to {lines * workers} people.")),
        rng.choice(("Its goods are sold in many countries and carry a small lantern as their sign.",
                    "Visitors may watch the work through a glass wall and buy goods with small faults cheaply.",
                    "The grandchildren of the founder still run the firm and live beside the gate.")),
    ))  # fmt: skip
    return f.name, text


# country | continent | language | feature | dish or product
_COUNTRIES = """
France|Europe|French|the river Seine flows through its capital|cheese and bread
Japan|Asia|Japanese|it is made up of many islands|green tea
Italy|Europe|Italian|the river Tiber flows through its capital|pasta and olive oil
Spain|Europe|Spanish|it shares a long border with Portugal|oranges and olives
Germany|Europe|German|the Rhine and the Elbe flow through it|cars and machines
Portugal|Europe|Portuguese|the Tagus reaches the sea near its capital|cork and fish
Greece|Europe|Greek|thousands of islands belong to it|olives and honey
Austria|Europe|German|the Danube flows through its capital|pastries and coffee
Norway|Europe|Norwegian|deep fjords cut into its coast|fish and timber
Finland|Europe|Finnish|it has a very large number of lakes|paper and timber
Hungary|Europe|Hungarian|the Danube divides its capital into two parts|paprika
Egypt|Africa|Arabic|the Nile flows through it from south to north|cotton and dates
Kenya|Africa|Swahili|the equator crosses it|tea and flowers
Senegal|Africa|French|its capital lies on a peninsula in the Atlantic|peanuts
Morocco|Africa|Arabic|the Atlas mountains cross it|oranges and carpets
Mexico|North America|Spanish|its capital was built on the site of an old lake city|maize and chocolate
Peru|South America|Spanish|the Andes run through it from north to south|potatoes
Chile|South America|Spanish|it is a long and narrow strip of land|copper and wine
Argentina|South America|Spanish|the wide plains of the Pampas belong to it|beef and wheat
Brazil|South America|Portuguese|a great part of the Amazon forest belongs to it|coffee and sugar
China|Asia|Chinese|the Yangtze is its longest river|tea and silk
Nepal|Asia|Nepali|the highest mountain of the world stands on its border|rice and lentils
Thailand|Asia|Thai|canals run through many parts of its capital|rice and fruit
Vietnam|Asia|Vietnamese|the Mekong reaches the sea in its south|rice and coffee
Turkey|Asia and Europe|Turkish|the Bosporus separates its two parts|tea and hazelnuts
Bulgaria|Europe|Bulgarian|it lies on the Black Sea|rose oil and yoghurt
Iceland|Europe|Icelandic|it has many volcanoes and hot springs|fish and wool
Latvia|Europe|Latvian|it lies on the Baltic Sea|timber and rye bread
Cuba|North America|Spanish|it is the largest island of the Caribbean|sugar
New Zealand|Oceania|English|it has two main islands|wool and kiwi fruit
"""


def _country(rng: Random, line: str) -> Article:
    country, continent, language, feature, product = line.split("|")
    part = f"in {continent}"
    text = " ".join((
        rng.choice((f"{country} is a country {part}. Its capital is {COUNTRIES[country]}.",
                    f"The capital of {country}, a country {part}, is {COUNTRIES[country]}.")),
        rng.choice((f"{language} is spoken by most of the people.", f"Most of the people speak {language}.")),
        f"Geographers note that {feature}.",
        rng.choice((f"Travellers bring home {product}, which are found on every market." if " and " in product else
                    f"Travellers bring home {product}, which is found on every market.",
                    f"The country is known, among many other things, for {product}.")),
        rng.choice(("A traveller who wants to see more than the capital should plan a few weeks for the journey.",
                    "The best way to learn about it is to travel slowly and to talk with the people there.")),
        rng.choice(("Trains and buses join the larger towns, while the smaller ones are best reached on foot.",
                    "Guide books describe its old towns, its food and its customs at great length.")),
    ))  # fmt: skip
    return country, text


def articles(world: World, rng: Random) -> list[Article]:
    """All encyclopedia articles, 185 of them."""
    return [
        *(_structure(rng, s) for s in world.structures),
        *(_person(rng, p) for p in world.people),
        *(_museum(rng, m) for m in world.museums),
        *(_firm(rng, f) for f in world.firms),
        *(_country(rng, line) for line in _COUNTRIES.strip().splitlines()),
    ]
