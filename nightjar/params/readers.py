"""The groups readers and qa_readers of params.yaml: the recipes that train readers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, Count, Item, Limit, Name, Positive, StrictModel
from nightjar.core.errors import NightjarError
from nightjar.params.groups import Artifact, Defaults


class ReaderInputs(StrictModel):
    """The inputs of a recipe: a benchmark, the base model, and the artifacts with rankings and with passages."""

    benchmark: Item
    base: Name
    evidence: Artifact
    index: Artifact

    @model_validator(mode="after")
    def _agree(self) -> ReaderInputs:
        if (self.evidence is None) != (self.index is None):
            raise ValueError(f"evidence and index go together; name both, or {paths.NONE} twice")
        return self


class TaskRates(StrictModel):
    """The rates of a task that differ from its recipe; None: as the recipe."""

    task: Name
    learning_rate: Annotated[float, Field(gt=0, le=10)] | None = None
    batch_size: Limit = None


class ReaderRecipe(StrictModel):
    """One way to train readers, one for each task of a benchmark.

    `form`: the form of a question, one of the benchmark's. `passages`: how many a question has, 0 for none. `fusion`:
    whether the decoder reads the states of all passages at once, or each alone, as RAG-sequence does. `temperature`
    divides the passages' scores before the softmax that weights them there. `shots_per_label`: 0, or from how many
    training questions of each answer the demonstrations are drawn, the only questions that train then; as many dev
    questions of each choose the weights. `trains`: the decoder, with the encoder as it is, or all. `decoder_layers` are
    those of a fresh decoder, for a base without one; it learns ten times as fast as `learning_rate`. `text_maxlength`:
    tokens of an input. Every `evaluate_every` steps (null: never) and at the end, the dev side decides whether the
    weights are kept. `seed` is added to that of the parameters. `by_task` has the rates of tasks that have their own.
    """

    form: Name
    passages: Count
    fusion: Literal["in_decoder", "rag_sequence"]
    shots_per_label: Count
    trains: Literal["decoder", "all"]
    decoder_layers: Annotated[int, Field(ge=1, le=48)]
    text_maxlength: Annotated[int, Field(ge=16, le=4096)]
    learning_rate: Annotated[float, Field(gt=0, le=10)]
    batch_size: Positive
    max_steps: Positive
    evaluate_every: Limit
    precision: Literal["float32", "bfloat16"]
    seed: Count
    # Readers trained by earlier releases do not record these.
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    by_task: list[TaskRates] = Field(default_factory=list)

    @model_validator(mode="after")
    def _agree(self) -> ReaderRecipe:
        if self.shots_per_label and self.passages:
            raise ValueError("a question has demonstrations or passages; set one of the two to 0")
        if self.fusion == "rag_sequence" and not self.passages:
            raise ValueError("rag_sequence needs passages; set passages, or fusion to in_decoder")
        if self.temperature != 1 and self.fusion != "rag_sequence":
            raise ValueError("only rag_sequence weights passages; set temperature to 1")
        if len({one.task for one in self.by_task}) < len(self.by_task):
            raise ValueError("by_task has a duplicate task; remove one")
        return self

    def of(self, task: str) -> ReaderRecipe:
        """The recipe with a task's own rates."""
        rates = next((one for one in self.by_task if one.task == task), TaskRates(task=task))
        return self.model_copy(update=rates.model_dump(exclude={"task"}, exclude_none=True))


class Readers(Defaults[ReaderRecipe], extra="allow"):
    """`recipes` lists those that run; the settings of each are `defaults` and the group of its name."""

    recipes: dict[Item, ReaderInputs]

    def recipe(self, name: str, where: object = PARAMS_FILE) -> ReaderRecipe:
        """The settings of a recipe."""
        recipe = self.settings("readers", name, where)
        if recipe.passages and name in self.recipes and not self.recipes[name].evidence:
            what = f"readers.{name}.passages = {recipe.passages}, and readers.recipes.{name}.evidence is {paths.NONE}"
            raise NightjarError(what, where, "name the artifact with its passages, or set passages to 0")
        return recipe


class QaReader(StrictModel):
    """The training of an extractive reader on the training questions of a benchmark whose questions have a passage.

    `base` is an encoder, which gets a head, or a model for question answering. The rate rises over the first tenth of
    the steps and falls to 0. The epoch with the highest exact match on the dev side is kept.
    """

    benchmark: Item
    base: Name
    learning_rate: Annotated[float, Field(gt=0, le=1)]
    batch_size: Positive
    epochs: Positive
    precision: Literal["float32", "bfloat16"]
