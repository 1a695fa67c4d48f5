"""Training tasks that extract, rewrite or generate, and two that the leakage rule has to exclude."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.causes import VILLAGE
from data.sample_generator.core import Maker, Pair, TaskSpec, cap, listing, turn, two
from data.sample_generator.passages import ASKED
from data.sample_generator.words import (
    ACTIONS,
    COUNTRIES,
    DAYS,
    MONTHS,
    PEOPLE,
    PLACES,
    TIMES,
    fill,
    person,
    table,
)
from data.sample_generator.world import World

_DIARY = (
    "{A} {past} {thing} {place} {time}.",
    "{Time}, {A} {past} {thing} {place}.",
    "{Place}, {A} was {ing} {thing} {time}.",
    "It was {place} that {A} {past} {thing} {time}.",
    "{A} told me about {ing} {thing} {place} {time}.",
    "Nobody saw {A} {place} {time}.",
    "{Time} {A} and {B} met {place} by chance.",
    "There was a loud bang {place} {time}.",
)


def _place_time(rng: Random, index: int) -> Pair | None:
    place, time = turn(PLACES, index), turn(TIMES, index // 2)
    text = turn(_DIARY, index).replace("{Place}", cap(place)).replace("{Time}", cap(time))
    text = text.replace("{place}", place).replace("{time}", time)
    return fill(rng, [text])[0], [f"place: {place}; time: {time}"]


_CHRONICLE = (
    "On {D} the mayor of {T} gave a medal to {G}.",
    "The prize for the best garden in {T} goes to {G}.",
    "With {G} in the boat, the voyage from {T} to {U} began on {D}.",
    "The letter from {T} was signed by {G} in {M}.",
    "Did {G} really see a bear near {T} last {D}?",
    "In {M} the police of {T} thanked {G} for help in the search.",
    "In {T} the small theatre of {G} was opened.",
    "A photograph from {T} shows {G} under a cherry tree.",
    "The council of {T} has asked {G} to write the town's history.",
    "After the flood in {U}, {G} cooked soup for everybody.",
    "Without {G} the choir of {T} would have no soloists.",
    "The old map of {T} once belonged to {G}.",
    "Nobody in {U} could beat {G} at chess.",
    "For {n} years {G} looked after the clock of {T}.",
    "The bus to {U} had to wait for {G} on {D}.",
    "The town of {T} will name a street after {G}.",
    "Last {M} {G} travelled to {U} by sledge.",
    "Everybody in {T} knows the songs of {G}.",
    "On {D} {G} found a purse at the station of {T}.",
    "The quarrel about the well of {U} was settled by {G}.",
    "A hat that was lost in {T} was returned to {G} on {D}.",
)


def _names(rng: Random, index: int) -> Pair | None:
    names = rng.sample(PEOPLE, 1 + index % 3)
    (text,) = fill(rng, [turn(_CHRONICLE, index, 3).replace("{G}", listing(names))])
    return text, [", ".join(names)]


_POOLS = {
    "capital": sorted(set(COUNTRIES.values())),
    "day": DAYS,
    "month": MONTHS,
    "number": [str(n) for n in range(1, 90)],
}
# question|right answer|three wrong answers
_FACTS = table("""
What colour is fresh snow?|white|red|green|brown
What colour is a ripe lemon?|yellow|blue|black|purple
What colour does one get from blue and yellow?|green|orange|pink|grey
How many legs does a spider have?|8|6|4|10
How many legs does a bee have?|6|8|2|4
How many strings does a violin have?|4|6|7|12
How many players are on the pitch in a football team?|11|9|7|15
How many sides does a triangle have?|3|4|5|6
How many hours does a day have?|24|12|20|60
What do bees make?|honey|cheese|silk|wool
What does one use to cut paper?|scissors|a spoon|a sponge|a needle
Which season comes after winter?|spring|autumn|summer|the rainy season
In which season do most leaves fall?|autumn|spring|summer|winter
Which animal barks?|the dog|the cat|the cow|the frog
Which animal gives wool?|the sheep|the pig|the horse|the hen
What is the young of a cow called?|calf|foal|lamb|cub
What is frozen water called?|ice|steam|dew|fog
Which bird cannot fly?|the penguin|the swallow|the stork|the crow
Which metal is attracted by a magnet?|iron|gold|silver|copper
What does a thermometer measure?|temperature|weight|distance|time
Which ocean lies between Europe and North America?|the Atlantic|the Pacific|the Indian Ocean|the Arctic
On which continent is Kenya?|Africa|Asia|Europe|South America
On which continent is Peru?|South America|Africa|Asia|Australia
What is the opposite of empty?|full|wide|heavy|clean
What is the opposite of early?|late|slow|long|new
Which instrument has black and white keys?|the piano|the violin|the flute|the drum
Who works in a kitchen?|a cook|a pilot|a judge|a tailor
Who flies a plane?|a pilot|a baker|a nurse|a teacher
What do you wear on your hands in winter?|gloves|socks|a belt|a scarf
Which planet do we live on?|Earth|Mars|Venus|Jupiter
What is bread made from?|flour|sand|wool|milk
Which fruit grows on vines?|the grape|the pear|the banana|the plum
In which room does one usually cook?|the kitchen|the bedroom|the cellar|the hall
What do we call a person who writes novels?|a novelist|a surgeon|a plumber|a conductor
Which of the senses belongs to the nose?|smell|taste|hearing|sight
What does a clock show?|the time|the price|the weight|the way
Which animal builds dams?|the beaver|the fox|the hare|the badger
""")
_WRONG_KINDS = ("capital", "day", "capital", "month", "number")


def _wrong_answer(rng: Random, index: int) -> Pair | None:
    kind = "fact" if index % 2 else turn(_WRONG_KINDS, index // 2)
    if kind == "fact":
        question, right, *wrong = turn(_FACTS, index // 2)
        rng.shuffle(wrong)
    elif kind == "capital":
        country = rng.choice(sorted(COUNTRIES))
        question, right = f"What is the capital of {country}?", COUNTRIES[country]
    elif kind == "number":
        number, word = rng.randint(11, 80), rng.choice(("after", "before"))
        question, right = (
            f"Which number comes just {word} {number}?",
            str(number + (1 if word == "after" else -1)),
        )
    else:
        names = _POOLS[kind]
        at, word = rng.randrange(len(names)), rng.choice(("after", "before"))
        right = names[(at + (1 if word == "after" else -1)) % len(names)]
        question = f"Which {kind} comes just {word} {names[at]}?"
    if kind != "fact":
        wrong = rng.sample([p for p in _POOLS[kind] if p not in (right, question.split()[-1][:-1])], 3)
    asker = rng.choice(("Question", "Question", f"{person(rng)} asks", f"Question from {person(rng)}"))
    return f"{asker}: {question} Right answer: {right}", wrong


def _passive(rng: Random, index: int) -> Pair | None:
    name, action = person(rng), turn(ACTIONS, index)
    subject = rng.choice(
        (name, name, "the new neighbour", "a group of pupils", "two old sailors", "my aunt", "our teacher")
    )
    end = rng.choice((rng.choice(PLACES), rng.choice(TIMES)))
    return f"{cap(subject)} {action.past} {action.thing} {end}.", [
        f"{cap(action.thing)} was {action.participle} by {subject} {end}."
    ]


def _ask_about(rng: Random, index: int) -> Pair | None:
    sentence, answer, question = turn(ASKED, index)
    text, question = fill(rng, (f"Sentence: {sentence} Answer: {answer}", question))
    return text, [question]


_GROUPS = {
    "fish": "trout salmon herring pike carp perch", "birds": "sparrow eagle robin crow stork heron",
    "trees": "oak birch pine maple willow elm", "drinks": "tea coffee lemonade cocoa milk cider",
    "vegetables": "carrot cabbage onion leek spinach turnip", "furniture": "chair wardrobe stool bench cupboard sofa",
    "metals": "iron copper silver gold tin zinc", "vehicles": "tram lorry bicycle bus taxi tractor",
    "rooms": "bedroom cellar attic hall bathroom pantry", "insects": "ant beetle wasp moth cricket bee",
    "instruments": "violin flute drum harp trumpet oboe", "clothes": "coat scarf shirt glove jacket skirt",
    "tools": "hammer saw drill chisel wrench pliers", "fruit": "apple pear plum grape melon peach",
    "colours": "red green blue yellow purple white", "limbs": "knee elbow ankle wrist shoulder thumb",
    "weather": "rain snow hail fog thunder drizzle", "jobs": "baker nurse pilot tailor judge plumber",
    "mammals": "otter badger hare fox goat beaver", "buildings": "church castle barn mill tower factory",
    "sports": "tennis rowing boxing hockey fencing judo", "shapes": "cube cone sphere pyramid oval rectangle",
}  # fmt: skip


def _odd_one(rng: Random, index: int) -> Pair | None:
    group, other = two(rng, sorted(_GROUPS))
    odd = rng.choice(_GROUPS[other].split())
    words = [*rng.sample(_GROUPS[group].split(), 3 + index % 2), odd]
    rng.shuffle(words)
    return ", ".join(words), [odd]


def _complete(rng: Random, index: int) -> Pair | None:
    cause, effect = fill(rng, turn(VILLAGE, index))
    return f"Event: {cause} And so:", [effect]


_ENTRIES = (
    "Name: {S}. Town: {T}.",
    "The {S} is a {k} in {T}.",
    "{S}, made of {m}.",
    "{S} ({k}, {T}).",
    "An entry on the {S}, a {k} of {m}.",
    "{T}: the {S}, a well-known {k}.",
    "The {k} called {S}.",
)
# what is wanted|the question for it
_WANTED = table("""
year of opening|When was the {S} opened?
designer|Who designed the {S}?
beginning of the work|When did work on the {S} begin?
cost|How much did the {S} cost?
owner|Who owns the {S}?
number of visitors|How many people visit the {S} each year?
origin of the name|How did the {S} get its name?
last repair|When was the {S} last repaired?
opening hours|When is the {S} open?
state of the roof|In what state is the roof of the {S}?
oldest picture|Where is the oldest picture of the {S}?
""")


def _landmark_question(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        s = turn(world.structures, index)
        wanted, question = turn(_WANTED, index)
        entry = turn(_ENTRIES, index).format(S=s.name, T=s.town, k=s.kind, m=s.material)
        return f"{entry} Wanted: {wanted}.", [question.format(S=s.name)]

    return make


def tasks(world: World) -> list[TaskSpec]:
    """Six training tasks, and two more that share a source with a test task."""
    return [
        TaskSpec(
            name="diary_place_and_time", categories=["Information Extraction"], source="nightjar_diary",
            definition="Find in the sentence where something happened and when it happened. Copy both phrases from the sentence "
            "and write them as 'place: ...; time: ...', always with the place first.",
            make=_place_time, size=90, domains=["Narrative"],
            positive=[
                ("Otto slipped on the stairs at midnight.", "place: on the stairs; time: at midnight",
                 "Both phrases are copied as they stand."),
                ("In May, Edda danced on the pier.", "place: on the pier; time: in May",
                 "The place is written first although the time comes first in the sentence."),
            ],
            negative=[
                ("Otto slept under a tree after the picnic.", "place: after the picnic; time: under a tree",
                 "Place and time have been exchanged."),
            ],
        ),
        TaskSpec(
            name="chronicle_person_names", categories=["Named Entity Recognition"], source="nightjar_chronicle",
            definition="List all first names of people in the sentence, in the order in which they appear, separated by commas. Towns, "
            "weekdays and months are not names of people.",
            make=_names, size=84, domains=["News"],
            positive=[
                ("Otto and Edda walked from Fallowby to the coast in May.", "Otto, Edda", "Fallowby is a town, May a month."),
                ("The captain thanked Berta on Tuesday.", "Berta", "The captain is not named."),
            ],
            negative=[
                ("Piet sailed to Fallowby with Berta.", "Piet, Fallowby, Berta", "Fallowby is a town and not a person."),
            ],
        ),
        TaskSpec(
            name="quiz_wrong_answer", categories=["Wrong Candidate Generation"], source="nightjar_quiz_evening",
            definition="You are given a question and its right answer. Write a wrong answer that could be taken for a right one: it "
            "has to be of the same kind, for example another city, another day or another number.",
            make=_wrong_answer, size=85,
            positive=[
                ("Question: What is the capital of the Netherlands? Right answer: Amsterdam", "Prague",
                 "Prague is a capital as well, but not that of the Netherlands."),
                ("Question: How many days has a week? Right answer: 7", "8", "It is a number and wrong."),
            ],
            negative=[
                ("Question: In which month is New Year's Day? Right answer: January", "a teapot",
                 "Nobody could take this for a right answer; 'March' would be a good one."),
            ],
        ),
        TaskSpec(
            name="active_to_passive", categories=["Paraphrasing"], source="nightjar_grammar_drill",
            definition="Rewrite the sentence in the passive voice: begin with the thing that something was done to, then use 'was' "
            "with the participle and name the doer with 'by'. Keep the rest of the sentence.",
            make=_passive, size=90, reasoning=["Grammatical Reasoning"],
            positive=[
                ("Otto broke the cup in the kitchen.", "The cup was broken by Otto in the kitchen.",
                 "The cup comes first, and the doer follows after 'by'."),
                ("A tall woman caught the thief at noon.", "The thief was caught by a tall woman at noon.",
                 "The time stays at the end."),
            ],
            negative=[
                ("Edda peeled an orange at school.", "Edda was peeled by an orange at school.",
                 "Doer and thing are exchanged. It should be 'An orange was peeled by Edda at school.'"),
            ],
        ),
        TaskSpec(
            name="question_for_given_answer", categories=["Question Generation"], source="nightjar_interview_notes",
            definition="You are given a sentence and an answer taken from it. Write the question about the sentence to which these "
            "words are the answer. The question must not contain the answer itself.",
            make=_ask_about, size=90,
            positive=[
                ("Sentence: Otto hid the cake in the oven. Answer: in the oven", "Where did Otto hide the cake?",
                 "The question asks for the place and leaves it out."),
                ("Sentence: Edda called the doctor at night. Answer: Edda", "Who called the doctor at night?",
                 "The question asks for the person."),
            ],
            negative=[
                ("Sentence: Otto has three boats. Answer: three boats", "Does Otto have three boats?",
                 "The question contains the answer; it should be 'How many boats does Otto have?'"),
            ],
        ),
        TaskSpec(
            name="odd_word_out", categories=["Word Semantics"], source="nightjar_word_baskets",
            definition="All words of the list but one belong to the same group, for example birds, rooms or drinks. Find the word "
            "that does not belong to the group and write only this word.",
            make=_odd_one, size=90, reasoning=["Relational Reasoning"],
            positive=[
                ("Monday, Friday, spoon, Sunday", "spoon", "The other three are days of the week."),
                ("rose, tulip, daisy, lily, hammer", "hammer", "A hammer is a tool; the others are flowers."),
            ],
            negative=[
                ("circle, square, sofa, triangle", "circle", "A circle is a shape like the others; the sofa is not."),
            ],
        ),
        TaskSpec(
            name="village_event_what_followed", categories=["Text Completion"], source="nightjar_village_events",
            definition="You are given an event in a village or in the life of one of its people. Write one sentence that tells what "
            "most probably happened as a result of it.",
            make=_complete, size=78, reasoning=["Causal Reasoning"], domains=["Commonsense"],
            positive=[
                ("Event: Otto's boat hit a rock. And so:", "Otto's boat began to leak.", "A boat leaks after such a blow."),
                ("Event: The only doctor left the village. And so:", "Sick people had to travel to the next town.",
                 "Without a doctor the sick have to go elsewhere."),
            ],
            negative=[
                ("Event: The lamp fell over. And so:", "Because of the wind.",
                 "This is a cause and not a result, and it is no full sentence."),
            ],
        ),
        TaskSpec(
            name="gazetteer_question_from_entry", categories=["Question Generation"], source="nightjar_gazetteer_questions",
            definition="You are given an entry about a building or a bridge and the fact that is wanted, for example its designer. "
            "Write one question that asks for this fact and names the structure.",
            make=_landmark_question(world), size=80, domains=["Wikipedia"],
            positive=[
                ("Name: Moat Gate. Wanted: designer.", "Who designed the Moat Gate?", "The question names the structure."),
                ("Gull Rock Beacon (lighthouse, Kelmouth). Wanted: cost.", "How much did the Gull Rock Beacon cost?",
                 "A sum of money is asked for."),
            ],
            negative=[
                ("Name: Moat Gate. Wanted: material.", "What is it made of?", "The name of the structure is missing."),
            ],
        ),
    ]  # fmt: skip
