"""Training tasks whose answer is one of a few label words named in the definition."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, cap, cycle, two
from data.sample_generator.words import ACTIONS, DAYS, MONTHS, PLACES, TIMES, TOWNS, couple, person

_REVIEWED = (
    "hotel restaurant film lamp novel vacuum cleaner backpack concert café tour phone headset".replace(
        "vacuum cleaner", "printer"
    ).split()
)
_GOOD = (
    "I would buy the {x} again at once.", "The {x} was even better than I had hoped.", "What a wonderful {x}!",
    "Everybody in my family loved the {x}.", "The {x} is worth every cent.", "{N} recommended the {x}, and rightly so.",
    "The {x} in {T} made our week.", "I have told all my friends about this excellent {x}.",
)  # fmt: skip
_BAD = (
    "I want my money back for the {x}.", "The {x} was a great disappointment.", "What a dreadful {x}!",
    "Nobody in my family liked the {x}.", "The {x} is not worth a cent.", "{N} warned me of the {x}, and rightly so.",
    "The {x} in {T} spoiled our week.", "I have never seen such a poor {x}.",
)  # fmt: skip
_MORE_GOOD = (
    "Everything worked from the first day.",
    "The people were kind and quick.",
    "I smiled all the way home.",
)
_MORE_BAD = (
    "Nothing worked from the first day.",
    "The people were rude and slow.",
    "I was angry all the way home.",
)


def _review(rng: Random, index: int) -> Pair | None:
    good = index % 2 == 0
    values = {"x": rng.choice(_REVIEWED), "N": person(rng), "T": rng.choice(TOWNS)}
    first = rng.choice(_GOOD if good else _BAD).format(**values)
    second = rng.choice((*(_MORE_GOOD if good else _MORE_BAD), f"We went there in {rng.choice(MONTHS)}.", ""))
    return f"{first} {second}".strip(), ["positive" if good else "negative"]


_TOPICS = {
    "sport": ("{N} scored twice for {T} in the last minute.", "The swimmers of {T} won four medals on {D}.",
              "After the marathon on {D}, {N} could hardly walk.", "{T} and {U} play in the cup final on {D}.",
              "The coach in {T} says that {N} will not play on {D}."),
    "weather": ("Rain and strong wind are expected in {T} on {D}.", "{M} was the driest month in {T} for years.",
                "A thick fog covers the hills between {T} and {U}.", "The first snow fell on {T} on {D}.",
                "On {D} the temperature in {T} will rise to 29 degrees."),
    "food": ("{N} adds a little lemon to the fish soup.", "The new bakery in {T} sells rye bread on {D}s.",
             "In {T} people eat dumplings with plum sauce in {M}.", "For this cake {N} needs four eggs and some butter.",
             "The cook in {T} fries the mushrooms with garlic, as {N} likes them."),
    "travel": ("The night train from {T} to {U} leaves at ten.", "{N} packs a small suitcase for the trip to {T}.",
               "In {M} the ferry takes tourists from {T} to the islands.", "Hotels in {T} are fully booked on {D}.",
               "{N} missed the connection to {U} on {D}."),
    "music": ("The choir in {T} sings old songs on {D}.", "{N} bought a second-hand violin in {T}.",
              "The band from {U} plays in {T} in {M}.", "{N} practises the piano every {D}.",
              "On {D} the orchestra of {T} gives a free concert."),
}  # fmt: skip


def _topic(rng: Random, index: int) -> Pair | None:
    label = cycle(_TOPICS, index)
    town, other = two(rng, TOWNS)
    values = {"N": person(rng), "T": town, "U": other, "D": rng.choice(DAYS), "M": rng.choice(MONTHS)}
    return rng.choice(_TOPICS[label]).format(**values), [label]


def _same(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    action = rng.choice(ACTIONS)
    (place, elsewhere), (n, m) = two(rng, PLACES), rng.sample(range(3, 40), 2)
    town, other = two(rng, TOWNS)
    one, same, different = rng.choice((
        (f"{a} {action.past} {action.thing} {place}.", f"{cap(place)}, {action.thing} was {action.participle} by {a}.",
         f"{cap(elsewhere)}, {action.thing} was {action.participle} by {a}."),
        (f"{a} gave {b} {n} postcards.", f"{b} got {n} postcards from {a}.", f"{a} got {n} postcards from {b}."),
        (f"It takes {n} minutes to walk from {town} to {other}.", f"The walk from {town} to {other} takes {n} minutes.",
         f"The walk from {town} to {other} takes {m} minutes."),
        (f"{a} is the cousin of {b}'s teacher.", f"{b}'s teacher has a cousin called {a}.",
         f"{a}'s teacher has a cousin called {b}."),
        (f"Only {a} knew the way to {town}.", f"Nobody except {a} knew the way to {town}.",
         f"Everybody except {a} knew the way to {town}."),
    ))  # fmt: skip
    return f"Text A: {one} Text B: {same if index % 2 == 0 else different}", [
        "yes" if index % 2 == 0 else "no"
    ]


def _quality(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    action, town = rng.choice(ACTIONS), rng.choice(TOWNS)
    text = rng.choice((
        f"{a} {action.past} {action.thing} {rng.choice(PLACES)} with the help of {b}.",
        f"When {a} came to {town}, {b} was {action.ing} {action.thing}.",
        f"Before {action.ing} {action.thing}, {a} made a telephone call to {town}.",
        f"It was {rng.choice(DAYS)}, and {b} wanted to learn more about {town}.",
    ))  # fmt: skip
    if index % 2 == 0:
        return text, ["fluent"]
    words = text.rstrip(".").split()
    rng.shuffle(words)
    return " ".join(words) + ".", ["scrambled"]


_RUDE = (
    "Shut up, {N}, nobody asked you.", "Only an idiot like {N} would go to {T}.", "{N}, you are completely useless.",
    "The people of {T} are all stupid liars.", "Get lost, {N}, and take your ugly {x} with you.",
    "What a moron, this {N} from {T}.", "Your {x} is garbage, {N}, just like you.", "I hope {N} falls into the river.",
)  # fmt: skip
_CIVIL = (
    "I do not agree with {N}, but the point is interesting.", "{N}, could you explain this again, please?",
    "The people of {T} have had a hard year.", "I would leave the {x} at home, {N}.", "I found the film about {T} too long.",
    "Sadly, the {x} from {T} did not work for me.", "We should ask {N} before we decide.", "{N} is wrong about {T}, I think.",
)  # fmt: skip


def _civil(rng: Random, index: int) -> Pair | None:
    rude = index % 2 == 0
    thing = rng.choice("camera hat guitar bicycle umbrella radio coat car".split())
    text = rng.choice(_RUDE if rude else _CIVIL).format(N=person(rng), T=rng.choice(TOWNS), x=thing)
    return text, ["insulting" if rude else "civil"]


_SENSE = (
    ("{N} put the milk into the {g}.", "fridge cup bowl pan", "keyhole newspaper candle envelope"),
    ("{N} wrote a letter with a {g}.", "pen pencil typewriter", "spoon pillow carrot"),
    ("{N} travelled to {T} by {g}.", "train bus car ship", "soup table pencil music"),
    ("In the garden {N} grows {g}.", "beans roses carrots tulips", "spoons clocks windows shoes"),
    ("{N} cut the bread with a {g}.", "knife breadknife", "blanket feather balloon"),
    ("For breakfast {N} ate a {g}.", "roll pear banana pancake", "ladder sofa bicycle hammer"),
    ("{N} wore a {g} because of the cold.", "coat scarf jumper", "teapot window bridge"),
    ("The {g} barked when {N} came home to {T}.", "dog puppy", "goldfish teapot sofa"),
    ("To see the stars, {N} uses a {g}.", "telescope", "toaster sponge trumpet"),
    ("{N} paid the taxi in {T} with {g}.", "cash coins", "sand leaves clouds"),
)  # fmt: skip


def _sense(rng: Random, index: int) -> Pair | None:
    frame, good, bad = rng.choice(_SENSE)
    filler = rng.choice((good if index % 2 == 0 else bad).split())
    text = frame.format(N=person(rng), T=rng.choice(TOWNS), g=filler)
    return text.replace(" a apple", " an apple"), ["plausible" if index % 2 == 0 else "implausible"]


_SYNONYMS = "big large|small little|fast quick|begin start|end finish|buy purchase|angry furious|happy glad|ill sick|" \
            "shop store|answer reply|choose select|help assist|hide conceal|brave courageous|silent quiet|odd strange|" \
            "rich wealthy|shut closed|stone rock|jump leap|gift present|simple easy|throw toss|whole entire|speak talk"  # fmt: skip
_ANTONYMS = "accept refuse|arrive depart|ancient modern|ascend descend|asleep awake|attack defend|borrow lend|build destroy|" \
            "careful careless|cheap expensive|deep shallow|enemy friend|entrance exit|gain loss|guilty innocent|increase " \
            "decrease|win lose|inside outside|laugh cry|major minor|push pull|remember forget|rough smooth|safe dangerous|" \
            "sharp blunt|success failure"  # fmt: skip


def _word_pair(rng: Random, index: int) -> Pair | None:
    kinds = ("same meaning", "opposite meaning", "unrelated")
    kind = cycle(kinds, index)
    if kind == "unrelated":
        pool = (_SYNONYMS + "|" + _ANTONYMS).split("|")
        first, second = (pair.split()[rng.randint(0, 1)] for pair in rng.sample(pool, 2))
        pairs = {first, second}
        if pairs <= {"big", "large", "small", "little"} or pairs & {"end", "start", "loss", "lose"}:
            return None
    else:
        first, second = rng.choice((_SYNONYMS if kind == kinds[0] else _ANTONYMS).split("|")).split()
        if rng.random() < 0.5:
            first, second = second, first
    return f"Word 1: {first}. Word 2: {second}.", [kind]


_INTENTS = {
    "book": ("I need a table for {n} in {T} on {D}.", "Reserve a room in {T} for {n} nights, please.",
             "Can I have {n} seats on the {D} train to {T}?", "Get me {n} tickets for the show in {T}."),
    "cancel": ("I cannot come on {D} after all, so please delete my booking in {T}.",
               "Please take back my order for {n} tickets to {T}.",
               "We no longer need the {n} rooms in {T}.", "My trip to {T} on {D} is off; remove me from the list."),
    "complain": ("We waited in {T} for {n} hours and nobody came!", "The room in {T} was dirty for {n} days.",
                 "Your driver in {T} was very unfriendly on {D}.", "I paid for {n} meals in {T} and got only one!"),
    "ask": ("Which bus goes to {T} on {D}?", "How much are {n} tickets to {T}?", "Is the office in {T} open on {D}?",
            "Do the {n} rooms in {T} have a balcony?"),
}  # fmt: skip


def _intent(rng: Random, index: int) -> Pair | None:
    label = cycle(_INTENTS, index)
    values = {"n": rng.randint(2, 9), "T": rng.choice(TOWNS), "D": rng.choice(DAYS)}
    return rng.choice(_INTENTS[label]).format(**values), [label]


def _mistake(rng: Random, index: int) -> Pair | None:
    action, name, time = rng.choice(ACTIONS), person(rng), rng.choice(TIMES)
    words = f"{name} wanted to {action.base} {action.thing} {time}".split()
    if index % 2:
        spot = rng.choice(
            [i for i, w in enumerate(words) if i > 0 and len(w) > 4 and w.isalpha() and w.islower()]
        )
        word = words[spot]
        cut = rng.randint(1, len(word) - 3)
        words[spot] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
        if words[spot] == word:
            return None
    return " ".join(words) + ".", ["yes" if index % 2 else "no"]


def _verify(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    (town, other), (day, later) = two(rng, TOWNS), two(rng, DAYS)
    action = rng.choice(ACTIONS)
    text, question, right, wrong = rng.choice((
        (f"{a} moved to {town} on {day}.", f"Where did {a} move?", town, other),
        (f"{a} {action.past} {action.thing} for {b}.", f"Who {action.past} {action.thing}?", a, b),
        (f"The meeting in {town} is on {day} and not on {later}.", "When is the meeting?", day, later),
        (f"{a} waited in {town} while {b} drove to {other}.", f"Where did {a} wait?", town, other),
        (f"First {a} spoke, then {b}.", "Who spoke last?", b, a),
    ))  # fmt: skip
    shown = right if index % 2 == 0 else wrong
    return f"Text: {text} Question: {question} Answer: {shown}", ["correct" if index % 2 == 0 else "wrong"]


TASKS = [
    TaskSpec(
        name="guest_book_sentiment", categories=["Sentiment Analysis"], source="nightjar_guest_book",
        definition="Read the short review of a product, a place or an event. Answer 'positive' if the writer was pleased with it "
        "and 'negative' if the writer was not.",
        make=_review, size=90, domains=["Reviews"],
        positive=[
            ("The sofa is so soft that I never want to get up.", "positive", "The writer clearly enjoys the sofa."),
            ("The museum was crowded, loud and far too expensive.", "negative", "Three complaints and no praise."),
        ],
        negative=[
            ("We waited for an hour and the soup was cold.", "positive", "The guest complains; it is 'negative'."),
            ("The best bread in town!", "good", "The label for a pleased writer is 'positive'."),
        ],
    ),
    TaskSpec(
        name="bulletin_topic", categories=["Text Categorization"], source="nightjar_bulletin",
        definition="Decide what the sentence is mainly about. Answer with exactly one of these five topics: sport, weather, food, "
        "travel, music.",
        make=_topic, size=100, domains=["News"],
        positive=[
            ("The goalkeeper of Fallowby was injured.", "sport", "Goalkeepers belong to football, which is a sport."),
            ("There was thunder over Fallowby all night.", "weather", "Thunder is a kind of weather."),
        ],
        negative=[
            ("The pianist from Fallowby played for two hours.", "sport", "A pianist makes music, so it should be 'music'."),
        ],
    ),
    TaskSpec(
        name="two_texts_same_meaning", categories=["Text Matching"], source="nightjar_paired_sentences",
        definition="Compare Text A with Text B. Answer 'yes' if both say the same thing in different words. Answer 'no' if they "
        "differ in meaning, even when they share most of their words.",
        make=_same, size=90, reasoning=["Textual Entailment"],
        positive=[
            ("Text A: Otto is Edda's uncle. Text B: Edda is Otto's niece.", "yes", "Both describe one family tie."),
            ("Text A: The cat chased the dog. Text B: The dog chased the cat.", "no",
             "The words are the same, but the roles are exchanged."),
        ],
        negative=[
            ("Text A: The shop opens at 8. Text B: The shop closes at 8.", "yes", "Opening and closing differ: 'no'."),
        ],
    ),
    TaskSpec(
        name="fluent_or_scrambled", categories=["Text Quality Evaluation"], source="nightjar_shuffled_lines",
        definition="Some of the sentences have had their words put in random order. Answer 'fluent' if the sentence reads as normal "
        "English and 'scrambled' if the order of its words is wrong.",
        make=_quality, size=80, reasoning=["Grammatical Reasoning"],
        positive=[
            ("Otto closed the shutters before the storm.", "fluent", "The sentence is in normal order."),
            ("The shutters the before Otto storm closed.", "scrambled", "The words do not form a sentence."),
        ],
        negative=[
            ("Edda likes to sleep long on Sundays.", "scrambled", "It is an ordinary sentence, hence 'fluent'."),
        ],
    ),
    TaskSpec(
        name="comment_insulting_or_civil", categories=["Toxic Language Detection"], source="nightjar_comment_column",
        definition="You are given a comment from a newspaper's web page. Answer 'insulting' if it attacks a person or a group of "
        "people, and 'civil' if it does not. Criticism that stays polite is 'civil'.",
        make=_civil, size=80, domains=["Social Media"],
        positive=[
            ("Otto, you have the brain of a hen.", "insulting", "The comment attacks Otto as a person."),
            ("I think that Otto's numbers are out of date.", "civil", "The comment criticises politely."),
        ],
        negative=[
            ("The new timetable is bad for commuters.", "insulting", "It criticises a timetable and nobody: 'civil'."),
        ],
    ),
    TaskSpec(
        name="everyday_sense_check", categories=["Commonsense Classification"], source="nightjar_odd_sentences",
        definition="Does the sentence describe something that could well happen in everyday life? Answer 'plausible' if it could, "
        "and 'implausible' if one of the things in it does not fit.",
        make=_sense, size=90, reasoning=["Commonsense Reasoning"], domains=["Commonsense"],
        positive=[
            ("Edda washed her hands with soap.", "plausible", "Soap is used for washing."),
            ("Edda washed her hands with gravel.", "implausible", "Gravel is no use for washing one's hands."),
        ],
        negative=[
            ("Otto slept in the teacup.", "plausible", "A person does not fit into a teacup: 'implausible'."),
        ],
    ),
    TaskSpec(
        name="word_pair_relation", categories=["Word Relation Classification"], source="nightjar_thesaurus_pairs",
        definition="You are given two words. Answer 'same meaning' if they mean nearly the same, 'opposite meaning' if they are "
        "opposites, and 'unrelated' if neither is the case.",
        make=_word_pair, size=75, reasoning=["Relational Reasoning"],
        positive=[
            ("Word 1: street. Word 2: road.", "same meaning", "Street and road mean nearly the same."),
            ("Word 1: north. Word 2: south.", "opposite meaning", "North and south are opposites."),
            ("Word 1: north. Word 2: butter.", "unrelated", "The two words have nothing to do with each other."),
        ],
        negative=[
            ("Word 1: day. Word 2: night.", "unrelated", "Day and night are opposites: 'opposite meaning'."),
        ],
    ),
    TaskSpec(
        name="customer_message_intent", categories=["Intent Identification"], source="nightjar_customer_messages",
        definition="What does the customer want to do with the message? Answer 'book' for a reservation or an order, 'cancel' for "
        "taking one back, 'complain' for a complaint, and 'ask' for a request for information.",
        make=_intent, size=88, domains=["Dialogue"], reasoning=["Reasoning on Social Interactions"],
        positive=[
            ("Please keep two seats for us in the front row.", "book", "The customer reserves two seats."),
            ("Does the ferry carry bicycles?", "ask", "The customer only wants information."),
        ],
        negative=[
            ("The soup had a fly in it!", "ask", "The customer is not content: 'complain'."),
        ],
    ),
    TaskSpec(
        name="spelling_mistake_or_not", categories=["Spelling Error Detection"], source="nightjar_typing_lessons",
        definition="Look for a spelling mistake in the sentence. Two letters of one word may have changed places. Answer 'yes' if "
        "there is such a mistake and 'no' if every word is spelled correctly.",
        make=_mistake, size=80, reasoning=["Grammatical Reasoning"],
        positive=[
            ("Otto forgot his umbrlela at school.", "yes", "'Umbrlela' should be 'umbrella'."),
            ("Otto forgot his umbrella at school.", "no", "All words are spelled correctly."),
        ],
        negative=[
            ("Edda drank a glass of wtaer.", "no", "'Wtaer' is a misspelling of 'water', so the answer is 'yes'."),
        ],
    ),
    TaskSpec(
        name="answer_right_or_wrong", categories=["Answer Verification"], source="nightjar_quiz_cards",
        definition="You are given a text, a question about it and a proposed answer. Reply 'correct' if the answer agrees with the "
        "text, and 'wrong' if it does not.",
        make=_verify, size=90, reasoning=["Deductive Reasoning"],
        positive=[
            ("Text: The red bus goes to the harbour. Question: Where does the red bus go? Answer: the harbour", "correct",
             "The text says exactly this."),
            ("Text: Otto is older than Edda. Question: Who is younger? Answer: Otto", "wrong", "Edda is the younger one."),
        ],
        negative=[
            ("Text: Edda paid with coins. Question: How did Edda pay? Answer: with coins", "with coins",
             "The task is to judge the answer; the reply should be 'correct'."),
        ],
    ),
]  # fmt: skip
