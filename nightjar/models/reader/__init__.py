"""Readers: encoder-decoders that answer a question from passages by scoring the words of each answer.

`load` makes an `UntrainedReader`: an encoder-decoder, or an encoder with a fresh decoder. `encode_inputs`
gives the states of inputs, each by itself, and `answer_scores` the log-probability of each answer from a question's
states.
"""

from nightjar.models.reader.answer_scores import (
    PASS_TOKENS,
    FrozenStates,
    LiveStates,
    all_answers,
    answer_scores,
    encode_inputs,
)
from nightjar.models.reader.reader_files import (
    AGAIN,
    RECORD,
    UntrainedReader,
    load,
    read_record,
    restore_weights,
    save,
)
from nightjar.models.reader.reader_tokens import ReaderTokenizer, Targets

__all__ = [
    "AGAIN",
    "PASS_TOKENS",
    "RECORD",
    "FrozenStates",
    "LiveStates",
    "ReaderTokenizer",
    "Targets",
    "UntrainedReader",
    "all_answers",
    "answer_scores",
    "encode_inputs",
    "load",
    "read_record",
    "restore_weights",
    "save",
]
