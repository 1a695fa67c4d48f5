"""Reads a YAML file and checks a group of its keys; errors have one line."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nightjar.core.errors import NightjarError, did_you_mean
from nightjar.core.paths import PARAMS_FILE as PARAMS_FILE

# Of a value that is refused, in characters.
MOST_SHOWN = 200
# Of a file, in characters: some seconds of parsing. The longest of this project has 8,000.
LONGEST_FILE = 500_000
# Values in a file once every alias is written out: nested aliases double with each line.
MOST_VALUES = 100_000

# Every number has two ends: what is larger than anyone needs would end in a traceback far away, or never.
LARGEST = 1_000_000_000
Name = Annotated[str, Field(min_length=1)]
# A benchmark, a system or a recipe: part of a stage's name and of a path.
Item = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Limit = Positive | None
Fraction = Annotated[float, Field(ge=0, le=1)]
Attempts = Annotated[int, Field(ge=1, le=20)]
Gigabytes = Annotated[float, Field(gt=0, le=LARGEST)]
# Where a view of a group has the function that refuses a name.
REFUSAL = "__refusal__"


class StrictModel(BaseModel):
    """Base of every parameter group: no unknown keys, no silent conversion of types, no inf, no changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    if not TYPE_CHECKING:  # with it, any name would be an attribute for mypy

        def __getattr__(self, name: str) -> Any:
            """Refuse a field that a view of the group leaves out (stages/_runtime/declared_settings.py)."""
            refuse = self.__dict__.get(REFUSAL)
            if refuse and name in type(self).model_fields:
                refuse(name)
            return super().__getattr__(name)


class NoSettings(StrictModel):
    """The settings of a benchmark or a tool that has none."""


M = TypeVar("M", bound=StrictModel)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file of Nightjar's own. Raises NightjarError as `parse`, and for anchors and aliases."""
    return _mapping(_read(path, aliases=False), path)


def read_optional(path: Path) -> dict[str, Any]:
    """As `read_yaml`, but empty where there is no such file or nothing in it; another repository may use aliases."""
    value = _read(path, aliases=True) if path.is_file() else None
    return {} if value is None else _mapping(value, path)


def _read(path: Path, aliases: bool) -> Any:
    return parse(read_text(path), path, aliases)


def value(params: Mapping[str, Any], key: str) -> Any:
    """The parameter of that dotted key, such as `train.combined.epochs`; None if there is none."""
    node: Any = params
    for name in key.split("."):
        node = node.get(name) if isinstance(node, Mapping) else None
    return node


def read_text(path: Path) -> str:
    """The text of a YAML file. Raises NightjarError if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NightjarError("not found", path, "run from the project's root") from None
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", path, "save the file as UTF-8") from None


def parse(text: str, where: object, aliases: bool = False) -> Any:
    """The value of a text in YAML. Raises NightjarError for one that is broken, has a duplicate key, or is too long.

    Anchors and aliases are refused unless `aliases`; then what they refer to may have MOST_VALUES values in all.
    """
    # Here, not above: it takes long to load, and scoring files does without it.
    from ruamel.yaml.error import ReusedAnchorWarning, YAMLError

    warnings.simplefilter("ignore", ReusedAnchorWarning)  # allowed in YAML 1.2
    if len(text) > LONGEST_FILE:
        what = f"too long: {len(text):,} characters, at most {LONGEST_FILE:,} are allowed"
        raise NightjarError(what, where, "shorten it")
    try:
        value = deepcopy(_parsed(text, aliases))
        # A value that is written out takes a character at least: more values than that come from aliases.
        if _values(value, {}) > max(MOST_VALUES, len(text)):
            raise NightjarError(
                f"its aliases refer to more than {MOST_VALUES:,} values", where, "write them out"
            )
        return value
    except _AliasRefused as error:
        what = "an anchor (&) or an alias (*)"
        raise NightjarError(what, f"{where}:{error.line}", "write the value itself, or quote it") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        problem = _short_text(getattr(error, "problem", error))
        raise NightjarError(f"not valid YAML ({problem})", place, "correct that line") from None
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
    ) as error:  # a month 13, `!!bool x`
        raise NightjarError(f"not valid YAML ({_short_text(error)})", where, "correct that value") from None
    except RecursionError:
        raise NightjarError("not valid YAML (nested too deeply)", where, "correct that file") from None


# A process reads params.yaml several times, and each parsing takes 0.1 s. There is room for all profiles: whoever
# compares them reads those that they build on again and again.
@lru_cache(maxsize=64)
def _parsed(text: str, aliases: bool) -> Any:
    """The value of a text in YAML, which the caller must not change. Raises _AliasRefused unless `aliases`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.events import AliasEvent

    class WithoutAliases(Composer):
        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.parser.peek_event()
            if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
                raise _AliasRefused(event.start_mark.line + 1)
            return super().compose_node(parent, index)

    yaml = YAML(typ="safe", pure=True)  # as DVC reads; the composer in C crashes on deep nesting
    if not aliases:
        yaml.Composer = WithoutAliases
    return yaml.load(text)


class _AliasRefused(Exception):
    """A text in YAML has an anchor or an alias in this line."""

    def __init__(self, line: int) -> None:
        self.line = line


def _values(value: Any, sizes: dict[int, float]) -> float:
    """Count the values with every alias written out; infinite for one that holds itself.

    Raises ValueError for an integer that Python does not print, and for a key that JSON cannot have.
    """
    if isinstance(value, int) and value.bit_length() > 10_000:
        raise ValueError("a number of thousands of digits")
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in sizes:
        sizes[id(value)] = math.inf  # for one that holds itself
        if isinstance(value, dict) and not all(isinstance(key, str | float | int | None) for key in value):
            raise ValueError("a key that is neither a text nor a number")
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        sizes[id(value)] = 1 + sum(_values(part, sizes) for part in parts)
    return sizes[id(value)]


def _mapping(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NightjarError("not a mapping of keys to values", path, "start from profiles/defaults.yaml")
    return value


# The password of an address: a line about it must not show it.
_SECRET = re.compile(r"(://[^/@:\s]*:|password=)[^@&\s'\"]+")


def checked(model: type[M], values: Any, where: object, *group: str) -> M:
    """`values` as a `model`. Raises NightjarError naming the first bad key, below `group`, and how many more."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refused(error, where, *group, model=model) from None


def refused(
    error: ValidationError, where: object, *group: str, model: type[BaseModel] | None = None
) -> NightjarError:
    """The first of the problems that pydantic found, with its key below `group`, and how many more there are.

    A mistyped key may be meant to be one of `model`.
    """
    problems = error.errors(include_url=False)
    # A mistyped key is both unknown and missing: the unknown one is what the user wrote.
    first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    fields = _keys(model, *first["loc"][:-1])
    what, fix = _described(first, problems, group, fields, "profiles/defaults.yaml has every key", more)
    return NightjarError(what, where, fix)


def problems_of(error: ValidationError, fields: Iterable[str], keys: str) -> list[tuple[str, str, str]]:
    """Every problem that pydantic found: the key of the mapping, what is wrong, and what to do.

    `fields` as in `refused`; `keys` says where all keys stand. A key that is missing because it is mistyped is left
    out. Of a value that may be of several types one problem is given.
    """
    first_problems: dict[Any, Any] = {}
    for item in error.errors(include_url=False):
        loc = tuple(part for at, part in enumerate(item["loc"]) if at == 0 or isinstance(part, int))
        if loc[:1] not in first_problems or not item["type"].endswith("_type"):
            first_problems[loc[:1]] = {**item, "loc": loc}
    problems = list(first_problems.values())
    lines = [
        (str(item["loc"][0]), *_described(item, problems, (), fields, keys))
        for item in problems
        if item["loc"]
    ]
    meant = {fix for _, _, fix in lines}
    return [
        one for one in lines if f"did you mean {one[0]}?" not in meant or not one[1].endswith("is missing")
    ]


def _described(
    problem: Any,
    problems: Iterable[Any],
    group: Iterable[str],
    fields: Iterable[str],
    keys: str,
    more: str = "",
) -> tuple[str, str]:
    """Describe one of the problems that pydantic found: the fault, and its fix."""
    key = _short_text(".".join([*group, *(str(part) for part in problem["loc"])]))
    if problem["type"] == "extra_forbidden":
        beside = [
            it["loc"] for it in problems if it["type"] == "missing" and it["loc"][:-1] == problem["loc"][:-1]
        ]
        meant = [*(str(loc[-1]) for loc in beside), *fields]
        fix = did_you_mean(str(problem["loc"][-1]), meant, "remove it, or correct its spelling")
        return f"unknown key {key}{more}", fix
    if problem["type"] == "missing" and isinstance(problem["loc"][-1], str):
        return f"key {key} is missing{more}", f"add it; {keys}"
    wrong, fix = _explained(problem["type"], problem["msg"])
    # Of a group as a whole, the message of its validator names the keys: the values of all would hide it.
    of_group = problem["type"] == "value_error" and isinstance(problem["input"], Mapping)
    value = "" if of_group else f" = {_short_text(_repr(problem['input']))}"
    return f"{key}{value} is not allowed{_short_text(wrong)}{more}", fix


def _keys(model: Any, *group: int | str) -> list[str]:
    """The keys of a group of a model; none where the group may have any key."""
    for name in group:
        field = model.model_fields.get(str(name)) if _is_model(model) else None
        model = field.annotation if field else None
    return list(model.model_fields) if _is_model(model) else []


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"
    except Exception:  # of another package's class
        return f"a {type(value).__name__}"


def _short_text(value: object) -> str:
    """The beginning of a value that fits into a line, without the password of an address."""
    text = _SECRET.sub(r"\1…", str(value))
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _explained(kind: str, message: str) -> tuple[str, str]:
    """Explain an error of pydantic: the fault, "" where the fix says all, and the fix."""
    if kind == "value_error":  # of a validator of ours: `what; fix`, or the fix alone
        what, _, fix = message.removeprefix("Value error, ").rpartition("; ")
        return what and f": {what}", fix
    if kind in ("dict_type", "model_type"):
        return "", "it should be a mapping of keys to values"
    return "", re.sub(r"^\w+ should ", "it should ", message)
