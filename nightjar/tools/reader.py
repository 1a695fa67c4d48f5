"""Readers of the tools: a language model that writes one short line after each prompt, or a model that points at the
answer in a passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nightjar.models.directory.weights import find_weights, verify_checksum
from nightjar.models.source import ModelSource

if TYPE_CHECKING:
    from nightjar.models.extractive_reader import ExtractiveReader


def model_folder(source: str) -> Path:
    """The directory of a model: `source` itself, or where the files of hub:NAME@REVISION are."""
    parsed = ModelSource.parse(source)
    return find_weights(parsed) if parsed.kind == "hub" else Path(source)


class Reader:
    """The model of `source`, a directory of safetensors or hub:NAME@REVISION; `head` is what all prompts begin with.

    The model is loaded when it is first asked.
    """

    def __init__(self, source: str, head: str) -> None:
        self.folder, self.head = model_folder(source), head
        self.sha256 = verify_checksum(self.folder)

    def lines(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """The likeliest line after `head` and each of `prompts`, as `generate_lines` gives them."""
        from nightjar.tools.line_generation import generate_lines, model

        return generate_lines(model(self.folder, self.sha256), self.head, prompts, max_tokens)


class Extractor:
    """The reader of a directory of a model for question answering (`models.extractive_reader`).

    It declines where the best span does not beat "no answer" by more than `threshold` logits (tau of Devlin et al.
    2019, section 4.3). The model is loaded when it is first asked.
    """

    def __init__(self, folder: Path, threshold: float = 0.0) -> None:
        self.folder, self.threshold = folder, threshold
        self.sha256 = verify_checksum(folder)

    @cached_property
    def _reader(self) -> ExtractiveReader:
        from nightjar.models.extractive_reader import load_extractive_reader

        return load_extractive_reader(self.folder)

    def answers(self, questions: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        """The best span of the passages of each question; empty where the reader declines."""
        flat = [(question, passage) for question, passages in questions for passage in passages]
        spans = iter(self._reader.spans(flat))
        best = (
            max((next(spans) for _ in passages), key=lambda span: span.score) for _, passages in questions
        )
        return [span.text if span.score > self.threshold else "" for span in best]
