"""Test tasks: coreference resolution, dialogue act recognition and answerability classification."""

# ruff: noqa: E501, SIM905
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, an, cycle
from data.sample_generator.words import (
    DAYS,
    MONTHS,
    PLACES,
    RIVER_NAMES,
    TIMES,
    TOWNS,
    couple,
    person,
    pronouns,
)

# {A} and {B} are of one gender, so that only the sense tells who is meant; the letter is the answer.
_WHO = """
A|{A} thanked {B} {time} because {he} had received so much help with the {thing}.
B|{A} thanked {B} {time} because {he} had found the lost {thing}.
B|{A} phoned {B} {time} to ask whether {he} could lend out a {thing}.
A|{A} apologised to {B} {place} because {he} had broken the {thing} by accident.
B|{A} forgave {B} {place} after {he} had apologised for losing the {thing}.
A|{A} asked {B} for the {thing} {place} because {he} had forgotten to bring one.
B|{A} praised {B} {place} because {he} had repaired the {thing} so well.
A|{A} promised {B} {time} that {he} would return the {thing} soon.
B|{A} visited {B} in hospital {time} because {he} had broken a leg.
A|{A} borrowed a {thing} from {B} {time} because {he} did not own one.
B|{A} paid {B} for the {thing} {place} because {he} had sold it at a fair price.
A|{A} hid the {thing} from {B} {place} because {he} wanted it to be a surprise.
B|{A} taught {B} to use the {thing} {place} because {he} had never tried it before.
A|{A} taught {B} to use the {thing} {place} because {he} was an experienced teacher.
B|{A} waited for {B} {place} because {he} was late again.
A|{A} told {B} {place} that {he} was sorry about the broken {thing}.
B|{A} scolded {B} {place} because {he} had left the {thing} out in the rain.
A|{A} wrote to {B} {time} because {he} needed advice about a {thing}.
"""
_THINGS = "camera ladder tent guitar lamp kettle drill telescope typewriter suitcase radio printer".split()


def _who(rng: Random, index: int) -> Pair | None:
    wanted = cycle("AB", index)
    template = rng.choice([t for t in _WHO.strip().splitlines() if t[0] == wanted]).split("|")[1]
    a, b = couple(rng, same=True)
    he = pronouns(a)[0]
    text = template.format(
        A=a, B=b, he=he, thing=rng.choice(_THINGS), time=rng.choice(TIMES), place=rng.choice(PLACES)
    )
    return f"{text} Who is meant by '{he}'?", [a if wanted == "A" else b]


# (sentence, first thing, second thing): the options after "=" decide between the two.
_WHAT = (
    ("The {a} did not fit into the {b} because it was too", "big=a|small=b|wide=a|narrow=b",
     "piano sofa wardrobe bookcase mattress", "lift van hallway trailer doorway"),
    ("{N} poured the {a} into the {b} until it was", "full=b", "water milk juice soup", "jug pot bowl bottle"),
    ("The {a} crashed through the {b} because it was made of", "steel=a|paper=b|thin wood=b|solid iron=a",
     "ball hammer trolley barrow", "screen partition door"),
    ("The {a} could not cross the {b} because it was too", "heavy=a|weak=b|fragile=b",
     "lorry crane tractor bus", "bridge dam causeway pier"),
    ("The {a} overtook the {b} on the hill because it was so", "fast=a|slow=b|powerful=a|heavily loaded=b",
     "motorbike coach tram", "cart lorry wagon"),
    ("{N} moved the {a} away from the {b} because it could be", "burned=a|damaged by the heat=a", "chair carpet basket",
     "stove fire oven"),
    ("The {a} fell off the {b} because it was not", "balanced well=a|level=b", "vase clock lamp", "shelf table desk"),
)  # fmt: skip


def _what(rng: Random, index: int) -> Pair | None:
    frame, ends, firsts, seconds = rng.choice(_WHAT)
    end, which = rng.choice(ends.split("|")).split("=")
    if which != cycle("ab", index):
        return None
    a, b = rng.choice(firsts.split()), rng.choice(seconds.split())
    sentence = frame.format(a=a, b=b, N=person(rng)) + f" {end}."
    opening = rng.choice(("", f"This happened in {rng.choice(TOWNS)}. ", f"It was {rng.choice(DAYS)}. "))
    answer = a if which == "a" else b
    return f"{opening}{sentence} What does the last 'it' refer to?", [f"the {answer}", answer]


_ACTS = {
    "question": (
        "Where did you put the {thing}?", "What time does the train to {town} leave?", "Have you seen {name} today?",
        "How far is it to {town}?", "Who painted the picture over the {thing}?", "Is the {thing} still broken?",
        "Why was {name} late on {day}?", "Does {name} know about the {thing}?",
    ),
    "request": (
        "Please bring the {thing} to {town} on {day}.", "Pass me the {thing}, please.",
        "Call {name} before noon, please.", "Please send the parcel to {town} by {day}.",
        "Bring the {thing} back before {day}, please.", "Please wait for {name} at the gate.",
        "Put the {thing} on the table, please.", "Please tell {name} that I called.",
    ),
    "apology": (
        "I am sorry that I broke the {thing}.", "Sorry, I forgot to call {name}.", "I apologise for being late on {day}.",
        "I am so sorry about what I said to {name}.", "Sorry that the {thing} got wet.",
        "I apologise for the mistake in the letter to {name}.", "Sorry, I missed the train to {town} again.",
    ),
    "thanks": (
        "Thank you for lending me the {thing}.", "Many thanks for the lovely evening in {town}.",
        "Thanks for the {thing}, {name}.", "Thank you, {name}, that was very kind.", "Thanks for waiting on {day}.",
        "Thank you so much for driving {name} to {town}.", "Many thanks for your help with the {thing}.",
    ),
    "offer": (
        "I could carry the {thing} for you.", "Shall I drive you to {town} on {day}?", "Let me help you with the {thing}.",
        "I can pick up {name} from the station.", "If you like, I will repair the {thing} on {day}.",
        "Shall I bring you the {thing}?", "Let me show you the way to {town}.",
    ),
    "statement": (
        "The {thing} is on the top shelf.", "{name} moved to {town} in {month}.", "The market in {town} is held on {day}.",
        "We bought the {thing} from {name}.", "It rained in {town} on {day}.", "{name} has two sisters.",
        "The {thing} costs 40 dollars.", "My uncle used to live in {town}.",
    ),
}  # fmt: skip


def _act(rng: Random, index: int) -> Pair | None:
    label = cycle(_ACTS, index)
    text = rng.choice(_ACTS[label]).format(
        thing=rng.choice(_THINGS),
        town=rng.choice(TOWNS),
        name=person(rng),
        day=rng.choice(DAYS),
        month=rng.choice(MONTHS),
    )
    return text, [label]


_PLANS = (
    "come to {town} with me on {day}", "help me to paint the kitchen on {day}", "join us for dinner on {day}",
    "look after my cat in {month}", "sing in the choir in {month}", "play chess on {day} evening",
    "share a taxi to {town}", "give a talk about {town} in {month}", "swap shifts with me on {day}",
    "go and see the new film on {day}",
)  # fmt: skip
_REPLIES = {
    "accept": ("Yes, with pleasure.", "Of course, count me in.", "Sure, I would love to.", "Gladly, I am free then.",
               "That sounds great, yes."),
    "decline": ("I am afraid I cannot.", "No, I have to work then.", "Sorry, I already have other plans.",
                "Unfortunately not, I will be away.", "I would rather not, but thank you."),
    "ask back": ("When exactly would that be?", "How long would it take?", "Who else is going to be there?",
                 "What would I have to bring?", "Where should we meet?"),
}  # fmt: skip


def _reply(rng: Random, index: int) -> Pair | None:
    label = cycle(_REPLIES, index)
    a, b = couple(rng)
    plan = rng.choice(_PLANS).format(town=rng.choice(TOWNS), day=rng.choice(DAYS), month=rng.choice(MONTHS))
    asking = rng.choice(
        ("Would you like to {}?", "Can you {}?", "Could you {}, perhaps?", "Do you want to {}?")
    )
    return f"{a}: {asking.format(plan)} {b}: {rng.choice(_REPLIES[label])}", [label]


def _town_profile(rng: Random, index: int) -> Pair | None:
    town = rng.choice(TOWNS)
    facts = {
        f"How many people live in {town}?": f"{town} has {rng.randint(12, 980) * 100} inhabitants.",
        f"On which river does {town} lie?": f"{town} lies on the river {rng.choice(RIVER_NAMES)}.",
        f"Who is the mayor of {town}?": f"The mayor of {town} is called {person(rng)} Abbott.",
        f"On which day is the market of {town} held?": f"The market of {town} is held on {rng.choice(DAYS)}.",
        f"When did the school of {town} open?": f"The school of {town} opened in {rng.randint(1890, 1990)}.",
        f"How many bridges does {town} have?": f"There are {rng.randint(2, 9)} bridges in {town}.",
        f"What is made in the factory of {town}?":
            f"The factory of {town} makes {rng.choice(('paper', 'chairs', 'cheese', 'bricks', 'soap'))}.",
    }  # fmt: skip
    questions = rng.sample(sorted(facts), 4)
    asked = questions[0] if index % 2 == 0 else questions[3]
    shown = questions[:3]
    rng.shuffle(shown)
    label = "answerable" if index % 2 == 0 else "unanswerable"
    return f"Passage: {' '.join(facts[q] for q in shown)} Question: {asked}", [label]


def _notice(rng: Random, index: int) -> Pair | None:
    event = rng.choice(
        ("concert", "flea market", "book fair", "puppet show", "cooking course", "lecture", "guided walk")
    )
    leader = person(rng)
    facts = {
        f"When does the {event} begin?": f"The {event} begins at {rng.randint(9, 20)}:{rng.choice(('00', '15', '30'))}.",
        f"How much does a ticket for the {event} cost?": f"A ticket costs {rng.randint(3, 25)} dollars.",
        f"Where does the {event} take place?": f"The place is the old school in {rng.choice(TOWNS)}.",
        f"Who organises the {event}?": f"It is organised by {leader}'s club.",
        f"How long does the {event} last?": f"It lasts {rng.randint(2, 5)} hours.",
        f"On which day is the {event}?": f"The day is {rng.choice(DAYS)}.",
    }
    questions = rng.sample(sorted(facts), 4)
    asked = questions[0] if index % 2 == 0 else questions[3]
    shown = questions[:3]
    rng.shuffle(shown)
    text = " ".join([f"{an(event).capitalize()} is planned.", *(facts[q] for q in shown)])
    return f"Notice: {text} Question: {asked}", ["yes" if index % 2 == 0 else "no"]


TASKS = [
    TaskSpec(
        name="letters_pronoun_person", categories=["Coreference Resolution"], source="nightjar_letters",
        definition="You are given a sentence in which 'he' or 'she' could stand for either of two people, and a question. "
        "Use the sense of the sentence to find out who is meant, and answer with the first name only.",
        make=_who, size=80, reasoning=["Commonsense Reasoning -> Social Situations"], domains=["Narrative"],
        positive=[
            ("Nadia comforted Emma on the bus because she had lost her purse. Who is meant by 'she'?", "Emma",
             "The person who lost the purse is the one who needs comfort, and that is Emma."),
            ("Hugo invited Simon to the party because he wanted company. Who is meant by 'he'?", "Hugo",
             "One invites others when one wants company oneself, so 'he' is Hugo."),
        ],
        negative=[
            ("Olga envied Carla because she had won the prize. Who is meant by 'she'?", "Olga",
             "One envies the winner. Carla won the prize, so the answer should be 'Carla'."),
            ("Ivan asked Ben for directions because he was lost. Who is meant by 'he'?", "the man who was lost",
             "The answer has to be a first name, here 'Ivan'."),
        ],
    ),
    TaskSpec(
        name="workshop_pronoun_thing", categories=["Coreference Resolution"], source="nightjar_workshop_notes",
        definition="The sentence names two things, and the word 'it' near its end stands for one of them. Decide which "
        "of the two things is meant and answer with the noun phrase from the sentence, for example 'the box'.",
        make=_what, size=72, reasoning=["Commonsense Reasoning", "Reasoning on Objects"],
        positive=[
            ("The statue did not fit on the pedestal because it was too large. What does the last 'it' refer to?",
             "the statue", "A thing that is too large does not fit, so 'it' is the statue."),
            ("Marco put the letter into the envelope after it was opened. What does the last 'it' refer to?",
             "the envelope", "An envelope has to be open before a letter can be put into it."),
        ],
        negative=[
            ("The ship passed under the arch because it was high enough. What does the last 'it' refer to?", "the ship",
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
