"""The questions of ProtoQA, the pairs that a model trains on, prompts, and the ranked lists of sampled answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nightjar.benchmarks import records
from nightjar.benchmarks.file_readers import FileReaders
from nightjar.benchmarks.leaderboard_file import RankedLists
from nightjar.benchmarks.protoqa import formats
from nightjar.benchmarks.protoqa.answer_clusters import clusters_of
from nightjar.benchmarks.protoqa.formats import NAME, load
from nightjar.benchmarks.protoqa.stop_words import STOP_WORDS
from nightjar.benchmarks.question import (
    DEFAULT_TRACK,
    Asking,
    Question,
    QuestionSelection,
    Record,
    Refused,
    Sources,
)
from nightjar.benchmarks.question_set import OTHERS, Files, QuestionSet, Task, TrainingSide
from nightjar.benchmarks.sides import Sides
from nightjar.core import contracts
from nightjar.core.config import Limit
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read_rows

if TYPE_CHECKING:
    from nightjar.params.predict import PredictBenchmark

# The first rule whose text the question has: where it must be, the text, and what every occurrence becomes.
_ANYWHERE = (
    ("name something", "one thing"),
    ("tell me something", "one thing"),
    ("name a ", "one "),
    ("name an ", "one "),
    ("name", ""),
)
_AT_THE_START = (
    ("tell me a ", "tell me a ", "one "),
    ("tell me an ", "tell me an ", "one "),
    ("what ", "what", "one"),
    ("give me a ", "give me a ", "one "),
    ("tell me ", "tell me ", ""),
)
_ELSE = (("which", "one"), ("what", "one"), ("how can you tell", "one way to tell"))


class ProtoQASettings(Sides):
    """`evaluated` has the questions to be answered, `train` and `dev` the pairs of the training and dev splits, or
    questions whose strings these are. `evaluated` is None for dev.crowdsourced, or the one file that there is. `train`
    and `dev` are None if no system trains on pairs.

    `questions`, `train_pairs`, `dev_pairs`: at most so many, drawn by the seed; None means all.
    """

    questions: Limit = None
    train_pairs: Limit = None
    dev_pairs: Limit = None


def _stripped(pair: Question) -> Question:
    """The pair with a prompt without blanks at its ends, as published for training (ProtoQA_GPT2).

    Only a prompt that has such blanks is stored, as `statement`.
    """
    text = _prompt(pair)
    return pair if text == text.strip() else pair._replace(parts={**pair.parts, "statement": text.strip()})


def _pairs(question: Question) -> Iterator[Question]:
    if "clusters" not in question.parts:
        yield from [question] if question.references else []
        return
    strings = [string for cluster in clusters_of(question.parts) for string in cluster.answers]
    for number, string in enumerate(strings):
        parts = {"question": question.parts["question"]}
        yield question._replace(id=f"{question.id}/{number}", parts=parts, references=(string,))


def _ingested(sources: Sources, file: str, key: str) -> list[Question]:
    """Return the questions or pairs of a file."""
    if questions := list(records.questions(NAME, sources.data, {file})):
        return [it._replace(track=DEFAULT_TRACK) for it in questions]
    what = f"benchmarks.protoqa.{key} is {file}, which is not in it"
    raise NightjarError(what, sources.data, f"files are {', '.join(_files(sources))}")


def _files(sources: Sources) -> list[str]:
    return sorted({row["task_id"] for row in read_rows(sources.data, contracts.RECORDS, ["task_id"])})


def _prompt(question: Question) -> str:
    return str(question.parts.get("statement") or statement(question.parts["question"]))


def statement(question: str) -> str:
    """The prompt of a question, as published: blanks are not trimmed, and replacements are of parts of words too."""
    text = question.lower()
    for sign in ".:?":
        text = text.replace(sign, "")
    text = text.replace("someone", "one person").replace("someplace", "one place")
    for old, new in _ANYWHERE:
        if old in text:
            return text.replace(old, new) + " is"
    for start, old, new in _AT_THE_START:
        if text.startswith(start):
            return text.replace(old, new) + " is"
    for old, new in _ELSE:
        if old in text:
            return text.replace(old, new) + " is"
    return f"Q: {text}? A: "


def answer_of(text: str, cut: bool = True, required: bool = False) -> str:
    """The answer that a sampled text gives: up to its first full stop, if it is `cut`, and without stop words.

    `required`: a text without a full stop gives the empty answer, as in the published code. Words are what single
    blanks separate, and stop words are in lower case; both as published.
    """
    if cut:
        end = text.find(".") + 1
        text = text[:end] if end or required else text
    words = text.strip().removesuffix(".").split(" ")
    return " ".join(word for word in words if word not in STOP_WORDS)


class ProtoQAQuestions(QuestionSet):
    """The questions of ProtoQA, and the pairs that a model trains on."""

    name = NAME
    version = 1
    title = "ProtoQA"
    source = "Boratko et al. 2020, arXiv 2005.00771"
    files = Files(
        prediction=formats.PREDICTION,
        reference=formats.REFERENCE,
        by_task=False,
        # As published: the mean is over the questions that have predictions (protoqa-evaluator, evaluation.py).
        unanswered="left out",
    )
    tasks = {OTHERS: Task(kind="sample")}  # noqa: RUF012
    readers = FileReaders(formats.predictions, formats.references, formats.reference, formats.questions)
    # As the published predictions (protoqa-evaluator).
    submission = RankedLists(
        (NAME,),
        "https://github.com/iesl/protoqa-data",
        ("question_id", "ranked_answers"),
        formats.predictions,
    )
    Settings = ProtoQASettings

    def questions(self, sources: Sources, settings: ProtoQASettings, seed: int) -> Iterator[Question]:
        """Make the questions of the file `evaluated` that have clusters.

        Their references are the list with the largest score. A file without clusters, such as the published test
        questions, gives all its questions, without references. Raises NightjarError if the file was not ingested or has
        no such questions.
        """
        file = settings.evaluated
        if file is None:
            present = _files(sources)
            file = present[0] if len(present) == 1 else "dev.crowdsourced"
        rows = [it for it in _ingested(sources, file, "evaluated") if "clusters" in it.parts]
        questions = [it for it in rows if it.parts["clusters"]] or rows
        if not questions:
            what = f"{file} has no questions to answer"
            raise NightjarError(what, sources.data, "set benchmarks.protoqa.evaluated to another file")
        yield from QuestionSelection(None, settings.questions, seed).apply(questions)

    def training_questions(
        self, sources: Sources, settings: ProtoQASettings, seed: int
    ) -> Iterator[tuple[TrainingSide, Question]]:
        """Make the pairs of the files `train` and `dev`: those of a file of pairs, or one a string of each cluster.

        The reference is the answer. Prompts of pairs have no blanks at their ends; those of questions to answer may.
        """
        splits: tuple[tuple[TrainingSide, str | None, int | None], ...] = (
            ("train", settings.train, settings.train_pairs),
            ("dev", settings.dev, settings.dev_pairs),
        )
        for split, file, limit in splits:
            if file is None:
                continue
            pairs = [pair for question in _ingested(sources, file, split) for pair in _pairs(question)]
            if not pairs:
                what = f"no question of {file} has an answer"
                raise NightjarError(what, sources.data, f"set benchmarks.protoqa.{split} to another file")
            for pair in QuestionSelection(None, limit, seed).apply(pairs):
                yield split, _stripped(pair)

    def prompt(self, question: Question, asking: Asking) -> str:
        """Write the beginning of a statement that an answer completes; that of a file for fine-tuning as it is."""
        return _prompt(question)

    def training_target(self, question: Question) -> str:
        """Write the answer of a training pair in the published form: in lower case, with a full stop (ProtoQA_GPT2)."""
        return f"{question.references[0].lower()}."

    def rank_answers(
        self, texts: Iterable[tuple[str, float]], settings: PredictBenchmark
    ) -> list[tuple[str, float]]:
        """Rank the answers of weighted texts by the sums of their weights, ties by first appearance.

        At most `settings.keep` are listed. An empty answer is listed only with `settings.require_full_stop`, as
        published.
        """
        sums: dict[str, float] = {}
        for text, weight in texts:
            answer = answer_of(text, settings.cut_at_full_stop, settings.require_full_stop)
            if answer.strip() or settings.require_full_stop:
                sums[answer] = sums.get(answer, 0) + weight
        return sorted(sums.items(), key=lambda one: -one[1])[: settings.keep]

    def load(self, folder: Path) -> Iterator[Record | Refused]:
        """Read the questions, the pairs and the clusters of the published files."""
        return load(folder)


QUESTION_SET = ProtoQAQuestions()
