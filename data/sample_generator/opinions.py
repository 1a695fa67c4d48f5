"""Questions with several usual answers, in the published format of ProtoQA (data/sample/protoqa).

A line of _ASKED is a question, its clusters with their strings, the commonest first, and answers that are in no cluster;
how many of 100 invented people gave each is drawn. _TRAINING and _DEV have five answers a question.
"""

# ruff: noqa: E501
# A question and its answers are easier to read and to extend on one line than wrapped.

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

PEOPLE = 100
# People whose answers make a human list, as in the paper.
LISTENERS = 30


class Asked(NamedTuple):
    """A question, its clusters and what is in none of them: each answer with the number of people who gave it."""

    text: str
    clusters: list[dict[str, int]]
    odd: dict[str, int]


def opinion_files(seed: int) -> dict[str, str]:
    """Relative path to text of every file."""
    asked = [_asked(line, Random(f"{seed}:opinions:{line}"), PEOPLE) for line in _lines(_ASKED)]
    lists = {f"s{number}": _human(it, seed) for number, it in enumerate(asked, start=1)}
    files = {
        "dev.sample.jsonl": _json_lines(_row(f"s{n}", it) for n, it in enumerate(asked, start=1)),
        "dev.single.jsonl": _json_lines(
            _row(f"d{n}", _single(line, seed)) for n, line in enumerate(_lines(_DEV), start=1)
        ),
        "dev.predictions.human.jsonl": _json_lines({id: answers} for id, answers in lists.items()),
        "train.question_answer_pairs.txt": "".join(
            f"{text}\t{answer}\n" for text, answers in map(_pair, _lines(_TRAINING)) for answer in answers
        ),
    }
    return {f"protoqa/{name}": text for name, text in files.items()}


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def _json_lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _pair(line: str) -> tuple[str, list[str]]:
    text, answers = line.split(" | ")
    return text.lower(), answers.split(", ")


def _shares(rng: Random, people: int, number: int) -> list[int]:
    """`people` in `number` groups of at least one, the largest first: each about `fall` times the one before."""
    fall = rng.uniform(0.55, 0.9)
    weights = [fall**place * rng.uniform(0.8, 1.2) for place in range(number)]
    shares = [1 + int((people - number) * weight / sum(weights)) for weight in weights]
    shares[0] += people - sum(shares)
    return sorted(shares, reverse=True)


def _asked(line: str, rng: Random, people: int) -> Asked:
    text, clusters, odd = line.split(" | ")
    strings = [cluster.split(", ") for cluster in clusters.split("; ")]
    unlike = dict.fromkeys(odd.split(", "), 1)
    # As many as each cluster has strings, and the others by the draw.
    spare = _shares(rng, people - len(unlike) - sum(map(len, strings)) + len(strings), len(strings))
    found = []
    for own, more in zip(strings, spare, strict=True):
        found.append(dict(zip(own, _shares(rng, more + len(own) - 1, len(own)), strict=True)))
    return Asked(text, sorted(found, key=lambda it: -sum(it.values())), unlike)


def _single(line: str, seed: int) -> Asked:
    """A question whose clusters have one string each, as the scraped part of the data set has them."""
    text, answers = line.split(" | ")
    strings = answers.split(", ")
    counts = _shares(Random(f"{seed}:opinions:{line}"), PEOPLE, len(strings))
    return Asked(text, [{one: count} for one, count in zip(strings, counts, strict=True)], {})


def _row(id: str, asked: Asked) -> dict[str, Any]:
    """The question in the current form of the data set."""
    raw = {string: count for group in (*asked.clusters, asked.odd) for string, count in group.items()}
    clusters = {
        f"{id}.{place}": {"count": sum(group.values()), "answers": list(group)}
        for place, group in enumerate(asked.clusters)
    }
    return {
        "metadata": {"id": id, "source": "nightjar sample"},
        "question": {"original": asked.text, "normalized": asked.text.lower()},
        "answers": {"raw": raw, "clusters": clusters},
        "num": {"answers": sum(it["count"] for it in clusters.values()), "clusters": len(clusters)},
    }


def _human(asked: Asked, seed: int) -> Sequence[str]:
    """The answers of other people, who answer as the hundred did, the commonest first."""
    raw = {string: count for group in (*asked.clusters, asked.odd) for string, count in group.items()}
    rng = Random(f"{seed}:opinions:human:{asked.text}")
    given = Counter(rng.choices(list(raw), list(raw.values()), k=LISTENERS))
    return [answer for answer, _ in given.most_common()]


_ASKED = """
Name something a gardener does on the first warm day of spring. | dig, digging, turn the soil; plant seeds, sow, planting; mow the lawn, cut the grass; prune, cut back bushes; pull weeds, weeding; water the plants, watering; clean the greenhouse; sit outside, sunbathe | buys a hat, nothing yet
Name a thing you would pack for a week in a lighthouse. | books, a book, novel; food, canned food, groceries; flashlight, lamp, torch; warm clothes, sweater, coat; radio; binoculars, telescope; blanket, sleeping bag; cards, board game | my cat, a boat
Name something that squeaks in an old farmhouse. | door, a door, door hinge; mouse, mice; shoes, sneakers, wet shoes; toy, dog toy; chair, old chair; wheel, bicycle wheel; floor, floorboard; brakes | my knee
Tell me something people lose on a train. | umbrella, an umbrella; phone, cell phone, mobile phone; gloves, a glove; ticket; wallet, purse; bag, suitcase, backpack; hat, cap; keys | patience, time
What do people look at when they wait for an elevator? | phone, cell phone, their phone; the numbers, floor numbers, display; the floor, shoes, their feet; the door, doors; other people, someone else; watch, clock; mirror | nothing
Name a sound that wakes a whole village. | rooster, cock crow; church bell, bells; thunder, storm; dog barking, dogs; siren, fire alarm; tractor, truck; fireworks; explosion | the mayor
Name an object that a wizard in a story carries. | wand, magic wand; staff, stick; book, spell book; hat, pointed hat; crystal ball; cloak, robe; potion, bottle; owl | long beard
Which room of a castle would you want to sleep in? | tower, the tower, tower room; bedroom, royal bedroom; library; kitchen; throne room; hall, great hall; stable | none of them
Name something you can do with an old newspaper. | wrap things, wrap presents, wrapping; light a fire, start a fire, burn it; recycle, recycle it; read, read it again; clean windows, wash windows; fold a hat, paper hat, origami; line a cage, bird cage; kill a fly, swat flies | sell it
Name a job in which people work on a roof. | roofer, roofing; chimney sweep; builder, construction worker, mason; carpenter; painter; electrician, solar installer; window cleaner | thief
Name something that is cold even in July. | ice cream; ice, ice cubes; freezer, fridge, refrigerator; lake, sea, mountain lake; cellar, basement; glacier, snow; lemonade, cold drink; cave | my feet
How can you tell that a baker has been busy all night? | smell of bread, fresh bread, the smell; flour on clothes, covered in flour, flour; tired, tired eyes, yawning; full shelves, lots of bread; lights on; hot oven, warm oven | sings loudly
Give me a reason to cross the street. | shop, a shop, store; friend, meet a friend, see someone; bus stop, bus; shade, shadow; dog, avoid a dog; home, go home; bank | a chicken
Name something children build on a beach. | sandcastle, sand castle, castle; hole, a big hole; wall, dam; tower; canal, river, moat; tunnel; boat, ship; sculpture, sand turtle | friendship
Name an animal that a farmer worries about at night. | fox, a fox; wolf, wolves; cow, sick cow, calf; rat, rats, mice; sheep, lamb; owl; coyote; horse, mare | ghost
Name something that a violinist fears on the stage. | broken string, string breaks; forgetting, forget the notes, memory; wrong note, mistakes; coughing, noise; falling, stumble; phone ringing, phone; silence, no applause | a bee
What is the first thing you notice in a new kitchen? | smell, the smell; oven, stove, cooker; table, kitchen table; color, the colors; window, light; size, space; floor, tiles; refrigerator, fridge | spoons
Name something people hang on a wall in a hallway. | picture, pictures, painting; mirror, a mirror; coat, coats, jacket; keys, key rack; clock; photo, family photos; calendar; lamp | antlers
Name a food that is hard to eat with gloves on. | spaghetti, noodles, pasta; soup; chips, crisps, french fries; nuts, peanuts; burger, hamburger; grapes, berries; rice; ice cream | salad leaves
Name something that gets shorter with use. | pencil, a pencil; candle, candles; chalk; soap, bar of soap; crayon, crayons; broom, brush; eraser; lipstick | my nerves
Name a place where whispering is polite. | library, the library; church, temple; theater, cinema, movie theater; museum, gallery; hospital, sickroom; classroom, exam; funeral, cemetery; bedroom | a cave
Name something a sailor checks before leaving the harbor. | weather, the weather, forecast; sails, sail; fuel, engine; map, chart; ropes, lines; radio; food, water, supplies; life jackets, lifeboat | his tattoo
Tell me a chore that nobody wants on a Sunday. | dishes, wash the dishes, washing up; laundry, washing clothes; vacuuming, vacuum; ironing; cleaning the bathroom, toilet, clean toilet; trash, take out the garbage; dusting; mowing, mow the lawn | taxes
Name something that makes a snowman look alive. | carrot nose, nose, carrot; eyes, coal eyes; hat, top hat; scarf; arms, stick arms; smile, mouth; broom; buttons | a pipe
Name something that travels faster at night. | train, night train; truck, trucks; news, rumor, gossip; owl, bat; car, cars; plane, airplane; thief, burglar; light, stars | fear
Name a present for a brother that is difficult to wrap. | bicycle, bike; ball, football; plant, flowers; guitar, violin; dog, puppy, kitten; lamp; chair, rocking chair; balloon | an apology
Name something found under a sofa. | dust, dust balls, dirt; coins, money, coin; toy, toys; sock, socks; pen, pencil; crumbs, food; remote, remote control; cat, the cat | my past
Why do people arrive late at a picnic? | traffic, traffic jam; lost, got lost, wrong way; rain, bad weather; overslept, slept late; bus, missed the bus; flat tire, car trouble; cooking, cake in the oven; children, kids | ants
Name something a mountain guide never forgets. | rope, ropes; map, compass; water, drink; first aid kit, bandages; boots, shoes; jacket, warm jacket; food, snacks; whistle | the view
Name something you would teach a parrot to say. | hello, hi; your name, my name, its name; good morning; i love you; joke, a joke; bad word, swear word; be quiet, shut up; song, sing | tax advice
"""

_TRAINING = """
Name something a potter has on his hands. | clay, water, mud, glaze, a ring
Name a tool that hangs in a blacksmith's workshop. | hammer, tongs, bellows, apron, chisel
Name something that floats on a pond. | duck, leaf, lily, boat, feather
Name something you hear in a forest at noon. | birds, wind, woodpecker, insects, footsteps
Tell me something people forget at a swimming lake. | towel, sunglasses, shoes, bottle, swimsuit
Name a fruit that stains a tablecloth. | cherry, blueberry, blackberry, plum, beetroot
Name a reason to climb a church tower. | view, bells, exercise, photo, clock
Name something a librarian says every day. | quiet please, hello, it is overdue, next please, thank you
Name something that melts too early. | snow, ice cream, butter, chocolate, candle
What does a night guard drink? | coffee, tea, water, cola, cocoa
Name something people paint green. | fence, door, bench, room, gate
Name an animal that sleeps in a barn. | horse, cow, cat, owl, sheep
Name something a magician hides in a sleeve. | card, dove, scarf, coin, flower
Name a vegetable that a child leaves on the plate. | broccoli, spinach, cabbage, peas, carrots
Name something that grows on an old wall. | moss, ivy, grass, flowers, mushrooms
Name something you fold before you travel. | shirt, map, trousers, towel, letter
Tell me a place where people take off their hats. | church, house, school, theater, table
Name something with a handle in a cellar. | bucket, broom, door, box, bottle crate
Name something that shakes when a truck passes. | window, house, table, glass, bridge
Name something a clown throws. | pie, ball, water, confetti, hat
Which season is best for a long walk? | spring, autumn, summer, winter, any season
Name something people count when they cannot sleep. | sheep, hours, stars, money, breaths
Name something that a sculptor needs. | stone, chisel, hammer, clay, patience
Name a reason why a clock is wrong. | battery, summer time, broken, old, nobody set it
Name something you would see from a balloon. | river, houses, fields, birds, people
Name a drink that is served with a straw. | lemonade, milkshake, cola, juice, cocktail
Name something a postman carries in winter. | letters, gloves, parcels, lamp, umbrella
Name a part of a ship that needs paint. | hull, deck, mast, rail, cabin
Name something that smells better than it tastes. | coffee, soap, vanilla, perfume, flowers
How can you tell that a soup is ready? | taste it, it boils, smell, soft carrots, the clock
Name something a beekeeper wears. | veil, gloves, suit, hat, boots
Name an instrument that is hard to carry on a bus. | harp, double bass, drums, piano, cello
Name something people do in the first snow. | snowman, snowball fight, sled, photo, walk
Give me an animal that can open a door. | dog, cat, monkey, horse, raccoon
Name something that is sold by weight. | apples, cheese, gold, sugar, flour
Name something a tailor measures. | waist, arm, leg, neck, cloth
Name a place where it echoes. | cave, tunnel, mountains, church, empty room
Name something that hangs over a kitchen stove. | pans, hood, spoons, lamp, garlic
Name something you would trade for a warm bed. | money, food, my car, a watch, a song
What do people do on a ferry? | look at the sea, sleep, eat, read, walk on deck
Name something that turns all day. | wheel, clock, windmill, earth, fan
Name a thing with teeth that is no animal. | comb, saw, zipper, fork, rake
Name something a goose is good at. | swimming, hissing, flying, guarding, eating grass
Name a noise in an old house. | creaking, wind, mice, pipes, doors
Name something one person can move and another cannot. | piano, sofa, ears, rock, cupboard
Name something in a drawer that nobody uses. | string, old keys, batteries, cables, candles
Name a dish for a rainy evening. | soup, stew, pizza, pasta, pancakes
Name something that a carpenter smells of. | wood, glue, sweat, varnish, sawdust
Tell me an early sign of autumn. | leaves, fog, rain, apples, cold mornings
Name something that a kite gets stuck in. | tree, wire, roof, bush, chimney
Name something people dry on a line. | clothes, towels, socks, fish, herbs
Why do people visit a windmill? | flour, view, history, photo, wind
Name something an astronomer waits for. | night, clear sky, comet, eclipse, coffee
Name something that ends with applause. | concert, play, speech, circus, flight
Name a thing that gets heavier in rain. | coat, hair, tent, sand, sheep
Name something you would buy at a village market. | eggs, cheese, honey, flowers, vegetables
Name something a shepherd talks to. | dog, sheep, himself, tourists, the moon
Name a word that people say to a stubborn mule. | go, please, move, come, stop
Name something that is louder when it is empty. | stomach, barrel, room, hall, can
What does a fisherman do when nothing bites? | wait, sleep, sing, go home, change the bait
"""

_DEV = """
Name something you would find in a bird's nest. | eggs, feathers, twigs, chicks, grass
Name a reason to light a candle. | dark, birthday, dinner, church, power cut
Name something a cook tastes twice. | soup, sauce, salt, wine, dessert
Name something that is tied with a knot. | shoe, rope, tie, boat, gift
Tell me a thing that a river carries. | water, boats, fish, leaves, stones
Name something that a tourist takes home. | photos, postcard, magnet, shells, memories
Name an animal that digs under a fence. | mole, dog, rabbit, badger, worm
Name something people do on a porch. | sit, read, talk, drink tea, watch the rain
Name something that a chess player drops. | king, pawn, queen, pen, the clock
Name something made of straw. | hat, roof, basket, broom, nest
"""
