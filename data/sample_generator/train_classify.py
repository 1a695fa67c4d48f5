"""Training tasks whose answer is one of a few label words named in the definition."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, turn
from data.sample_generator.labelled import (
    COMMENTED,
    COMMENTS,
    INTENTS,
    MORE_REVIEW,
    REVIEWED,
    REVIEWS,
    SENSE,
    TOPICS,
)
from data.sample_generator.passages import QUIZ, SAME
from data.sample_generator.words import fill


def _review(rng: Random, index: int) -> Pair | None:
    label = index % 2
    first = turn(REVIEWS, index, 2)[label].replace("{x}", rng.choice(REVIEWED))
    second = rng.choice((rng.choice(MORE_REVIEW)[label], "This was in {M}.", ""))
    return fill(rng, [f"{first} {second}".strip()])[0], [("positive", "negative")[label]]


def _labelled(rng: Random, index: int, sentences: dict[str, list[str]]) -> Pair:
    label = list(sentences)[index % len(sentences)]
    return fill(rng, [turn(sentences[label], index // len(sentences))])[0], [label]


def _topic(rng: Random, index: int) -> Pair | None:
    return _labelled(rng, index, TOPICS)


def _same(rng: Random, index: int) -> Pair | None:
    one, same, different = fill(rng, turn(SAME, index, 2))
    return f"Text A: {one} Text B: {different if index % 2 else same}", ["no" if index % 2 else "yes"]


_PLAIN = (
    "{A} {past} {thing} {place} with the help of {B}.",
    "When {A} came to {T}, {B} was {ing} {thing}.",
    "Before {ing} {thing}, {A} made a telephone call to {T}.",
    "It was {D}, and {B} wanted to learn more about {T}.",
    "Nobody in {T} had expected {A} to come so early.",
    "The road from {T} to {U} follows the river for {n} kilometres.",
    "{A} asked the waiter for the bill and a glass of water.",
    "In {M} the evenings {place} are long and quiet.",
    "{B} showed {A} how to {base} {thing} without any help.",
    "The old woman gave {A} a basket with eggs and a loaf.",
    "If the weather is good, {A} will walk to {T} on {D}.",
    "There was a smell of smoke {place} when {A} arrived.",
    "{A} has not spoken to {B} since the party in {T}.",
    "Most of the houses in {T} have blue doors and small gardens.",
    "While {B} slept, {A} {past} {thing} in the dark.",
)


def _quality(rng: Random, index: int) -> Pair | None:
    (text,) = fill(rng, [turn(_PLAIN, index, 2)])
    if index % 2 == 0:
        return text, ["fluent"]
    words = text.rstrip(".").split()
    rng.shuffle(words)
    return " ".join(words) + ".", ["scrambled"]


def _civil(rng: Random, index: int) -> Pair | None:
    text = turn(COMMENTS, index, 2)[index % 2].replace("{x}", rng.choice(COMMENTED))
    return fill(rng, [text])[0], [("insulting", "civil")[index % 2]]


def _sense(rng: Random, index: int) -> Pair | None:
    frame, good, bad = turn(SENSE, index, 2)
    filler = rng.choice((bad if index % 2 else good).split())
    return fill(rng, [frame.replace("{x}", filler)])[0], ["implausible" if index % 2 else "plausible"]


_SYNONYMS = "big large|small little|fast quick|begin start|end finish|buy purchase|angry furious|happy glad|ill sick|" \
            "shop store|answer reply|choose select|help assist|hide conceal|brave courageous|silent quiet|odd strange|" \
            "rich wealthy|shut closed|stone rock|jump leap|gift present|simple easy|throw toss|whole entire|speak talk"  # fmt: skip
_ANTONYMS = "accept refuse|arrive depart|ancient modern|ascend descend|asleep awake|attack defend|borrow lend|build destroy|" \
            "careful careless|cheap expensive|deep shallow|enemy friend|entrance exit|gain loss|guilty innocent|increase " \
            "decrease|win lose|inside outside|laugh cry|major minor|push pull|remember forget|rough smooth|safe dangerous|" \
            "sharp blunt|success failure"  # fmt: skip


def _word_pair(rng: Random, index: int) -> Pair | None:
    kinds = ("same meaning", "opposite meaning", "unrelated")
    kind = kinds[index % 3]
    if kind == "unrelated":
        pool = (_SYNONYMS + "|" + _ANTONYMS).split("|")
        first, second = (pair.split()[rng.randint(0, 1)] for pair in rng.sample(pool, 2))
        pairs = {first, second}
        if pairs <= {"big", "large", "small", "little"} or pairs & {"end", "start", "loss", "lose"}:
            return None
    else:
        first, second = turn((_SYNONYMS if kind == kinds[0] else _ANTONYMS).split("|"), index // 3).split()
        if rng.random() < 0.5:
            first, second = second, first
    return f"Word 1: {first}. Word 2: {second}.", [kind]


def _intent(rng: Random, index: int) -> Pair | None:
    return _labelled(rng, index, INTENTS)


_TYPED = (
    "{A} wanted to {base} {thing} {time}.",
    "{A} {past} {thing} {place}.",
    "On {D}, {A} helped {B} to {base} {thing}.",
    "Nobody saw how {A} {past} {thing} {time}.",
    "{A} will {base} {thing} {place} tomorrow.",
    "It was {A} who {past} {thing} {place}.",
    "Before {ing} {thing}, {A} drank a large cup of coffee.",
    "{A} has never {done} {thing} {place}.",
    "Since {M} {A} dreams of {ing} {thing}.",
    "The people of {T} laughed when {A} {past} {thing}.",
    "Please remember to {base} {thing} before {D}.",
)


def _mistake(rng: Random, index: int) -> Pair | None:
    words = fill(rng, [turn(_TYPED, index, 2)])[0].rstrip(".").split()
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
    text, question, right, wrong = fill(rng, turn(QUIZ, index, 2))
    shown = wrong if index % 2 else right
    return f"Text: {text} Question: {question} Answer: {shown}", ["wrong" if index % 2 else "correct"]


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
