"""Training tasks that extract, rewrite, generate or translate, and two that the leakage rule has to exclude."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.causes import CAUSES, fill_causes
from data.sample_generator.core import Maker, Pair, TaskSpec, cap, cycle, listing, two
from data.sample_generator.words import ACTIONS, COUNTRIES, DAYS, MONTHS, PLACES, TIMES, TOWNS, couple, person
from data.sample_generator.world import World


def _place_time(rng: Random, index: int) -> Pair | None:
    name, action, place, time = person(rng), rng.choice(ACTIONS), rng.choice(PLACES), rng.choice(TIMES)
    text = rng.choice((
        f"{name} {action.past} {action.thing} {place} {time}.",
        f"{cap(time)}, {name} {action.past} {action.thing} {place}.",
        f"{cap(place)}, {name} was {action.ing} {action.thing} {time}.",
        f"It was {place} that {name} {action.past} {action.thing} {time}.",
    ))  # fmt: skip
    return text, [f"place: {place}; time: {time}"]


def _names(rng: Random, index: int) -> Pair | None:
    names = [person(rng) for _ in range(1 + index % 3)]
    if len(set(names)) < len(names):
        return None
    town, day = rng.choice(TOWNS), rng.choice(DAYS)
    group = listing(names)
    text = rng.choice((
        f"On {day} the mayor of {town} gave a medal to {group}.",
        f"The prize for the best garden in {town} goes to {group}.",
        f"With {group} in the boat, the voyage from {town} to {rng.choice(TOWNS)} began on {day}.",
        f"The letter from {town} was signed by {group} in {rng.choice(MONTHS)}.",
        f"Did {group} really see a bear near {town} last {day}?",
    ))  # fmt: skip
    return text, [", ".join(names)]


_WRONG = {
    "capital": sorted(set(COUNTRIES.values())),
    "day": DAYS,
    "month": MONTHS,
    "colour": "red blue green yellow white black grey brown".split(),
    "animal": "horse cow spider duck bee goat snake".split(),
}
_LEGS = {"horse": 4, "cow": 4, "spider": 8, "duck": 2, "bee": 6, "goat": 4, "snake": 0}


def _wrong_answer(rng: Random, index: int) -> Pair | None:
    kind = cycle(_WRONG, index)
    if kind == "capital":
        country = rng.choice(sorted(COUNTRIES))
        question, right, pool = f"What is the capital of {country}?", COUNTRIES[country], _WRONG[kind]
    elif kind in ("day", "month"):
        names = _WRONG[kind]
        at, word = rng.randrange(len(names)), rng.choice(("after", "before"))
        right = names[(at + (1 if word == "after" else -1)) % len(names)]
        question, pool = f"Which {kind} comes just {word} {names[at]}?", names
    elif kind == "colour":
        thing, right = rng.choice((("fresh snow", "white"), ("grass", "green"), ("coal", "black"), ("a ripe lemon", "yellow"),
                                   ("a clear sky at noon", "blue"), ("blood", "red"), ("an elephant", "grey"),
                                   ("chocolate", "brown")))  # fmt: skip
        question, pool = f"What colour is {thing}?", _WRONG[kind]
    else:
        animal = rng.choice(_WRONG[kind])
        right, pool = str(_LEGS[animal]), [str(n) for n in (0, 2, 4, 6, 8, 10)]
        question = f"How many legs does a {animal} have?"
    wrong = rng.sample([p for p in pool if p != right], 3)
    asker = rng.choice(("Question", "Question", f"{person(rng)} asks", f"Question from {person(rng)}"))
    return f"{asker}: {question} Right answer: {right}", wrong


def _passive(rng: Random, index: int) -> Pair | None:
    name, action = person(rng), rng.choice(ACTIONS)
    place, time = rng.choice(PLACES), rng.choice(TIMES)
    subject = rng.choice((name, name, "the new neighbour", "a group of pupils", "two old sailors"))
    end = rng.choice((place, time))
    return f"{cap(subject)} {action.past} {action.thing} {end}.", [
        f"{cap(action.thing)} was {action.participle} by {subject} {end}."
    ]


def _ask_about(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    action, town, day, n = rng.choice(ACTIONS), rng.choice(TOWNS), rng.choice(DAYS), rng.randint(3, 40)
    text, answer, question = rng.choice((
        (f"{a} {action.past} {action.thing} on {day}.", f"on {day}", f"When did {a} {action.base} {action.thing}?"),
        (f"{a} {action.past} {action.thing} for {b}.", a, f"Who {action.past} {action.thing} for {b}?"),
        (f"{a} moved to {town} with {b}.", town, f"Where did {a} move with {b}?"),
        (f"{a} has {n} cousins in {town}.", f"{n} cousins", f"How many cousins does {a} have in {town}?"),
        (f"{a} met {b} in {town} on {day}.", b, f"Who did {a} meet in {town} on {day}?"),
    ))  # fmt: skip
    return f"Sentence: {text} Answer: {answer}", [question]


_GROUPS = {
    "fish": "trout salmon herring pike carp", "birds": "sparrow eagle robin crow stork", "trees": "oak birch pine maple willow",
    "drinks": "tea coffee lemonade cocoa milk", "vegetables": "carrot cabbage onion leek spinach",
    "furniture": "chair wardrobe stool bench cupboard", "metals": "iron copper silver gold tin",
    "vehicles": "tram lorry bicycle bus taxi", "rooms": "kitchen bedroom cellar attic hall",
    "insects": "ant beetle wasp moth cricket",
}  # fmt: skip


def _odd_one(rng: Random, index: int) -> Pair | None:
    group, other = two(rng, sorted(_GROUPS))
    odd = rng.choice(_GROUPS[other].split())
    words = [*rng.sample(_GROUPS[group].split(), 3 + index % 2), odd]
    rng.shuffle(words)
    return ", ".join(words), [odd]


_ES_WHO = {"Mi hermana": "My sister", "Mi vecino": "My neighbour", "El panadero": "The baker", "La profesora": "The teacher",
           "Ana": "Ana", "El capitán": "The captain"}  # fmt: skip
_ES_DOES = {
    "compra pan y queso": "buys bread and cheese", "lee un libro viejo": "reads an old book",
    "abre la ventana grande": "opens the big window", "escribe una carta larga": "writes a long letter",
    "bebe un vaso de agua": "drinks a glass of water", "pinta una puerta azul": "paints a blue door",
    "busca las llaves del coche": "looks for the car keys", "vende flores frescas": "sells fresh flowers",
    "canta una canción alegre": "sings a cheerful song", "prepara la cena": "prepares dinner",
}  # fmt: skip
_ES_WHERE = {"en el mercado": "at the market", "por la mañana": "in the morning", "cerca del río": "near the river",
             "los domingos": "on Sundays", "después del trabajo": "after work", "en la plaza": "in the square"}  # fmt: skip


def _spanish(rng: Random, index: int) -> Pair | None:
    parts = [rng.choice(sorted(d.items())) for d in (_ES_WHO, _ES_DOES, _ES_WHERE)]
    return " ".join(p[0] for p in parts) + ".", [" ".join(p[1] for p in parts) + "."]


_DE_REVIEWS = (
    ("Das Hotel in {c} war sauber und ruhig.", "Das Hotel in {c} war schmutzig und laut."),
    ("Das Essen im Restaurant in {c} hat uns sehr gut geschmeckt.", "Das Essen im Restaurant in {c} war kalt und fade."),
    ("{n} war von der Stadtführung in {c} begeistert.", "{n} war von der Stadtführung in {c} enttäuscht."),
    ("Der Verkäufer in {c} war freundlich und half {n} sofort.", "Der Verkäufer in {c} war unhöflich zu {n}."),
    ("Wir fahren im {m} gern wieder nach {c}.", "Wir fahren nie wieder nach {c}, schon gar nicht im {m}."),
    ("Das Konzert in {c} war wunderbar, sagt {n}.", "Das Konzert in {c} war furchtbar, sagt {n}."),
)  # fmt: skip


def _german_review(rng: Random, index: int) -> Pair | None:
    text = rng.choice(_DE_REVIEWS)[index % 2]
    city = rng.choice("Berlin Hamburg Wien Bern Köln Dresden Graz Basel Leipzig Bremen".split())
    month = rng.choice("Januar April Juni August Oktober Dezember".split())
    return text.format(c=city, n=person(rng), m=month), [("positiv", "negativ")[index % 2]]


_FR_TOPICS = {
    "food": ("{n} prépare une soupe aux légumes.", "Le boulanger de {v} vend du pain frais.",
             "À {v}, on mange beaucoup de poisson.", "{n} achète du fromage et des pommes à {v}."),
    "weather": ("Il pleut à {v} depuis {d}.", "Il fera très chaud à {v} {d}.", "{d_} matin, la neige couvre les rues de {v}.",
                "Un vent froid souffle sur {v}."),
    "sport": ("{n} a gagné la course à {v}.", "L'équipe de {v} joue au football {d}.", "{n} nage tous les jours à {v}.",
              "Le match entre {v} et {w} est {d}."),
    "travel": ("Le train pour {v} part {d} à midi.", "{n} cherche un hôtel à {v}.", "Le vol de {v} à {w} dure deux heures.",
               "{n} prend le bateau pour aller à {v} {d}."),
}  # fmt: skip


def _french_topic(rng: Random, index: int) -> Pair | None:
    label = cycle(_FR_TOPICS, index)
    v, w = two(rng, "Lyon Nantes Lille Nice Dijon Brest Rouen Metz Tours Genève".split())
    day = rng.choice("lundi mardi mercredi jeudi vendredi samedi dimanche".split())
    return rng.choice(_FR_TOPICS[label]).format(n=person(rng), v=v, w=w, d=day, d_=cap(day)), [label]


def _complete(rng: Random, index: int) -> Pair | None:
    cause, effect = fill_causes(rng, [CAUSES[index % 26]])[0]
    return f"Event: {cause} And so:", [effect]


def _landmark_question(world: World) -> Maker:
    def make(rng: Random, index: int) -> Pair | None:
        s = rng.choice(world.structures)
        asked, question = rng.choice((
            ("year of opening", f"When was the {s.name} opened?"), ("designer", f"Who designed the {s.name}?"),
            ("town", f"In which town is the {s.name}?"), ("material", f"What is the {s.name} made of?"),
        ))  # fmt: skip
        return f"Name: {s.name}. Wanted: {asked}.", [question]

    return make


def tasks(world: World) -> list[TaskSpec]:
    """Six English training tasks, three in other languages, and two that share a source with a test task."""
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
            name="spanish_english_daily_life", categories=["Translation"], source="nightjar_spanish_phrases",
            definition="Translate the Spanish sentence into English. Keep the order of the parts of the sentence and the present "
            "tense, and end the translation with a full stop.",
            make=_spanish, size=80, input_language=["Spanish"],
            positive=[
                ("El niño come una manzana en el jardín.", "The boy eats an apple in the garden.",
                 "Every part of the sentence is translated."),
                ("La abuela duerme por la tarde.", "The grandmother sleeps in the afternoon.",
                 "'Por la tarde' means in the afternoon."),
            ],
            negative=[
                ("El perro duerme en la cocina.", "The dog sleeps.", "The place, in the kitchen, was left out."),
            ],
        ),
        TaskSpec(
            name="german_travel_sentiment", categories=["Sentiment Analysis"], source="nightjar_german_guest_book",
            definition="You are given a sentence from a German guest book or travel report. Answer 'positiv' if the writer or the "
            "guest was content, and 'negativ' if not.",
            make=_german_review, size=70, input_language=["German"], output_language=["German"], domains=["Reviews"],
            positive=[
                ("Das Frühstück war ausgezeichnet.", "positiv", "The breakfast is praised."),
                ("Das Zimmer war viel zu klein und roch nach Rauch.", "negativ", "Two things are criticised."),
            ],
            negative=[
                ("Der Kellner vergaß unsere Bestellung.", "positiv", "A forgotten order is a fault: 'negativ'."),
            ],
        ),
        TaskSpec(
            name="french_sentence_topic", categories=["Text Categorization"], source="nightjar_french_bulletin",
            definition="Read the French sentence and decide what it is about. Answer in English with one of these words: food, "
            "weather, sport, travel.",
            make=_french_topic, size=72, input_language=["French"],
            positive=[
                ("Le cuisinier ajoute du sel et du beurre.", "food", "A cook adds salt and butter."),
                ("Le ciel est gris et il y a du brouillard.", "weather", "Grey sky and fog belong to the weather."),
            ],
            negative=[
                ("Le gardien de but est blessé.", "gardien", "The answer has to come from the list: 'sport'."),
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
            definition="You are given the name of a building or a bridge and the fact that is wanted: its year of opening, designer, "
            "town or material. Write a question that asks for this fact and names the structure.",
            make=_landmark_question(world), size=80, domains=["Wikipedia"],
            positive=[
                ("Name: Moat Gate. Wanted: designer.", "Who designed the Moat Gate?", "The question names the structure."),
                ("Name: Gull Rock Beacon. Wanted: town.", "In which town is the Gull Rock Beacon?", "A town is asked for."),
            ],
            negative=[
                ("Name: Moat Gate. Wanted: material.", "What is it made of?", "The name of the structure is missing."),
            ],
        ),
    ]  # fmt: skip
