"""A client of servers with the OpenAI interface for chat completions (vLLM, llama.cpp, Ollama, TGI, hosted ones).

A request has messages in the place of a prompt. The server puts them into its model's own template. A parameter that a
server refuses is left out, or sent by its newer name, and the facts say so. What a model writes as its reasoning is
counted, and is no part of the answer. How requests are sent, and their limits, are in `http_client`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from nightjar.core.json_text import read_object
from nightjar.models.chat_template import is_within_reasoning, without_reasoning
from nightjar.models.completions import Completion, until_stop
from nightjar.models.interface import Capability, ChatReply, Decoding, Request, ToolCall, answer_in_threads
from nightjar.models.servers.completion_server import CompletionServer
from nightjar.models.servers.http_client import RequestLimits
from nightjar.models.servers.once import Once
from nightjar.models.servers.server_address import Address

# More stop texts are refused by some servers; all are looked for here as well.
MOST_STOPS = 4
# Calls of tools in one answer, and characters of the arguments of one.
MOST_CALLS, MOST_ARGUMENTS = 16, 10_000
# Tokens are counted by these.
KINDS = ("prompt", "completion")


class UsedTokens:
    """The tokens of prompts and answers: `of_stage` are those of one `stage`, `total` those of all stages of a run.

    A `file` keeps them for the other stages of the run and for the process that resumes it. Threads may share it.
    """

    def __init__(self, file: Path | None = None, stage: str = "") -> None:
        self._file, self._lock = file, Lock()
        self._counts = _read_counts(file) if file and file.exists() else {}
        self.of_stage = self._counts.setdefault(stage, dict.fromkeys(KINDS, 0))

    @property
    def total(self) -> int:
        with self._lock:
            return sum(sum(counts.values()) for counts in self._counts.values())

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the counts of an answer."""
        with self._lock:
            for kind in KINDS:
                self.of_stage[kind] += counts[kind]
            if self._file:
                write_text(self._file, json.dumps(self._counts) + "\n")


def _read_counts(file: Path) -> dict[str, dict[str, int]]:
    fix = "restore it, or delete it: what was used before is not counted then"
    counts_by_stage = read_object(file, fix)
    for counts in counts_by_stage.values():
        if not isinstance(counts, dict) or not all(type(counts.get(kind)) is int for kind in KINDS):
            raise NightjarError("it has no counts of tokens", file, fix)
    return counts_by_stage


class ChatServer(CompletionServer):
    """A connection to the chat server of an address; use it as a context manager. Threads may share it.

    Of its settings `chat`, at_once and token_limit are for the requests. What would be asked beyond the limit of tokens
    is one line. `used` counts the tokens.

    Raises NightjarError, with one line for each fault, from every method, as `CompletionServer` does.
    """

    can: ClassVar[frozenset[Capability]] = frozenset({"generate", "sample", "chat", "tools"})
    title: ClassVar[str] = "a chat server"
    kind: ClassVar[str] = "chat"
    path: ClassVar[str] = "/chat/completions"
    adaptable: ClassVar[Mapping[str, str | None]] = {
        "max_tokens": "max_completion_tokens",
        "temperature": None,
        "top_p": None,
        "stop": None,
        "seed": None,
        "n": None,
        "tool_choice": None,
        **CompletionServer.adaptable,
    }

    def __init__(self, address: Address | str, limits: RequestLimits | None = None) -> None:
        super().__init__(address, limits)
        self.used = UsedTokens()
        self._tools_are_shown = Once(self._check_tools)

    def keep_tokens(self, file: Path, stage: str) -> None:
        self.used = UsedTokens(file, stage)

    def facts(self) -> Mapping[str, Any]:
        adapted = {name: new or "left out" for name, new in sorted(self._adapted.items())}
        return {
            "server": {**self.identity, "interface": "chat", "tokens": self.used.of_stage, "refused": adapted}
        }

    def generate(
        self,
        requests: Mapping[int, Request],
        numbers: Sequence[int],
        decoding: Decoding,
    ) -> Iterator[tuple[int, Completion]]:
        def complete_one(number: int) -> Completion:
            return self.reply(requests[number], decoding).text

        return answer_in_threads(complete_one, numbers, self.chat.at_once)

    def sample(
        self, requests: Mapping[int, Request], numbers: Sequence[int], count: int, decoding: Decoding
    ) -> Iterator[tuple[int, list[Completion]]]:
        """The seed is sent. Whether a server draws the same again is its own matter."""

        def sample_one(number: int) -> list[Completion]:
            request, texts = requests[number], list[Completion]()
            while len(texts) < count:
                body = self._body(request, decoding, len(texts))
                missing = count - len(texts)
                answer, choices = self._answered({**body, "n": missing} if missing > 1 else body, missing)
                texts += [self._text(answer, choice, request.stop, {}) for choice in choices]
            return texts

        return answer_in_threads(sample_one, numbers, self.chat.at_once)

    def converse(
        self,
        requests: Mapping[int, Request],
        numbers: Sequence[int],
        tools: Sequence[Mapping[str, Any]],
        decoding: Decoding,
    ) -> Iterator[tuple[int, ChatReply]]:
        return answer_in_threads(
            lambda number: self.reply(requests[number], decoding, tools), numbers, self.chat.at_once
        )

    def reply(
        self, request: Request, decoding: Decoding, tools: Sequence[Mapping[str, Any]] = ()
    ) -> ChatReply:
        """Return the model's reply. `tools` are function schemas; without them it calls none."""
        body = self._body(request, decoding)
        if tools:
            # The default of the interface; without it llama-cpp-python shows its model no tools.
            body |= {"tools": [{"type": "function", "function": one} for one in tools], "tool_choice": "auto"}
        answer, (choice,) = self._answered(body, 1)
        text = self._text(answer, choice, request.stop, answer["usage"])
        if text.failure:
            return ChatReply(text)
        if tools:
            self._tools_are_shown(body, text.prompt_tokens)
        return ChatReply(text, self._calls(choice["message"].get("tool_calls")) if tools else ())

    def _check_tools(self, body: Mapping[str, Any], tokens: int | None) -> None:
        """Raise NightjarError if a prompt with tools has no more tokens than without: the model is not shown them."""
        without = {name: value for name, value in body.items() if name not in ("tools", "tool_choice")}
        usage = self._request({**without, "max_tokens": 1})["usage"]
        if tokens and tokens == self._count(usage, "prompt_tokens"):
            what = f"its model is shown no tools: the prompt has {tokens} tokens with them and without"
            raise self._fault(
                what, "start the server with a chat template that has tools, or set calls to off"
            )

    def _body(self, request: Request, decoding: Decoding, sample: int = 0) -> dict[str, Any]:
        drawn = {"temperature": decoding.temperature, "top_p": decoding.top_p, "seed": decoding.seed + sample}
        return {
            "model": self.model,
            "messages": [message.as_json() for message in request.conversation],
            "max_tokens": request.max_new_tokens,
            **(drawn if decoding.temperature else {"temperature": 0}),
            **({"stop": list(request.stop)[:MOST_STOPS]} if request.stop else {}),
        }

    def _request(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request within the limit of tokens, without what the server refuses."""
        if (limit := self.chat.token_limit) is not None and self.used.total >= limit:
            fix = "give a larger one; the answers so far are kept"
            raise NightjarError(f"the limit of {limit:,} tokens is reached", "token_limit", fix)
        answer = super()._request(body)
        self._count_usage(answer["usage"])
        return answer

    def _count_usage(self, usage: Mapping[str, Any]) -> None:
        counts = {kind: self._count(usage, f"{kind}_tokens") for kind in self.used.of_stage}
        if self.chat.token_limit is not None and None in counts.values():
            raise self._fault("it does not count the tokens, and a limit is set", "leave the limit out")
        self.used.add({kind: count or 0 for kind, count in counts.items()})

    def _answered(
        self, body: dict[str, Any], most_choices: int
    ) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
        """The answer to a request, and its choices.

        Where a stop text ended the reasoning of one, all are asked for again without any, and no request has stop texts
        from then on: they are looked for here, in what follows the reasoning.
        """
        answer = self._request(body)
        choices = self._choices(answer, most_choices)
        if "stop" not in body or not any(
            choice.get("finish_reason") != "length"
            and not self._failure(answer, choice)
            and is_within_reasoning(choice["message"].get("content"))
            for choice in choices
        ):
            return answer, choices
        self._adapt("stop", None, "ends reasoning at a text of stop")
        return self._answered({name: value for name, value in body.items() if name != "stop"}, most_choices)

    def _choices(self, answer: Mapping[str, Any], most_choices: int) -> list[dict[str, Any]]:
        choices = answer.get("choices")
        if not isinstance(choices, list) or not 1 <= len(choices) <= most_choices:
            raise self._no_completion(answer)
        for choice in choices:
            if not isinstance(choice, dict) or not (
                isinstance(choice.get("message"), dict) or self._failure(answer, choice)
            ):
                raise self._no_completion(answer, "message")
        return choices

    def _text(
        self,
        answer: Mapping[str, Any],
        choice: Mapping[str, Any],
        stop: Sequence[str],
        counts: Mapping[str, Any],
    ) -> Completion:
        """The answer of a choice without reasoning, up to the first stop text."""
        tokens = self._count(counts, "completion_tokens"), self._count(counts, "prompt_tokens")
        if failure := self._failure(answer, choice):
            return Completion("", False, *tokens, failure=failure)
        content = choice["message"].get("content")
        if content is not None and not isinstance(content, str):
            raise self._fault("the content of the message is not a text")
        # Where the server itself has taken the reasoning out, it may have left the blank lines after it.
        reasoned = any(choice["message"].get(name) for name in ("reasoning_content", "reasoning"))
        text = (content or "").lstrip() if reasoned else content or ""
        written = Completion(text, choice.get("finish_reason") == "length", *tokens)
        return until_stop(without_reasoning(written), stop)

    def _calls(self, entries: Any) -> tuple[ToolCall, ...]:
        """The calls of a message; arguments that are no JSON object are passed on as the text that they are."""
        if entries is None:
            return ()
        if not isinstance(entries, list) or len(entries) > MOST_CALLS:
            raise self._fault("the tool calls of the message are not a short list")
        calls: list[ToolCall] = []
        for entry in entries:
            function = entry.get("function") if isinstance(entry, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            arguments = function.get("arguments") if isinstance(function, dict) else None
            call_id = entry.get("id") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not isinstance(call_id, str | None):
                raise self._fault("a tool call of the message has no name")
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            if len(text) > MOST_ARGUMENTS:
                raise self._fault("the arguments of a tool call are too long")
            calls.append(ToolCall(call_id or f"call_{len(calls)}", name, text))
        return tuple(calls)
