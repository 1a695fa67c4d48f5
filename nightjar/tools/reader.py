"""A language model that writes one short line after each prompt, for the tools that ask one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nightjar.models.weights import find, verify
from nightjar.params.data import ModelSource


def model_folder(source: str) -> Path:
    """The directory of a model: `source` itself, or where the files of hub:NAME@REVISION are.

    Raises NightjarError if they cannot be fetched.
    """
    return find(ModelSource(source=source)) if source.startswith("hub:") else Path(source)


class Reader:
    """The model of `source`, a directory of safetensors or hub:NAME@REVISION; `head` is what all prompts begin with.

    The model is loaded when it is first asked. Raises NightjarError if there is none.
    """

    def __init__(self, source: str, head: str) -> None:
        self.folder, self.head = model_folder(source), head
        self.sha256 = verify(self.folder)

    def lines(self, prompts: Sequence[str], most: int) -> list[str]:
        """The likeliest line after `head` and each of `prompts`, of at most `most` tokens (see `generate_lines`)."""
        from nightjar.tools.line_generation import generate_lines, model

        return generate_lines(model(self.folder, self.sha256), self.head, prompts, most)
