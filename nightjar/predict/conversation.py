"""Chat models: the messages of a question, and answers for which they call tools as functions.

A question is answered in rounds. In each round the model says something for every open question, and the tools that
it calls are run. After `max_calls` calls it gets no tools any more. What was executed is recorded as for other models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nightjar.benchmarks.question import Asking, Question
from nightjar.benchmarks.question_set import Choice, QuestionSet
from nightjar.models.chat_template import arguments_of
from nightjar.models.completions import Completion
from nightjar.models.interface import Decoding, Message, Model, Request, ToolCall
from nightjar.models.tokenizer import Tokenizer
from nightjar.params.chat import Chat
from nightjar.search.words import words
from nightjar.tools import Call, Toolbox
from nightjar.tools.syntax import write
from nightjar.tools.toolbox import Answered, Executed

# The most tokens of a reply that may be a call. Models write calls on several lines, so that no stop text may end one:
# stop texts and the limit of an answer are applied to a reply without a call (`_answer`).
CALL_TOKENS = 256
# What a model reads in the place of a result.
NO_RESULT, NO_MORE = "no result", "no more calls: give the answer"


def messages_of(card: QuestionSet, question: Question, asking: Asking, chat: Chat) -> tuple[Message, ...]:
    """The messages of a question: the system message, its examples as turns if wanted, and the prompt of the user."""
    system = [] if chat.system_message is None else [Message("system", chat.system_message)]
    if not chat.examples_as_turns:
        return (*system, Message("user", card.prompt(question, asking)))
    examples, last = card.turns(question, asking)
    messages = [
        message
        for text, answer in examples
        for message in (Message("user", text), Message("assistant", answer))
    ]
    return (*system, *messages, Message("user", last))


def prompt_text(messages: Sequence[Message]) -> str:
    """The prompt as it is recorded: the text of a single message, else all messages as JSON."""
    if len(messages) == 1:
        return messages[0].content
    return json.dumps([message.as_json() for message in messages], ensure_ascii=False)


@dataclass
class Conversation:
    """The conversation about a question that has no answer yet."""

    request: Request
    messages: list[Message]
    executed: list[Executed]
    attempts: int = 0
    tokens: int = 0
    prompt_tokens: int | None = None

    def request_so_far(self, tools: bool) -> Request:
        """The request with all messages so far; with `tools`, a call may be the reply."""
        request = replace(self.request, messages=tuple(self.messages))
        max_new_tokens = max(request.max_new_tokens, CALL_TOKENS)
        return replace(request, max_new_tokens=max_new_tokens, stop=()) if tools else request

    def answered(self, text: str) -> Answered:
        """The answer, with the calls that were executed before it."""
        calls = "".join(write(Call(call.tool, call.input), call.result) for call in self.executed)
        return Answered(calls + text, text.strip(), tuple(self.executed), self.tokens)


def converse(
    model: Model,
    requests: Mapping[int, Request],
    toolbox: Toolbox,
    max_calls: int,
    decoding: Decoding,
    tokenizer: Tokenizer,
) -> Iterator[tuple[int, Answered, int | None]]:
    """Yield number and answer of each request, and the tokens of its prompt if the model counted them."""
    waiting = {
        number: Conversation(request, list(request.conversation), []) for number, request in requests.items()
    }
    while waiting:
        for names, numbers in _by_tools(waiting, toolbox, max_calls).items():
            schemas = [one for one in toolbox.schemas if one["name"] in names]
            batch = {number: waiting[number].request_so_far(bool(schemas)) for number in numbers}
            for number, reply in model.converse(batch, numbers, schemas, decoding):
                conversation = waiting[number]
                conversation.tokens += tokens_of(reply.text, tokenizer)
                if conversation.prompt_tokens is None:
                    conversation.prompt_tokens = reply.text.prompt_tokens
                if reply.calls:
                    conversation.messages.append(Message("assistant", reply.text.text, reply.calls))
                    allowed = toolbox.without(conversation.request.forbidden)
                    _run(conversation, reply.calls, allowed, max_calls)
                    continue
                del waiting[number]
                text = reply.text.text
                answered = conversation.answered(
                    _answer(text, conversation.request, tokenizer) if schemas else text
                )
                yield number, replace(answered, failure=reply.text.failure), conversation.prompt_tokens


def tokens_of(text: Completion, tokenizer: Tokenizer) -> int:
    """The tokens that a model wrote: its own count, or else that of the tokenizer."""
    return len(tokenizer.continuation(text.text)) if text.tokens is None else text.tokens


def _answer(text: str, request: Request, tokenizer: Tokenizer) -> str:
    """A reply as it ends by the stop texts and the limit of tokens of the request."""
    for stop in request.stop:
        text = text.partition(stop)[0]
    ids = tokenizer.continuation(text)
    return text if len(ids) <= request.max_new_tokens else tokenizer.decode(ids[: request.max_new_tokens])


def _by_tools(
    waiting: Mapping[int, Conversation], toolbox: Toolbox, max_calls: int
) -> dict[tuple[str, ...], list[int]]:
    """Group the conversations by the tools that they may call now."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, conversation in waiting.items():
        names = (
            toolbox.without(conversation.request.forbidden).names if conversation.attempts < max_calls else ()
        )
        groups.setdefault(names, []).append(number)
    return groups


def _run(conversation: Conversation, calls: Sequence[ToolCall], toolbox: Toolbox, max_calls: int) -> None:
    """Run the calls of a message, as many as are left, and add the messages with their results."""
    for call in calls:
        if conversation.attempts >= max_calls:
            conversation.messages.append(Message("tool", NO_MORE, call_id=call.id))
            continue
        conversation.attempts += 1
        input_text = _input(call.arguments)
        result = toolbox.ask(
            Call(call.name, input_text), conversation.request.day, conversation.request.prompt
        ).result()
        if result is not None:
            conversation.executed.append(Executed(call.name, input_text, result))
        conversation.messages.append(
            Message("tool", NO_RESULT if result is None else result, call_id=call.id)
        )


def _input(arguments: str) -> str:
    """The input of a tool: the argument of this name, else the only text among the arguments, else nothing."""
    parsed = arguments_of(arguments)
    if isinstance(parsed, str):
        return parsed
    if not isinstance(parsed, dict):
        return ""
    texts = [value for value in parsed.values() if isinstance(value, str | int | float)]
    return str(parsed["input"] if "input" in parsed else texts[0] if len(texts) == 1 else "")


def named_choice(text: str, choices: Sequence[Choice]) -> str | None:
    """The choice that an answer names: the only one whose words are in its first line, whatever their case.

    Its words are those of its text, which prompts and demonstrations use: "No" of the label REFUTES. A choice whose
    words are a part of another's that is there too does not count. None if there is none, or several.
    """
    line = f" {' '.join(_words(next(iter(text.strip().splitlines()), '')))} "
    named = {choice.answer: f" {' '.join(_words(choice.text))} " for choice in choices}
    named_answers = [answer for answer, run in named.items() if run.strip() and run in line]
    longest = [
        answer
        for answer in named_answers
        if not any(named[answer] in named[other] for other in named_answers if named[other] != named[answer])
    ]
    return longest[0] if len(longest) == 1 else None


def _words(text: str) -> list[str]:
    return words(text.casefold().replace("_", " "))
