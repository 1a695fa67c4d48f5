"""The requests that a model gets for the questions of a benchmark, and a file of their prompts for other models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks.answers_and_references import ids
from nightjar.benchmarks.question import Asking, Question
from nightjar.benchmarks.question_registry import load_question_set
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.benchmarks.records import read_questions
from nightjar.core import contracts, paths, tables
from nightjar.core.config import PARAMS_FILE
from nightjar.core.files import check_output, write_lines
from nightjar.models.interface import Request
from nightjar.models.tokenizer import Tokenizer, load_tokenizer
from nightjar.params import Params
from nightjar.params.chat import Chat
from nightjar.params.inputs import Encoding
from nightjar.params.predict import PredictBenchmark
from nightjar.predict.conversation import messages_of, prompt_text
from nightjar.predict.predictor import encoding_of

if TYPE_CHECKING:
    from nightjar.models.chat_template import ChatTemplate

# The passages of each question, best first, by (task_id, id).
Evidence = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
# Kinds of tasks that ask something: a text that a model writes after the prompt, or one of given choices.
ASKING = ("generate", "sample", "choose")


def requests_of(
    card: QuestionSet,
    tokenizer: Tokenizer,
    questions: Sequence[Question],
    encoding: Encoding,
    settings: PredictBenchmark,
    evidence: Evidence,
    passages: int,
    chat: Chat | None = None,
    template: ChatTemplate | None = None,
) -> list[Request]:
    """The request of every question, in their order, with at most `passages` of its evidence in the prompt.

    With `chat` it has messages, and with the `template` of a model the text that this makes of them. A text whose
    likelihood is computed stays as it is.
    """
    requests = []
    for question in questions:
        rows, task = evidence.get(question.key, ())[:passages], card.task(question.task_id)
        asking = Asking(encoding, tokenizer, rows, tokenizer.encoder_decoder)
        talk = messages_of(card, question, asking, chat) if chat and task.kind != "perplexity" else ()
        prompt = prompt_text(talk) if talk else card.prompt(question, asking)
        if talk and template:
            prompt = template.text(talk)
        prompt_ids = tokenizer.encode(prompt)
        if tokenizer.encoder_decoder:
            # A text that was cut to length may have more tokens when read again: it is cut once more (ni_collator.py).
            prompt_ids = tokenizer.fit(prompt_ids, encoding.max_source_length)
        max_new_tokens = limit(card, question.task_id, settings)
        stop = stops(card, question.task_id, settings)
        requests.append(
            Request(
                prompt, prompt_ids, max_new_tokens, stop, question.day, frozenset(task.forbidden_tools), talk
            )
        )
    return requests


def evidence_of(retrieved: Path | None) -> Evidence:
    """The passages of the artifact `retrieved` for test questions; none without an artifact."""
    passages: dict[tuple[str, str], list[dict[str, Any]]] = {}
    rows = tables.read_rows(retrieved, contracts.EVIDENCE) if retrieved else []
    for row in sorted(rows, key=lambda row: row["rank"]):
        if row["split"] == "test":
            passages.setdefault((row["task_id"], row["id"]), []).append(row)
    return passages


def stops(card: QuestionSet, task_id: str, settings: PredictBenchmark) -> list[str]:
    """The texts that end an answer to a question of the task."""
    return list(card.task(task_id).stop) or settings.stop


def limit(card: QuestionSet, task_id: str, settings: PredictBenchmark) -> int:
    """The most tokens of an answer to a question of the task."""
    task_limit = card.task(task_id).max_new_tokens if settings.task_limits else None
    return settings.max_new_tokens if task_limit is None else min(task_limit, settings.max_new_tokens)


def write_prompts(
    params: Params, benchmark: str, output: Path, encoding: str | None = None, chat: Chat | None = None
) -> int:
    """Write one JSON line a question to `output`: id, task, prompt, stop, max_tokens; returns how many.

    A question with choices has them too, as answers. With `chat` a line has `messages` in the place of a prompt. Texts
    whose likelihood is computed have no line.

    The prompt is the text that predict@<benchmark>-untuned gives its model under `params`, with `encoding` in place of
    theirs if one is named. It has no special tokens and no chat template: that stage adds neither a template nor, for a
    causal model, a token. Its length is limited in tokens of the project's language model. Ids and order are those of
    `nightjar references`. The file is written whole or not at all.
    """
    card = load_question_set(benchmark)
    source = paths.QUESTIONS / card.name
    inputs = [source, paths.LANGUAGE_MODEL, PARAMS_FILE]
    check_output(output, inputs)
    options, settings = encoding_of(params, benchmark, encoding), params.predict.benchmark(benchmark)
    questions = [one for one in read_questions(source) if card.task(one.task_id).kind in ASKING]
    tokenizer = load_tokenizer(paths.LANGUAGE_MODEL)
    requests = requests_of(card, tokenizer, questions, options, settings, {}, 0, chat)
    lines = [
        {
            "id": id,
            card.files.task: question.task_id,
            **({"messages": [it.as_json() for it in one.messages]} if chat else {"prompt": one.prompt}),
            **({"choices": [it.answer for it in choices]} if (choices := card.choices(question)) else {}),
            "stop": one.stop,
            "max_tokens": one.max_new_tokens,
        }
        for id, question, one in zip(ids(card, questions), questions, requests, strict=True)
    ]
    write_lines(output, lines, inputs)
    return len(lines)
