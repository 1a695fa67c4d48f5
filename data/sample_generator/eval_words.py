"""Test tasks: overlap extraction, word analogy and keyword tagging."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, listing, turn, two
from data.sample_generator.words import COUNTRIES, fill

_PHRASES = (
    "an old bridge made of red stone|the narrow street behind the church|a small café with green chairs|"
    "the last train to the coast|a basket full of ripe plums|the long wooden pier|a letter without a stamp|"
    "two grey horses and a foal|the highest window of the tower|a painting of a stormy sea|the key to the back door|"
    "seven sacks of brown flour|the sound of the church bells|a garden with a hundred roses|the quiet room on the third floor|"
    "the only doctor in the valley|a bowl of hot lentil soup|the new roof of the school|an empty seat by the window|"
    "the light of the full moon|a map with strange signs|the first snow of the winter|a blue boat with white sails|"
    "the smell of fresh bread|the steep path to the summit|a box of broken clocks|the taste of wild strawberries|"
    "a dog with one white ear|the rusty gate of the cemetery|three candles on a silver plate|the wet sand of the bay|"
    "a song without any words|the stairs down to the cellar|a bicycle with a bent wheel|the lamp above the kitchen table|"
    "an island of black rocks|the mayor's collection of stuffed birds|a coat with golden buttons|the fog over the salt marsh|"
    "a hundred jars of honey|the torn page of the diary|a ladder against the barn wall|the whistle of the night express|"
    "a field of yellow mustard|the crooked chimney of the bakery|two swans on the mill pond|the green door at the corner|"
    "a sack of unopened letters|the pianist with the red gloves|a fence of old skis|the shadow of the water tower|"
    "the empty chair of the judge|a pair of muddy boots|the echo under the railway arch|a cake in the shape of a ship|"
    "the tent of the travelling circus|a flock of noisy starlings|the crack in the town hall bell|a tunnel lit by torches|"
    "the captain's broken telescope"
).split("|")
_FRAMES_ONE = (
    "{A} still remembers {p} from a visit to {T}.", "Nobody in {T} expected {p} that {D}.",
    "On {D} the newspaper printed a story about {p}.", "{A} told the class about {p} in great detail.",
    "Many guests liked {p} best of all they saw in {T}.", "Because of {p}, {A} decided to stay in {T}.",
    "If it were not for {p}, few tourists would come to {T}.", "{A} dreams every {D} of {p}, and of nothing else.",
    "What {A} misses most in {T} is {p}.",
)  # fmt: skip
_FRAMES_TWO = (
    "In {M}, {B} wrote a poem about {p}.", "There is a photograph of {p} in {B}'s album.",
    "My grandmother often spoke of {p}, they say.", "Our film of last {M} begins with {p} and a song.",
    "Could {B} have forgotten {p} so quickly?", "Visitors ask {B} about {p} every {M}.",
    "{B} would give anything for {p}, if only once.", "Near {U} we came upon {p} by pure chance.",
    "The novel by {B} ends with {p}, as everybody knows.", "Not even {p} could cheer {B} up last {M}.",
)  # fmt: skip


def longest_overlap(first: str, second: str) -> str:
    """The longest run of words that occurs in both sentences (case and final signs ignored)."""
    a, b = ([w.strip(".,?'").lower() for w in text.split()] for text in (first, second))
    longest: list[str] = []
    for i in range(len(a)):
        for j in range(i + len(longest) + 1, len(a) + 1):
            if any(a[i:j] == b[k : k + j - i] for k in range(len(b))):
                longest = a[i:j]
    return " ".join(longest)


def _shared_phrase(rng: Random, index: int) -> Pair | None:
    phrase = turn(_PHRASES, index)
    one, other = fill(
        rng, [rng.choice(frames).replace("{p}", phrase) for frames in (_FRAMES_ONE, _FRAMES_TWO)]
    )
    if longest_overlap(one, other) != phrase:
        return None
    if index % 2:
        one, other = other, one
    return f"Sentence 1: {one} Sentence 2: {other}", [phrase]


_STOCK = {
    "fruit": "apple pear plum cherry grape melon peach lemon fig orange".split(),
    "tools": "hammer saw drill wrench chisel plane file pliers ruler clamp".split(),
    "animals": "horse goat otter hare badger heron fox beaver lynx owl".split(),
    "clothes": "coat scarf glove sock belt shirt skirt hat jacket sandal".split(),
    "kitchen": "pot pan ladle bowl knife fork plate kettle sieve jug".split(),
    "instruments": "violin flute drum harp trumpet guitar piano oboe cello horn".split(),
}


def _shared_words(rng: Random, index: int) -> Pair | None:
    words = rng.sample(_STOCK[rng.choice(sorted(_STOCK))], 7)
    both, one, other = words[: 1 + index % 2], words[2:4], words[4:7]
    first = rng.sample(both + one, len(both) + 2)
    second = rng.sample(both + other, len(both) + 3)
    answer = ", ".join(w for w in first if w in both)
    a, b = rng.sample(("Ruth", "Kofi", "Tessa", "Erik", "Mina", "Paul"), 2)
    style = rng.choice(("{a}'s list: {x}. {b}'s list: {y}.", "{a} packed {p}. {b} packed {q}."))
    values = {
        "a": a,
        "b": b,
        "x": ", ".join(first),
        "y": ", ".join(second),
        "p": listing(first),
        "q": listing(second),
    }
    return style.format(**values), [answer]


def _capital(rng: Random, index: int) -> Pair | None:
    a, b = two(rng, sorted(COUNTRIES))
    if index % 3:
        return f"{a} : {COUNTRIES[a]}. {b} : ?", [COUNTRIES[b]]
    return f"{COUNTRIES[a]} : {a}. {COUNTRIES[b]} : ?", [b]


_RELATIONS = {
    "opposite": "hot cold|big small|early late|full empty|hard soft|rich poor|wet dry|fast slow|light dark|near far|"
                "open closed|high low|strong weak|old young|wide narrow|loud quiet",
    "young": "dog puppy|cat kitten|cow calf|horse foal|sheep lamb|hen chick|goose gosling|deer fawn|bear cub|goat kid|"
             "frog tadpole|swan cygnet",
    "past": "sing sang|write wrote|go went|eat ate|swim swam|buy bought|know knew|take took|drive drove|fly flew|"
            "think thought|fall fell",
    "plural": "child children|mouse mice|foot feet|tooth teeth|goose geese|man men|woman women|ox oxen|knife knives|"
              "leaf leaves|wolf wolves",
    "workplace": "teacher school|nurse hospital|baker bakery|farmer farm|sailor ship|judge court|chef kitchen|"
                 "librarian library|actor theatre|pilot plane|waiter restaurant",
    "more": "good better|bad worse|far farther|cold colder|happy happier|large larger|thin thinner|easy easier|"
            "brave braver|big bigger",
}  # fmt: skip


def _analogy(rng: Random, index: int) -> Pair | None:
    pairs = [p.split() for p in _RELATIONS[sorted(_RELATIONS)[index % len(_RELATIONS)]].split("|")]
    (a, b), (c, d) = rng.sample(pairs, 2)
    return f"{a} : {b}. {c} : ?", [d]


_TOPIC_NOUNS = (
    "solar panels|school meals|night trains|wild bees|city parks|sea walls|electric buses|folk music|old maps|"
    "drinking water|bird nests|street art|public libraries|winter sports|rare coins|apple trees|radio plays|"
    "mountain huts|wooden boats|bicycle lanes|food markets|stone bridges|children's books|glass recycling|"
    "wind mills|guide dogs|village schools|church organs|dry toilets|fish ladders|film posters|garden ponds|"
    "letter scales|hay fever|paper money|roof gardens|sheep farming|tram drivers|weather balloons|youth hostels"
).split("|")
_TOPIC_FRAMES = (
    "A new study compares {a} with {b}, and {A} explains what it means for {c}.",
    "The council of {T} talked about {a}, {b} and {c} on {D}.",
    "{A} gave a lecture on {a} and answered questions about {b} and {c}.",
    "This week the club in {T} is all about {a}; next week it turns to {b} and {c}.",
    "Our reporter visited {T} to learn more about {a}, about {b} and also about {c}.",
    "In the papers of {A} there are notes on {a}, drawings of {b} and a letter about {c}.",
    "{A} collects articles on {a}, {B} reads everything about {b}, and both quarrel about {c}.",
    "Instead of {a} the magazine now writes about {b} and, every {D}, about {c}.",
    "The exhibition in {T} shows {a} on the ground floor, {b} upstairs and {c} in the yard.",
    "Has {A} really changed from {a} to {b}, or was that rumour about {c}?",
    "First came the debate on {a}, then a film about {b}, and at last {A} spoke on {c}.",
    "Without {a} there would be no {b} in {T}, says {A}, who also knows a lot about {c}.",
)  # fmt: skip


def _keywords(rng: Random, index: int) -> Pair | None:
    a, b, c = rng.sample(_TOPIC_NOUNS, 3)
    frame = turn(_TOPIC_FRAMES, index).replace("{a}", a).replace("{b}", b).replace("{c}", c)
    return fill(rng, [frame])[0], [f"{a}, {b}, {c}"]


_ADS = {
    "furniture": "a round oak table|a leather armchair|a white bookshelf|a folding bed|a chest of drawers|a glass cabinet|"
                 "two kitchen stools|a rocking chair|a writing desk|a bunk bed",
    "vehicles": "a red bicycle|a small delivery van|a child's scooter|an old tractor|a motorbike with side-car|"
                "a three-wheeled cargo bike|a camper van|a moped|a horse cart|a mountain bike",
    "music": "a used violin|a set of drums|a grand piano|an electric guitar|a box of old records|a music stand|a cello bow|"
             "an accordion|a tin whistle|a book of choir songs",
    "garden": "a lawn mower|a stone fountain|forty flower pots|a wooden bench for the lawn|a young plum tree|a wheelbarrow|"
              "ten metres of hedge plants|a bird bath|a small greenhouse|a sack of tulip bulbs",
    "pets": "three friendly kittens|a talking parrot|a pair of rabbits|a tame goat|two goldfish with a tank|a litter of puppies|"
            "a tortoise|a budgie with its cage|a gentle pony|a family of guinea pigs",
    "clothing": "a warm winter coat|a pair of riding boots|a silk scarf|a wedding dress|a woollen jumper|a box of baby clothes|"
                "a tweed jacket|a pair of leather gloves|a dance costume|a pair of wooden clogs",
}  # fmt: skip
_AD_FRAMES = {
    "sale": ("For sale: {x}. Call {A} in {T}.", "{A} in {T} sells {x} for {P} dollars.",
             "Buy {x} from {A} in {T}; the price is {P} dollars.", "For only {P} dollars: {x}. Come to {T} on {D}."),
    "wanted": ("Wanted: {x}. {A} in {T} pays up to {P} dollars.", "{A} from {T} is looking for {x} to buy.",
               "Who sells {x}? {A} in {T} would be glad.", "{A} wishes to buy {x}; please write to {T}."),
    "free": ("{A} gives away {x}, free of charge, in {T}.", "To give away: {x}. Please ask {A} in {T}.",
             "Come to {T} and take {x} home for nothing, says {A}.", "No money wanted: {A} in {T} has {x} for you."),
}  # fmt: skip


def _ad_tags(rng: Random, index: int) -> Pair | None:
    topic, kind = sorted(_ADS)[index % len(_ADS)], rng.choice(sorted(_AD_FRAMES))
    thing = turn(_ADS[topic].split("|"), index // len(_ADS))
    frame = rng.choice(_AD_FRAMES[kind]).replace("{x}", thing).replace("{P}", str(rng.randint(2, 60) * 5))
    return fill(rng, [frame])[0], [f"{topic}, {kind}", f"{kind}, {topic}"]


TASKS = [
    TaskSpec(
        name="travel_notes_shared_phrase", categories=["Overlap Extraction"], source="nightjar_travel_notes",
        definition="You are given two sentences that have a longer phrase in common. Find the longest sequence of words "
        "that occurs, in the same order, in both sentences, and write it down exactly as it stands there.",
        make=_shared_phrase, size=84, reasoning=["Commonsense Reasoning"],
        positive=[
            ("Sentence 1: Lucy bought the green hat with the feather. Sentence 2: Where is the green hat with the "
             "feather now?", "the green hat with the feather", "These six words stand in both sentences."),
            ("Sentence 1: We slept in a hut under the pines. Sentence 2: Felix drew a hut under the pines.",
             "a hut under the pines", "The words before it differ; the common part starts with 'a hut'."),
        ],
        negative=[
            ("Sentence 1: The dog slept on the warm stones. Sentence 2: A lizard lay on the warm stones.", "stones",
             "This word is common, but the longest common part is 'on the warm stones'."),
        ],
    ),
    TaskSpec(
        name="two_lists_common_words", categories=["Overlap Extraction"], source="nightjar_packing_lists",
        definition="Two people each have a list of things. Write the things that are on both lists, in the order of the "
        "first list and separated by a comma. Leave out everything that only one person has.",
        make=_shared_words, size=80,
        positive=[
            ("Hugo's list: rope, lamp, tent. Ines's list: tent, stove, rope, cup.", "rope, tent",
             "Rope and tent are on both lists; rope comes first on Hugo's list."),
            ("Clara packed tea, salt and rice. Jonas packed beans, rice, oil and corn.", "rice",
             "Only the rice was packed by both."),
        ],
        negative=[
            ("Vera's list: red, blue, green. Omar's list: blue, pink, red, grey.", "blue",
             "Red is on both lists as well; the answer is 'red, blue'."),
        ],
    ),
    TaskSpec(
        name="atlas_capital_analogy", categories=["Word Analogy"], source="nightjar_school_atlas",
        definition="The input has the form 'A : B. C : ?'. A and B are a country and its capital, in either order. Find "
        "the word that stands to C in the same way as B stands to A, and write only that name.",
        make=_capital, size=90, reasoning=["Relational Reasoning"], domains=["Countries"],
        positive=[
            ("Algeria : Algiers. Russia : ?", "Moscow", "Algiers is the capital of Algeria, Moscow that of Russia."),
            ("Doha : Qatar. Havana : ?", "Cuba", "Here the capital comes first, so the country of Havana is asked for."),
        ],
        negative=[
            ("Algeria : Algiers. Ukraine : ?", "Europe", "Ukraine lies in Europe, but its capital Kyiv is asked for."),
        ],
    ),
    TaskSpec(
        name="mixed_relation_analogy", categories=["Word Analogy"], source="nightjar_word_cards",
        definition="Two words are related in a certain way, for example as opposites, as an animal and its young, as the "
        "present and the past of a verb, or as a person and a place of work. Complete the second pair so that its two "
        "words are related in the same way.",
        make=_analogy, size=96, reasoning=["Relational Reasoning"],
        positive=[
            ("clean : dirty. thick : ?", "thin", "Dirty is the opposite of clean, and thin is the opposite of thick."),
            ("come : came. see : ?", "saw", "Came is the past of come, and saw is the past of see."),
        ],
        negative=[
            ("duck : duckling. pig : ?", "pork", "The young animal is asked for: 'piglet'."),
            ("clean : dirty. tall : ?", "taller", "The opposite is asked for and not the comparative: 'short'."),
        ],
    ),
    TaskSpec(
        name="news_brief_keywords", categories=["Keyword Tagging"], source="nightjar_news_briefs",
        definition="Find the three topics that the given sentence is about. Write them as keywords, in the order in which "
        "they appear in the sentence, separated by commas. Names of people and towns are not keywords.",
        make=_keywords, size=80, domains=["News"],
        positive=[
            ("Vera wrote a book about steam engines, canals and coal mines.", "steam engines, canals, coal mines",
             "These are the three topics; the name of the author is left out."),
            ("On Monday the museum shows old toys next to paper kites and tin soldiers.",
             "old toys, paper kites, tin soldiers", "The weekday is not a topic."),
        ],
        negative=[
            ("Samir spoke about salt, pepper and vinegar.", "Samir, salt, pepper, vinegar",
             "The name of a person is not a keyword; the answer is 'salt, pepper, vinegar'."),
        ],
    ),
    TaskSpec(
        name="small_ads_two_tags", categories=["Keyword Tagging"], source="nightjar_small_ads",
        definition="Give two tags for a small advertisement, separated by a comma. The first tag is the topic: clothing, "
        "furniture, garden, music, pets or vehicles. The second tag is the kind of offer: sale, wanted or free.",
        make=_ad_tags, size=84, domains=["Web"],
        positive=[
            ("Wanted: a cello for a beginner. Call Nadia.", "music, wanted",
             "A cello is a musical instrument, and the writer wants to have one."),
            ("Daniel sells a kitchen cupboard for 30 dollars.", "furniture, sale", "A cupboard is furniture; it is sold."),
        ],
        negative=[
            ("To give away: an elderly greyhound.", "dog, free", "The topic has to come from the list: 'pets, free'."),
        ],
    ),
]  # fmt: skip
