"""Questions with passages for the reader of the tool QA, in SQuAD's form: train.json, dev.json, test.json.

The questions are put to sentences of T-REx, worded by reading_questions.yaml, and are those of three reading tasks of
Super-NaturalInstructions (eQASC, CoQA, TellMeWhy). A quarter of the training and development pairs have no answer:
their passage answers the question for another subject. test.json asks for the relations HELD_OUT, of which no
training pair has a question: how well the reader does with what it was not trained to be asked. All names of the
answer that the passage has are right. An article's title is the subject of its passage; an id ends with the relation
or the task.

No pair is about a subject that is evaluated (T-REx, Google-RE), or shows a statement that is. None asks a question that
WebQuestions or Natural Questions has.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.public_sets import google_re, tasks, trained, trex, words

QUESTIONS = Path(__file__).with_name("reading_questions.yaml")
# Named after, religion, record label, original network, member of, instrument: none is a trained one in other words.
HELD_OUT = frozenset({"P138", "P140", "P264", "P449", "P463", "P1303"})
A_RELATION, DEV, TEST = 600, 400, 1500  # pairs
UNANSWERED = 4  # one pair in so many has no answer
PASSAGE_WORDS, ANSWER_WORDS = 100, 8
# Tasks whose input has the passage, and what separates it from the question. Questions of HybridQA, HotpotQA and
# Natural Questions come without a passage, and DoQA's are of a conversation that they do not repeat.
READING = {
    "task1581_": r"statement: (.*), question: (.*)",
    "task918_": r"story: (.*), question: (.*)",
    "task332_": r"(.*)\n(.*)",
}


@dataclass(frozen=True)
class ReadingPair:
    """A question to a passage. `answers` are their first characters in it and their texts, the best first."""

    kind: str
    title: str
    question: str
    passage: str
    answers: tuple[tuple[int, str], ...]

    def squad(self, id: str) -> dict[str, Any]:
        """As an article of SQuAD with one paragraph and one question."""
        question_row = {
            "id": id,
            "question": self.question,
            "answers": [{"text": text, "answer_start": start} for start, text in self.answers],
            "is_impossible": not self.answers,
        }
        return {"title": self.title, "paragraphs": [{"context": self.passage, "qas": [question_row]}]}


@dataclass
class Fact:
    """A subject and a relation of T-REx: its answers in sentences, best first, and all names of its objects."""

    subject: str
    relation: str
    sentences: list[tuple[bool, str, int, str]]
    objects: set[str]


def around(passage: str, start: int, answer: str) -> tuple[str, int]:
    """At most PASSAGE_WORDS words of a passage with the answer in their middle, and where it starts in them."""
    places = [word.span() for word in re.finditer(r"\S+", passage)]
    first = sum(end <= start for _, end in places)
    length = sum(begin < start + len(answer) for begin, _ in places) - first
    first_word = max(0, min(first - (PASSAGE_WORDS - length) // 2, len(places) - PASSAGE_WORDS))
    begin, end = places[first_word][0], places[min(first_word + PASSAGE_WORDS, len(places)) - 1][1]
    return passage[begin:end], start - begin


def named_in(passage: str, all: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield where a passage has names, which are given by `words`, and how it has them."""
    for name in filter(None, sorted(all)):
        form = r"\W+".join(name.split())
        if name_match := re.search(rf"\b{form}\b", passage, re.IGNORECASE):
            yield name_match.start(), name_match[0]


def names(text: str, all: Iterable[str]) -> bool:
    """Tell whether a text has one of the names, which are given by `words`."""
    padded_text = f" {words(text)} "
    return any(f" {name} " in padded_text for name in all if name)


def evaluated_questions(source: Path) -> set[str]:
    """The open questions of the evaluation, by `words`."""
    benchmarks = source / "tool-benchmarks"
    question_texts = [
        row["qText"]
        for path in sorted((benchmarks / "webquestions").glob("*.json"))
        for row in json.loads(path.read_text("utf-8"))
    ]
    for path in sorted((benchmarks / "nq-open").glob("*.jsonl")):
        question_texts += [json.loads(line)["question"] for line in path.read_text("utf-8").splitlines()]
    return set(map(words, question_texts))


class TrexFacts:
    """Facts of T-REx on the subjects that are not evaluated."""

    def __init__(self, source: Path) -> None:
        self.facts: dict[tuple[str, str], Fact] = {}
        barred = {words(row["sub_label"]) for row in google_re(source)}
        statements: set[str] = set()
        rows = []
        for path, _, row, sentences, statement in trex(source):
            if trained(row["sub_uri"]):
                rows.append((path.stem, row, sentences))
            else:
                barred.add(words(row["sub_label"]))
                statements.update([words(statement)] if statement else [])
        for relation, row, sentences in rows:
            if words(row["sub_label"]) not in barred:
                self._add(relation, row, [(one, words(one) not in statements) for one in sentences])

    def _add(self, relation: str, row: dict[str, Any], sentences: list[tuple[str, bool]]) -> None:
        subject, object = row["sub_label"], row["obj_label"]
        fact = self.facts.setdefault((words(subject), relation), Fact(subject, relation, [], {words(object)}))
        fact.objects.add(words(object))
        for evidence, (sentence, free) in zip(row["evidences"], sentences, strict=True):
            answer, masked = evidence["obj_surface"], evidence["masked_sentence"]
            fact.objects.add(words(answer))
            if free and answer.strip() and "[MASK]" in masked:
                # "Scottish" is a worse answer to "Where was he born?" than "Scotland", and "He was born" says less.
                good = words(object) in words(answer) and words(subject) in words(sentence)
                fact.sentences.append((good, sentence, masked.index("[MASK]"), answer))

    def answered(self, fact: Fact, chance: random.Random, questions: list[str]) -> ReadingPair | None:
        """A question about a fact, to one of the best of its sentences."""
        best = [one for one in fact.sentences if one[0]] or fact.sentences
        if not best:
            return None
        _, sentence, start, answer = chance.choice(best)
        passage, start = around(sentence, start, answer)
        question = chance.choice(questions).format(fact.subject)
        answers = ((start, answer), *named_in(passage, fact.objects - {words(answer)}))
        return ReadingPair(fact.relation, fact.subject, question, passage, answers)


def mistaken(
    fact: Fact, others: list[Fact], chance: random.Random, questions: list[str]
) -> ReadingPair | None:
    """A question about a fact, to a sentence that answers it for another subject, which it names."""
    for stranger in chance.sample(others, min(len(others), 10)):
        fact_names = {words(fact.subject), *fact.objects}
        free = [
            sentence for good, sentence, *_ in stranger.sentences if good and not names(sentence, fact_names)
        ]
        if free and words(stranger.subject) != words(fact.subject):
            passage, _ = around(chance.choice(free), 0, "")
            question = chance.choice(questions).format(fact.subject)
            return ReadingPair(fact.relation, stranger.subject, question, passage, ())
    return None


def reading(source: Path) -> Iterator[ReadingPair]:
    """The pairs of the reading tasks whose answer is a part of the passage."""
    for name, form in READING.items():
        seen_texts = set()
        for text, output in tasks(source / "natural-instructions/tasks", [name]):
            task_match, answer = re.fullmatch(form, text, re.DOTALL), output.rstrip(".").strip()
            if not task_match or not 1 <= len(answer.split()) <= ANSWER_WORDS:
                continue
            place = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", task_match[1], re.IGNORECASE)
            if place and task_match.groups() not in seen_texts:
                seen_texts.add(task_match.groups())
                passage, start = around(task_match[1], place.start(), place[0])
                yield ReadingPair(name.rstrip("_"), "", task_match[2].strip(), passage, ((start, place[0]),))


def pairs(source: Path, seed: int) -> dict[str, list[ReadingPair]]:
    """The pairs of each part: train, dev and test."""
    questions = yaml.safe_load(QUESTIONS.read_text("utf-8"))
    evaluated = evaluated_questions(source)
    chance, facts = random.Random(f"{seed} reading"), TrexFacts(source)
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts.facts.values():
        by_relation[fact.relation].append(fact)
    drawn_facts = [
        fact
        for part_pairs in by_relation.values()
        for fact in chance.sample(part_pairs, min(len(part_pairs), A_RELATION))
    ]
    chance.shuffle(drawn_facts)

    def fitting(drawn_pairs: Iterable[ReadingPair | None]) -> list[ReadingPair]:
        return [pair for pair in drawn_pairs if pair and words(pair.question) not in evaluated]

    def answered(chosen: Iterable[Fact]) -> list[ReadingPair]:
        return fitting(facts.answered(fact, chance, questions[fact.relation]) for fact in chosen)

    def unanswered(chosen: list[Fact], limit: int) -> list[ReadingPair]:
        others: dict[str, list[Fact]] = defaultdict(list)
        for fact in chosen:
            others[fact.relation].append(fact)
        drawn_pairs = (mistaken(one, others[one.relation], chance, questions[one.relation]) for one in chosen)
        return fitting(drawn_pairs)[:limit]

    seen_facts = [fact for fact in drawn_facts if fact.relation not in HELD_OUT]
    subjects = {words(fact.subject) for fact in seen_facts[:DEV]}
    parts: dict[str, list[ReadingPair]] = {}
    for name in ("dev", "train"):
        chosen = [fact for fact in seen_facts if (words(fact.subject) in subjects) == (name == "dev")]
        part_pairs = answered(chosen)
        part_pairs = (
            part_pairs[: DEV - DEV // UNANSWERED] if name == "dev" else part_pairs + fitting(reading(source))
        )
        # One without an answer for each three with one.
        part_pairs += unanswered(chosen, len(part_pairs) // (UNANSWERED - 1))
        chance.shuffle(part_pairs)
        parts[name] = part_pairs
    chance = random.Random(f"{seed} reading test")
    parts["test"] = answered(fact for fact in drawn_facts if fact.relation in HELD_OUT)[:TEST]
    return parts


def write(source: Path, folder: Path, seed: int) -> None:
    """The files of the parts in a folder that is there."""
    for name, part_pairs in pairs(source, seed).items():
        data = [pair.squad(f"{name}-{number:05d}-{pair.kind}") for number, pair in enumerate(part_pairs)]
        text = json.dumps({"version": "1", "data": data}, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", "utf-8")
