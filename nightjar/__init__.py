"""Train and evaluate instruction-following language models that call tools and use retrieved evidence.

core         errors, files, Parquet tables, contracts
params       the settings of params.yaml, one file a group
statistics   intervals and paired tests
text         ROUGE, exact match and F1 of texts
prompts      text templates and encodings
models       language models: load, score, generate
search       sentence encoders, dense and lexical index
tools        calls of tools, and decoding that makes them
benchmarks   what models are evaluated on, and its metrics
predict      how a system answers the questions of a benchmark
judge        comparison of answers by people
harness      runs of other harnesses, and their comparison

Each is imported when it is first used. `evaluate` evaluates a model on a benchmark's published files or a task file.
docs/library.md has examples.
"""

from typing import TYPE_CHECKING, Any

from nightjar.core.startup import lazy, wait_asleep

if TYPE_CHECKING:
    from nightjar import (
        benchmarks,
        core,
        harness,
        judge,
        models,
        params,
        predict,
        prompts,
        search,
        statistics,
        text,
        tools,
    )
    from nightjar.predict.evaluation import evaluate as evaluate

__all__ = [
    "benchmarks",
    "core",
    "evaluate",
    "harness",
    "judge",
    "models",
    "params",
    "predict",
    "prompts",
    "search",
    "statistics",
    "text",
    "tools",
]

# Here: nothing of Nightjar loads torch before this.
wait_asleep()
_module, __dir__ = lazy(__name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import (
            version,  # here, not above: it takes longer than all of `import nightjar`
        )

        return version("nightjar")
    return _module(name)
