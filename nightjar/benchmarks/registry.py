"""The benchmarks: Nightjar's own cards, those of other packages by the entry point group `nightjar.benchmarks`, and
those that are made from task files (`own_task`), by the name in the file.

A task file is known in the project whose params.yaml names it as `benchmarks.NAME.code`, and where `add` was called.

Cards of other packages are held to what a card promises: checked once when loaded, their functions at every call. The
annotations of `Card`, of its capabilities and of the classes that they hold are the rules.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin, get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError

from nightjar.benchmarks import own_task
from nightjar.benchmarks.capabilities import (
    Average,
    Capability,
    Choices,
    Form,
    Ranking,
    Reranking,
    TaskSource,
)
from nightjar.benchmarks.card import Card, Choice
from nightjar.benchmarks.folders import OWN as OWN
from nightjar.benchmarks.question import Question
from nightjar.core import paths, plugins
from nightjar.core.config import PARAMS_FILE, checked, read_yaml, refused
from nightjar.core.errors import NightjarError, did_you_mean
from nightjar.core.plugins import FIX, calling
from nightjar.params.predict import PredictBenchmark

if TYPE_CHECKING:
    from nightjar.params import Params

GROUP = "nightjar.benchmarks"


def names() -> list[str]:
    """The names of all benchmarks, Nightjar's own first."""
    return list(dict.fromkeys([*_points(), *_task_files()]))


def card(name: str) -> Card:
    """The card of that name. Raises NightjarError if there is none, or its module or its task file is broken."""
    if name not in _points() and (file := _task_files().get(name)):
        return _of_file(file, name)
    return _packaged(name)


@functools.cache
def _packaged(name: str) -> Card:
    if name in OWN:
        own: Card = import_module(f"{OWN[name]}.card").CARD
        return own
    point = _points().get(name)
    if point is None:
        raise NightjarError("no such benchmark", repr(name), _meant(name))
    return validated(plugins.load(point), name, plugins.place(point))


def _meant(name: str) -> str:
    return did_you_mean(name, names(), f"benchmarks are {', '.join(names())}")


# The task files of this process, by the name of their task.
_added: dict[str, Path] = {}


def add(file: Path, *, allow_outside: bool = False) -> Card:
    """The card of a task file, which `card` finds by its name from now on; `allow_outside` as in `own_task.read`.

    Raises NightjarError if it is broken, or a benchmark of an installed package has the name.
    """
    made = own_task.card(file, allow_outside=allow_outside)
    if made.name in _points():
        fix = "give the task another name"
        raise NightjarError(f"there is a benchmark {made.name} already", file, fix)
    _added[made.name] = file
    return made


def chosen(
    benchmark: str | None, data: Path | None, task: Path | None, *, allow_outside: bool = False
) -> Card:
    """The card of a benchmark whose `data` are named, or of a task file; `allow_outside` as in `own_task.read`.

    Raises NightjarError for both or neither, and for a benchmark that reads no files of its own.
    """
    if allow_outside and task is None:
        raise NightjarError("files outside are those of a task file", "allow_outside", "name a task file")
    if (benchmark is None) == (task is None) or (benchmark is None) != (data is None):
        fix = "name a benchmark with the folder or file of its data, or a task file alone"
        raise NightjarError("one benchmark with its data, or one task file, is required", "benchmark", fix)
    return card(benchmark) if benchmark is not None else add(task or Path(), allow_outside=allow_outside)


def is_task_file(code: str) -> bool:
    """Whether `benchmarks.NAME.code` of the parameters is a task file."""
    return code.endswith(own_task.SUFFIXES)


def _task_files() -> dict[str, Path]:
    """The task files that were added, and those of the project in this folder, by the name of their task."""
    found = dict(_added)
    with suppress(NightjarError):  # whoever reads the parameters says what is wrong with them
        groups = read_yaml(PARAMS_FILE).get("benchmarks")
        for name, group in groups.items() if isinstance(groups, dict) else ():
            code = group.get("code") if isinstance(group, dict) else None
            if isinstance(code, str) and is_task_file(code):
                found[name] = Path(code)
    return found


def _of_file(file: Path, name: str) -> Card:
    made = own_task.card(file, allow_outside=True)  # the project names it
    if made.name != name:
        raise NightjarError(f"this task has the name {made.name!r}", file, f"name it {name}")
    return made


def place(name: str) -> str:
    """Where the card of that name is, for a message."""
    point = _points().get(name)
    if point is None and (file := _task_files().get(name)):
        return str(file)
    return plugins.place(point) if point else f"nightjar.benchmarks, {name}"


def settings(card: Card, values: Mapping[str, Any], where: object = PARAMS_FILE) -> Any:
    """The card's settings from its own keys in the group `benchmarks` of the parameters. Raises NightjarError."""
    with plugins.calling(place(card.name), "its settings cannot be checked"):
        return checked(card.settings, dict(values), where, "benchmarks", card.name)


def check(params: Params, where: object = PARAMS_FILE) -> None:
    """Raise NightjarError for a benchmark in the parameters that there is not, whose settings its card refuses, or
    whose code is not what the graph watches."""
    for name, group in params.benchmarks.items():
        if name not in names():
            raise NightjarError("no such benchmark", f"{where}: benchmarks.{name}", _meant(name))
        if is_task_file(group.code) and name in _points():
            fix = "give the task another name"
            raise NightjarError(
                f"there is a benchmark {name} already", f"{where}: benchmarks.{name}.code", fix
            )
        made = card(name)
        settings(made, group.settings(), where)
        _check_data(made, group.data, where)
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
        if system.benchmark in params.retrieve.benchmarks and not card(system.benchmark).capability(
            Reranking
        ):
            what = f"its recipe uses {recipe.passages} passages of evidence"
            fix = f"set it to {paths.RETRIEVED / system.benchmark}"
            raise NightjarError(what, f"{where}: predict.systems.{name}.evidence", fix)


def _check_data(card: Card, data: str, where: object) -> None:
    """Raise NightjarError if the data of a task file are not those that the graph watches."""
    made = card.capability(TaskSource)
    if made and Path(data).resolve() != made.data.resolve():
        what = f"benchmarks.{card.name}.data is {data}, but {made.file} reads {made.data}"
        raise NightjarError(what, where, f"set it to {made.data}")


@functools.lru_cache(maxsize=1)
def _points() -> dict[str, EntryPoint]:
    own = {name: EntryPoint(name, f"{folder}.card:CARD", GROUP) for name, folder in OWN.items()}
    return plugins.points(GROUP, own)


_RULES = Capability.__pydantic_config__
# Names in annotations that their modules import for type checkers alone.
_NAMES = {"Choice": Choice, "PredictBenchmark": PredictBenchmark, "Question": Question}
# Written as JSON.
_JSON = {"EvaluationFacts.facts": dict[str, JsonValue], "Explain.line": dict[str, JsonValue]}
# Columns of tables of scores that are no metrics.
_COLUMNS = ("n", "metric")


def validated(card: Any, name: str, where: str) -> Card:
    """The card of that name from another package, whose functions fail in one line that names the place `where`.

    Raises NightjarError if it is no card, has another name, or has a field that a card must not have.
    """
    with calling(where, "this card cannot be checked"):
        if not isinstance(card, Card):
            what = f"a {type(card).__name__} instead of a card"
            raise NightjarError(what, where, "name a nightjar.benchmarks.Card")
        _check(_class_rules(Card), card, where)
        for one in card.capabilities:
            kind: Any = type(one)
            _check(_class_rules(kind), one, where, kind.__name__)
        if card.name != name:
            raise NightjarError(f"this card has the name {card.name!r}", where, f"name it {name}")
        for fault in _faults(card):
            raise NightjarError(fault, where, FIX)
        found: Card = _validated(card, Card, "", where)
    return found


def _faults(card: Card) -> Iterator[str]:
    """What is wrong with a card whose fields have the right types."""
    names = [metric.name for metric in card.metrics]
    if duplicates := [name for name, count in Counter(names).items() if count > 1]:
        yield f"two metrics have the name {duplicates[0]!r}"
    kinds = [type(one) for one in card.capabilities if not one.several]
    if duplicate_kinds := [kind for kind, count in Counter(kinds).items() if count > 1]:
        yield f"two capabilities are {duplicate_kinds[0].__name__}"
    for field in ("metrics", "levels"):
        if not getattr(card, field):
            yield f"{field} is empty"
    for metric in card.metrics:
        low, high = metric.range
        if metric.name in _COLUMNS:
            yield f"a metric has the name {metric.name!r}, which is a column of tables"
        if not low < high:
            yield f"the range of the metric {metric.name!r} is empty: {metric.range}"
        if not 0 < abs(metric.scale) < float("inf"):
            yield f"the scale of the metric {metric.name!r} is {metric.scale}"
        if metric.right and len(metric.parts) > 1:
            yield f"the metric {metric.name!r} says what is right, and has several parts"
    average, form = card.capability(Average), card.capability(Form)
    needed: dict[type[Capability], list[str]] = {Average: [average.name]} if average else {}
    needed |= {Form: [form.metric]} if form else {}
    for kind, wanted in needed.items():
        if unknown := [name for name in wanted if name not in names]:
            yield f"{kind.__name__} names the metric {unknown[0]!r}, which the card has not"
    if average and (unknown := [track for track in average.tracks if track not in card.tasks]):
        yield f"Average names the track {unknown[0]!r}, which is none of tasks"
    for name, task in card.tasks.items():
        if (task.kind == "choose") != bool(task.choices or card.capability(Choices)):
            yield f"the task {name!r} has the kind {task.kind} and {len(task.choices)} choices"
        if task.kind == "sample" and not card.capability(Ranking):
            yield f"the task {name!r} has the kind sample, but the capability Ranking is missing"


def _validated(value: Any, hint: Any, name: str, where: str) -> Any:
    """`value` with every function in it held to the annotation `hint`; `name` is its own, for messages."""
    if get_origin(hint) is UnionType:  # something, or None
        hint = get_args(hint)[0]
    if isinstance(value, Card | Capability):
        whole, kind = cast(Any, value), cast(Any, type(value))
        hints, prefix = _hints(kind), "" if kind is Card else f"{kind.__name__}."
        own = {field.name: getattr(value, field.name) for field in fields(whole)}
        return replace(
            whole, **{key: _validated(one, hints[key], f"{prefix}{key}", where) for key, one in own.items()}
        )
    if get_origin(hint) is Callable and callable(value):
        return _function(value, get_args(hint)[-1], name, where)
    inner = get_args(hint)[-1:] or (Any,)
    if isinstance(value, Mapping):
        return {key: _validated(one, inner[0], f"{name}[{key!r}]", where) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        hints = _hints(type(value))
        return type(value)(
            *(_validated(one, hints[key], key, where) for key, one in zip(value._fields, value, strict=True))
        )
    if isinstance(value, tuple) and get_args(hint)[1:] == (...,):
        return tuple(_validated(one, get_args(hint)[0], f"{name}.{n}", where) for n, one in enumerate(value))
    return value


def _function(call: Callable[..., Any], gives: Any, name: str, where: str) -> Callable[..., Any]:
    """`call`, whose failures are NightjarErrors, and which gives what the annotation `gives` says."""
    each = get_origin(gives) in (Iterator, Iterable)
    rules = _rules(_JSON.get(name, get_args(gives)[0] if each else gives))

    @functools.wraps(call, updated=())
    def function(*arguments: Any, **more: Any) -> Any:
        with calling(where, f"{name} fails"):
            found = call(*arguments, **more)
            if each:
                return _each(iter(found), rules, name, where)
            _check(rules, found, where, name)
            return _validated(found, gives, name, where)

    return function


def _each(found: Iterator[Any], rules: TypeAdapter[Any], name: str, where: str) -> Iterator[Any]:
    while True:
        with calling(where, f"{name} fails"):
            try:
                one = next(found)
            except StopIteration:
                return
            _check(rules, one, where, name)
        yield one


def _check(rules: TypeAdapter[Any], value: Any, where: str, *name: str) -> None:
    try:
        rules.validate_python(value)
    except ValidationError as error:
        raise refused(error, where, *name) from None


@functools.cache
def _class_rules(kind: type) -> TypeAdapter[Any]:
    rules: TypeAdapter[Any] = TypeAdapter(kind)
    rules.rebuild(raise_errors=True, _types_namespace=_NAMES)
    return rules


@functools.cache
def _rules(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=_RULES)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, localns=_NAMES)
