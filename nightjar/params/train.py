"""The group train of params.yaml: the recipes that fine-tune the language model."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, Count, Fraction, Item, Limit, Name, Positive, StrictModel
from nightjar.core.errors import NightjarError
from nightjar.params.groups import Artifact, Defaults

# Launchers that spread a model over processes.
SHARDED = ("fsdp", "deepspeed_zero3")


class RecipeInputs(StrictModel):
    """The inputs of a recipe: all that stage encode reads of it.

    `data`: the instances of the training tasks, other instances of the test tasks, the training questions of a
    benchmark, or, as plain text, the documents of the corpus that calls were kept for. `texts` is the artifact that has
    them. `calls` is the artifact with the calls that targets or documents keep, `evidence` that with retrieved
    passages, of which a prompt has `passages`. `track` is for instances of the test tasks: the track whose tasks they
    are of; None: of both. `sequence_tokens` is for the corpus: the longest window of a text, and the longest row of
    packed texts. `pad_prompts` is for questions: every prompt ends with padding, up to the longest one.
    """

    data: Literal["train", "supervised", "corpus", "questions"]
    texts: Name
    calls: Artifact
    evidence: Artifact
    passages: Count = 0
    track: Literal["default", "xlingual"] | None = None
    sequence_tokens: Limit = None
    pad_prompts: bool = False

    @model_validator(mode="after")
    def _agree(self) -> RecipeInputs:
        if (self.data == "corpus") != (self.sequence_tokens is not None):
            raise ValueError(
                "only texts have sequence_tokens; set it with data: corpus, and leave it out with other data"
            )
        if self.track and self.data != "supervised":
            raise ValueError("only instances of test tasks are of one track; set track with data: supervised")
        if bool(self.evidence) != bool(self.passages):
            raise ValueError(
                f"evidence and passages go together; set both, or evidence to {paths.NONE} and passages to 0"
            )
        if self.data != "train" and self.evidence:
            raise ValueError(f"only instances of training tasks have evidence; set evidence to {paths.NONE}")
        if self.data in ("supervised", "questions") and self.calls:
            raise ValueError(
                f"instances of test tasks and questions have no calls; set calls to {paths.NONE}"
            )
        if self.data == "corpus" and self.calls not in (None, Path(self.texts)):
            raise ValueError(
                f"documents have their calls in them; set calls to {self.texts}, or to {paths.NONE}"
            )
        if self.data != "questions" and self.pad_prompts:
            raise ValueError("only prompts of questions are padded; leave pad_prompts out")
        if self.data == "questions" and Path(self.texts).parent != paths.QUESTIONS:
            raise ValueError(f"its texts are no questions; set texts to {paths.QUESTIONS}/BENCHMARK")
        return self


class Training(StrictModel):
    """The training of a recipe. Rates per optimiser step; lengths in tokens.

    `batch_size` counts the instances of an optimiser step over all processes, `batch_tokens` bounds one forward pass.
    `weighting`: what counts the same in the loss of a step, each target token or each instance, whatever its length.
    After the warm-up the learning rate is constant, or falls linearly to 0 after the last step (`schedule`). `seed` is
    added to that of the parameters, so that a graph can train a recipe several times.
    """

    method: Literal["lora", "full"]
    lora_rank: Positive
    precision: Literal["float32", "bfloat16"]
    weighting: Literal["tokens", "instances"]
    learning_rate: Annotated[float, Field(gt=0, le=10)]
    warmup: Fraction
    schedule: Literal["constant", "linear"]
    epochs: Annotated[float, Field(gt=0, le=100_000)]
    max_steps: Limit
    batch_size: Positive
    batch_tokens: Positive
    gradient_checkpointing: bool
    # In steps; null: never. The weights that are kept are those with the lowest loss on the dev split, or, for the
    # corpus, with the lowest perplexity of the held-out documents.
    evaluate_every: Limit
    checkpoint_every: Limit
    seed: Count = 0


class Recipe(Training):
    """One way to fine-tune the language model: how it trains, and what on, as a trained model records it.

    `calls`: whether its texts carry tool calls. `evidence`: how many passages its prompts have. `pad_prompts` is
    recorded only if it is true.
    """

    data: str
    calls: bool
    evidence: Count
    sequence_tokens: Limit
    pad_prompts: Annotated[bool, Field(exclude_if=operator.not_)] = False


class Train(Defaults[Training], extra="allow"):
    """`recipes` lists those that run; how each trains is `defaults` and the group of its name."""

    launcher: Literal["none", "one_cpu", "one_gpu", "fsdp", "deepspeed_zero3"]
    recipes: dict[Item, RecipeInputs]

    def recipe(self, name: str) -> Recipe:
        """A recipe with all its settings."""
        if name not in self.recipes:
            raise NightjarError(
                "no such recipe", f"train.recipes.{name}", f"recipes are {', '.join(self.recipes)}"
            )
        on = self.recipes[name]
        return Recipe(
            **self.settings("train", name).model_dump(),
            data=on.data,
            calls=on.calls is not None,
            evidence=on.passages,
            sequence_tokens=on.sequence_tokens,
            pad_prompts=on.pad_prompts,
        )

    def check(self, name: str, where: object = PARAMS_FILE) -> None:
        """Raise NightjarError for settings of the recipe `name` that cannot work together."""
        recipe = self.recipe(name)
        if recipe.pad_prompts and (recipe.method != "full" or self.launcher in SHARDED):
            what = (
                "padding is a token of its own, which only a model that is trained whole in one piece learns"
            )
            fix = f"leave it out, or set train.{name}.method to full and train.launcher to none"
            raise NightjarError(what, f"{where}: train.recipes.{name}.pad_prompts", fix)
        if self.launcher == "deepspeed_zero3" and recipe.checkpoint_every is not None:
            what = f"{self.launcher} keeps the optimizer's state to itself, and such a run cannot be resumed"
            fix = "set it to null, or train with another train.launcher"
            raise NightjarError(what, f"{where}: train.{name}.checkpoint_every", fix)
