"""The group train of params.yaml: the recipes that fine-tune the language model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nightjar.core.config import Count, Fraction, Item, Limit, Model, Name, Positive
from nightjar.core.errors import NightjarError


class Recipe(Model):
    """One way to fine-tune the language model. Rates per optimiser step; lengths in tokens.

    `data`: the instances of the training tasks, other instances of the test tasks, the training questions of a
    benchmark, or, as plain text, the documents of the corpus that calls were kept for, with these calls or without.
    `batch_size` counts the instances of an optimiser step over all processes, `batch_tokens` bounds one forward pass.
    `sequence_tokens` is for the corpus: the longest window of a text, and the longest row of packed texts. After the
    warm-up the learning rate is constant, or falls linearly to 0 after the last step (`schedule`).
    """

    data: Literal["train", "supervised", "corpus", "questions"]
    calls: bool
    evidence: Count
    method: Literal["lora", "full"]
    lora_rank: Positive
    precision: Literal["float32", "bfloat16"]
    learning_rate: Annotated[float, Field(gt=0, le=10)]
    warmup: Fraction
    schedule: Literal["constant", "linear"] = "constant"
    epochs: Annotated[float, Field(gt=0, le=100_000)]
    max_steps: Limit
    batch_size: Positive
    batch_tokens: Positive
    sequence_tokens: Limit
    gradient_checkpointing: bool
    # In steps; null: never. The weights that are kept are those with the lowest loss on the dev split, or, for the
    # corpus, with the lowest perplexity of the held-out documents.
    evaluate_every: Limit
    checkpoint_every: Limit

    @model_validator(mode="after")
    def _fit_the_data(self) -> Recipe:
        texts = self.data == "corpus"
        if texts != (self.sequence_tokens is not None):
            raise ValueError(
                "only texts have sequence_tokens; set it with data: corpus, and to null with other data"
            )
        if texts and self.evidence:
            raise ValueError("texts of the corpus have no evidence; set evidence to 0")
        if self.data == "questions" and (self.calls or self.evidence):
            raise ValueError("questions have no calls and no evidence; set calls to false and evidence to 0")
        return self


# Launchers that spread a model over processes.
SHARDED = ("fsdp", "deepspeed_zero3")


class RecipeInputs(Model):
    """The artifacts with a recipe's calls and evidence; data/split for none.

    A recipe that trains on the corpus names the artifact with the calls in any case: it has the texts without them too.
    One that trains on the questions of a benchmark names these questions as both.
    """

    calls: Name
    evidence: Name


class Train(Model, extra="allow"):
    """`recipes` lists those that run; the settings of each are under its own name."""

    launcher: Literal["none", "one_cpu", "one_gpu", "fsdp", "deepspeed_zero3"]
    recipes: dict[Item, RecipeInputs]
    __pydantic_extra__: dict[str, Recipe]

    def recipe(self, name: str) -> Recipe:
        """The settings of a recipe. Raises NightjarError if there are none of that name."""
        found = (self.__pydantic_extra__ or {}).get(name)
        if found is None:
            fix = f"recipes are {', '.join(self.__pydantic_extra__ or {})}"
            raise NightjarError("no such recipe", f"train.{name}", fix)
        return found
