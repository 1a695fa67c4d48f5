"""A trained recipe with calls as a chat server: its own calls are those of the OpenAI interface.

    nightjar export toolformer exported/toolformer
    python -m bench.tool_server --model exported/toolformer [--port 8208] [--threads 1]

Starts `transformers serve` on loopback with a copy of the model's folder, prints the address for `nightjar evaluate
--model`, and ends with SIGINT or SIGTERM, and the server with it. The copy has what a server needs to know of a model
that writes " [Tool(input) ->": a chat template, which writes calls and results as the training texts have them; a
response template, which reads such a call; and the arrow as an end token, so that the server gives the call away before
the model imagines its result. Without tools in a request the model's answer ends at its own call.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.harness import options
from nightjar.core.errors import NightjarError
from nightjar.models.directory.headers import read_json_object
from nightjar.models.tokenizer import load_tokenizer
from nightjar.tools.syntax import ARROW, QUOTED
from pipelines.process.signals import stopped_by_signals

GENERATION, TOKENIZER = "generation_config.json", "tokenizer_config.json"
# A prompt with tools begins with a line end: by its length a client knows that the template has them. What the model
# wrote comes back without the blank before it.
TEMPLATE = """\
{%- if tools %}{{ "\\n" }}{% endif -%}
{%- for message in messages -%}
{%- if message.role == "tool" -%}
{{- message.content + "]" -}}
{%- else -%}
{{- " " if message.role == "assistant" and message.content -}}
{{- message.content or "" -}}
{%- for call in message.tool_calls or [] -%}
{%- set quote = '"' if call.function.name in QUOTED else "" -%}
{{- " [" + call.function.name + "(" + quote + call.function.arguments.input + quote + ") ARROW " -}}
{%- endfor -%}
{%- endif -%}
{%- endfor -%}
"""
RESPONSE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor_pattern": r"\Z",
    "fields": {
        "tool_calls": {
            "open_pattern": r'\s*\[(?P<name>[A-Za-z][A-Za-z0-9_]*)\("?',
            "close_pattern": rf'"?\)\s*{ARROW}',
            "repeats": True,
            "content": "text",
            "transform": {
                "type": "function",
                "function": {"name": "{name}", "arguments": {"input": "{content}"}},
            },
        },
        "content": {"close_pattern": r"<\|im_end\|>|<\|endoftext\|>", "content": "text"},
    },
}


def arrow_id(source: Path) -> int:
    """Return the id of the arrow after a call. Raises NightjarError if it is not one token."""
    tokenizer = load_tokenizer(source)
    ids = tokenizer.continuation(f" {ARROW}")
    if len(ids) != 1 or tokenizer.decode(ids).strip() != ARROW:
        raise NightjarError(f"{ARROW!r} is no token of its own", source, "use a model that has it")
    return ids[0]


def write_files(source: Path, target: Path) -> None:
    """Write the files of a model into a new folder, with those that a server needs to know of its calls.

    Raises NightjarError for a model in whose vocabulary the arrow is no token.
    """
    arrow = arrow_id(source)
    shutil.copytree(source, target)
    generation = read_json_object(target / GENERATION)
    ends = generation["eos_token_id"]
    generation["eos_token_id"] = [*(ends if isinstance(ends, list) else [ends]), arrow]
    settings = read_json_object(target / TOKENIZER) | {"response_template": RESPONSE}
    for name, value in ((GENERATION, generation), (TOKENIZER, settings)):
        (target / name).write_text(json.dumps(value, indent=2), encoding="utf-8")
    quoted = json.dumps(sorted(QUOTED))
    text = TEMPLATE.replace("QUOTED", quoted).replace("ARROW", ARROW)
    (target / "chat_template.jinja").write_text(text, encoding="utf-8")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, required=True, metavar="DIR")
    parser.add_argument("--port", type=int, default=8208)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / arguments.model.resolve().name
        try:
            write_files(arguments.model, target)
        except NightjarError as error:
            parser.error(str(error))
        print(f"chat:http://127.0.0.1:{arguments.port}#{target}", flush=True)
        command = [
            sys.executable,
            "-c",
            "from transformers.cli.transformers import main; main()",
            "serve",
            str(target),
        ]
        command += [
            "--host",
            "127.0.0.1",
            "--port",
            str(arguments.port),
            "--device",
            "cpu",
            "--dtype",
            "float32",
        ]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": folder}
        environment["OMP_NUM_THREADS"] = str(arguments.threads)
        with contextlib.suppress(KeyboardInterrupt), stopped_by_signals():
            subprocess.run(command, env=environment, check=False)


if __name__ == "__main__":
    main()
