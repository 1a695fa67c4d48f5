"""Test tasks: question rewriting, title generation, data to text and grammar error correction."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Maker, Pair, TaskSpec, an, turn
from data.sample_generator.howto import HOWTO
from data.sample_generator.questions import ASKING, REMARKS, STRUCTURE
from data.sample_generator.words import DAYS, TOWNS, fill, person
from data.sample_generator.world import Structure, World
from data.sample_generator.writing import NEWS, RECORDS, SMALL, VERBS


def _question(s: Structure, index: int) -> list[str]:
    """Direct question, embedded clause and question with a pronoun about a structure of the corpus."""
    measure = "long" if s.kind == "bridge" else "high"
    return [text.format(S=s.name, q=measure) for text in turn(STRUCTURE, index)]


def _direct(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        question, clause, _ = _question(rng.choice(world.structures), index)
        return turn(ASKING, index).format(c=clause, N=person(rng)), [question]

    return make


def _pronoun(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        structure = rng.choice(world.structures)
        question, _, short = _question(structure, index)
        remark = turn(REMARKS, index).format(S=structure.name, N=person(rng), D=rng.choice(DAYS))
        return f"Remark: {remark} Question: {short}", [question]

    return make


_NEWS_THINGS = [
    "concert hall",
    "small cinema",
    "sports hall",
    "tram depot",
    "public library",
    "swimming pool",
    "fire station",
    "bus station",
    "railway museum",
    "market hall",
    "youth club",
    "town theatre",
    "ferry terminal",
    "skating rink",
    "puppet theatre",
    "bowling alley",
    "climbing hall",
    "music school",
    "tourist office",
    "kindergarten",
    "folk museum",
]


def _headline(rng: Random, index: int) -> Pair | None:
    thing = turn(_NEWS_THINGS, index)
    lines = [
        line.replace("{x}", f"the {thing}").replace("{a}", an(thing)).replace("{X}", thing.title())
        for line in turn(NEWS, index)
    ]
    text, *titles = fill(rng, lines)
    return text, titles


_HOWTO_LEADS = (
    "{A} shows how it is done.", "This is easier than it looks.", "Many beginners find this hard.",
    "A short guide by {A}.", "It takes less than an hour.", "Here is the way {A} does it.",
    "All you need is a little patience.",
)  # fmt: skip


def _howto(rng: Random, index: int) -> Pair | None:
    text, *titles = turn(HOWTO, index)
    (lead,) = fill(rng, [rng.choice(_HOWTO_LEADS)])
    return rng.choice((f"{lead} {text}", f"{text} {lead}", text)), titles


def _biography(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        p = turn(world.people, index)
        values = {
            "n": p.name,
            "b": p.born,
            "t": p.town,
            "p": an(p.profession),
            "q": p.profession,
            "w": p.work,
        }
        record, *sentences = (text.format(**values) for text in turn(RECORDS, index))
        return record.replace(" / ", " | "), sentences

    return make


# weather, and the lowest and highest temperature it comes with
_SKY = (
    ("sunny", -6, 31), ("cloudy", -6, 28), ("rainy", 2, 24), ("foggy", -3, 13), ("misty", -1, 15), ("humid", 18, 31),
    ("overcast", -6, 22), ("dry", 0, 31), ("hazy", 14, 31), ("mild", 9, 17), ("fair", 4, 27), ("clear", -6, 31),
    ("snowy", -6, 1),
)  # fmt: skip
_STILL = ("foggy", "misty", "hazy")
_WIND = (
    "a light east wind",
    "a strong west wind",
    "a fresh north wind",
    "hardly any wind",
    "a gentle south wind",
)
_PARTS = ("morning", "afternoon", "evening")


def _weather(rng: Random, index: int) -> Pair | None:
    town, day, (sky, low, high) = rng.choice(TOWNS), rng.choice(DAYS), turn(_SKY, index)
    degrees = rng.randint(low, high)
    amount = f"{degrees} {'degree' if abs(degrees) == 1 else 'degrees'}"
    fields = [f"place = {town}", f"day = {day}", f"weather = {sky}", f"temperature = {amount}"]
    when, extra = day, ""
    if index % 4 in (1, 3):
        wind = "hardly any wind" if sky in _STILL else rng.choice(_WIND)
        extra = f" and {wind}"
        fields.append(f"wind = {wind}")
    if index % 4 in (2, 3):
        part = rng.choice(_PARTS)
        when = f"{day} {part}"
        fields[1] = f"time = {when}"
    rng.shuffle(fields)
    return "; ".join(fields), [
        f"On {when} it will be {sky} in {town} with a temperature of {amount}{extra}.",
        f"In {town} it will be {sky} on {when}, with a temperature of {amount}{extra}.",
    ]


_NOUNS = [
    "apple old",
    "umbrella expensive",
    "egg brown",
    "orange ripe",
    "engine noisy",
    "island small",
    "elephant large",
    "boat small",
    "window open",
    "letter important",
    "uncle rich",
    "camera old",
    "story interesting",
    "answer easy",
    "garden empty",
]


def _verb_mistake(rng: Random, index: int) -> Pair | None:
    right, wrong = fill(rng, turn(VERBS, index))
    return None if wrong == right else (wrong, [right])


def _small_mistake(rng: Random, index: int) -> Pair | None:
    noun, adjective = rng.choice(_NOUNS).split()
    phrase = an(f"{adjective} {noun}")
    bad = f"{'a' if phrase.startswith('an ') else 'an'} {adjective} {noun}"
    right, wrong = fill(rng, [t.replace("{p}", phrase).replace("{w}", bad) for t in turn(SMALL, index)])
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
            definition="Turn the weather record into one sentence of a weather forecast. Mention the place, the time, the weather, "
            "the temperature and, where it is given, the wind, and use the future form 'it will be'.",
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
            make=_verb_mistake, size=90, reasoning=["Grammatical Reasoning"],
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
            make=_small_mistake, size=90, reasoning=["Grammatical Reasoning"],
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
