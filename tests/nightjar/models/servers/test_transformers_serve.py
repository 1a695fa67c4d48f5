"""The clients against `transformers serve`, a server that nobody of this project wrote, with a tiny model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.chat_template import ChatTemplate, TemplatedModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.interface import Decoding, Request
from nightjar.models.local import CausalModel
from nightjar.models.servers.chat_server import ChatServer
from nightjar.models.servers.completion_server import CompletionServer
from nightjar.models.servers.http_client import RequestLimits
from tests import tiny_models

pytestmark = pytest.mark.slow
TOOL = {"name": "Calculator", "description": "Computes.", "parameters": {"type": "object", "properties": {}}}
PROMPTS = ("Definition: a b\nOutput:", "How many pens?", "The day is")
START_SECONDS = 200


@pytest.fixture(scope="module")
def folder(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.with_chat_template(tiny_model, tmp_path_factory.mktemp("served") / "chat")


@pytest.fixture(scope="module")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the model of `folder`, as `URL#MODEL`."""
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("log") / "serve.log"
    command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve"]
    options = [
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--device",
        "cpu",
        "--dtype",
        "float32",
    ]
    cache = tmp_path_factory.mktemp("cache")  # the models that it lists
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        server = subprocess.Popen([*command, *options], stdout=output, stderr=output, env=environment)
    try:
        deadline = time.monotonic() + START_SECONDS
        while server.poll() is None and time.monotonic() < deadline:
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        assert server.poll() is None, log.read_text()
        yield f"http://127.0.0.1:{port}#{folder}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def requests() -> dict[int, Request]:
    return {number: Request(prompt, [1], 6) for number, prompt in enumerate(PROMPTS)}


def test_texts_after_prompts_are_those_of_the_weights(
    folder: Path, url: str, requests: dict[int, Request]
) -> None:
    prepare(seed=0, threads=1)
    local = CausalModel(load(folder, "float32"), 8, 1000, 100)
    encoded = {
        number: Request(request.prompt, local.tokenizer.encode(request.prompt), 6)
        for number, request in requests.items()
    }
    with CompletionServer(url) as server:
        answers = dict(server.generate(requests, list(requests), Decoding()))
    expected = dict(local.generate(encoded, list(encoded), Decoding()))
    assert {number: answer.text for number, answer in answers.items()} == {
        number: answer.text for number, answer in expected.items()
    }


def test_replies_of_a_chat_are_those_of_the_weights_with_tools_and_without(
    folder: Path, url: str, requests: dict[int, Request]
) -> None:
    prepare(seed=0, threads=1)
    local = TemplatedModel(CausalModel(load(folder, "float32"), 8, 1000, 100), ChatTemplate(folder))
    with ChatServer(url) as server:
        for tools in ([], [TOOL]):
            replies = dict(server.converse(requests, list(requests), tools, Decoding()))
            expected = dict(local.converse(requests, list(requests), tools, Decoding()))
            assert {number: reply.text.text for number, reply in replies.items()} == {
                number: reply.text.text for number, reply in expected.items()
            }
            counts = [replies[number].text.prompt_tokens for number in requests]
            assert counts == [
                len(local.tokenizer.encode(local.template.text(request.conversation, tools)))
                for request in requests.values()
            ]


def test_it_needs_the_name_of_its_model_and_gives_no_log_probabilities(url: str) -> None:
    address = url.partition("#")[0]
    with pytest.raises(NightjarError, match=rf"(, or |; )give server:{address}#MODEL$"):
        CompletionServer(address, RequestLimits(retries=0)).__enter__()
    assert CompletionServer.abilities(url) == CompletionServer.can
