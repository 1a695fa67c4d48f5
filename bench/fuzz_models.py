"""Models that bench/fuzz.py breaks: one file of a tiny model, or what a server says through a loopback socket.

The models are those of tests/tiny_models.py. What is not refused must answer a short text.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from bench.mutate import FuzzedReader, Mutate, mutate_bytes, mutate_gguf, mutate_json, mutate_safetensors
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import is_text
from nightjar.models.directory.preparation import prepare_model
from nightjar.models.directory.weights import check_directory, read_recipe
from nightjar.models.engine.generation import generate
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.reader import encode_inputs
from nightjar.models.reader import load as load_reader
from nightjar.models.servers.completion_server import MOST_TOKENS, CompletionServer
from nightjar.models.servers.forced_tokens import ForcedTokens
from nightjar.models.servers.http_client import HttpClient, RequestLimits
from nightjar.models.servers.server_address import Address
from nightjar.params.inputs import PinnedSource
from nightjar.search.encoder import SentenceEncoder
from nightjar.tools.calculator import Calculator
from nightjar.tools.text_decode import WrittenText, answer
from nightjar.tools.toolbox import Toolbox
from tests import tiny_models
from tests.completions_server import talking
from tests.gguf_models import as_gguf

TEXT = "Definition: a b\nOutput:"
CONFIG, WEIGHTS = "config.json", "model.safetensors"
CHOICE = {"index": 0, "text": " It is [Calculator(2 * 8) -> 16] 16.", "finish_reason": "stop"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}
COMPLETION = json.dumps({"id": "c", "model": "m", "choices": [CHOICE], "usage": USAGE}).encode()
MODELS = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
REFUSAL = json.dumps({"error": {"message": "prompt too long", "type": "invalid", "code": 400}}).encode()
HEADERS = b"Content-Type: application/json\r\nConnection: close\r\n"
# What llama.cpp's server says of the text "ab" and its tokens, to both questions at once.
TOKENS = json.dumps(
    {
        "tokens": [{"id": 5, "piece": "a"}, {"id": 6, "piece": [98]}],
        "choices": [
            {
                "text": "a",
                "logprobs": {
                    "content": [
                        {
                            "id": 5,
                            "token": "a",
                            "logprob": -1.5,
                            "top_logprobs": [
                                {"id": 6, "token": "b", "logprob": -0.5},
                                {"id": 5, "token": "a", "logprob": -1.5},
                            ],
                        }
                    ]
                },
            }
        ],
        "usage": {},
    }
).encode()
ADDRESSES = (b"http://127.0.0.1:8080/v1#org/model", b"https://host.example", b"http://[::1]:9/llm/")
# Of one request; nothing is tried again.
LIMITS = RequestLimits(connect=1.0, answer=5.0, size=2**16, retries=0)


@cache
def _models() -> Path:
    """A folder with a model of each kind, an adapter and a GGUF, made once a process."""
    prepare(seed=0, threads=1)
    root = Path(tempfile.mkdtemp(prefix="nightjar-fuzz-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    for make in (tiny_models.language_model, tiny_models.encoder_decoder, tiny_models.sentence_encoder):
        (root / make.__name__).mkdir()
        make(root / make.__name__)
    tiny_models.adapter(root / "language_model", root / "adapter")
    (root / "gguf").mkdir()
    as_gguf(root / "language_model", root / "gguf")
    return root


def _beside(path: Path, model: str) -> Path:
    """The folder of `path`, with the other files of a model."""
    for file in (_models() / model).iterdir():
        if not (path.parent / file.name).exists():
            shutil.copyfile(file, path.parent / file.name)
    return path.parent


def _answer(lm: LanguageModel) -> None:
    generate(lm, [lm.tokenizer.encode(TEXT)], 2)


def _adapter(path: Path) -> None:
    _answer(load(_models() / "language_model", adapter=_beside(path, "adapter")))


def _encoder(path: Path) -> None:
    vectors = SentenceEncoder(_beside(path, "sentence_encoder")).encode([TEXT, "a"])
    if not np.isfinite(vectors).all():
        raise AssertionError("a vector is not finite")


def _reader(path: Path) -> None:
    base = load_reader(_beside(path, "sentence_encoder"), 1)
    with torch.inference_mode():
        encode_inputs(base.reader, [base.tokens.input(TEXT, "a b", 16)])


def _gguf(path: Path) -> None:
    output = path.parents[1] / "made"
    shutil.rmtree(output, ignore_errors=True)
    prepare_model(PinnedSource(source=str(path.parent)), output)
    _answer(load(output))


def _reply(status: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, HEADERS, len(body), body)


@contextmanager
def _server(path: Path, reply: bytes, model: str | None = "m") -> Iterator[CompletionServer]:
    """A client of a server that says `reply`. A message names the server instead of a file."""
    with talking(lambda connection: connection.sendall(reply)) as url:
        try:
            with CompletionServer(Address(url, model), LIMITS) as server:
                yield server
        except NightjarError as error:
            _named(path, error)


def _named(path: Path, error: NightjarError) -> NoReturn:
    if not error.where.startswith("server:"):
        raise AssertionError(f"the server is not named: {error}") from None
    raise NightjarError(error.what, path, error.fix) from None


def _completed(path: Path, reply: bytes) -> None:
    """A completion with calls. What is taken can be recorded: valid text, counts of tokens that a table holds."""
    with _server(path, reply) as server:

        def write_on(prompt: str, tokens: int) -> WrittenText:
            completion = server.complete(prompt, tokens, ())
            counts = (completion.tokens, completion.prompt_tokens)
            if not is_text(completion.text) or not all(n is None or 0 <= n <= MOST_TOKENS for n in counts):
                raise AssertionError(f"an answer that cannot be recorded: {completion}")
            return WrittenText(completion.text, completion.tokens or 0, completion.cut)

        answer(write_on, len, "Q", 20, Toolbox([Calculator()]), 1)


def _refusal(path: Path) -> None:
    try:
        _completed(path, _reply(b"400 Bad Request", path.read_bytes()))
    except NightjarError as error:
        if "it refuses the request" in error.what and len(error.what) < 300:
            return
        raise
    raise AssertionError("a refused request has an answer")


def _tokens(path: Path) -> None:
    """The log-probabilities of a text by forced tokens: none above 0, and ends within the text."""
    reply = _reply(b"200 OK", path.read_bytes())
    with (
        talking(lambda connection: connection.sendall(reply)) as url,
        HttpClient(url, f"server:{url}", LIMITS) as client,
    ):

        def ask(body: Mapping[str, Any]) -> Mapping[str, Any]:
            try:
                answer = client.ask(url, body)
            except NightjarError as error:
                _named(path, error)
            return answer if isinstance(answer.get("usage"), dict) else {**answer, "usage": {}}

        forced = ForcedTokens(ask, ask)
        reason, pieces = forced.check("ab"), forced.pieces("ab", 1)
    if pieces is None:
        raise NightjarError(reason or "its tokens are not those of the text", path, "send others")
    if not all(1 < it.end <= 2 and (it.logprob is None or it.logprob <= 0) for it in pieces):
        raise AssertionError(f"pieces that cannot be: {pieces}")


def _listed(path: Path) -> None:
    with _server(path, _reply(b"200 OK", path.read_bytes()), None) as server:
        if not is_text(server.model) or not server.model:
            raise AssertionError(f"a model of no name: {server.model!r}")


def _address(path: Path) -> None:
    try:
        Address.parse("server:" + path.read_bytes().decode("utf-8", "surrogateescape"))
    except NightjarError as error:
        _named(path, error)


def readers() -> list[FuzzedReader]:
    """Return the readers of model directories, then those of servers."""
    jsons, tensors = mutate_json, mutate_safetensors
    lm, t5, encoder, adapter = "language_model", "encoder_decoder", "sentence_encoder", "adapter"
    recipe = json.dumps({"data": "train", "recipe": "mine", "calls": True, "evidence": 1}).encode()
    limits = json.dumps({"max_seq_length": 64, "do_lower_case": False}).encode()
    index = json.dumps({"metadata": {"total_size": 1}, "weight_map": {"a": WEIGHTS}}).encode()
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(COMPLETION), COMPLETION)
    replies = (
        _reply(b"200 OK", COMPLETION),
        b"HTTP/1.1 200 OK\r\n%bTransfer-Encoding: chunked\r\n\r\n%b" % (HEADERS, chunked),
        b"HTTP/1.0 200 OK\r\nSet-Cookie: a=b\r\n\r\n%b" % COMPLETION,
    )

    def of(name: str, model: str, file: str, change: Mutate, read: Callable[[Path], object]) -> FuzzedReader:
        data = (_models() / model / file).read_bytes()
        return FuzzedReader(name, (data,), change, f"model/{file}", read, 0.1)

    def language_model(path: Path) -> None:
        _answer(load(_beside(path, lm)))

    def encoder_decoder(path: Path) -> None:
        _answer(load(_beside(path, t5)))

    gguf = (_models() / "gguf/tiny.gguf").read_bytes()
    return [
        of("model: config.json", lm, CONFIG, jsons, language_model),
        of("model: weights", lm, WEIGHTS, tensors, language_model),
        of("model: tokenizer.json", lm, "tokenizer.json", jsons, language_model),
        of("model: tokenizer_config.json", lm, "tokenizer_config.json", jsons, language_model),
        of("model: generation_config.json", lm, "generation_config.json", jsons, language_model),
        of("encoder-decoder: config.json", t5, CONFIG, jsons, encoder_decoder),
        of("encoder-decoder: weights", t5, WEIGHTS, tensors, encoder_decoder),
        of("adapter: config", adapter, "adapter_config.json", jsons, _adapter),
        of("adapter: weights", adapter, "adapter_model.safetensors", tensors, _adapter),
        of("encoder: config.json", encoder, CONFIG, jsons, _encoder),
        of("encoder: weights", encoder, WEIGHTS, tensors, _encoder),
        FuzzedReader("encoder: limits", (limits,), jsons, "model/sentence_bert_config.json", _encoder, 0.1),
        of("reader: config.json", encoder, CONFIG, jsons, _reader),
        of("reader: tokenizer.json", encoder, "tokenizer.json", jsons, _reader),
        FuzzedReader("GGUF", (gguf,), mutate_gguf, "source/tiny.gguf", _gguf, 0.03),
        FuzzedReader("model: shards", (index,), jsons, "model/model.safetensors.index.json",
               lambda path: check_directory(_beside(path, lm)), 0.1),
        FuzzedReader("recipe.json", (recipe,), jsons, "model/recipe.json",
               lambda path: range(read_recipe(path.parent)["evidence"]), 0.1),
        FuzzedReader("completions", (COMPLETION,), jsons, "completion",
               lambda path: _completed(path, _reply(b"200 OK", path.read_bytes())), 0.3),
        FuzzedReader("refusals of servers", (REFUSAL,), jsons, "refusal", _refusal, 0.1),
        FuzzedReader("models of servers", (MODELS,), jsons, "models", _listed, 0.1),
        FuzzedReader("tokens of servers", (TOKENS,), jsons, "tokens", _tokens, 0.1),
        FuzzedReader("answers as bytes", replies, mutate_bytes, "answer",
               lambda path: _completed(path, path.read_bytes()), 0.3),
        FuzzedReader("addresses of servers", ADDRESSES, mutate_bytes, "address", _address),
    ]  # fmt: skip
