"""Show the exact input of the instances of a raw task file: what `nightjar encode` prints."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stages.errors import NightjarError, from_os_error
from stages.params import Encoding
from stages.prompts.encoding import Tokenizer, encode
from stages.prompts.encodings import variants

FORMAT = "give a Super-NaturalInstructions task file"


def encode_file(
    path: Path, instance: int, options: Encoding, tokenizer: Tokenizer, seed: int
) -> dict[str, Any]:
    """{"source", "references"} of the instance at position `instance`, counted from 0, of a task file.

    The task is named after the file, as the published loader does. Mixed options draw their encoding by `seed`.
    Raises NightjarError if the file is not a task file, or has no such instance.
    """
    document = _read(path)
    instances = _list(document, "Instances", path)
    if not 0 <= instance < len(instances):
        what = f"there is no instance {instance} among {len(instances)}"
        fix = f"give a number from 0 to {len(instances) - 1}" if instances else FORMAT
        raise NightjarError(what, path, fix)
    text, references = _instance(instances[instance], f"{path}: Instances[{instance}]")
    drawn = random.Random(seed).choice(variants(options))
    return {"source": encode(_task(document, path), text, drawn, tokenizer).source, "references": references}


def tsv_lines(path: Path, options: Encoding, tokenizer: Tokenizer, seed: int) -> Iterator[str]:
    """The instances of a task file as lines "input TAB label" for the T5 code base (facts 1.8).

    Every run of white space is one blank, so the texts hold neither tabs nor line ends. The label is one of
    the references, drawn uniformly; mixed options draw an encoding before it. `seed` decides both: the same
    file, options and seed give the same lines.

    Raises NightjarError before the first line if the file is not a task file or an instance has no reference.
    """
    document = _read(path)
    task = _task(document, path)
    instances = []
    for number, given in enumerate(_list(document, "Instances", path)):
        where = f"{path}: Instances[{number}]"
        text, references = _instance(given, where)
        if not references:
            raise NightjarError("no reference to be the label", where, FORMAT)
        instances.append((text, references))
    chooser = random.Random(seed)
    for text, references in instances:
        drawn = chooser.choice(variants(options)) if options.mixed else options
        label = chooser.choice(references)
        source = encode(task, text, drawn, tokenizer).source
        yield f"{' '.join(source.split())}\t{' '.join(label.split())}"


def task_from_file(path: Path) -> dict[str, Any]:
    """A raw task file, with the keys that `encode` reads. Raises NightjarError if it is not one."""
    return _task(_read(path), path)


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise from_os_error(error, path) or error from None
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", path, "save the file as UTF-8") from None
    except (json.JSONDecodeError, RecursionError) as error:
        line = f"{path}:{error.lineno}" if isinstance(error, json.JSONDecodeError) else path
        raise NightjarError(f"not JSON ({getattr(error, 'msg', 'nested too deep')})", line, FORMAT) from None
    if not isinstance(document, dict):
        raise NightjarError("not a JSON object", path, FORMAT)
    return document


def _instance(given: Any, where: str) -> tuple[str, list[str]]:
    if not isinstance(given, dict) or not isinstance(given.get("input"), str):
        raise NightjarError("no text under the key input", where, FORMAT)
    references = given.get("output")
    if not isinstance(references, list) or not all(isinstance(text, str) for text in references):
        raise NightjarError("output is not a list of texts", where, FORMAT)
    return given["input"], references


def _task(document: dict[str, Any], path: Path) -> dict[str, Any]:
    definition = document.get("Definition")
    listed = isinstance(definition, list) and definition and all(isinstance(text, str) for text in definition)
    if not isinstance(definition, str) and not listed:
        raise NightjarError("Definition is not a text or a list of texts", path, FORMAT)
    return {
        "task_id": path.stem,
        "definition": definition,
        "positive_examples": _examples(document, "Positive Examples", path),
        "negative_examples": _examples(document, "Negative Examples", path),
    }


def _examples(document: dict[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    examples = _list(document, key, path)
    for number, example in enumerate(examples):
        where = f"{path}: {key}[{number}]"
        if not isinstance(example, dict):
            raise NightjarError("not an object", where, FORMAT)
        texts = [example.get("input"), example.get("output"), example.get("explanation", "")]
        if not all(isinstance(text, str) for text in texts):
            raise NightjarError("input, output and explanation must be texts", where, FORMAT)
    return examples


def _list(document: dict[str, Any], key: str, path: Path) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise NightjarError(f"no list under the key {key}", path, FORMAT)
    return value
