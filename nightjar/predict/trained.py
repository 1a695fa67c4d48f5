"""The trained systems of a project by name, found before anything that takes long is loaded."""

from __future__ import annotations

from pathlib import Path

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.params import Params

RECIPE = "recipe.json"
# Recipes whose instances have a definition and an input; the others are trained on plain text.
INSTRUCTED = ("train", "supervised")


def benchmark_of(params: Params, folder: Path) -> str:
    """The benchmark whose settings apply to the model in `folder`: the first that it answers, else the first of all."""
    answered = [it.benchmark for it in params.predict.systems.values() if Path(it.weights) == folder]
    return next(iter([*answered, *params.benchmarks]))


def folder_of(system: str) -> Path:
    """The directory of a trained system, by the name of its recipe or by its path."""
    named = paths.TRAINED / system
    folder = named if named.is_dir() and "/" not in system else Path(system)
    if not (folder / RECIPE).is_file():
        there = sorted(path.parent.name for path in paths.TRAINED.glob(f"*/{RECIPE}"))
        fix = f"systems are {', '.join(there)}" if there else "run: nightjar rebuild train"
        what = f"no {RECIPE} in this directory" if folder.is_dir() else "no such trained system"
        raise NightjarError(what, repr(system), fix)
    return folder
