"""The groups benchmarks, contamination and consistency of params.yaml: what is scored and measured."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from nightjar.core.config import Name, Positive, StrictModel
from nightjar.params.groups import Artifact


class BenchmarkGroup(StrictModel, extra="allow"):
    """The inputs of a benchmark's questions. The other keys are the settings of its card, which checks them.

    `code` is the folder with the card, `data` the ingested dataset, `split` the artifact with the test instances, and
    `encoder` the folder of the sentence encoder that scores; each None where there is none.
    """

    code: Name
    data: Name
    split: Artifact
    encoder: Artifact

    def settings(self) -> dict[str, Any]:
        """The card's own settings."""
        return dict(self.__pydantic_extra__ or {})


class Contamination(StrictModel):
    """`ngram`: how many words in a row, in a training text and in a test text, count as the same text."""

    ngram: Annotated[int, Field(ge=2, le=64)]


class Labeller(StrictModel):
    """`reader`: the folder of the trained reader that labels passages; it answers without passages."""

    reader: Annotated[str, Field(min_length=1)]


class Consistency(StrictModel):
    """The share of a question's passages that have its label: of the first `passages` of each ranking."""

    passages: Positive
    benchmarks: dict[str, Labeller]
