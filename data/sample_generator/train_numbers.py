"""Training tasks with arithmetic. The answer is a sentence with the computed number, which a calculator can give."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, cap, turn
from data.sample_generator.words import DAYS, PRESENT_YEAR, TOWNS, couple, person, pronouns, table, two_towns

# thing|situation with {n} containers of {e} things
_PRODUCTS = table("""
rolls|A baker fills {n} trays with {e} rolls each.
tulips|{N} plants {n} rows of {e} tulips in the park of {T}.
pages|{N} writes {e} pages of a novel every week for {n} weeks.
seats|The new theatre in {T} has {n} rows, and every row has {e} seats.
bottles|A lorry brings {n} crates to {T}, and in each crate there are {e} bottles.
stamps|{N}'s album has {n} pages with {e} stamps on each.
steps|A tower in {T} is climbed by {n} flights of {e} steps each.
kilometres|{N} cycles {e} kilometres a day and is on the road for {n} days.
eggs|The {n} hens of {N} lay {e} eggs each.
pupils|The school of {T} has {n} classes of {e} pupils.
letters|A postman brings {e} letters to each of {n} houses in {T}.
beads|{N} strings {n} necklaces and uses {e} beads for each.
photographs|On each of the {n} walls of a gallery hang {e} photographs.
bricks|A bricklayer sets {e} bricks an hour and works for {n} hours.
passengers|A ferry crosses the river {n} times, every time with {e} passengers on board.
biscuits|{N} packs {n} tins and puts {e} biscuits into every one.
trees|Along each of {n} streets in {T} the council plants {e} trees.
words|{N} learns {e} new words in each of {n} lessons.
tickets|For {n} evenings in a row the cinema in {T} sells {e} tickets.
chairs|In the hall stand {n} tables, and around each table there are {e} chairs.
apples|Each of the {n} trees in {N}'s orchard bears {e} apples.
buttons|A tailor sews {n} coats and needs {e} buttons for each of them.
nails|{N} builds {n} boxes with {e} nails in each.
fish|Every one of the {n} boats of {T} comes home with {e} fish.
sheep|Near {T} {n} shepherds look after {e} sheep each.
leaflets|In {T} {n} helpers hand out {e} leaflets each.
songs|A choir gives {n} concerts and performs {e} songs at each.
candles|{N} lights {n} chandeliers that hold {e} candles each.
coins|A collector in {T} owns {n} drawers with {e} coins in every drawer.
windows|There are {n} houses in {N}'s street, and each house has {e} windows.
plates|A waiter carries {e} plates on every walk and walks {n} times.
spokes|A workshop in {T} builds {n} wheels with {e} spokes each.
metres|{N} swims {n} lengths of a pool that is {e} metres long.
sandwiches|For {n} hikers {N} makes {e} sandwiches each.
stitches|{N} knits {n} rows of {e} stitches.
points|In each of {n} rounds {N} wins {e} points.
""")
_HOW_MANY = (
    "How many {t} are there in all?", "How many {t} does that make?", "What is the number of {t} altogether?",
    "How many {t} is that in total?",
)  # fmt: skip


def _product(rng: Random, index: int) -> Pair | None:
    thing, text = turn(_PRODUCTS, index)
    n, each = rng.randint(3, 48), rng.randint(4, 60)
    situation = text.format(n=n, e=each, N=person(rng), T=rng.choice(TOWNS))
    return f"{situation} {rng.choice(_HOW_MANY).format(t=thing)}", [
        f"That makes {n * each} {thing} in all.",
        f"In all there are {n * each} {thing}.",
    ]


# thing|situation with {x} things, of which {y} are lost
_LOSSES = table("""
stamps|{N} had {x} stamps and gave {y} of them to {B}.
marbles|Of {x} marbles, {N} lost {y} on the way home.
postcards|{N} owned {x} postcards before {he} sold {y} on {D}.
eggs|{N} brought {x} eggs to the market and sold {y} by noon.
coins|From a jar with {x} coins {N} took {y} to pay for a bicycle.
bricks|{N} bought {x} bricks and used {y} for a low wall.
books|{N} had {x} books, but the flood in {T} destroyed {y}.
sheep|{N}'s flock counted {x} sheep until {y} ran away.
candles|In {N}'s shop lay {x} candles, and mice ate {y} of them.
tickets|{N} printed {x} tickets and handed out {y} in {T}.
photographs|{N} sorted {x} photographs and threw {y} away.
oranges|A box of {x} oranges arrived for {N}, but {y} were rotten and had to go.
seeds|{N} opened a packet of {x} seeds and sowed {y} on {D}.
buttons|{N} kept {x} buttons in a tin and sewed {y} onto coats.
nails|{N} carried {x} nails to the roof and used {y} up there.
""")
# the same with {y} more
_GAINS = table("""
stamps|{N} had {x} stamps and got {y} more from {B}.
potatoes|To the {x} potatoes in the sack {N} adds {y}.
shells|{N} owned {x} shells before {he} found {y} at the beach of {T}.
stickers|{N} had collected {x} stickers by {D}, and {B} then brought {y} more.
chairs|{N}'s café in {T} had {x} chairs; then {he} ordered {y} more.
books|On {N}'s shelves stood {x} books when a parcel with {y} more arrived.
rabbits|{N} kept {x} rabbits, and in spring {y} young ones were born.
points|{N} had {x} points before the last round and won {y} in it.
dollars|{N} had saved {x} dollars and earned {y} by washing cars.
records|{N} owned {x} records and inherited {y} from an uncle in {T}.
coins|{N} counted {x} coins in the drawer and discovered {y} behind the sofa.
bottles|In {N}'s cellar lay {x} bottles before {B} delivered {y}.
toys|{N} had made {x} toys by {D} and carved {y} more the week after.
leaflets|{N} carried {x} leaflets and picked up {y} at the town hall.
tiles|{N} stored {x} tiles, and on {D} a lorry brought {y} more.
""")
_NOW = (
    "How many {t} does {N} have now?",
    "How many {t} does {he} have now?",
    "What is {N}'s number of {t} now?",
)


def _changed(rng: Random, index: int) -> Pair | None:
    gain = index % 2 == 1
    thing, text = turn(_GAINS if gain else _LOSSES, index // 2)
    a, b = couple(rng)
    has, part = rng.randint(120, 900), rng.randint(15, 110)
    values = {"N": a, "B": b, "he": pronouns(a)[0], "D": rng.choice(DAYS), "T": rng.choice(TOWNS), "t": thing}
    text = f"{text} {rng.choice(_NOW)}".format(x=has, y=part, **values)
    return text, [f"Now {a} has {has + part if gain else has - part} {thing}."]


_BUILT = "school mill theatre hospital castle factory church inn".split()
# question about the years {s} and {e}|answer with their difference {d}
_SPANS = table("""
The {b} in {T} was built in {s} and burned down in {e}. How long did it stand?|The {b} stood for {d} years.
The {b} in {T} was begun in {s} and finished in {e}. How long did the work take?|The work took {d} years.
In {s} a family from {T} bought the {b}, and in {e} they sold it. How long did they own it?|They owned it for {d} years.
{N} read that the {b} in {T} opened in {s}. It closed in {e}. For how long was it open?|The {b} was open for {d} years.
The newspaper of {T} first appeared in {s}; its last issue came out in {e}. For how long was it printed?|It was printed for {d} years.
A ferry crossed the river at {T} from {s} until {e}. How long was it in service?|The ferry was in service for {d} years.
From {s} to {e} the fair of {T} was held in the old market hall. For how many years was that?|The fair was held there for {d} years.
{N}'s grandfather planted an oak in {s}, and lightning struck it in {e}. How old was the tree then?|The oak was {d} years old.
A letter posted in {T} in {s} reached {N}'s family in {e}. How long was it on its way?|The letter was on its way for {d} years.
The clock of {T} stopped in {s} and was repaired in {e}. For how long did it stand still?|The clock stood still for {d} years.
The {b} of {T} lost its roof in {s} and got a new one in {e}. How long was it without a roof?|It was without a roof for {d} years.
{N}'s family ran the inn of {T} from {s} to {e}. How long was that?|They ran the inn for {d} years.
The first train reached {T} in {s}, and the last one left in {e}. How long did the railway run?|The railway ran for {d} years.
A treaty between {T} and {U} was signed in {s} and broken in {e}. How long did the peace last?|The peace lasted for {d} years.
The club of {T} was founded in {s} and first admitted women in {e}. How many years lay in between?|In between lay {d} years.
In {e} {N} found a coin in a field that had been lost there in {s}. How long had it lain there?|The coin had lain there for {d} years.
The bell of {T} was cast in {s} and melted down in {e}. How old did it become?|The bell became {d} years old.
In {s} the lake at {T} was drained, and in {e} it was filled again. How long was it dry?|The lake was dry for {d} years.
The old map of {T} was drawn in {s}, the new one in {e}. How many years passed from one to the other?|From one to the other {d} years passed.
A theatre group from {T} first played in {s} and gave its last show in {e}. How long did it exist?|The group existed for {d} years.
A statue of {T} was stolen in {s}. In {e} {N} saw it in a shop window. For how long had it been missing?|The statue had been missing for {d} years.
{N}'s aunt moved to {T} in {s} and left the town in {e}. For how many years did she live there?|She lived there for {d} years.
The road through {T} was paved in {s} and closed to carts in {e}. For how long did carts use it?|Carts used it for {d} years.
{N} owns a violin that was made in {s} and repaired for the first time in {e}. How old was it then?|The violin was {d} years old.
Bears were last hunted near {T} in {s}, and in {e} one was seen again. How long had there been none?|There had been none for {d} years.
The harbour of {T} was opened in {s} and filled with sand in {e}. How long could ships use it?|Ships could use it for {d} years.
A bottle was corked in {s}, and {N} drank the wine in {e}. How old was the wine?|The wine was {d} years old.
The tower of {T} began to lean in {s} and was set straight in {e}. How long did it lean?|The tower leaned for {d} years.
In {s} a baker opened a shop in {T}; it passed to strangers in {e}. How long was it in the family?|It was in the family for {d} years.
Two brothers from {T} quarrelled in {s} and spoke again in {e}. For how long did they keep silent?|They kept silent for {d} years.
{T} became a town in {s} and lost this right in {e}. How long was it a town?|It was a town for {d} years.
The mine near {T} gave silver from {s} to {e}. For how many years was silver found?|Silver was found for {d} years.
In {s} the council of {T} promised a bridge, and in {e} it was built. How long did people wait?|People waited for {d} years.
A tortoise came to {N}'s family in {s} and died in {e}. How long did it live with them?|It lived with them for {d} years.
The school book of {T} was printed in {s} and used until {e}. For how long was it in use?|It was in use for {d} years.
A comet was seen over {T} in {s} and came back in {e}. How many years was it away?|It was away for {d} years.
The dam at {T} was finished in {s} and broke in {e}. How long did it hold?|The dam held for {d} years.
""")


def _years(rng: Random, index: int) -> Pair | None:
    start = rng.randint(1720, PRESENT_YEAR - 40)
    span = rng.randint(11, min(90, PRESENT_YEAR - start))
    town, other = two_towns(rng)
    values = {"b": rng.choice(_BUILT), "T": town, "U": other, "N": person(rng), "d": span}
    text, answer = (part.format(s=start, e=start + span, **values) for part in turn(_SPANS, index))
    return text, [answer]


# one share|thing|situation with {x} things for {n}
_SHARES = table("""
plate|walnuts|{N} divides {x} walnuts equally among {n} plates.
shelf|books|The library of {T} puts {x} books on {n} shelves, the same number on each.
child|marbles|{N} hands out {x} marbles to {n} children, and all get the same number.
class|pencils|In {T} {x} pencils are shared out equally over the {n} classes of a school.
bus|tourists|For a trip to {T} {x} tourists are spread evenly over {n} buses.
field|sheep|A farmer near {T} drives {x} sheep onto {n} fields, the same number onto each.
vase|roses|{N} arranges {x} roses in {n} vases, with as many in one as in another.
crate|bottles|A brewery packs {x} bottles into {n} crates of the same size.
team|players|For the cup of {T} {x} players form {n} equal teams.
baker|sacks|The mill sends {x} sacks of flour to the {n} bakers of {T} in equal parts.
room|chairs|A hotel in {T} buys {x} chairs for {n} rooms and treats all rooms alike.
cousin|coins|A chest with {x} old coins is divided fairly among {n} cousins.
basket|eggs|{N} sorts {x} eggs into {n} baskets, an equal number in each.
page|stamps|{N} fills {n} pages of an album with {x} stamps, as many on one page as on the next.
boat|life jackets|The {n} boats of the club in {T} share {x} life jackets equally.
row|seats|In the hall of {T} {x} seats are set up in {n} rows of the same length.
garden|bulbs|The council of {T} gives {x} bulbs to {n} gardens, the same number to each.
winner|dollars|A prize of {x} dollars is split equally between {n} winners.
cake|candles|{N} puts {x} candles on {n} cakes, and all the cakes look alike.
horse|apples|{N} feeds {x} apples to {n} horses in fair shares.
school|computers|The town of {T} buys {x} computers for {n} schools and gives every school the same number.
packet|seeds|A gardener fills {n} packets with {x} seeds, all packets alike.
guest|dumplings|{N} cooks {x} dumplings for {n} guests, and nobody is to have more than another.
cupboard|cups|{N} stacks {x} cups in {n} cupboards, the same number in each.
shop|umbrellas|A factory in {T} delivers {x} umbrellas to {n} shops in equal lots.
dancer|ribbons|From {x} ribbons each of {n} dancers is to have as many as the others.
""")
_SHARE = ("How many {t} does each {o} get?", "How many {t} come to one {o}?", "What is the share of one {o}?")


def _share(rng: Random, index: int) -> Pair | None:
    one, thing, text = turn(_SHARES, index)
    n, each = rng.randint(3, 24), rng.randint(5, 48)
    text = text.format(x=n * each, n=n, N=person(rng), T=rng.choice(TOWNS))
    return f"{text} {rng.choice(_SHARE).format(t=thing, o=one)}", [f"Each {one} gets {each} {thing}."]


_BOUGHT = table("""
tickets for the museum|a guide
chairs|the delivery
train tickets|a map
plates of soup|a jug of juice
bags of cement|a shovel
metres of cloth|a pair of scissors
nights in the hostel|a bicycle
second-hand books|a bag
cinema tickets|popcorn
rolls of wallpaper|a brush
rose bushes|a spade
jars of honey|a basket
pairs of socks|a belt
fishing rods|a net
sacks of flour|a sieve
boxes of tiles|a trowel
hours of skating|hot chocolate
wine glasses|a corkscrew
tins of paint|a ladder
""")
_BILLS = (
    "{W} pays for {n} {t} at {p} dollars each, and {x} dollars for {f}. What does it cost in all?",
    "For {t} one pays {p} dollars each. {W} needs {n} of them and spends {x} dollars on {f}. What does it cost in all?",
    "{W} buys {n} {t} for {p} dollars each and {f} for {x} dollars. How much is that together?",
    "In {T} one gets {t} for {p} dollars each. {W} takes {n} and adds {f} for {x} dollars. What is the bill?",
    "On the bill of {w} there are {n} {t} at {p} dollars each and {f} at {x} dollars. What is the sum?",
    "Besides {f} for {x} dollars, {w} orders {n} {t} at {p} dollars each. How much must be paid?",
    "{W} wants {n} {t}. They cost {p} dollars each, and {f} comes to another {x} dollars. What is the whole price?",
    "How much does {w} spend on {n} {t} at {p} dollars each together with {f} at {x} dollars?",
)


def _cost(rng: Random, index: int) -> Pair | None:
    n, price, extra = rng.randint(3, 28), rng.randint(3, 45), rng.randint(5, 90)
    name, town = person(rng), rng.choice(TOWNS)
    who = rng.choice(
        (name, f"a group from {town}", f"the choir of {town}", f"{name}'s family", f"the school of {town}")
    )
    thing, fee = turn(_BOUGHT, index)
    text = turn(_BILLS, index).format(
        n=n, p=price, x=extra, t=thing, f=fee, w=who, W=cap(who), T=rng.choice(TOWNS)
    )
    return text, [
        f"{n} times {price} is {n * price}, and with the {extra} dollars it costs {n * price + extra} dollars."
    ]


_UNITS = (
    ("hours", "minutes", 60), ("weeks", "days", 7), ("dozens", "eggs", 12), ("metres", "centimetres", 100),
    ("days", "hours", 24), ("minutes", "seconds", 60), ("kilometres", "metres", 1000), ("years", "months", 12),
    ("decades", "years", 10), ("litres", "millilitres", 1000), ("tonnes", "kilograms", 1000), ("feet", "inches", 12),
    ("centimetres", "millimetres", 10), ("yards", "feet", 3), ("pounds", "ounces", 16),
)  # fmt: skip
_CONVERSIONS = (
    "How many {s} are {n} {b}?",
    "Convert {n} {b} to {s}.",
    "Write {n} {b} in {s}.",
    "{N} asks how many {s} there are in {n} {b}.",
    "The label says {n} {b}. How much is that in {s}?",
    "Express {n} {b} in {s}.",
    "A form in {T} asks for {s}, but {N} only knows that it is {n} {b}. What has to be written?",
    "What are {n} {b} when they are counted in {s}?",
    "{N} has measured {n} {b}. Give the result in {s}.",
    "In the old book of {T} it says {n} {b}. Put it into {s}.",
    "Turn {n} {b} into {s}, please.",
    "My list has {n} {b} on it, and I need the number of {s}.",
    "If you have {n} {b}, how many {s} do you have?",
    "The sign in {T} reads {n} {b}. {N} would like to know it in {s}.",
)


def _units(rng: Random, index: int) -> Pair | None:
    big, small, factor = turn(_UNITS, index)
    n = rng.randint(2, 60)
    text = turn(_CONVERSIONS, index).format(b=big, s=small, n=n, N=person(rng), T=rng.choice(TOWNS))
    return text, [f"{n} {big} are {n * factor} {small}."]


TASKS = [
    TaskSpec(
        name="boxes_and_bags_total", categories=["Mathematics"], source="nightjar_sums_products",
        definition="Solve a word problem with one multiplication: there are several containers, each with the same number of "
        "things. Answer with one short sentence that states how many things there are in total.",
        make=_product, size=100, domains=["Mathematics"], reasoning=["Mathematics -> Arithmetic"],
        positive=[
            ("Otto fills 6 jars with 30 beans each. How many beans does that make?", "That makes 180 beans in all.",
             "6 times 30 is 180."),
            ("There are 11 vases in the shop, and each of them has 9 roses. How many roses are there in all?",
             "In all there are 99 roses.", "11 times 9 is 99."),
        ],
        negative=[
            ("Edda sees 5 ponds with 20 ducks each. How many ducks does that make?", "That makes 25 ducks in all.",
             "The numbers were added. They have to be multiplied, which gives 100 ducks."),
        ],
    ),
    TaskSpec(
        name="more_or_fewer_than_before", categories=["Mathematics"], source="nightjar_sums_changes",
        definition="A person owns a number of things and then gets some more or loses some of them. Work out how many the "
        "person has at the end, and say so in one sentence that starts with 'Now' and contains the name.",
        make=_changed, size=90, domains=["Mathematics"], reasoning=["Mathematics -> Arithmetic"],
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
