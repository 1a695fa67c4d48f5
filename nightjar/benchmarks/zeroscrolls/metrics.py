"""The metrics of ZeroSCROLLS, of an answer's form too (Shaham et al. 2023).

The scores are those of the public metric code. The paper judged the form of answers by hand (figure 5). Two metrics
are not published: whether an answer has the form that its task requests, and a score that forgives another form. A
program can check their rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.zeroscrolls import text_metrics
from nightjar.benchmarks.zeroscrolls.prompts import highlighted
from nightjar.benchmarks.zeroscrolls.tasks import TASKS, LongTask
from nightjar.benchmarks.zeroscrolls.text_metrics import (
    MOST_DIGITS,
    accuracy,
    best,
    concordance,
    exponential_similarity,
    in_order,
    letter,
    percentage,
    similarity,
)
from nightjar.statistics import geometric_mean
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats, Statistic
from nightjar.text.f1 import f1
from nightjar.text.unstemmed_rouge import ROUGE, rouge

_METRICS: Mapping[str, Callable[[str, str], float]] = {
    "f1": f1,
    "accuracy": accuracy,
    "exponential_similarity": exponential_similarity,
    "concordance": concordance,
}


def _same(values: Floats) -> Floats:
    return values


def _ratio(sums: Floats, n: int) -> Floats:
    return np.divide(sums[:, 0], sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0)


_LENGTH = Statistic("ratio of sums", 2, _same, _ratio)
# The first metric that a task has is its score. Figures of the form come last.
METRICS = (
    Metric("rouge", "ROUGE, geometric mean of the corpus means", ROUGE, geometric_mean),
    *(Metric(name, name.replace("_", " ").replace("f1", "F1")) for name in _METRICS),
    Metric("rouge_per_instance", "ROUGE, mean of the geometric means of instances"),
    Metric("forgiving", "score that forgives the form", judged=False),
    Metric("asked_form", "answers in the form asked for", judged=False),
    Metric(
        "length",
        "words of the answers in percent of the references'",
        ("words", "reference_words"),
        _LENGTH,
        range=(0.0, float("inf")),
        judged=False,
    ),
)
PARTS = tuple(dict.fromkeys(part for metric in METRICS for part in metric.parts))
# Words of the longest answer that counts as a phrase.
PHRASE = 10
UNANSWERABLE = "unanswerable"
_LETTER = re.compile(r"\W*[A-D]\W*")
_SHARE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?%\.?")
_LIST = re.compile(r"\[?[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*\]?\.?")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9][a-z0-9)])[.!?][\"')\]]?\s+(?=[A-Z])")
# What an answer may begin with before the answer itself.
_LABEL = re.compile(
    r"(?:so,? )?(?:the )?(?:correct |final |best )?(?:answer|percentage of positive reviews|option|choice)"
    r"(?: to the question)?(?: is)?\s*:?\s+",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"unanswerable|not answerable|(?:cannot|can't|can not|could not) be (?:answered|determined)|"
    r"(?:does|do|is|are) not (?:mention|provide|specify|state|contain|mentioned|provided|specified|stated)|"
    r"no (?:information|answer)",
    re.IGNORECASE,
)
_NAMED_LETTER = re.compile(
    r"\(([A-Da-d])\)|\b(?:answer|option|choice)(?: is)?:?\s*\W?([A-Da-d])\b", re.IGNORECASE
)
_SMALL_LETTER = re.compile(r"\b[b-d]\b|^\W*a\W*$")
_LOOSE_SHARE = re.compile(
    r"(?<![0-9.])([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:%|percent\b|per cent\b)", re.IGNORECASE
)
_NUMBER = re.compile(r"(?<![0-9.])[0-9]{1,9}(?:\.[0-9]{1,9})?(?![0-9])")
# Numbers with nothing but signs, blanks, "summary" and "and" between them.
_RUN = re.compile(
    rf"[0-9]{{1,{MOST_DIGITS}}}(?:(?:[^0-9A-Za-z]|\bsummary\b|\band\b|\bthen\b)+[0-9]{{1,{MOST_DIGITS}}}\b)*",
    re.IGNORECASE,
)


def score(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """The parts of the metrics from the first answer of each question, arrays of shape (questions,).

    A question without an answer scores as an empty one, and of an answer in Claude's form what it highlights. NaN where
    a part does not apply to the task, and for a question without references.
    """
    columns = {part: np.full(len(questions), np.nan) for part in PARTS}
    for place, (question, question_answers) in enumerate(zip(questions, answers, strict=True)):
        if question.references:
            answer = highlighted(TASKS[question.task_id], question_answers[0] if question_answers else "")
            parts = _parts(question.task_id, answer, question.references)
            for part, value in parts.items():
                columns[part][place] = value
    return columns


def _parts(task_id: str, answer: str, references: Sequence[str]) -> dict[str, float]:
    task = TASKS[task_id]
    lengths = [len(reference.split()) for reference in references]
    parts: dict[str, float] = {
        "asked_form": float(has_requested_form(task_id, answer, references)),
        "words": float(len(answer.split())),
        "reference_words": sum(lengths) / len(lengths),
    }
    if task.kind == "rouge":
        values = rouge(answer, references)
        together = float(np.prod(values)) ** (1 / 3)
        return parts | dict(zip(ROUGE, values, strict=True)) | {"rouge_per_instance": together}
    parts[task.kind] = best(_METRICS[task.kind], answer, references)
    return parts | {"forgiving": forgiving(task, answer, references)}


def has_requested_form(task_id: str, answer: str, references: Sequence[str]) -> bool:
    """Return whether the answer has the form that the task requests.

    Summaries: a text (GovReport, QMSum), of one paragraph (SummScreenFD, SQuALITY). Questions: one line of one sentence
    (Qasper), and of at most PHRASE words (NarrativeQA, MuSiQue). QuALITY: one letter and nothing but signs.
    SpaceDigest: one percentage. BookSumSort: a list of the ids with commas, each once; the number of ids is that of the
    first reference.
    """
    text = answer.strip()
    task = TASKS[task_id]
    if not text:
        return False
    if task.kind == "rouge":
        return task_id in ("gov_report", "qmsum") or "\n" not in text
    if task.kind == "accuracy":
        return bool(_LETTER.fullmatch(text))
    if task.kind == "exponential_similarity":
        return bool(_SHARE.fullmatch(text))
    if task.kind == "concordance":
        order = text_metrics.ids(text) if _LIST.fullmatch(text) else None
        return bool(order) and sorted(order or []) == list(
            range(1, len(text_metrics.ids(references[0]) or []) + 1)
        )
    sentences = len(_SENTENCE_END.split(text))
    return "\n" not in text and sentences == 1 and (task_id == "qasper" or len(text.split()) <= PHRASE)


def forgiving(task: LongTask, answer: str, references: Sequence[str]) -> float:
    """The score from 0 to 1 with the answer taken out of its form; never less than the score itself.

    F1: of the first line without a label such as "The answer is", and "unanswerable" for words that say so. Accuracy: a
    named or a small letter. Exponential similarity: "60 %", "60 percent", or the only number. Concordance: the first
    run of numbers that has exactly the ids. Raises ValueError for a summary, whose form is not asked for.
    """
    text = unicodedata.normalize("NFKC", highlighted(task, answer).strip())
    if task.kind == "f1":
        line = next(iter(text.split("\n")), "").strip()
        texts = {answer.strip(), _LABEL.sub("", line, count=1) if _LABEL.match(line) else line}
        texts |= {UNANSWERABLE} if _REFUSAL.search(text) else set()
        return max(best(f1, one, references) for one in texts)
    if task.kind == "accuracy":
        return max(best(accuracy, one, references) for one in (answer, _letter(text)))
    if task.kind == "exponential_similarity":
        shares = (percentage(reference) for reference in references)
        predicted = _share(text)
        loose = [
            similarity(predicted, share) for share in shares if predicted is not None and share is not None
        ]
        return max([best(exponential_similarity, answer, references), *loose])
    if task.kind == "concordance":
        return max(max(concordance(answer, reference), _run(text, reference)) for reference in references)
    raise ValueError(f"{task.title} asks for no form")


def _letter(text: str) -> str:
    if match := _NAMED_LETTER.search(text):
        return (match[1] or match[2]).upper()
    if strict := letter(text):
        return strict
    match = _SMALL_LETTER.search(text)
    return match[0].strip().upper() if match else ""


def _share(text: str) -> float | None:
    if match := _LOOSE_SHARE.search(text):
        return float(match[1])
    numbers = _NUMBER.findall(text[:1000])
    return float(numbers[0]) if len(numbers) == 1 else None


def _run(text: str, reference: str) -> float:
    gold = text_metrics.ids(reference) or []
    for match in _RUN.finditer(text):
        predicted = [int(word) for word in re.findall(r"[0-9]+", match[0])]
        if sorted(predicted) == sorted(gold):
            return in_order(predicted, gold)
    return 0.0
