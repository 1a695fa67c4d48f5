"""The half of a card that asks: what makes the questions of a benchmark and the texts that models read.

It is loaded alone where nothing is scored (`question_cards`), so that a change of what scores concerns no such stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from pydantic import ConfigDict

from nightjar.benchmarks.capabilities import Capability, Choices, Query
from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources
from nightjar.core.config import Count, Item, Limit, Model, Name

# How a task is answered.
# generate: by a text that the model writes.
# perplexity: by the log-likelihood of a given text. The answer is "NLL TOKENS", the sum of -ln p of the text's tokens
# but the first, and their number; nothing is written and no tool is called.
# choose: by one of the task's choices, the one whose text is likeliest after the prompt; nothing is written.
# sample: by a ranked list, which the card makes of many texts that are sampled from the model; no tool is called.
Kind = Literal["generate", "perplexity", "choose", "sample"]


class Choice(NamedTuple):
    """An answer that a task of the kind choose may have, and the text after the prompt whose likelihood speaks for it.

    `text` follows the prompt as it is: it begins with the blank between them.
    """

    answer: str
    text: str


@dataclass(frozen=True)
class Task:
    """What holds for the questions of one task. None and empty: as the parameters say.

    The prompt of a task of the kind perplexity is the text whose likelihood is computed. A task of the kind choose has
    `choices`, or its questions have (`capabilities.Choices`): the answer is one of theirs. Of equally likely ones it is
    the first.
    """

    title: str = ""
    kind: Kind = "generate"
    max_new_tokens: Limit = None
    stop: tuple[str, ...] = ()
    forbidden_tools: frozenset[str] = frozenset()
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class Files:
    """The JSON Lines that `nightjar score` reads for a benchmark, unless it has readers of its own (`Readers`).

    `prediction` and `reference` say in a message what a line should be. `category`: None if references have none.
    `by_task`: each task is a track with its own scores, answers name their task, and ids are unique within a task;
    otherwise ids are unique. `shown`: the parts that `nightjar references` writes beside the references. `unanswered`:
    whether a question without a prediction is scored as an empty answer or left out of the scores; it is counted as
    missing in both cases.
    """

    prediction: str = ""
    reference: str = ""
    task: Name = "task"
    category: Name | None = None
    by_task: bool = True
    shown: tuple[str, ...] = ()
    unanswered: Literal["empty", "left out"] = "empty"

    def __post_init__(self) -> None:
        text, texts, track = '"..."', '"references": ["..."]', '"track": "default"'
        key, task = f'"id": {text}', f'"{self.task}": {text}'
        category = [f'"{self.category}": {text}'] if self.category else []
        if self.by_task:
            key, reference = f"{task}, {key}", [texts, *category]
        else:
            reference = [texts, task, *category, track]
        forms = {"prediction": [f'"prediction": {text}'], "reference": reference}
        for name, parts in forms.items():
            line = "{" + ", ".join([key, *parts]) + "}"
            object.__setattr__(self, name, getattr(self, name) or f"write {line}")


# A question and a seed to the answer that a baseline gives without a model. The report shows what the answer is: its
# `description` if it has one, else the first line of its docstring.
Baseline = Callable[[Question, int], str]


@dataclass(frozen=True)
class DescribedBaseline:
    """A baseline of Nightjar's own: docstrings of our code change no result, and so no page."""

    answers: Baseline
    description: str

    def __call__(self, question: Question, seed: int) -> str:
        return self.answers(question, seed)


# In `tasks`, the settings of all tasks that are not named there.
OTHERS = "*"
_ANY = Task()
C = TypeVar("C", bound=Capability)


class NoSettings(Model):
    """The settings of a card that has none."""


def _no_baselines(settings: Model) -> Mapping[str, Baseline]:
    return {}


@dataclass(frozen=True, kw_only=True)
class QuestionCard:
    """What asks the questions of a benchmark, and `capabilities`, which some have.

    `questions` makes its questions from artifacts, `prompt` the text that a model reads. `load` reads the dataset's own
    files, in the stage ingest; None if another stage reads them. `tasks` are settings of tasks by their names, those of
    all others by OTHERS. `baselines` makes from the settings the answers by name that are scored beside the systems'
    own.
    """

    __pydantic_config__: ClassVar[ConfigDict] = Capability.__pydantic_config__

    name: Item
    version: Count
    title: Name
    source: str
    datasets: tuple[Item, ...]
    questions: Callable[[Sources, Any, int], Iterator[Question]]
    prompt: Callable[[Question, Asking], str]
    files: Files = Files()
    settings: type[Model] = NoSettings
    load: Callable[[Path], Iterator[Record | Refused]] | None = None
    tasks: Mapping[str, Task] = field(default_factory=dict)
    baselines: Callable[[Any], Mapping[str, Baseline]] = _no_baselines
    capabilities: tuple[Capability, ...] = ()

    def capability(self, kind: type[C]) -> C | None:
        """The first capability of a type; None if the card has none."""
        return next(iter(self.capabilities_of(kind)), None)

    def capabilities_of(self, kind: type[C]) -> list[C]:
        """All capabilities of a type."""
        return [one for one in self.capabilities if isinstance(one, kind)]

    def task(self, task_id: str) -> Task:
        """The settings of a task."""
        return self.tasks.get(task_id) or self.tasks.get(OTHERS, _ANY)

    def choices(self, question: Question) -> tuple[Choice, ...]:
        """The choices of a question, those of its task or its own; none if it is not answered by a choice."""
        found = self.capability(Choices)
        return self.task(question.task_id).choices or (found.choices(question) if found else ())

    def query(self, parts: Mapping[str, Any]) -> str:
        """The text that evidence is searched by, from a question's parts."""
        found = self.capability(Query)
        return found.text(parts) if found else str(parts["question"])

    def shown(self, parts: Mapping[str, Any]) -> str:
        """What pages show of a question, from its parts."""
        found = self.capability(Query)
        return found.shown(parts) if found and found.shown else self.query(parts)

    def with_capabilities(self, *made: Capability) -> Self:
        """The card with these capabilities, in place of those of their types."""
        replaced = {type(one) for one in made}
        kept = (one for one in self.capabilities if type(one) not in replaced)
        return replace(self, capabilities=(*made, *kept))
