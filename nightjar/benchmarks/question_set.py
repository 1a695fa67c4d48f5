"""The half of a benchmark that asks: it makes the questions, and the texts that models read.

Stages that make, read or answer questions load this half alone (`question_registry`), so that a change of the scores
re-runs none of them. `benchmark.Benchmark` is the whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources
from nightjar.core.config import PARAMS_FILE, Limit, Name, NoSettings, StrictModel, checked
from nightjar.core.errors import NightjarError
from nightjar.core.plugins import calling

if TYPE_CHECKING:
    from nightjar.benchmarks.file_readers import FileReaders
    from nightjar.benchmarks.leaderboard_file import Submission
    from nightjar.params.predict import PredictBenchmark

# How a task is answered.
# generate: by a text that the model writes.
# perplexity: by the log-likelihood of a given text. The answer is "NLL TOKENS", the sum of -ln p of the text's tokens
# but the first, and their number; nothing is written and no tool is called.
# choose: by one of the task's choices, the one whose text is likeliest after the prompt; nothing is written.
# sample: by a ranked list, which the benchmark makes of many texts that are sampled from the model; no tool is called.
Kind = Literal["generate", "perplexity", "choose", "sample"]


class Choice(NamedTuple):
    """An answer that a task of the kind choose may have, and the text after the prompt whose likelihood speaks for it.

    `text` follows the prompt as it is: it begins with the blank between them.
    """

    answer: str
    text: str


@dataclass(frozen=True)
class Task:
    """The settings of the questions of one task. None and empty: as the parameters say.

    The prompt of a task of the kind perplexity is the text whose likelihood is computed. A task of the kind choose has
    `choices`, or its questions have (`QuestionSet.choices`): the answer is one of theirs. Of equally likely ones it is
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
    """The JSON Lines that `nightjar score` reads for a benchmark, unless it has `readers` of its own.

    `prediction` and `reference` say in a message what a line should be. `category`: None if references have none.
    `by_task`: each task is a track with its own scores, answers name their task, and ids are unique within a task;
    otherwise ids are unique. `context_parts`: the parts that `nightjar references` writes beside the references.
    `unanswered`: whether a question without a prediction is scored as an empty answer or left out of the scores; it is
    counted as missing in both cases.
    """

    prediction: str = ""
    reference: str = ""
    task: Name = "task"
    category: Name | None = None
    by_task: bool = True
    context_parts: tuple[str, ...] = ()
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


@dataclass(frozen=True)
class TaskSource:
    """The task file that a benchmark was made from, its digest, and the file with its data (`own_task`)."""

    file: Path
    sha256: str
    data: Path


# In `tasks`, the settings of all tasks that are not named there.
OTHERS = "*"
_DEFAULT_TASK = Task()
TrainingSide = Literal["train", "dev"]


def overrides(instance: object, method: Callable[..., Any]) -> bool:
    """Tell whether the class of `instance` replaces an optional method of its base class."""
    return getattr(type(instance), method.__name__) is not method


class QuestionSet(ABC):
    """The questions of a benchmark: how they are read, made, asked, and answered without scores.

    `version` changes with the results. `datasets` names what the questions are made of. `Settings` is the model of the
    benchmark's own keys in the group `benchmarks` of the parameters. `tasks` has the settings of tasks by their names,
    those of all others by OTHERS. `readers` reads files of another format than the JSON Lines of `files`, and
    `submission` describes the file that a leaderboard takes. A method that raises NightjarError here is optional.
    """

    name: str
    version: int
    title: str
    source: str
    files: Files = Files()
    Settings: type[StrictModel] = NoSettings
    tasks: Mapping[str, Task] = {}
    readers: FileReaders | None = None
    submission: Submission | None = None
    # None but for a benchmark that a task file describes.
    task_source: TaskSource | None = None
    # The forms of a question that a reader reads, an encoder-decoder that answers by one of a task's words.
    reader_forms: tuple[str, ...] = ()

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets that the questions are made of."""
        return (self.name,)

    # Files and questions.

    def load(self, folder: Path) -> Iterator[Record | Refused]:
        """Read the dataset's own files in `folder`, in the stage ingest."""
        raise NightjarError(
            f"{self.name} has no files of its own", folder, "ingest the dataset it is made of"
        )

    def load_encoded(self, folder: Path, encodings: Mapping[str, str]) -> Iterator[Record | Refused]:
        """Read the files as `load`, with encodings by patterns of their paths."""
        where = f"ingest.{self.name}.encodings"
        raise NightjarError(f"{self.name} reads its files in one encoding", where, "remove this key")

    @abstractmethod
    def questions(self, sources: Sources, settings: Any, seed: int) -> Iterator[Question]:
        """Make the questions from artifacts, under an instance of `Settings`."""

    def training_questions(
        self, sources: Sources, settings: Any, seed: int
    ) -> Iterator[tuple[TrainingSide, Question]]:
        """Make the questions of the training and dev sides, with references, if systems train on the benchmark."""
        return iter(())

    # The texts of a question.

    @abstractmethod
    def prompt(self, question: Question, asking: Asking) -> str:
        """Write the text that a model reads."""

    def turns(self, question: Question, asking: Asking) -> tuple[list[tuple[str, str]], str]:
        """Write the prompt as turns of a chat: examples of the user's and the model's messages, and the last message.

        The default has no examples.
        """
        return [], self.prompt(question, asking)

    def training_target(self, question: Question) -> str:
        """Write the text that a language model learns after the prompt of a training question."""
        raise self._missing("texts that a language model learns")

    def query(self, parts: Mapping[str, Any]) -> str:
        """Write the text that evidence is searched by, from the parts of a question."""
        return str(parts["question"])

    def display_text(self, parts: Mapping[str, Any]) -> str:
        """Write the text that pages show of a question, from its parts."""
        return self.query(parts)

    def choices(self, question: Question) -> tuple[Choice, ...]:
        """Return the choices of a question; none if it is not answered by a choice."""
        return self.task(question.task_id).choices

    # Rerankers and readers (Guo et al. 2023).

    def reranking_prompt(self, task_id: str, text: str) -> str:
        """Write the prompt by which a language model compares questions and passages; it ends where the answer comes.

        `text` is that of a question or a passage.
        """
        raise self._missing("texts for a reranker")

    def reranking_prefixes(self, question: Question) -> Sequence[str]:
        """Write the demonstrations before `reranking_prompt`: all of them first, then one less each time, none last."""
        raise self._missing("texts for a reranker")

    def reader_inputs(self, question: Question, passages: Sequence[str], form: str) -> list[str]:
        """Write the encoder's texts of a question in a form: one for each passage, or one alone without passages."""
        raise self._missing("texts for a reader")

    def demonstrated_input(
        self, question: Question, examples: Sequence[Question], form: str, words: int | None = None
    ) -> str:
        """Write the encoder's one text of a question with labelled examples and no passages.

        Of an example's own text it has at most so many `words` (None: all), and its label in any case.
        """
        raise self._missing("texts for a reader")

    def reader_targets(self, task_id: str) -> Mapping[str, str]:
        """Return, for each answer of a task, the text that the decoder learns to write."""
        raise self._missing("texts for a reader")

    def reader_text(self, task_id: str, text: str, form: str) -> str:
        """Write the encoder's text of a text of a task that is no question, such as a passage."""
        raise self._missing("texts for a reader")

    # Answers without a score.

    def rank_answers(
        self, texts: Iterable[tuple[str, float]], settings: PredictBenchmark
    ) -> list[tuple[str, float]]:
        """Turn texts with their weights into the ranked answers with theirs, the best first.

        It answers tasks of the kind sample. A sampled text has the weight 1.
        """
        raise self._missing("ranked answers")

    def baselines(self, settings: Any) -> Mapping[str, Baseline]:
        """Return the answers by name that are scored beside those of systems."""
        return {}

    # What the generic code asks.

    def task(self, task_id: str) -> Task:
        """Return the settings of a task."""
        return self.tasks.get(task_id) or self.tasks.get(OTHERS, _DEFAULT_TASK)

    @property
    def loads_files(self) -> bool:
        """Tell whether the benchmark reads files of its own."""
        return overrides(self, QuestionSet.load)

    @property
    def has_training_questions(self) -> bool:
        """Tell whether systems train on the benchmark."""
        return overrides(self, QuestionSet.training_questions)

    @property
    def has_training_targets(self) -> bool:
        """Tell whether recipes of language models train on the questions."""
        return overrides(self, QuestionSet.training_target)

    @property
    def has_reranking(self) -> bool:
        """Tell whether a reranker compares its questions with passages."""
        return overrides(self, QuestionSet.reranking_prompt)

    @property
    def ranks_answers(self) -> bool:
        """Tell whether it answers tasks of the kind sample."""
        return overrides(self, QuestionSet.rank_answers)

    def _missing(self, what: str) -> NightjarError:
        return NightjarError(f"{self.name} has no {what}", "params.yaml", "use another benchmark")


def check_settings(question_set: QuestionSet, values: Mapping[str, Any], where: object = PARAMS_FILE) -> Any:
    """Check the benchmark's own keys in the group `benchmarks` of the parameters."""
    with calling(f"benchmark {question_set.name}", "its settings cannot be checked"):
        return checked(question_set.Settings, dict(values), where, "benchmarks", question_set.name)
