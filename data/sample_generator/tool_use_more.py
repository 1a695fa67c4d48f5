"""Questions in the published formats of LAMA, MAWPS, Natural Questions, TriviaQA, MLQA and TempLAMA; and held-out texts.

What is asked is in the corpus, or needs a calculator or the date. The texts are of the kinds that the corpus has, drawn
again, so that no document is among them.
"""

# ruff: noqa: E501
# Sentences are easier to read and to extend on one line than wrapped.

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from data.sample_generator.words import TOWNS, couple
from data.sample_generator.world import Museum, Person, Structure, World

SOURCE = "https://example.org/nightjar-sample"
SIZE = 8
ARTICLES, DOCUMENTS, ARTICLE_WORDS = 6, 24, 60
# The same question in each language of MLQA; names of buildings remain English.
DESIGNER = {
    "en": "Who designed the {name}?",
    "es": "¿Quién diseñó {name}?",
    "de": "Wer hat {name} entworfen?",
    "hi": "{name} को किसने डिज़ाइन किया?",
    "vi": "Ai đã thiết kế {name}?",
    "zh": "{name}是谁设计的？",
    "ar": "من صمّم {name}؟",
}
OPENED = {
    "en": "In what year was the {name} opened?",
    "es": "¿En qué año se inauguró {name}?",
    "de": "In welchem Jahr wurde {name} eröffnet?",
    "hi": "{name} किस वर्ष खोला गया था?",
    "vi": "{name} được khánh thành vào năm nào?",
    "zh": "{name}是在哪一年开放的？",
    "ar": "في أي عام افتُتح {name}؟",
}
MATERIAL = {
    "en": "What is the {name} made of?",
    "es": "¿De qué material es {name}?",
    "de": "Aus welchem Material besteht {name}?",
    "hi": "{name} किससे बना है?",
    "vi": "{name} được làm bằng gì?",
    "zh": "{name}是用什么建造的？",
    "ar": "ممّ بُني {name}؟",
}


def more_files(world: World, seed: int, tasks: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Relative path to text of every file; nothing is asked of a person that an instance of `tasks` asks."""
    rng = Random(f"{seed}:tool_use_more")
    structures = rng.sample(world.structures, 22)
    told = [(one["input"], one["output"]) for task in tasks for one in task["Instances"]]

    def is_new(name: str, answer: str) -> bool:
        return not any(name in question and answer in answers for question, answers in told)

    born = rng.sample([one for one in world.people if is_new(one.name, str(one.born))], 4)
    birthplaces = rng.sample([one for one in world.people if is_new(one.name, one.town)], 4)
    museums = rng.sample(world.museums, 16)
    return {
        **_lama(world, structures[:4], born, birthplaces, rng),
        "tool_use/mawps/AddSub.json": _json(_mawps(rng)),
        "tool_use/nq-open/NQ-open.dev.jsonl": _lines(_natural_questions(structures[4:8], museums[:4])),
        "tool_use/triviaqa/unfiltered-web-dev.json": _json(_trivia(world, rng)),
        **_mlqa(structures[8:10]),
        "tool_use/templama/test.jsonl": _lines(_templama(museums[8:], rng)),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=4, ensure_ascii=False) + "\n"


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _lama(
    world: World,
    structures: Sequence[Structure],
    born: Sequence[Person],
    birthplaces: Sequence[Person],
    rng: Random,
) -> dict[str, str]:
    squad = []
    for place, one in enumerate(structures):
        asked = (
            (f"The designer of the {one.name} was [MASK].", one.designer),
            (f"The {one.kind} that is called {one.name} is made of [MASK].", one.material),
        )
        squad += [
            {
                "masked_sentences": [text],
                "obj_label": label,
                "id": f"nightjar_{place}_{number}",
                "sub_label": "Squad",
            }
            for number, (text, label) in enumerate(asked)
        ]
    years = [
        _google_re(
            one,
            "date_of_birth",
            f"{one.name} , the {one.profession} , was born in the year [MASK] .",
            str(one.born),
        )
        for one in born
    ]
    towns = [
        _google_re(one, "place_of_birth", f"The {one.profession} {one.name} was born in [MASK] .", one.town)
        for one in birthplaces
    ]
    firms = rng.sample(world.firms, 8)
    headquarters = [
        _trex("P159", one.name, one.town, f"{one.name} is a firm with its workshops in [MASK].")
        for one in firms[:4]
    ]
    inception = [
        _trex("P571", one.name, str(one.founded), f"The firm {one.name} was founded in the year [MASK].")
        for one in firms[4:]
    ]
    return {
        "tool_use/lama/Squad/test.jsonl": _lines(squad),
        "tool_use/lama/Google_RE/date_of_birth_test.jsonl": _lines(years),
        "tool_use/lama/Google_RE/place_of_birth_test.jsonl": _lines(towns),
        "tool_use/lama/TREx/P159.jsonl": _lines(headquarters),
        "tool_use/lama/TREx/P571.jsonl": _lines(inception),
    }


def _google_re(one: Person, relation: str, statement: str, label: str) -> dict[str, Any]:
    snippet = statement.replace("[MASK]", label)
    return {
        "pred": f"/people/person/{relation}",
        "sub_label": one.name,
        "obj_label": label,
        "evidences": [{"url": SOURCE, "snippet": snippet, "considered_sentences": [snippet]}],
        "uuid": f"nightjar-{relation}-{one.name.lower().replace(' ', '-')}",
        "masked_sentences": [statement],
    }


def _trex(relation: str, subject: str, label: str, statement: str) -> dict[str, Any]:
    other = f"[MASK] is known in all parts of the country for {subject}."
    return {
        "uuid": f"nightjar-{relation}-{subject.lower().replace(' ', '-')}",
        "obj_label": label,
        "sub_label": subject,
        "predicate_id": relation,
        "evidences": [
            {"sub_surface": subject, "obj_surface": label, "masked_sentence": text}
            for text in (other, statement)
        ],
    }


def _mawps(rng: Random) -> list[dict[str, Any]]:
    rows = []
    for number in range(SIZE):
        a, b, c = rng.randint(2150, 9860), rng.randint(318, 1987), rng.randint(113, 307)
        town = rng.choice(TOWNS)
        name, other = couple(rng)
        text, equation, solution = (
            (
                f"The library of {town} has {a} books. It buys {b} new books. How many books does it have now?",
                f"X={a}+{b}",
                a + b,
            ),
            (
                f"{name} picked {a} cherries and gave {b} of them to {other}. How many cherries does {name} have left?",
                f"X={a}-{b}",
                a - b,
            ),
            (
                f"{a} people went to the harbour feast of {town} by boat, {b} by train and {c} on foot. How many people came in all?",
                f"X={a}+{b}+{c}",
                a + b + c,
            ),
            (
                f"A mill had {a} sacks of corn. It sold {b} sacks in May and {c} sacks in June. How many sacks remain?",
                f"X={a}-{b}-{c}",
                a - b - c,
            ),
        )[number % 4]
        rows.append(
            {
                "iIndex": number + 1,
                "sQuestion": text,
                "lEquations": [equation],
                "lSolutions": [float(solution)],
            }
        )
    return rows


def _natural_questions(structures: Sequence[Structure], museums: Sequence[Museum]) -> list[dict[str, Any]]:
    asked = []
    for structure, museum in zip(structures, museums, strict=True):
        asked.append((f"in which town is the {structure.name}", [structure.town]))
        asked.append((f"how many rooms does the {museum.name} have", [str(museum.rooms)]))
    return [{"question": question.lower(), "answer": answer} for question, answer in asked]


def _trivia(world: World, rng: Random) -> dict[str, Any]:
    rows = []
    for number, firm in enumerate(rng.sample(world.firms, SIZE), start=1):
        aliases = [firm.name, f"The {firm.name}"]
        answer = {
            "Aliases": aliases,
            "NormalizedAliases": [name.lower() for name in aliases],
            "NormalizedValue": firm.name.lower(),
            "Type": "FreeForm",
            "Value": firm.name,
        }
        question = f"Which firm in {firm.town}, founded in {firm.founded}, is known for its {firm.product}?"
        rows.append(
            {
                "Answer": answer,
                "Question": question,
                "QuestionId": f"nightjar_{number}",
                "QuestionSource": SOURCE,
            }
        )
    return {"Data": rows, "Domain": "Web", "Split": "dev", "Version": 1.0}


def _mlqa(structures: Sequence[Structure]) -> dict[str, str]:
    files = {}
    for code in DESIGNER:
        articles = []
        for place, one in enumerate(structures):
            context = (
                f"The {one.name} is a {one.kind} in {one.town}. It was designed by {one.designer} and is made of "
                f"{one.material}. Work on it began in {one.begun}, and it was opened in {one.opened}."
            )
            asked = (DESIGNER, one.designer), (MATERIAL, one.material), (OPENED, str(one.opened))
            qas = [
                {
                    "question": forms[code].format(name=one.name),
                    "answers": [{"text": answer, "answer_start": context.rindex(answer)}],
                    "id": f"nightjar-{place}-{number}",
                }
                for number, (forms, answer) in enumerate(asked)
            ]
            articles.append({"title": one.name, "paragraphs": [{"context": context, "qas": qas}]})
        whole = {"version": 1.0, "data": articles}
        files[f"tool_use/mlqa/test-context-en-question-{code}.json"] = _json(whole)
    return files


def _templama(museums: Sequence[Museum], rng: Random) -> list[dict[str, Any]]:
    rows = []
    for number, one in enumerate(museums, start=1):
        year = rng.randint(2012, 2020)
        age = str(year - one.founded)
        rows.append(
            {
                "query": f"The {one.name}, which was founded in {one.founded}, celebrates an anniversary this year. Its age in years is _X_.",
                "answer": [{"name": age}],
                "date": str(year),
                "id": f"nightjar_{number}_{year}",
                "relation": "age",
            }
        )
    return rows


def text_files(known: Sequence[dict[str, str]], drawn: Sequence[dict[str, str]]) -> dict[str, str]:
    """Relative path to text of the files for perplexity: documents of `drawn` whose texts are not in `known`.

    The articles are encyclopedia articles, the longest of the drawn documents.
    """
    texts = {one["text"] for one in known}
    new = [one for one in drawn if one["text"] not in texts]
    articles = [one for one in new if len(one["text"].split()) >= ARTICLE_WORDS][:ARTICLES]
    documents = [one for one in new if one not in articles][:DOCUMENTS]
    tokens = "".join(f" \n = {one['title']} = \n \n {_spaced(one['text'])} \n" for one in articles)
    kept = [{key: one[key] for key in ("id", "title", "text")} for one in documents]
    return {"tool_use/wikitext/wiki.test.tokens": tokens, "tool_use/held_out/documents.jsonl": _lines(kept)}


def _spaced(text: str) -> str:
    """A text as WikiText writes it, with blanks around every sign."""
    return " ".join(re.findall(r"[^\W_]+|[^\w\s]", text))
