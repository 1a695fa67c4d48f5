"""The prompts of PGRA's reranker and of in-context learning (Guo et al. 2023), from the templates of PromptSource.

PromptSource shortens a field of more than 2,053 characters to at most 2,048 and strips the prompt. The texts
of FEVER and of the pairs (RTE, QNLI, MRPC) are Nightjar's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from nightjar.benchmarks.classification.demonstrations import Labelled
from nightjar.benchmarks.classification.labels import PAIR, label_of, labels_of

_SENTIMENT = "Does the following sentence have a positive or negative sentiment?\n{}"
TEMPLATES = {
    "sst2": _SENTIMENT,
    "sst5": "What sentiment does this sentence have? terrible, bad, okay, good or great\n{}",
    "cola": 'The following sentence is either "acceptable", meaning it is grammatically correct and makes sense, or '
    '"unacceptable". Which is it?\n{}',
    "trec": "Which category best describes the following question: {} \n\nChoose from the following list: \n"
    "Description, Entity, Abbreviation, Person, Quantity, Location",
    "cr": _SENTIMENT,
    "mr": _SENTIMENT,
    "mpqa": _SENTIMENT,
    "subj": "Is this a subjective or objective description?\n{}",
    "fever": "Is the following claim true? Yes, No or Not Sure\n{}",
    "rte": "Does the first sentence entail the second? Yes or No\n{}\n{}",
    "qnli": "Does the sentence answer the question? Yes or No\n{}\n{}",
    "mrpc": "Do the two sentences differ in meaning? Yes or No\n{}\n{}",
}
CUE = "\nThe answer is"
HEAD, SEPARATOR = "Follow the demonstrations:\n", "\n\n"
# Characters of a field, and how many more are left as they are (the leeway of Jinja's filter truncate).
FIELD, LEEWAY = 2048, 5


def shortened(text: str, most: int = FIELD) -> str:
    """The text, or at most `most` characters of it: whole words and "..."."""
    if len(text) <= most + LEEWAY:
        return text
    return text[: most - 3].rsplit(" ", 1)[0] + "..."


def prompt(task: str, text: str) -> str:
    """What a task asks about a sentence, or a pair with PAIR between. Raises NightjarError for an unknown task."""
    labels_of(task)
    first, *others = TEMPLATES[task].split("{}")
    fields = text.split(PAIR, maxsplit=len(others) - 1)
    fields += [""] * (len(others) - len(fields))
    return (first + "".join(shortened(it) + after for it, after in zip(fields, others, strict=True))).strip()


def query(task: str, text: str) -> str:
    """The prompt to the place where the label comes, without demonstrations."""
    return prompt(task, text) + CUE


def choice(task: str, label: str) -> str:
    """What follows a `query` if that label is the answer: a blank and its word. Raises NightjarError as `label_of`."""
    return f" {label_of(task, label).prompt_word}"


def demonstration(task: str, text: str, label: str) -> str:
    """A prompt with its answer, without blank lines; `label` is the name of a label."""
    return prompt(task, text).replace("\n\n", "\n") + CUE + choice(task, label)


def prefix(task: str, shown: Sequence[Labelled]) -> str:
    """What comes before a `query`: the demonstrations in their order; empty if there are none."""
    if not shown:
        return ""
    return HEAD + SEPARATOR.join(demonstration(task, it.text, it.label) for it in shown) + SEPARATOR


def fitting(
    task: str, shown: Sequence[Labelled], queries: Iterable[str], fits: Callable[[str], bool]
) -> Sequence[Labelled]:
    """As many of the demonstrations, from the first on, as fit with every one of `queries`.

    `fits` says whether a whole text is short enough. A query is never cut: with one that does not fit alone, no
    demonstration is left. The published code cuts the end of the text instead, and with it the query.
    """
    for query in queries:
        while shown and not fits(prefix(task, shown) + query):
            shown = shown[:-1]
    return shown
