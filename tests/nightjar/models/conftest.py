"""What tests of several models share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nightjar.models.completions import Completion
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.interface import Decoding, Request
from nightjar.models.servers.chat_server import ChatServer
from nightjar.models.servers.completion_server import CompletionServer
from nightjar.models.servers.http_client import RequestLimits

PATIENT = RequestLimits(connect=5.0, answer=60.0, size=1000, retries=1)


@dataclass(frozen=True)
class Interface:
    """One of the two interfaces of a server: `server` for completions, `chat` for chats."""

    kind: str

    @property
    def path(self) -> str:
        return "/v1/chat/completions" if self.kind == "chat" else "/v1/completions"

    @property
    def model_class(self) -> type[CompletionServer]:
        return ChatServer if self.kind == "chat" else CompletionServer

    def ask(self, url: str, limits: RequestLimits = PATIENT) -> Completion:
        """What the server says to one prompt."""
        with self.model_class(url, limits) as server:
            ((_, found),) = server.generate({0: Request("A prompt", [1], 5, ("\n\n",))}, [0], Decoding())
        assert isinstance(found, Completion)
        return found

    def choice(self, text: Any) -> dict[str, Any]:
        """A completion with this text."""
        return {"message": {"content": text}} if self.kind == "chat" else {"text": text}

    def failed(self, text: str, reason: Any = "stop", **more: Any) -> tuple[int, Any]:
        """An answer with this text that ends for a reason, with `more` beside the choices."""
        return 200, {"choices": [{**self.choice(text), "finish_reason": reason}], **more}

    def said(self, text: Any) -> tuple[int, Any]:
        """An answer with this text."""
        return 200, {"choices": [self.choice(text)]}

    def body(self, text: str, more: str = "") -> bytes:
        """The same as JSON, with `more` at its end."""
        return f'{{"choices": [{json.dumps(self.choice(text))}]{more}}}'.encode()


@pytest.fixture(params=["server", "chat"])
def interface(request: pytest.FixtureRequest) -> Interface:
    """Servers may be broken or hostile by either interface."""
    return Interface(request.param)


@pytest.fixture(scope="session")
def llama(tiny_model: Path) -> LanguageModel:
    """A causal model of a few tensors; tests leave it as it is."""
    prepare(seed=0, threads=1)
    return load(tiny_model)


@pytest.fixture(scope="session")
def lm(llama: LanguageModel) -> LanguageModel:
    """Some files have other models too."""
    return llama
