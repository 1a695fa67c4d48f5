"""Test tasks: coreference resolution, dialogue act recognition and answerability classification."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, an, turn
from data.sample_generator.dialogue import (
    ACTS,
    EVENTS,
    FOODS,
    GUESTS,
    NOTICE_FACTS,
    NOTICES,
    PLANS,
    REPLIES,
    THINGS,
    TO_BRING,
    TOWN_FACTS,
    TOWN_GOODS,
    TOWN_SIGHTS,
    VENUES,
    WHAT,
    WHO,
)
from data.sample_generator.words import PLACES, RIVER_NAMES, TIMES, couple, fill, person, pronouns
from data.sample_generator.world import SURNAMES


def _who(rng: Random, index: int) -> Pair | None:
    wanted = "AB"[index % 2]
    _, text = turn([line for line in WHO if line[0] == wanted], index // 2)
    a, b = couple(rng, same=True)
    text = text.format(
        A=a, B=b, he=pronouns(a)[0], x=rng.choice(THINGS), time=rng.choice(TIMES), place=rng.choice(PLACES)
    )
    return text, [a if wanted == "A" else b]


def _what(rng: Random, index: int) -> Pair | None:
    frame, ends, firsts, seconds = rng.choice(WHAT)
    end, which = rng.choice(ends.split(",")).split("=")
    if which != "ab"[index % 2]:
        return None
    a, b = rng.choice(firsts.split()), rng.choice(seconds.split())
    (sentence,) = fill(rng, [frame.replace("{a}", a).replace("{b}", b)])
    answer = a if which == "a" else b
    return f"{sentence} {end}.", [f"the {answer}", answer]


def _act(rng: Random, index: int) -> Pair | None:
    label = list(ACTS)[index % len(ACTS)]
    text = turn(ACTS[label], index // len(ACTS)).replace("{x}", rng.choice(THINGS))
    return fill(rng, [text])[0], [label]


_ASKING = (
    "Would you like to {p}?", "Can you {p}?", "Could you {p}, perhaps?", "Do you want to {p}?",
    "Would you have time to {p}?", "I wonder whether you would {p}.",
)  # fmt: skip


def _reply(rng: Random, index: int) -> Pair | None:
    label = list(REPLIES)[index % len(REPLIES)]
    asking = rng.choice(_ASKING).replace("{p}", turn(PLANS, index, 3))
    (text,) = fill(rng, ["{A}: " + asking + " {B}: " + turn(REPLIES[label], index // 3)])
    return text, [label]


def _three_facts(
    rng: Random, index: int, facts: list[tuple[str, ...]], values: dict[str, str]
) -> tuple[list[str], str]:
    """Three statements, and the question that one of them answers (even index) or none of them (odd index)."""
    lines = rng.sample(facts, 4)
    asked = lines[3 if index % 2 else 0][0]
    texts = [rng.choice(line[1:]) for line in lines[:3]]
    rng.shuffle(texts)
    for field, value in values.items():
        texts = [text.replace("{" + field + "}", value) for text in texts]
        asked = asked.replace("{" + field + "}", value)
    *statements, question = fill(rng, [*texts, asked])
    return statements, question


def _town_profile(rng: Random, index: int) -> Pair | None:
    mayor, architect = (f"{person(rng)} {surname}" for surname in rng.sample(SURNAMES, 2))
    values = {
        "P": mayor, "Q": architect, "R": rng.choice(RIVER_NAMES), "x": rng.choice(TOWN_GOODS),
        "w": rng.choice(TOWN_SIGHTS),
    }  # fmt: skip
    statements, question = _three_facts(rng, index, TOWN_FACTS, values)
    return f"Passage: {' '.join(statements)} Question: {question}", [
        "unanswerable" if index % 2 else "answerable"
    ]


def _notice(rng: Random, index: int) -> Pair | None:
    event = turn(EVENTS, index, 2)
    values = {
        "e": event, "h": str(rng.randint(9, 20)), "t": rng.choice(("00", "15", "30")), "v": rng.choice(VENUES),
        "b": rng.choice(TO_BRING), "f": rng.choice(FOODS), "w": rng.choice(GUESTS),
    }  # fmt: skip
    statements, question = _three_facts(rng, index, NOTICE_FACTS, values)
    opening = rng.choice(NOTICES).format(q=an(event))
    text = " ".join([opening[0].upper() + opening[1:], *statements])
    return f"Notice: {text} Question: {question}", ["no" if index % 2 else "yes"]


TASKS = [
    TaskSpec(
        name="letters_pronoun_person", categories=["Coreference Resolution"], source="nightjar_letters",
        definition="You are given a sentence in which 'he' or 'she' could stand for either of two people. Use the sense of the "
        "sentence to find out who is meant by 'he' or 'she', and answer with the first name only.",
        make=_who, size=80, reasoning=["Commonsense Reasoning -> Social Situations"], domains=["Narrative"],
        positive=[
            ("Nadia comforted Emma on the bus because she had lost her purse.", "Emma",
             "The person who lost the purse is the one who needs comfort, and that is Emma."),
            ("Hugo invited Simon to the party because he wanted company.", "Hugo",
             "One invites others when one wants company oneself, so 'he' is Hugo."),
        ],
        negative=[
            ("Olga envied Carla because she had won the prize.", "Olga",
             "One envies the winner. Carla won the prize, so the answer should be 'Carla'."),
            ("Ivan asked Ben for directions because he was lost.", "the man who was lost",
             "The answer has to be a first name, here 'Ivan'."),
        ],
    ),
    TaskSpec(
        name="workshop_pronoun_thing", categories=["Coreference Resolution"], source="nightjar_workshop_notes",
        definition="The sentence names two things, and the word 'it' near its end stands for one of them. Decide which "
        "of the two things is meant and answer with the noun phrase from the sentence, for example 'the box'.",
        make=_what, size=72, reasoning=["Commonsense Reasoning", "Reasoning on Objects"],
        positive=[
            ("The statue did not fit on the pedestal because it was too large.",
             "the statue", "A thing that is too large does not fit, so 'it' is the statue."),
            ("Marco put the letter into the envelope after it was opened.",
             "the envelope", "An envelope has to be open before a letter can be put into it."),
        ],
        negative=[
            ("The ship passed under the arch because it was high enough.", "the ship",
             "The arch has to be high enough for the ship to pass, so the answer is 'the arch'."),
        ],
    ),
    TaskSpec(
        name="front_desk_utterance_act", categories=["Dialogue Act Recognition"], source="nightjar_front_desk",
        definition="You are given one thing that a person says in a conversation. Say what kind of utterance it is. "
        "Answer with one of: question, request, apology, thanks, offer, statement. A sentence that offers help is an "
        "'offer', even when it ends with a question mark.",
        make=_act, size=96, reasoning=["Reasoning on Social Interactions"], domains=["Dialogue"],
        positive=[
            ("Which platform does the night train use?", "question", "The speaker wants to be told something."),
            ("Please turn down the music.", "request", "The speaker wants the listener to do something."),
            ("Shall I hold the door for you?", "offer", "The speaker offers to help, though the form is a question."),
        ],
        negative=[
            ("I am sorry that I stepped on your foot.", "thanks", "The speaker regrets something; it is an 'apology'."),
        ],
    ),
    TaskSpec(
        name="neighbours_reply_act", categories=["Dialogue Act Recognition"], source="nightjar_neighbours",
        definition="Two people talk: the first proposes something and the second replies. Classify the reply. Answer "
        "'accept' if the second person agrees, 'decline' if the second person says no, and 'ask back' if the second "
        "person asks for more information first.",
        make=_reply, size=90, reasoning=["Reasoning on Social Interactions"], domains=["Dialogue"],
        positive=[
            ("Mina: Shall we have a picnic at noon? Theo: Yes, I will bring some fruit.", "accept",
             "Theo agrees and even says what he will bring."),
            ("Lucy: Could you mow my lawn? Kofi: How large is it?", "ask back",
             "Kofi neither agrees nor refuses; he wants to know more first."),
        ],
        negative=[
            ("Jonas: Do you want to go skating? Vera: My knee hurts, so no.", "accept",
             "Vera says no and gives a reason. The answer should be 'decline'."),
        ],
    ),
    TaskSpec(
        name="town_guide_question_answerable", categories=["Answerability Classification"], source="nightjar_town_guide",
        definition="You are given a short passage about a town and a question. Answer 'answerable' if the passage gives "
        "the information that the question asks for, and 'unanswerable' if it does not.",
        make=_town_profile, size=90, domains=["Public Places"],
        positive=[
            ("Passage: Fallowby has a castle. The castle was built in 1402. Question: When was the castle of Fallowby "
             "built?", "answerable", "The second sentence of the passage gives the year 1402."),
            ("Passage: Fallowby has a castle. The castle was built in 1402. Question: Who owns the castle of Fallowby?",
             "unanswerable", "The passage does not say anything about an owner."),
        ],
        negative=[
            ("Passage: The tram in Fallowby runs every 12 minutes. Question: How often does the tram run?", "12 minutes",
             "The task is not to answer the question but to say whether it can be answered: 'answerable'."),
        ],
    ),
    TaskSpec(
        name="notice_board_information_given", categories=["Answerability Classification"], source="nightjar_notice_board",
        definition="Read the notice and the question. Does the notice contain what is needed to answer the question? "
        "Reply with 'yes' or 'no'. Do not answer the question itself.",
        make=_notice, size=80, domains=["Public Places"],
        positive=[
            ("Notice: The swimming pool is closed in March. Entry costs 4 dollars. Question: How much is the entry?",
             "yes", "The price is stated in the second sentence."),
            ("Notice: A dance evening is planned. The band has five members. Question: Where is the dance evening?", "no",
             "The notice names no place."),
        ],
        negative=[
            ("Notice: A quiz night is planned. It begins at 19:00. Question: When does the quiz night begin?", "19:00",
             "Only 'yes' or 'no' is asked for. The notice gives the time, so the answer is 'yes'."),
        ],
    ),
]  # fmt: skip
