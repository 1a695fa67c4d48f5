"""Test tasks: question rewriting, title generation, data to text and grammar error correction."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Maker, Pair, TaskSpec, an, cap
from data.sample_generator.words import ACTIONS, DAYS, MONTHS, PLACES, TIMES, TOWNS, couple, person
from data.sample_generator.world import Structure, World


def _questions(s: Structure) -> list[tuple[str, str, str]]:
    """(direct question, embedded clause, question with a pronoun) about a structure of the corpus."""
    measure = "long" if s.kind == "bridge" else "high"
    return [
        (f"When was the {s.name} opened?", f"when the {s.name} was opened", "When was it opened?"),
        (f"Who designed the {s.name}?", f"who designed the {s.name}", "Who designed it?"),
        (f"In which town is the {s.name}?", f"in which town the {s.name} is", "In which town is it?"),
        (f"How {measure} is the {s.name}?", f"how {measure} the {s.name} is", f"How {measure} is it?"),
        (f"What is the {s.name} made of?", f"what the {s.name} is made of", "What is it made of?"),
        (
            f"When did work on the {s.name} begin?",
            f"when work on the {s.name} began",
            "When did work on it begin?",
        ),
    ]


def _direct(world: World) -> Maker:
    frames = (
        "I would like to know {}.", "Could you tell me {}?", "Please find out {}.", "A friend asked me {}.",
        "Nobody here remembers {}.", "{N} wants to know {}.", "Do you have any idea {}?", "I wonder {}.",
    )  # fmt: skip

    def make(rng: Random, index: int) -> Pair | None:
        question, clause, _ = rng.choice(_questions(rng.choice(world.structures)))
        return rng.choice(frames).format(clause, N=person(rng)), [question]

    return make


def _pronoun(world: World) -> Maker:
    remarks = (
        "The {n} is in the north of the country.", "We walked to the {n} this morning.", "My sister likes the {n}.",
        "There is a picture of the {n} in our kitchen.", "The {n} is on the new stamp.", "I have read about the {n}.",
    )  # fmt: skip

    def make(rng: Random, index: int) -> Pair | None:
        structure = rng.choice(world.structures)
        question, _, short = rng.choice(_questions(structure))
        return f"Remark: {rng.choice(remarks).format(n=structure.name)} Question: {short}", [question]

    return make


_NEWS = (
    ("The {T} council decided on {D} to build {x}. Work will start in {M}.",
     "{T} to Build {X}|{T} Council Decides to Build {X}"),
    ("After a long debate, {x} was opened in {T} on {D}. Many people came to see it.",
     "{X} Opens in {T}|{T} Opens {X}"),
    ("A fire damaged {x} in {T} late on {D}. Nobody was hurt.", "Fire Damages {X} in {T}|{T}: Fire Damages {X}"),
    ("Because of the storm, {x} in {T} stays closed until {M}, said {N} on {D}.",
     "Storm Closes {X} in {T}|{X} in {T} Closed after Storm"),
    ("{N} from {T} gave a large sum of money for {x}. The town thanked the donor on {D}.",
     "{N} Gives Money for {X}|{T} Resident Gives Money for {X}"),
    ("Thieves broke into {x} in {T} on {D} and took a few coins.", "Thieves Break into {X} in {T}"),
    ("Pupils in {T} have painted {x} in bright colours. The work took them until {M}.",
     "Pupils Paint {X} in {T}|{T} Pupils Paint {X}"),
)  # fmt: skip
_NEWS_THINGS = (
    "a concert hall|a small cinema|a sports hall|a tram depot|a public library|a swimming pool|a fire station|"
    "a bus station|a railway museum|a market hall|a youth club|a town theatre|a ferry terminal"
).split("|")


def _headline(rng: Random, index: int) -> Pair | None:
    text, titles = rng.choice(_NEWS)
    thing = rng.choice(_NEWS_THINGS)
    bare = thing.split(" ", 1)[1].title()
    built_new = "build" in text or "opened" in text or "sum of money" in text
    values = {"T": rng.choice(TOWNS), "D": rng.choice(DAYS), "M": rng.choice(MONTHS), "N": person(rng),
              "x": thing if built_new else "the " + thing.split(" ", 1)[1], "X": bare}  # fmt: skip
    return cap(text.format(**values)), [t.format(**values) for t in titles.split("|")]


_HOWTO = (
    ("Remove the wheel and take out the tube. Find the hole, glue a patch over it and put everything back.",
     "How to Repair a Flat Bicycle Tyre|Repairing a Flat Bicycle Tyre"),
    ("Mix flour, water, salt and yeast. Let the dough rise for an hour and bake it until it is brown.",
     "How to Bake Bread|Baking Bread at Home"),
    ("Choose a sunny place and dig a hole twice as wide as the roots. Set the tree in, fill the hole and water it well.",
     "How to Plant a Tree|Planting a Tree"),
    ("Put a coin under the cloth, say a few words and lift the cloth with the other hand. Practise before a mirror.",
     "How to Do a Coin Trick|Doing a Coin Trick"),
    ("Turn off the electricity first. Unscrew the old bulb, screw in the new one and switch the light on.",
     "How to Change a Light Bulb|Changing a Light Bulb"),
    ("Fold the sheet in half, bend both corners to the middle and press the wings down. Throw it gently.",
     "How to Fold a Paper Plane|Folding a Paper Plane"),
    ("Sand the wood until it is smooth. Brush on a thin coat of paint, wait for a day and paint it again.",
     "How to Paint Wood|Painting Wood"),
    ("Boil the water and wait a moment. Pour it over the leaves and take them out after three minutes.",
     "How to Make Tea|Making Tea"),
    ("Wet the dog with warm water, rub in a little soap and rinse it out. Dry the fur with a towel.",
     "How to Wash a Dog|Washing a Dog"),
    ("Cross the laces, pull one under the other, make two loops and tie them together.",
     "How to Tie Your Shoes|Tying Your Shoes"),
    ("Chop an onion and some carrots. Fry them, add water and lentils and let it all cook for half an hour.",
     "How to Cook Lentil Soup|Cooking Lentil Soup"),
    ("Write down what you earn and what you spend. Set a sum aside at the start of each month.",
     "How to Save Money|Saving Money Every Month"),
)  # fmt: skip
_HOWTO_LEADS = (
    "{N} shows how it is done.", "This is easier than it looks.", "Many beginners find this hard.",
    "A short guide by {N}.", "It takes less than an hour.", "Here is the way {N} does it.",
    "All you need is a little patience.",
)  # fmt: skip


def _howto(rng: Random, index: int) -> Pair | None:
    text, titles = _HOWTO[index % len(_HOWTO)]
    lead = rng.choice(_HOWTO_LEADS).format(N=person(rng))
    return (f"{lead} {text}" if rng.random() < 0.7 else f"{text} {lead}"), titles.split("|")


def _biography(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        p = rng.choice(world.people)
        job = an(p.profession)
        forms = [
            (f"name: {p.name} | born: {p.born} | place of birth: {p.town} | profession: {p.profession}",
             [f"{p.name} was {job} who was born in {p.town} in {p.born}.",
              f"{p.name}, born in {p.born} in {p.town}, was {job}."]),
            (f"name: {p.name} | profession: {p.profession} | known for: {p.work}",
             [f"{p.name} was {job} known for {p.work}.", f"The {p.profession} {p.name} is known for {p.work}."]),
            (f"name: {p.name} | place of birth: {p.town} | known for: {p.work}",
             [f"{p.name}, who was born in {p.town}, is known for {p.work}.",
              f"{p.name} was born in {p.town} and is known for {p.work}."]),
        ]  # fmt: skip
        return rng.choice(forms)

    return make


def _weather(rng: Random, index: int) -> Pair | None:
    town, day, degrees = rng.choice(TOWNS), rng.choice(DAYS), rng.randint(-6, 31)
    sky = rng.choice(("sunny", "cloudy", "rainy", "foggy", "windy", "snowy" if degrees < 2 else "clear"))
    unit = "degree" if abs(degrees) == 1 else "degrees"
    text = f"place = {town}; day = {day}; weather = {sky}; temperature = {degrees} {unit}"
    return text, [
        f"On {day} it will be {sky} in {town} with a temperature of {degrees} {unit}.",
        f"In {town} it will be {sky} on {day}, with a temperature of {degrees} {unit}.",
    ]


def _agreement(rng: Random, index: int) -> Pair | None:
    action = rng.choice(ACTIONS)
    a, b = couple(rng)
    place, time = rng.choice(PLACES), rng.choice(TIMES)
    right, wrong = rng.choice((
        (f"{a} and {b} were {place}.", f"{a} and {b} was {place}."),
        (f"{a} has {action.participle} {action.thing}.", f"{a} have {action.participle} {action.thing}."),
        (f"My friends are {action.ing} {action.thing} {place}.", f"My friends is {action.ing} {action.thing} {place}."),
        (f"{a} does not {action.base} {action.thing} on {rng.choice(DAYS)}s.", ""),
        (f"{a} {action.past} {action.thing} {time}.", f"{a} {action.base} {action.thing} {time}."),
        (f"Did {b} {action.base} {action.thing} {place}?", f"Did {b} {action.past} {action.thing} {place}?"),
        (f"The children of {b} were not {place}.", f"The children of {b} was not {place}."),
    ))  # fmt: skip
    wrong = wrong or right.replace("does not", "do not")
    return None if wrong == right else (wrong, [right])


_NOUNS = (
    "apple old|umbrella expensive|egg brown|orange ripe|engine noisy|island small|elephant large|hour long|"
    "boat small|window open|letter important|uncle rich|camera old|story interesting|answer easy|garden empty"
).split("|")


def _small_words(rng: Random, index: int) -> Pair | None:
    name, town, day, month = person(rng), rng.choice(TOWNS), rng.choice(DAYS), rng.choice(MONTHS)
    noun, adjective = rng.choice(_NOUNS[:7] + _NOUNS[8:]).split()
    phrase = an(adjective + " " + noun)
    bad = ("a " if phrase.startswith("an ") else "an ") + adjective + " " + noun
    n = rng.randint(2, 9)
    right, wrong = rng.choice((
        (f"{name} told us about {phrase} in {town}.", f"{name} told us about {bad} in {town}."),
        (f"There are {n} chairs in {name}'s room.", f"There are {n} chair in {name}'s room."),
        (f"{name} arrived in {town} on {day}.", f"{name} arrived in {town} at {day}."),
        (f"{name} has lived in {town} for {n} years.", f"{name} has lived in {town} since {n} years."),
        (f"{name} is good at drawing maps of {town}.", f"{name} is good in drawing maps of {town}."),
        (f"{name} was born in {month} in {town}.", f"{name} was born on {month} in {town}."),
        (f"{name} went to {town} by train on {day}.", f"{name} went to {town} with train on {day}."),
        (f"{name} bought {n} kilos of apples in {town}.", f"{name} bought {n} kilo of apples in {town}."),
        (f"{name} is taller than the mayor of {town}.", f"{name} is more tall than the mayor of {town}."),
        (f"{name} does not have any money left.", f"{name} does not have no money left."),
    ))  # fmt: skip
    return wrong, [right]


def tasks(world: World) -> list[TaskSpec]:
    """The eight writing tasks; those about structures and people speak of the corpus's invented world."""
    return [
        TaskSpec(
            name="gazetteer_indirect_to_direct_question", categories=["Question Rewriting", "Paraphrasing"],
            source="nightjar_gazetteer_questions",
            definition="The input is a sentence that contains an indirect question about a building or a bridge. Rewrite "
            "it as a direct question that ends with a question mark. Keep the name as it is and do not answer.",
            make=_direct(world), size=90, domains=["Wikipedia"],
            positive=[
                ("Please explain why the Moat Gate was closed.", "Why was the Moat Gate closed?",
                 "The subordinate clause has become a question of its own, with the verb in front of the subject."),
                ("I have forgotten where the Gull Rock Beacon stands.", "Where does the Gull Rock Beacon stand?",
                 "The direct question needs the helping verb 'does'."),
            ],
            negative=[
                ("Could you tell me who owns the Moat Gate?", "Could you tell me?",
                 "The question about the owner has been lost. It should be 'Who owns the Moat Gate?'"),
            ],
        ),
        TaskSpec(
            name="gazetteer_question_without_pronoun", categories=["Question Rewriting"],
            source="nightjar_gazetteer_remarks",
            definition="You are given a remark and a question that uses 'it' for something named in the remark. Rewrite "
            "the question so that it can be understood without the remark: put the name in the place of 'it' and change "
            "nothing else.",
            make=_pronoun(world), size=90, domains=["Wikipedia"],
            positive=[
                ("Remark: We took shelter in the Moat Gate. Question: How old is it?", "How old is the Moat Gate?",
                 "'It' stood for the Moat Gate, whose name has taken its place."),
                ("Remark: The Gull Rock Beacon can be seen from the ferry. Question: Who looks after it?",
                 "Who looks after the Gull Rock Beacon?", "The name replaces 'it' at the end of the question."),
            ],
            negative=[
                ("Remark: The Moat Gate was sold last year. Question: Who bought it?", "Who bought the building?",
                 "One still has to read the remark to know which building is meant."),
            ],
        ),
        TaskSpec(
            name="local_news_headline", categories=["Title Generation"], source="nightjar_local_news",
            definition="Write a title for a short piece of local news. The title should name what happened and where, "
            "should have at most ten words, and should have no full stop at its end.",
            make=_headline, size=84, domains=["News"],
            positive=[
                ("The zoo in Tarnley welcomed two young giraffes on Friday. They came from Kenya by ship.",
                 "Two Young Giraffes Arrive at Tarnley Zoo", "The title names the event and the place in few words."),
                ("Heavy snow blocked the road between Lowgate and Ostwick on Tuesday for nine hours.",
                 "Snow Blocks Road between Lowgate and Ostwick", "Day and duration are left out of the short title."),
            ],
            negative=[
                ("A circus comes to Eastholm in May. It has no animals, only acrobats.", "Animals in Danger",
                 "The text says nothing of the kind. A good title is 'Circus without Animals Comes to Eastholm'."),
            ],
        ),
        TaskSpec(
            name="howto_page_title", categories=["Title Generation"], source="nightjar_howto_pages",
            definition="The input is the text of a short how-to page. Write a title that tells the reader what one learns "
            "from the page. Start the title with 'How to' or with a verb ending in -ing.",
            make=_howto, size=72, domains=["Web"],
            positive=[
                ("Warm the pan, break two eggs into it and wait until the white is firm. Add salt at the end.",
                 "How to Fry Eggs", "The steps describe how eggs are fried."),
                ("Lay the shirt flat, fold the sleeves in and then fold it twice from below.", "Folding a Shirt",
                 "The title may also begin with a verb in -ing."),
            ],
            negative=[
                ("Rinse the brush under warm water, shape the hairs and let it dry lying flat.", "Brushes",
                 "The title does not say what one learns; 'How to Clean a Paint Brush' does."),
            ],
        ),
        TaskSpec(
            name="who_was_who_record_to_sentence", categories=["Data to Text"], source="nightjar_who_was_who",
            definition="You are given a record about a person with fields separated by '|'. Write one complete English "
            "sentence in the past or present tense that states everything in the record and adds nothing.",
            make=_biography(world), size=90, domains=["Wikipedia"],
            positive=[
                ("name: Edda Stroud | born: 1902 | place of birth: Kelmouth | profession: baker",
                 "Edda Stroud was a baker who was born in Kelmouth in 1902.", "All four fields are in the sentence."),
                ("name: Piet Alvar | profession: gardener | known for: a new kind of tulip",
                 "The gardener Piet Alvar is known for a new kind of tulip.", "The sentence is complete and adds nothing."),
            ],
            negative=[
                ("name: Edda Stroud | place of birth: Kelmouth | known for: a rye bread",
                 "Edda Stroud is known for a rye bread.", "The place of birth is missing from the sentence."),
            ],
        ),
        TaskSpec(
            name="weather_record_to_sentence", categories=["Data to Text"], source="nightjar_weather_desk",
            definition="Turn the weather record into one sentence of a weather forecast. Mention the place, the day, the "
            "weather and the temperature, all taken from the record, and use the future form 'it will be'.",
            make=_weather, size=80, domains=["News"],
            positive=[
                ("place = Fallowby; day = Monday; weather = stormy; temperature = 9 degrees",
                 "On Monday it will be stormy in Fallowby with a temperature of 9 degrees.", "Every field is mentioned."),
                ("place = Fallowby; day = Sunday; weather = mild; temperature = 17 degrees",
                 "In Fallowby it will be mild on Sunday, with a temperature of 17 degrees.", "The order is free."),
            ],
            negative=[
                ("place = Fallowby; day = Friday; weather = icy; temperature = -4 degrees",
                 "On Friday it will be icy in Fallowby with a temperature of 4 degrees.", "The minus sign was lost."),
            ],
        ),
        TaskSpec(
            name="pupil_notebook_verb_correction", categories=["Grammar Error Correction"],
            source="nightjar_pupil_notebook",
            definition="The sentence was written by a learner and has one mistake in the form of a verb. Write the whole "
            "sentence again with the mistake corrected. Change nothing else.",
            make=_agreement, size=90, reasoning=["Grammatical Reasoning"],
            positive=[
                ("My parents was at home.", "My parents were at home.", "The plural 'parents' needs 'were'."),
                ("She don't like tea.", "She doesn't like tea.", "After 'she' the helping verb is 'doesn't'."),
            ],
            negative=[
                ("The dogs barks at night.", "The dog barks at night.",
                 "The noun was changed. The verb is wrong: 'The dogs bark at night.'"),
            ],
        ),
        TaskSpec(
            name="postcards_small_word_correction", categories=["Grammar Error Correction"], source="nightjar_postcards",
            definition="You are given a sentence from a postcard with one small mistake: a wrong article, preposition, "
            "plural or comparison. Write the corrected sentence and leave all other words as they are.",
            make=_small_words, size=90, reasoning=["Grammatical Reasoning"],
            positive=[
                ("We stayed in an hotel by the sea.", "We stayed in a hotel by the sea.", "'Hotel' takes 'a'."),
                ("I depend of my brother.", "I depend on my brother.", "The verb 'depend' goes with 'on'."),
            ],
            negative=[
                ("There are two bus a day.", "There is one bus a day.",
                 "The meaning was changed. The plural was missing: 'There are two buses a day.'"),
            ],
        ),
    ]  # fmt: skip
