"""The labels of the twelve tasks: their names, their codes in published files, and their words in prompts.

The reranker and the reader use different words (PGRA's code). The name of a label is its word in the reranker's
prompts, except in FEVER, where it is the data set's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short

NAME = "classification"
# Between the two sentences of a pair, which are one text. Published files have it between their columns.
PAIR = "\t"


@dataclass(frozen=True)
class Label:
    """`codes`: what published files call the label. `prompt_word` and `reader_word`: its verbalisers.

    `others`: more words that an answer may have; TREC's prompt lists two words that are no label's word.
    """

    name: str
    codes: tuple[str, ...]
    prompt_word: str
    reader_word: str
    others: tuple[str, ...] = ()


_SENTIMENT = (
    Label("negative", ("0",), "negative", "terrible"),
    Label("positive", ("1",), "positive", "great"),
)
_GRADES = ("terrible", "bad", "okay", "good", "great")
_ACCEPTABLE = (
    Label("unacceptable", ("0",), "unacceptable", "incorrect"),
    Label("acceptable", ("1",), "acceptable", "correct"),
)
_TREC = (
    Label("Description", ("0", "DESC"), "Description", "Description"),
    Label("Entity", ("1", "ENTY"), "Entity", "Entity"),
    Label("Abbreviation", ("2", "ABBR"), "Abbreviation", "Expression"),
    Label("Human", ("3", "HUM"), "Human", "Human", ("Person",)),
    Label("Location", ("4", "LOC"), "Location", "Location"),
    Label("Number", ("5", "NUM"), "Number", "Number", ("Quantity",)),
)
_FEVER = (
    Label("SUPPORTS", ("SUPPORTS",), "Yes", "Yes"),
    Label("REFUTES", ("REFUTES",), "No", "No"),
    Label("NOT ENOUGH INFO", ("NOT ENOUGH INFO",), "Not Sure", "Not Sure"),
)
_ENTAILED = (
    Label("entailment", ("entailment",), "Yes", "Yes"),
    Label("not_entailment", ("not_entailment",), "No", "No"),
)
# As published: No is the word of sentences that say the same. The prompt asks accordingly.
_SAME = (
    Label("different", ("0",), "Yes", "Yes"),
    Label("equivalent", ("1",), "No", "No"),
)
# In the order of the paper's table 2, FEVER, and the pairs. The place of a label is its number in files with numbers.
LABELS: dict[str, tuple[Label, ...]] = {
    "sst2": _SENTIMENT,
    "sst5": tuple(Label(word, (str(grade),), word, word) for grade, word in enumerate(_GRADES)),
    "cola": _ACCEPTABLE,
    "trec": _TREC,
    "cr": _SENTIMENT,
    "mr": _SENTIMENT,
    "mpqa": _SENTIMENT,
    "subj": tuple(Label(word, (str(n),), word, word) for n, word in enumerate(("subjective", "objective"))),
    "fever": _FEVER,
    "rte": _ENTAILED,
    "qnli": _ENTAILED,
    "mrpc": _SAME,
}
TITLES = {
    "sst2": "SST-2",
    "sst5": "SST-5",
    "cola": "CoLA",
    "trec": "TREC",
    "cr": "CR",
    "mr": "MR",
    "mpqa": "MPQA",
    "subj": "Subj",
    "fever": "FEVER",
    "rte": "RTE",
    "qnli": "QNLI",
    "mrpc": "MRPC",
}


def names(task: str) -> tuple[str, ...]:
    """The names of the labels of a task, in the order of their numbers."""
    return tuple(label.name for label in LABELS[task])


def label_of(task: str, name: str) -> Label:
    """The label of that name."""
    for label in LABELS[task]:
        if label.name == name:
            return label
    raise NightjarError(
        f"{quote_short(name)} is no label of {task}", NAME, f"labels are {', '.join(names(task))}"
    )


def of_code(task: str, code: str) -> Label | None:
    """The label that published files of the task call `code`; None if there is none."""
    return next((label for label in LABELS[task] if code in label.codes), None)


def number(task: str, text: str) -> int | None:
    """The number of the label that an answer names; None if it names none.

    An answer may be the name of a label, one of its codes or one of its words, in any case, with blanks around it.
    """
    return _answers(task).get(text.strip().casefold())


@cache
def _answers(task: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for place, label in enumerate(LABELS[task]):
        for text in (label.name, *label.codes, label.prompt_word, label.reader_word, *label.others):
            numbers[text.casefold()] = place
    return numbers
