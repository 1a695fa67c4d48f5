"""Benchmarks by name: Nightjar's own, those of other packages by the entry point group `nightjar.benchmarks`, and those
that task files describe (`own_task`), by the name in the file.

    [project.entry-points."nightjar.benchmarks"]
    capitals = "my_package.capitals:Capitals"

The entry point names a subclass of `nightjar.benchmarks.Benchmark` that is called without arguments. What its methods
raise is one line that names the package. A task file is known in the project whose params.yaml names it as
`benchmarks.NAME.code`, and where `add` was called.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks import own_task
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.folders import OWN as OWN
from nightjar.benchmarks.question_set import QuestionSet, check_settings, overrides
from nightjar.core import paths, plugins
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError, did_you_mean
from nightjar.core.plugins import FIX, calling

if TYPE_CHECKING:
    from nightjar.params import Params

GROUP = "nightjar.benchmarks"


def names() -> list[str]:
    """Return the names of all benchmarks, Nightjar's own first."""
    return list(dict.fromkeys([*_points(), *_task_files()]))


def load_benchmark(name: str) -> Benchmark:
    """Return the benchmark of that name.

    Raises NightjarError if there is none, or its module or its task file is broken.
    """
    if name not in _points() and (file := _task_files().get(name)):
        return _of_file(file, name)
    return _packaged(name)


@functools.cache
def _packaged(name: str) -> Benchmark:
    if name in OWN:
        benchmark: Benchmark = import_module(f"{OWN[name]}.scoring").BENCHMARK
        return benchmark
    point = _points().get(name)
    if point is None:
        raise NightjarError("no such benchmark", repr(name), _suggestion(name))
    return instance_of(plugins.load(point), name, plugins.place(point))


def _suggestion(name: str) -> str:
    return did_you_mean(name, names(), f"benchmarks are {', '.join(names())}")


# The task files of this process, by the name of their task.
_added: dict[str, Path] = {}


def add(file: Path, *, allow_outside: bool = False) -> Benchmark:
    """Return the benchmark of a task file, and let `load_benchmark` find it by its name from now on.

    `allow_outside` as in `own_task.read`. Raises NightjarError if the file is broken, or a benchmark of an installed
    package has the name.
    """
    benchmark = own_task.task_benchmark(file, allow_outside=allow_outside)
    if benchmark.name in _points():
        fix = "give the task another name"
        raise NightjarError(f"there is a benchmark {benchmark.name} already", file, fix)
    _added[benchmark.name] = file
    return benchmark


def is_task_file(code: str) -> bool:
    """Tell whether `benchmarks.NAME.code` of the parameters is a task file."""
    return code.endswith(own_task.SUFFIXES)


def _task_files() -> dict[str, Path]:
    """Return the task files that were added, and those of the project in this folder, by the name of their task."""
    files = dict(_added)
    with suppress(NightjarError):  # whoever reads the parameters says what is wrong with them
        groups = read_yaml(PARAMS_FILE).get("benchmarks")
        for name, group in groups.items() if isinstance(groups, dict) else ():
            code = group.get("code") if isinstance(group, dict) else None
            if isinstance(code, str) and is_task_file(code):
                files[name] = Path(code)
    return files


def _of_file(file: Path, name: str) -> Benchmark:
    benchmark = own_task.task_benchmark(file, allow_outside=True)  # the project names it
    if benchmark.name != name:
        raise NightjarError(f"this task has the name {benchmark.name!r}", file, f"name it {name}")
    return benchmark


def place(name: str) -> str:
    """Name the place of a benchmark's code, for a message."""
    point = _points().get(name)
    if point is None and (file := _task_files().get(name)):
        return str(file)
    return plugins.place(point) if point else f"nightjar.benchmarks, {name}"


def check(params: Params, where: object = PARAMS_FILE) -> None:
    """Raise NightjarError for a benchmark in the parameters that is unknown, whose settings it refuses, or whose code
    is not what the graph watches."""
    for name, group in params.benchmarks.items():
        if name not in names():
            raise NightjarError("no such benchmark", f"{where}: benchmarks.{name}", _suggestion(name))
        if is_task_file(group.code) and name in _points():
            fix = "give the task another name"
            raise NightjarError(
                f"there is a benchmark {name} already", f"{where}: benchmarks.{name}.code", fix
            )
        benchmark = load_benchmark(name)
        check_settings(benchmark, group.settings(), where)
        _check_data(benchmark, group.data, where)
        if name not in OWN and (point := _points().get(name)):
            plugins.check_watched(point, group.code, f"benchmarks.{name}.code", where)
    for system in params.predict.systems.values():
        if system.benchmark not in params.benchmarks:
            what = f"predict.systems has {system.benchmark}-{system.system}"
            raise NightjarError(what, where, f"add {system.benchmark} to the group benchmarks")
    _check_evidence(params, where)


def _check_evidence(params: Params, where: object) -> None:
    """Raise NightjarError for a system without passages whose recipe trains with some, where its benchmark has them."""
    recipes = {paths.TRAINED / name: recipe for name, recipe in params.train.recipes.items()}
    for name, system in params.predict.systems.items():
        recipe = recipes.get(Path(system.weights))
        if recipe is None or not recipe.passages or system.evidence:
            continue
        # Other benchmarks have what is to be read in their questions, or rank passages for readers alone.
        retrieves = system.benchmark in params.retrieve.benchmarks
        if retrieves and not load_benchmark(system.benchmark).has_reranking:
            what = f"its recipe uses {recipe.passages} passages of evidence"
            fix = f"set it to {paths.RETRIEVED / system.benchmark}"
            raise NightjarError(what, f"{where}: predict.systems.{name}.evidence", fix)


def _check_data(benchmark: Benchmark, data: str, where: object) -> None:
    """Raise NightjarError if the data of a task file are not those that the graph watches."""
    source = benchmark.task_source
    if source and Path(data).resolve() != source.data.resolve():
        what = f"benchmarks.{benchmark.name}.data is {data}, but {source.file} reads {source.data}"
        raise NightjarError(what, where, f"set it to {source.data}")


@functools.lru_cache(maxsize=1)
def _points() -> dict[str, EntryPoint]:
    own_points = {
        name: EntryPoint(name, f"{folder}.scoring:BENCHMARK", GROUP) for name, folder in OWN.items()
    }
    return plugins.points(GROUP, own_points)


# Columns of tables of scores that are no metrics.
_COLUMNS = ("n", "metric")


def instance_of(kind: Any, name: str, where: str) -> Benchmark:
    """Make the benchmark of that name from the class of another package, which is at the place `where`.

    What its methods raise names the place.
    """
    if not (isinstance(kind, type) and issubclass(kind, Benchmark)):
        raise NightjarError("it is no benchmark", where, "name a subclass of nightjar.benchmarks.Benchmark")
    with calling(where, "it cannot be made"):
        benchmark = kind()
    if missing := [field for field in _FIELDS if not hasattr(benchmark, field)]:
        raise NightjarError(f"it has no {missing[0]}", where, FIX)
    if benchmark.name != name:
        raise NightjarError(f"this benchmark has the name {benchmark.name!r}", where, f"name it {name}")
    for fault in _faults(benchmark):
        raise NightjarError(fault, where, FIX)
    for part in (*benchmark.analyses, benchmark.readers, benchmark.submission):
        if part is not None:
            plugins.guard(part, type(part), where)
    plugins.guard(benchmark, Benchmark, where)
    return benchmark


_FIELDS = ("name", "version", "title", "source", "metrics")


def _faults(benchmark: Benchmark) -> Iterator[str]:
    """Find the faults of a benchmark's metrics and tasks, which would give wrong tables."""
    if not benchmark.metrics:
        yield "metrics is empty"
    counts = Counter(metric.name for metric in benchmark.metrics)
    for name, count in counts.items():
        if count > 1:
            yield f"two metrics have the name {name!r}"
        if name in _COLUMNS:
            yield f"a metric has the name {name!r}, which is a column of tables"
    average = benchmark.average
    for name in filter(None, (average.name if average else "", benchmark.form_metric)):
        if name not in counts:
            yield f"it names the metric {name!r}, which is none of metrics"
    for name, task in benchmark.tasks.items():
        if task.kind == "choose" and not task.choices and not overrides(benchmark, QuestionSet.choices):
            yield f"the task {name!r} has the kind choose and no choices"
        if task.kind == "sample" and not benchmark.ranks_answers:
            yield f"the task {name!r} has the kind sample, but there is no method rank_answers"
