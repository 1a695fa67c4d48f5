"""The cost of a set-up by arithmetic: operations, GPU hours, memory and bytes of its stages. docs/scaling.md has the
formulas and their assumptions. Sequences are counted at their longest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nightjar.core import cost
from nightjar.core.predict_params import PredictBenchmark, System
from nightjar.core.profiles import Shape
from pipelines.execution.setup import BASE_MODELS, Setup
from pipelines.project.stage_name import StageName

# Operations a second in bf16, without sparsity, and the share of it that is reached.
PEAK = {"a100": 312e12, "h100": 989e12, "h200": 989e12}
REACHED = 0.4
# Operations for each parameter and token.
FULL, LORA, READ = 6, 4, 2
# Bytes of each parameter: weights, gradients and two moments in float32; weights and moments of a checkpoint; weights.
TRAINED, CHECKPOINT = 16, 12
WIDTHS = {"float32": 4, "bfloat16": 2}
# Measured bytes of a prediction.
PREDICTION = 160
# The longest text that a sentence encoder reads, and words for each token of English text.
ENCODER_TOKENS, WORDS_A_TOKEN = 512, 0.75

GIGABYTE = 1e9
LANGUAGE_MODEL, ENCODER = BASE_MODELS


@dataclass(frozen=True)
class Work:
    """`tokens` run through a model of `parameters`, at `factor` operations each, on `gpus` that share the `held` bytes
    of each parameter. `activations`: bytes of what is computed, and of the models that tools run, on each. `disk`:
    bytes that the stage writes.
    """

    tokens: float
    parameters: float = 0.0
    factor: int = READ
    held: float = 0.0
    gpus: int = 1
    disk: float = 0.0
    activations: float = 0.0

    @property
    def operations(self) -> float:
        return self.factor * self.parameters * self.tokens

    @property
    def memory(self) -> float:
        """Bytes on each GPU."""
        return self.held * self.parameters / self.gpus + self.activations

    def hours(self, device: str) -> float:
        """Hours of one GPU; as many GPUs need that much together."""
        return self.operations / (PEAK[device] * REACHED * 3600)


def annotation_tokens(text: int, positions: int, samples: int, call: int) -> int:
    """Tokens to annotate a text of Toolformer: three readings, and for each candidate its call and two losses."""
    return 3 * text + positions * samples * (call + 2 * (text + call))


def works(setup: Setup) -> dict[str, Work | None]:
    """The work of each stage that trains, annotates, indexes, reranks or predicts; None where a size is not known."""
    found: dict[str, Work | None] = {}
    for name in setup.graph.stages:
        it = StageName.of(name)
        if it.stage in _WORKS:
            try:
                found[name] = _WORKS[it.stage](setup, it.item)
            except _UnknownError:
                found[name] = None
    return found


class _UnknownError(Exception):
    """A size that neither the data nor a supply gives."""


def _known(value: float | None) -> float:
    if value is None:
        raise _UnknownError
    return value


def _train(setup: Setup, item: str) -> Work:
    recipe, encoding = setup.params.train.recipe(item), setup.params.encoding
    length = recipe.sequence_tokens or encoding.max_source_length + encoding.max_target_length
    inputs = cost.of(f"train@{item}", setup.values)
    rows = setup.rows(*inputs.rows[0]) if inputs else None
    steps = recipe.max_steps * recipe.batch_size if recipe.max_steps else None
    read = [value for value in (rows and rows * recipe.epochs, steps) if value]
    tokens = _known(min(read, default=None)) * length
    size = _known(setup.parameters(LANGUAGE_MODEL))
    if recipe.method == "lora":
        return Work(tokens, size, LORA, WIDTHS[recipe.precision], setup.processes())
    kept = WIDTHS["float32"] + (CHECKPOINT if recipe.checkpoint_every else 0)
    return Work(tokens, size, FULL, TRAINED, setup.processes(), disk=kept * size)


def _train_reader(setup: Setup, item: str) -> Work:
    recipe, inputs = setup.params.readers.recipe(item), setup.params.readers.recipes[item]
    tasks, size = _known(setup.count(inputs.benchmark, "tasks")), _known(setup.parameters(inputs.base))
    tokens = tasks * recipe.max_steps * recipe.batch_size * max(recipe.passages, 1) * recipe.text_maxlength
    factor = FULL if recipe.trains == "all" else READ
    return Work(tokens, size, factor, TRAINED, disk=tasks * WIDTHS["float32"] * size)


def _augment(setup: Setup, item: str) -> Work:
    augment = setup.params.augment
    tool = augment.tools[item]
    texts = min(augment.max_documents or math.inf, _known(setup.rows("ingest@corpus", "documents")))
    size = _known(setup.parameters(LANGUAGE_MODEL))
    each = annotation_tokens(augment.max_text_tokens, tool.positions, tool.samples, augment.max_call_tokens)
    width = WIDTHS[augment.precision]
    activations = _sampled(setup, item) + _models(setup, [item], LANGUAGE_MODEL, width)
    return Work(texts * each, size, held=width, activations=activations)


def _sampled(setup: Setup, item: str) -> float:
    """The bytes of the keys and values of texts and samples at their longest; 0 without the model's shape."""
    augment = setup.params.augment
    tool, shape = augment.tools[item], setup.shape(LANGUAGE_MODEL)
    if shape is None:
        return 0.0
    one = tool.samples * (augment.max_call_tokens + 1)
    drawn = min(augment.batch_texts * tool.positions * one, max(cost.MOST_SAMPLED, one))
    # A prompt has its text twice.
    tokens = augment.batch_texts * 2 * augment.max_text_tokens + drawn
    return float(tokens * 2 * shape.layers * shape.keys * WIDTHS[augment.precision])


def _models(setup: Setup, tools: Iterable[str], loaded: str, width: int) -> float:
    """The bytes of the models that the project's tools run beside the one `loaded`, whose weights they share.

    Those that read are in its precision, of `width` bytes; the translation model is in float32.
    """
    read, translates = set[str](), set[str]()
    for name in tools:
        own = setup.params.tools[name]
        if name == "question_answering":
            read.add(own.get("model", LANGUAGE_MODEL))
        elif name == "machine_translation":
            engine = own.get("engine", "auto")
            if engine in ("auto", "language_model"):
                read.add(own.get("language_model", LANGUAGE_MODEL))
            if engine in ("auto", "model") and own.get("model"):
                translates.add(own["model"])
    known = {path: _known(setup.parameters(path)) for path in (read - {loaded}) | translates}
    return sum(width * known[path] for path in read - {loaded}) + sum(
        WIDTHS["float32"] * known[path] for path in translates
    )


def _index(setup: Setup, item: str) -> Work:
    if setup.params.index.dense == "none":
        return Work(0)
    encoder = setup.described(setup.source(ENCODER))
    tokens, size = _known(setup.count("corpus", "tokens")), _known(setup.parameters(ENCODER))
    passages = tokens * WORDS_A_TOKEN / setup.params.index.passage_words
    width = _known(encoder.width if encoder else None) * WIDTHS["float32"]
    disk = max(passages, _known(setup.rows("ingest@corpus", "documents"))) * width
    return Work(tokens, size, held=WIDTHS["float32"], disk=disk)


def _rerank(setup: Setup, item: str) -> Work:
    """Every text is read once for each task, and the demonstrations that its prompt begins with are not read again."""
    rerank, tables = setup.params.rerank, ("questions", "train_questions")
    size = _known(setup.parameters(rerank.benchmarks[item].model))
    questions = sum(_known(setup.rows(f"questions@{item}", table)) for table in tables)
    candidates = questions * (rerank.candidates or setup.params.retrieve.benchmarks[item].passages)
    passages = _known(setup.count(item, "tasks")) * _known(setup.rows("ingest@corpus", "documents"))
    shots = int(setup.params.benchmarks[item].settings().get("shots", 0))
    tokens = (questions + min(candidates, passages)) * rerank.max_tokens / (shots + 1)
    return Work(tokens, size, held=WIDTHS[rerank.precision])


def _predict(setup: Setup, item: str) -> Work:
    system = setup.params.predict.systems[item]
    settings = setup.params.predict.benchmark(system.benchmark)
    own = setup.params.benchmarks[system.benchmark].settings()
    rows = _known(setup.rows(f"questions@{system.benchmark}", "questions"))
    if Path(system.weights).suffix in (".json", ".jsonl"):
        return Work(0, disk=rows * PREDICTION)
    prompt = own.get("total_tokens") or setup.params.encoding.max_source_length
    if system.weights == ENCODER:
        prompt = ENCODER_TOKENS
    elif system.weights.startswith("models/readers/"):
        reader = setup.params.readers.recipe(Path(system.weights).name)
        prompt = max(reader.passages, 1) * reader.text_maxlength
    tokens = rows * (prompt + settings.samples * settings.max_new_tokens)
    size, held = _known(setup.parameters(system.weights)), WIDTHS[settings.precision]
    shape = setup.shape(system.weights)
    activations = held * _written(shape, prompt, settings) if shape else 0.0
    activations += (
        _models(setup, setup.params.augment.tools, system.weights, held) if _calls(setup, system) else 0
    )
    return Work(tokens, size, held=held, disk=rows * PREDICTION, activations=activations)


def _calls(setup: Setup, system: System) -> bool:
    """Whether a system may call tools; by default one that was trained to."""
    folder, name = Path(system.weights).parent, Path(system.weights).name
    trained = folder == Path("models/train") and setup.params.train.recipe(name).calls
    return system.calls == "on" or (system.calls is None and trained)


def _written(shape: Shape, prompt: int, settings: PredictBenchmark) -> float:
    """Numbers in memory while a language model answers: keys and values of a batch, and T5's bias of a prompt.

    The bias of the positions is there as made and once more in the order that attention reads (lm/encoder_decoder.py).
    """
    longest = prompt + settings.max_new_tokens
    tokens = max(longest, min(settings.batch_tokens, settings.batch_size * longest))
    bias = 2 * shape.heads * prompt**2 if shape.encoder_decoder else 0
    return 2 * shape.layers * shape.keys * tokens + bias


_WORKS: Mapping[str, Callable[[Setup, str], Work]] = {
    "augment": _augment,
    "index": _index,
    "rerank": _rerank,
    "train": _train,
    "train_reader": _train_reader,
    "predict": _predict,
}
