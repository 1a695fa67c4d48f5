"""The interface of a predictor, and the job that it is made of."""

from __future__ import annotations

import hashlib
import json
import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_registry import load_question_set
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.benchmarks.records import read_questions
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import RECIPE
from nightjar.models.interface import Capability, Model
from nightjar.models.source import ModelSource
from nightjar.params import Params
from nightjar.params.inputs import Encoding
from nightjar.params.predict import PredictBenchmark, System
from nightjar.prompts.encodings import named

# What each kind of task needs of a model, and what is said of one that lacks it.
_NEEDS = {
    "generate": ({"generate"}, "writes no texts"),
    # A chat model names its choice.
    "choose": ({"score", "chat"}, "gives no log-probabilities of given choices"),
    "perplexity": ({"score"}, "gives no log-probabilities of a given text"),
    "sample": ({"sample"}, "does not sample with the seed of the parameters"),
}
# Recipes whose instances have a definition and an input; the others are trained on plain text.
INSTRUCTED = ("train", "supervised")
log = logging.getLogger("nightjar")

# Columns of an answer where nothing is written.
NOTHING_WRITTEN: Mapping[str, Any] = {"text": "", "calls": [], "new_tokens": 0}
# What the row of a question has beside its columns where the model failed to answer: the reason.
FAILURE = "failure"
# The kinds of failures that may pass. A refusal and a filtered text are answers of a model.
_PASSING = ("error", "abort")

# Columns of contracts.PREDICTIONS, and `seconds`.
Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """The questions of a benchmark for one system, with the settings that decide its answers.

    `tools` has the settings of the tools that the system may call. `source` is the artifact with the questions, `base`
    the folder of the language model: the weights of a system that names `paths.LANGUAGE_MODEL`, and what its adapter
    belongs to. `tokens` is the file that keeps the tokens of a chat server over a run of several stages
    (`models.chat.UsedTokens`).
    """

    system: System
    settings: PredictBenchmark
    encoding: Encoding
    tools: Mapping[str, Mapping[str, Any]]
    seed: int
    threads: int
    source: Path
    base: Path = paths.LANGUAGE_MODEL
    tokens: Path | None = None

    @classmethod
    def of(
        cls,
        params: Params,
        item: str,
        source: Path,
        base: Path = paths.LANGUAGE_MODEL,
        tokens: Path | None = None,
    ) -> Job:
        """Return the job of the system `item` of the group predict.systems."""
        system = params.predict.systems[item]
        settings = params.predict.benchmark(system.benchmark)
        encoding = encoding_of(params, system.benchmark)
        tools = params.tools[system.tools]
        return cls(system, settings, encoding, tools, params.seed, params.threads, source, base, tokens)

    @property
    def item(self) -> str:
        """The name of the system in the group predict.systems of the parameters."""
        return f"{self.system.benchmark}-{self.system.system}"

    @cached_property
    def card(self) -> QuestionSet:
        return load_question_set(self.system.benchmark)

    @cached_property
    def questions(self) -> list[Question]:
        return read_questions(self.source)

    @property
    def remote(self) -> bool:
        """True for a model that answers from elsewhere (`ModelSource.remote`)."""
        return ModelSource.parse(self.system.weights).remote

    @property
    def weights(self) -> Path:
        weights = Path(self.system.weights)
        return self.base if weights == paths.LANGUAGE_MODEL else weights

    @property
    def evidence(self) -> Path | None:
        """The artifact with the passages; None for a system without evidence."""
        return self.system.evidence

    @property
    def inputs(self) -> list[Path]:
        """The files and folders that the answers are made from."""
        weights = paths.LANGUAGE_MODEL if self.remote else Path(self.system.weights)
        return [self.source, *([self.evidence] if self.evidence else []), weights]

    @property
    def adapter(self) -> Path | None:
        """The folder of an adapter or of a trained model; None for the language model and for other sources."""
        weights = Path(self.system.weights)
        return None if weights == paths.LANGUAGE_MODEL or self.remote else weights

    def key(self, name: str) -> str:
        """The place of a setting of the system in the parameters."""
        return f"predict.systems.{self.item}.{name}"

    def cache_key(self, **predictor_parts: Any) -> dict[str, Any]:
        """Return all but the code that decides the answers of a model: `predictor_parts`, and what every kind has."""
        if not self.remote:
            from nightjar.models.engine.loading import device_name

            predictor_parts["machine"] = [device_name(), self.threads]
        task_file = self.card.task_source
        return {
            "settings": self.settings.model_dump(),
            "seed": self.seed,
            "card": [self.card.name, self.card.version, *([task_file.sha256] if task_file else [])],
            **predictor_parts,
        }

    def check_kind(self, fits: bool, what: str) -> None:
        """Raise NightjarError, if `fits` is false, for weights that are not `what` the system's kind answers with."""
        if not fits:
            fault = f"the kind {self.system.kind} answers with {what}, and this is none"
            raise NightjarError(fault, self.system.weights, f"name one, or set {self.key('kind')} to another")


class Predictor(ABC):
    """Answers `questions` by their numbers.

    `cache_key` is all but the code that decides the answers; None where answers take so little time that none are kept.
    `keys` names each question with what it is asked by, or says how many there are: a run that resumes finds its
    answers by them.
    """

    questions: Sequence[Question]
    keys: int | Sequence[str]
    cache_key: Mapping[str, Any] | None = None

    @abstractmethod
    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """Number, answer and `seconds` of these questions, as they are done; a question without an answer is left out.

        An answer has answers, text, calls and new_tokens, in the forms of contracts.PREDICTIONS. One with `FAILURE` has
        the reason why the model gave none.
        """

    @abstractmethod
    def about(self, number: int) -> Row:
        """The columns of a question beside its answer: its prompt and the model (`about`)."""

    def facts(self) -> Mapping[str, Any]:
        """Return the facts that are published beside the answers, once these are complete."""
        return {}


def about(prompt: str, tokens: int, model: str, adapter: str | None = None) -> Row:
    """The columns of contracts.PREDICTIONS about a prompt, with its number of tokens, and about the model's digests."""
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    return {
        "prompt": prompt,
        "prompt_sha256": digest,
        "prompt_tokens": tokens,
        "model_sha256": model,
        "adapter_sha256": adapter,
    }


def encoding_of(params: Params, benchmark: str, encoding: str | None = None) -> Encoding:
    """The encoding of a benchmark's prompts: the one of this name, or by the parameters."""
    name = encoding if encoding is not None else params.predict.benchmark(benchmark).encoding
    return params.encoding if name is None else named(params.encoding, name)


def lacking(kind: type[Model], tasks: Iterable[str] = (), source: str = "") -> dict[str, str]:
    """The kinds of tasks that a model cannot answer, and why.

    What the model of a `source` can beyond its class is tried where the kinds `tasks` need it.
    """

    def without(can: frozenset[Capability]) -> dict[str, str]:
        return {task: f"{kind.title} {why}" for task, (needs, why) in _NEEDS.items() if not can & needs}

    reasons = without(kind.can)
    if source and reasons.keys() & set(tasks):
        return without(kind.abilities(ModelSource.parse(source).argument))
    return reasons


def check_ranking(card: QuestionSet) -> None:
    """Raise NightjarError for a benchmark that ranks no answers."""
    if not card.ranks_answers:
        fix = "give it the method rank_answers"
        raise NightjarError("it has no ranked answers", f"benchmark {card.name}", fix)


def ranked_row(
    card: QuestionSet, texts: Iterable[tuple[str, float]], settings: PredictBenchmark
) -> dict[str, Any]:
    """The answers and the `text` of contracts.PREDICTIONS for texts with their weights, in their order."""
    sums: dict[str, float] = {}
    for text, weight in texts:
        sums[text] = sums.get(text, 0) + weight
    answers = card.rank_answers(sums.items(), settings)
    record = {
        "texts": sums,
        "answers": dict(answers),
        "without_full_stop": sum(weight for text, weight in sums.items() if "." not in text),
    }
    return {"answers": [answer for answer, _ in answers], "text": json.dumps(record, ensure_ascii=False)}


def benchmark_of(params: Params, folder: Path) -> str:
    """The benchmark whose settings apply to the model in `folder`: the first that it answers, else the first of all."""
    answered = [it.benchmark for it in params.predict.systems.values() if Path(it.weights) == folder]
    return next(iter([*answered, *params.benchmarks]))


def folder_of(system: str) -> Path:
    """The directory of a trained system, by the name of its recipe or by its path."""
    named = paths.TRAINED / system
    folder = named if named.is_dir() and "/" not in system else Path(system)
    if not (folder / RECIPE).is_file():
        trained = sorted(path.parent.name for path in paths.TRAINED.glob(f"*/{RECIPE}"))
        fix = f"systems are {', '.join(trained)}" if trained else "run: nightjar rebuild train"
        what = f"no {RECIPE} in this directory" if folder.is_dir() else "no such trained system"
        raise NightjarError(what, repr(system), fix)
    return folder


def is_error(row: Mapping[str, Any]) -> bool:
    """Return whether an error that may pass is the reason for no answer, so that the question can be asked again."""
    return str(row.get(FAILURE, "")).partition(":")[0] in _PASSING


def warn_of_failures(benchmark: str, questions: Sequence[Question], failures: Mapping[int, str]) -> None:
    """Count the questions that a model does not answer by the kind of failure, and name the first."""
    counts = Counter(failure.partition(":")[0] for failure in failures.values())
    number, failure = min(failures.items())
    log.warning(
        "questions of %s without an answer: %d (%s), such as %s of %s: %s; they get no prediction",
        benchmark,
        len(failures),
        ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())),
        questions[number].id,
        questions[number].task_id,
        failure,
    )
