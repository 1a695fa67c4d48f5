"""Sentences of eight classification tasks and FEVER in the published formats, some files in Latin-1.

Words that speak for a label are drawn from lists of about a dozen, so that a training side of 48 sentences has most of
them; what surrounds them is drawn for all labels alike. No sentence occurs twice in a task.
"""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from random import Random

from data.sample_generator.words import TOWNS
from data.sample_generator.world import World

# Sentences of a task whose files have sides, and of one whose files have none.
TRAIN, DEV, TEST = 48, 8, 24
TOTAL = TRAIN + DEV + TEST
LATIN_1 = frozenset(
    f"classification/{name}"
    for name in (
        "TREC.train",
        "TREC.test",
        "rt-polarity.neg",
        "rt-polarity.pos",
        "subj.objective",
        "subj.subjective",
    )
)
# Before a vowel, but not in "a useless lid".
_A = re.compile(r"\ba(?= (?:[aeio]|un))")
Words = dict[str, Sequence[str]]
Row = tuple[str, str]
"""(label, sentence)"""


def _lists(text: str) -> Words:
    """Word lists from lines such as `name: first|second`."""
    return {
        name: words.split("|") for name, words in (line.split(": ", 1) for line in text.strip().splitlines())
    }


def encoding(file: str) -> str:
    """The encoding of a file of the sample."""
    return "latin-1" if file in LATIN_1 else "utf-8"


def classification_files(world: World, seed: int) -> dict[str, str]:
    """Relative path to text of every file."""
    files: dict[str, str] = {}

    def rng(task: str) -> Random:
        return Random(f"{seed}:classification:{task}")

    for task, name, labels in (("sst2", "binary", _FILM), ("sst5", "fine", _GRADES)):
        rows = _rows(rng(task), labels, TOTAL)
        for side, some in zip(("train", "dev", "test"), _cut(rows, TRAIN, DEV), strict=True):
            files[f"stsa.{name}.{side}"] = _lines(f"{label} {text}" for label, text in some)
    train, test = _cut(_rows(rng("trec"), _QUESTIONS, TRAIN + DEV + TEST), TRAIN + DEV)
    for side, some in (("train", train), ("test", test)):
        files[f"TREC.{side}"] = _lines(f"{label} {text}" for label, text in some)
    train, test = _cut(_rows(rng("cola"), _SENTENCES, TOTAL), TRAIN + DEV)
    for side, some in (("train", train), ("dev", test)):
        files[f"cola.{side}.tsv"] = _lines(f"{text}\t{label}" for label, text in some)
    for task, name, words in (
        ("mr", "rt-polarity", _CRITICS), ("cr", "custrev", _PRODUCTS), ("mpqa", "mpqa", _PHRASES), ("subj", "subj", _SUBJ),
    ):  # fmt: skip
        rows = _rows(rng(task), words, TOTAL)
        for label in words[0]:
            files[f"{name}.{label}"] = _lines(text for its, text in rows if its == label)
    files["fever.paper_dev.jsonl"] = _lines(_claims(world, rng("fever")))
    return {f"classification/{name}": text for name, text in files.items()}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _cut(rows: list[Row], *sizes: int) -> list[list[Row]]:
    """The rows in pieces of those sizes, and the others."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(rows[start : start + size])
        start += size
    return [*pieces, rows[start:]]


# Labels with their templates, and the words of the gaps. A gap {adj} takes a list named adj.LABEL, or adj for all.
Task = tuple[dict[str, Sequence[str]], Words]


def _rows(rng: Random, task: Task, size: int) -> list[Row]:
    """So many rows, labels in turn but mixed, no sentence twice."""
    templates, words = task
    rows: list[Row] = []
    seen: set[str] = set()
    order: list[str] = []
    while len(rows) < size:
        if not order:
            order = list(templates)
            rng.shuffle(order)
        text = _filled(rng, rng.choice(templates[order[-1]]), order[-1], words)
        if text not in seen:
            seen.add(text)
            rows.append((order.pop(), text))
    return rows


def _filled(rng: Random, template: str, label: str, words: Words) -> str:
    """The template with a word in each gap, no word twice."""
    used: set[str] = set()
    while "{" in template:
        start, end = template.index("{"), template.index("}")
        gap = template[start + 1 : end]
        word = rng.choice([it for it in words.get(f"{gap}.{label}", words.get(gap, ())) if it not in used])
        used.add(word)
        template = template[:start] + word + template[end + 1 :]
    return _A.sub("an", template)


_FILM_WORDS = _lists("""
genre: comedy|thriller|drama|western|romance|documentary|adventure|fable|mystery|musical
part: script|cast|score|dialogue|story|ending|opening scene|lead actress|chase|set design
place: a lighthouse|a mountain village|a night train|an old harbour|a small hotel|a frozen lake|a travelling fair
adj.1: warm|witty|gripping|tender|inventive|lively|graceful|moving|dazzling|charming|thoughtful|delightful
adj.0: dull|clumsy|shallow|tedious|lifeless|muddled|predictable|hollow|stale|careless|bland|tiresome
verb.1: delights at every turn|never loses its spark|rewards every minute|glows with feeling|earns each laugh
verb.0: drags on and on|falls flat|wastes every minute|never comes to life|grates on the nerves
""")
_FILM_TEMPLATES = (
    "a {adj} {genre} set in {place} .", "the {part} is {adj} and the {part} {verb} .", "what a {adj} , {adj} {genre} this is .",
    "this {genre} about {place} {verb} .", "{adj} in its {part} , {adj} in its {part} .", "from {place} comes a {genre} that {verb} .",
    "the {genre} has a {adj} {part} .",
)  # fmt: skip
_FILM: Task = ({"1": _FILM_TEMPLATES, "0": _FILM_TEMPLATES}, _FILM_WORDS)
_GRADE_TEMPLATES = (
    "a {adj} and {adj} {genre} set in {place} .", "the {part} is {adj} , the {part} {adj} .",
    "{adj} and {adj} : a {genre} about {place} .", "this {genre} is {adj} , with a {adj} {part} .",
)  # fmt: skip
_GRADES: Task = (
    dict.fromkeys("01234", _GRADE_TEMPLATES),
    _FILM_WORDS
    | _lists("""
adj.0: unwatchable|dreadful|insulting|disastrous|appalling|worthless
adj.1: weak|dull|thin|tired|clumsy|forgettable
adj.2: uneven|ordinary|passable|middling|harmless|average
adj.3: pleasant|solid|engaging|likeable|amusing|capable
adj.4: superb|magnificent|unforgettable|masterly|breathtaking|flawless
"""),
)
_CRITICS: Task = (
    {
        label: (
            "{who} gives this {genre} a {adj} centre .", "{who}'s {genre} {verb} , like a {thing} {end} .",
            "a {adj} {genre} by {who} that {verb} .", "seldom has a {genre} been so {adj} , or a {part} so {adj} .",
            "the {part} is {adj} ; {who} {verb} .",
        )
        for label in ("pos", "neg")
    },
    {name.replace(".1", ".pos").replace(".0", ".neg"): found for name, found in _FILM_WORDS.items()}
    | _lists("""
who: josé barrén|renée vask|björn quill|andré merrow|zoë tamblyn|frau grüner|señora ilves|noël pask
thing: soufflé|café song|déjà vu|matinée|cliché|fiancé's letter
end.pos: that smells of summer|told by a friend|one wants to keep
end.neg: left in the rain|heard too often|nobody ordered
"""),
)  # fmt: skip
_PRODUCTS: Task = (
    {
        label: (
            "the {part} of this {product} is {adj} .", "after {time} the {part} {verb} .", "i find the {product} {adj} and its {part} {adj} .",
            "my {product} has a {adj} {part} and {verb} .", "{time} with this {product} : {adj} , and it {verb} !",
        )
        for label in ("pos", "neg")
    },
    _lists("""
product: camera|radio|kettle|printer|music player|bicycle lamp|phone|keyboard|coffee mill|clock
part: battery|screen|handle|lid|manual|button|speaker|cable|case|menu
time: two weeks|a month|one winter|three days|half a year
adj.pos: sturdy|reliable|crisp|handy|excellent|sharp|bright|comfortable|quick|perfect
adj.neg: flimsy|useless|blurry|awkward|awful|slow|defective|noisy|cheap|broken
verb.pos: works without a hitch|still looks new|does all i ask|charges in no time|is worth every cent
verb.neg: keeps failing|fell apart|stopped working|had to go back|drove me mad
"""),
)  # fmt: skip
_PHRASES: Task = (
    {
        label: (
            "{adverb} {did}", "{adj} {noun}", "{did} the {noun} of the {body}", "a {adj} {noun} for the {body}",
            "is {adverb} {did} by the {body}", "the {body} 's {adj} {noun}", "{adj} and {adj}",
        )
        for label in ("pos", "neg")
    },
    _lists("""
body: parliament|council|president|government|mayor|court|press|committee
noun: plan|decision|offer|speech|reform|treaty|answer|law
adverb.pos: warmly|gladly|heartily|generously
adverb.neg: bitterly|angrily|harshly|grudgingly
did.pos: welcomed|praised|supported|applauded|honoured
did.neg: condemned|rejected|attacked|blamed|feared
adj.pos: fair|generous|hopeful|wise|peaceful|just
adj.neg: cruel|unjust|reckless|hostile|corrupt|bitter
"""),
)  # fmt: skip
_SUBJ: Task = (
    {
        "objective": (
            "{who} , a {job} from {town} , {does} when {event} .", "when {event} , the young {job} {does} .",
            "{who} and a retired {job} {does} before {event} .", "in {town} , {who} {does} and {event} .",
        ),
        "subjective": (
            "it is a {adj} {genre} , and the {part} never feels {adj} .", "one leaves the {genre} {feels} , for the {part} is simply {adj} .",
            "the {part} may be {adj} , but the {genre} itself is {adj} .", "rarely have i been so {feels} by such a {adj} {genre} .",
            "like a {adj} soufflé , the {genre} leaves you {feels} .",
        ),
    },
    _lists("""
who: josé|renée|björn|andré|zoë|hélène|señor ilves|jürgen
job: schoolteacher|fisherman|detective|baker|soldier|nurse|smuggler|engineer
town: halvern|málaga|kestrel bay|old quarry|saint-étienne|göteborg|tolland|marlow
does: discovers a hidden map|returns to the farm|falls in love with a stranger|loses a letter|steals a boat|finds a body in the river|inherits a café
event: a war breaks out|the bridge is closed|a murder shakes the town|her brother vanishes|the circus arrives|winter begins|his fiancée leaves him
genre: comedy|thriller|drama|film|romance|picture|remake
part: humour|acting|direction|script|pacing|sentiment|dialogue
adj: clever|overlong|delicious|pretentious|shameless|likeable|hollow|irresistible|clumsy|sincere
feels: exhausted|charmed|cheated|moved|irritated|refreshed
"""),
)  # fmt: skip
_SENTENCES: Task = (
    {
        label: (
            "the {who} {past} the {thing} yesterday", "{name} has {part} the {thing} that the {who} {past}", "the {plural} are {more} than the {who}",
            "{name} said that the {plural} {past} a {thing}", "two {plural} {past} while {name} slept", "which {thing} did {name} say the {plural} had {part} ?",
        )
        for label in ("1", "0")
    },
    _lists("""
who: teacher|farmer|doctor|sailor|baker|painter
thing: bread|letter|boat|song|cake|picture|coat
name: mary|john|sue|peter|anna|tom
past.1: brought|bought|caught|sold|taught
past.0: bringed|buyed|catched|selled|teached
part.1: brought|bought|caught|sold|taught
part.0: bringed|buyed|catched|selled|teached
plural.1: children|women|men|mice|sheep|people
plural.0: childs|womans|mans|mouses|sheeps|peoples
more.1: taller|better|happier|older|more careful
more.0: more taller|gooder|more happier|more older|carefuller
"""),
)  # fmt: skip
_QUESTIONS: Task = (
    {
        "DESC:def": ("What is a {tool} ?", "What is meant by a {tool} ?"),
        "DESC:manner": ("How does a {tool} work ?", "How do you repair a {tool} ?"),
        "ENTY:animal": ("What animal {acts} in the {place} ?", "What kind of bird {acts} near {town} ?"),
        "ENTY:color": ("What color is the {thing} of {town} ?", "What color did {who} paint the {thing} ?"),
        "ABBR:exp": ("What does {abbr} stand for ?", "What does the abbreviation {abbr} mean ?"),
        "ABBR:abb": ("What is the abbreviation for {long} ?", "What letters stand for {long} ?"),
        "HUM:ind": ("Who {made} the {thing} of {town} ?", "Who was the first {job} of {town} ?"),
        "HUM:title": ("Which {job} {made} the {thing} ?", "What {job} taught {who} ?"),
        "LOC:city": ("What city has a {thing} made by {who} ?", "In what town was {who} born ?"),
        "LOC:other": ("Where is the {place} of {town} ?", "Where can a {tool} be found ?"),
        "NUM:date": ("When was the {thing} of {town} built ?", "What year did {who} leave {town} ?"),
        "NUM:count": ("How many {tool}s does {town} have ?", "How many people live near the {place} ?"),
    },
    _lists("""
tool: loom|sextant|bellows|chisel|barometer|kiln|lathe|pulley|anchor|lantern
acts: sleeps|nests|hunts|sings|hides
place: café|north harbour|rose garden|old mine|salt marsh|château
thing: lighthouse|bridge|clock|statue|fountain|gate
town: Halvern|Tolland|Orléans|Göteborg|Málaga|Marlow|Kestrel Bay
who: José Barrén|Renée Vask|Björn Quill|Zoë Tamblyn|Ida Lorring|Hugo Pask
job: mayor|painter|captain|architect|poet
made: designed|built|paid for|painted|repaired
abbr: HRC|NTB|KBW|OQM|TSL|MHP|GRA|WVS
long: northern timber board|halvern railway company|old quarry museum|kestrel bay works|marlow harbour police|tolland salt league
"""),
)  # fmt: skip


def _claims(world: World, rng: Random) -> list[str]:
    """Claims about the invented world, which the corpus supports, refutes or says nothing of."""
    people, structures = rng.sample(list(world.people), 27), rng.sample(list(world.structures), 27)
    plain = (
        lambda p, s: (f"{p.name} was born in {p.town}.", p.name),
        lambda p, s: (f"The {s.name} is made of {s.material}.", s.name),
        lambda p, s: (f"{p.name} was a {p.profession}.", p.name),
    )
    false = (
        lambda p, s: (f"{p.name} was never in {p.town}.", p.name),
        lambda p, s: (
            f"The {s.name} is only made of {rng.choice(['paper', 'glass', 'straw', 'ice'])}.",
            s.name,
        ),
        lambda p, s: (f"{p.name} was incapable of being a {p.profession}.", p.name),
    )
    unknown = (
        lambda p, s: (f"{p.name} enjoys {rng.choice(['tennis', 'chess', 'cooking', 'skating'])}.", p.name),
        lambda p, s: (
            f"The {s.name} was visited by a famous {rng.choice(['singer', 'painter', 'king', 'dancer'])}.",
            s.name,
        ),
        lambda p, s: (
            f"{p.name} met a {rng.choice(['singer', 'painter', 'king', 'dancer'])} in {rng.choice(TOWNS)}.",
            p.name,
        ),
    )
    rows: list[tuple[str, str, str]] = []
    for n in range(27):
        for label, of in (("SUPPORTS", plain), ("REFUTES", false), ("NOT ENOUGH INFO", unknown)):
            claim, title = of[n % 3](people[n], structures[n])
            rows.append((label, claim, title))
    rng.shuffle(rows)
    return [_claim(number, *row) for number, row in enumerate(rows, start=1)]


def _claim(number: int, label: str, claim: str, title: str) -> str:
    known = label != "NOT ENOUGH INFO"
    evidence = (
        [90_000 + number, 95_000 + number, title.replace(" ", "_"), 0]
        if known
        else [90_000 + number, None, None, None]
    )
    row = {
        "id": 80_000 + number,
        "verifiable": "VERIFIABLE" if known else "NOT VERIFIABLE",
        "label": label,
        "claim": claim,
        "evidence": [[evidence]],
    }
    return json.dumps(row, ensure_ascii=False)
