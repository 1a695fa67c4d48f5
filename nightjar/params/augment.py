"""The groups tools and augment of params.yaml: which calls are sampled, and which of them are kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nightjar.core.config import Count, Fraction, Item, Limit, Positive, StrictModel
from nightjar.params.groups import Artifact


class ToolParams(StrictModel):
    """Sampling and filtering of one tool's calls: tau_s, k, m and tau_f of Toolformer.

    Stage augment depends on `code`, the file of the tool, and on `resource`, what it reads. `price`: nats that the
    filter subtracts from the gain of a call (not published).
    """

    code: Annotated[str, Field(min_length=1)]
    resource: Artifact
    sampling_threshold: Fraction
    positions: Positive
    samples: Positive
    filter_threshold: Annotated[float, Field(ge=-1000, le=1000)]
    price: Annotated[float, Field(ge=0, le=1000)] = 0.0

    def keeps(self, gain: float) -> bool:
        """Return whether the filter keeps a call that saves `gain` nats. A gain equal to the threshold is enough."""
        return gain - self.price >= self.filter_threshold


class Augment(StrictModel):
    """`tools`: those whose calls are sampled, by their names in the registry; a profile that names some names all.

    `before_first_word`: whether a call may be put before the first word of a document, where the loss without it is
    conditioned on nothing. `before_names`: tools whose calls are put only where a name or a number begins. Texts longer
    than `max_text_tokens` are annotated in windows. `batch_texts`: texts that are annotated together. `max_documents`:
    documents that each tool annotates, drawn among those that suit it and have at most `max_document_words` words.
    `look_ahead_guard`: tools whose calls are dropped if their input occurs only after the call. `answer_guard`:
    tools whose calls are dropped if the next word of the text is none of their result. `held_out_documents`:
    documents that no model trains on.
    """

    tools: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ToolParams], Field(min_length=1)
    ]
    before_first_word: bool
    before_names: list[Item]
    precision: Literal["float32", "bfloat16"]
    temperature: Annotated[float, Field(gt=0, le=100)]
    max_call_tokens: Positive
    max_text_tokens: Positive
    batch_texts: Positive
    max_documents: Limit
    max_document_words: Limit
    max_targets: Limit
    look_ahead_guard: list[Item]
    answer_guard: list[Item]
    examples_per_tool: Positive
    held_out_documents: Count

    @model_validator(mode="after")
    def _of_its_tools(self) -> Augment:
        for key in ("before_names", "answer_guard"):
            for name in getattr(self, key):
                if name not in self.tools:
                    raise ValueError(f"{key} names {name!r}; tools are {', '.join(self.tools)}")
        return self
