"""Readers: encoder-decoders that answer a question from passages by scoring the words of each answer.

`load` makes a `Base` of a directory: an encoder-decoder, or an encoder with a fresh decoder. `encode` gives the states
of inputs, each by itself, and `answer_scores` the log-probability of each answer from a question's states.
"""

from nightjar.models.reader.load import AGAIN, RECORD, Base, load, read_record, restore, save
from nightjar.models.reader.read import (
    PASS_TOKENS,
    FrozenStates,
    LiveStates,
    all_answers,
    answer_scores,
    encode,
)
from nightjar.models.reader.tokens import Targets, Tokens

__all__ = [
    "AGAIN",
    "PASS_TOKENS",
    "RECORD",
    "Base",
    "FrozenStates",
    "LiveStates",
    "Targets",
    "Tokens",
    "all_answers",
    "answer_scores",
    "encode",
    "load",
    "read_record",
    "restore",
    "save",
]
