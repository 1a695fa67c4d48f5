"""The interface of models. Generic code asks what a model `can`, never which kind it is of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.tokenizer import Tokenizer
from nightjar.params.chat import Chat

if TYPE_CHECKING:
    from nightjar.models.engine.controller import Controller
    from nightjar.models.engine.language_model import LanguageModel

# generate: greedy texts after prompts. sample: texts drawn by temperature and seed. score: the log-likelihood of given
# texts. tools: a text with the call of a tool and its result can be continued. steer: decoding follows a `Controller`.
# chat: messages in the place of a text, tools as the model's own interface has them.
Capability = Literal["generate", "sample", "score", "tools", "steer", "chat"]
_Given = TypeVar("_Given")


@dataclass(frozen=True)
class ToolCall:
    """A tool that a chat model calls: the id of the call, the tool's name, and its arguments as JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """A message of a chat. One of the assistant may have `calls`; the role tool answers the call `call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""

    def as_json(self) -> dict[str, Any]:
        """The message as the OpenAI interface has it."""
        calls = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
            for one in self.calls
        ]
        answered = {"tool_call_id": self.call_id} if self.role == "tool" else {}
        return {
            "role": self.role,
            "content": self.content,
            **({"tool_calls": calls} if calls else {}),
            **answered,
        }


@dataclass(frozen=True)
class Request:
    """A prompt to be continued by at most `max_new_tokens`, until one of the texts `stop`.

    `ids` are those of the prompt by the tokenizer that limited it. `day` and `forbidden` are for tools: the day of the
    question, and those that may not be called. `messages` are the prompt as a chat has it.
    """

    prompt: str
    ids: Sequence[int]
    max_new_tokens: int
    stop: Sequence[str] = ()
    day: date | None = None
    forbidden: frozenset[str] = frozenset()
    messages: tuple[Message, ...] = ()

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The messages; one of the user with the prompt, if there are none."""
        return self.messages or (Message("user", self.prompt),)

    @property
    def sha256(self) -> str:
        """The digest of the prompt's text."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()


@dataclass(frozen=True)
class ChatReply:
    """An answer of a chat model: a text, and the tools that it calls."""

    text: Completion
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Score:
    """The natural logarithm of the likelihood of a text, and its number of tokens."""

    logprob: float
    tokens: int


@dataclass(frozen=True)
class Decoding:
    """The choice of tokens: the likeliest at the temperature 0, else drawn from the nucleus `top_p`.

    Samples of a prompt depend on the seed, the prompt and their number alone. Only a model that can `sample` gets a
    temperature, and only one that can `steer` a controller.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    controller: Controller | None = None


class Model(Protocol):
    """A model. A class of another package inherits from this one, sets `can` and `identity`, and has these methods.

    All methods get requests by their numbers, and the `numbers` of those to be answered now. They give number and
    result of each, as they finish. A result must not depend on which others are answered: a run that was killed resumes
    with those that are missing.
    """

    can: ClassVar[frozenset[Capability]]
    # What decides the results, as plain JSON values: sha256 and adapter_sha256 of weights, or other facts.
    identity: Mapping[str, Any]
    # The subject of messages about what it cannot.
    title: ClassVar[str] = "this model"
    # Requests that threads may make at once.
    at_once: ClassVar[int] = 1
    # What limits prompts and counts tokens; None: that of the project's language model.
    tokenizer: Tokenizer | None = None
    # How it is asked, where `chat` is among `can`.
    chat: Chat = Chat()
    # The weights in this process, where `steer` is among `can`.
    lm: LanguageModel | None = None

    def generate(
        self, requests: Mapping[int, Request], numbers: Sequence[int], decoding: Decoding
    ) -> Iterator[tuple[int, Completion]]:
        """Write a text after each prompt."""
        raise self._cannot("generate")

    def sample(
        self, requests: Mapping[int, Request], numbers: Sequence[int], count: int, decoding: Decoding
    ) -> Iterator[tuple[int, list[Completion]]]:
        """Draw `count` texts after each prompt, in the order of their numbers."""
        raise self._cannot("sample")

    def score(
        self, requests: Mapping[int, tuple[str, Sequence[str]]], numbers: Sequence[int]
    ) -> Iterator[tuple[int, list[Score]]]:
        """Score each text after a prompt by its log-likelihood.

        A text of any length after no prompt is read in windows; its first token is context alone and does not count.
        """
        raise self._cannot("score")

    def converse(
        self,
        requests: Mapping[int, Request],
        numbers: Sequence[int],
        tools: Sequence[Mapping[str, Any]],
        decoding: Decoding,
    ) -> Iterator[tuple[int, ChatReply]]:
        """Reply to each conversation; `tools` are the function schemas of tools that the model may call."""
        raise self._cannot("chat")

    def _cannot(self, what: Capability) -> NightjarError:
        return NightjarError(f"{self.title} cannot {what}", str(dict(self.identity)), "use another model")

    @classmethod
    def abilities(cls, argument: str) -> frozenset[Capability]:
        """Return the abilities of the model of a source with this argument.

        A server is asked where it may have more than its class.
        """
        return cls.can

    def keep_tokens(self, file: Path, stage: str) -> None:
        """Add the tokens that this stage uses to those of the run in `file`; for models that count them."""
        return None

    def facts(self) -> Mapping[str, Any]:
        """Return the facts that are published of the model beside its answers."""
        return {}

    @classmethod
    def check_source(cls, kind: str, argument: str) -> None:
        """Raise NightjarError for a source `kind:argument` that cannot name a model; nothing is asked."""
        return None

    @classmethod
    def name(cls, kind: str, argument: str) -> str:
        """Return the name in tables of a source `kind:argument`."""
        return f"{kind} {argument}"

    @property
    def sha256(self) -> str:
        """The digest in its identity, or that of the whole identity."""
        named = json.dumps(dict(self.identity)) + "\n"
        return str(self.identity.get("sha256") or hashlib.sha256(named.encode()).hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None


def answer_in_threads(
    answer_one: Callable[[int], _Given], numbers: Sequence[int], threads: int
) -> Iterator[tuple[int, _Given]]:
    """Yield each number with its answer, as it arrives, from so many threads.

    After a fault no other is asked for; answers that are under way are given before the fault is raised.
    """
    fault: BaseException | None = None
    # Not by cancelling: `as_completed` waits for ever for what the end of a pool cancelled.
    stopped = Event()

    def answer_unless_stopped(number: int) -> list[_Given]:
        return [] if stopped.is_set() else [answer_one(number)]

    with ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(answer_unless_stopped, number): number for number in numbers}
        try:
            for done in as_completed(waiting):
                if (error := done.exception()) is not None:
                    fault = fault or error
                    stopped.set()
                else:
                    yield from ((waiting[done], answer) for answer in done.result())
        finally:
            stopped.set()
    if fault is not None:
        raise fault
