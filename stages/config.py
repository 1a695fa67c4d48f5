"""What all parameters stand on: a YAML file is read, and a group of its keys checked, with errors of one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from stages.errors import NightjarError

PARAMS_FILE = Path("params.yaml")
# Of a value that is refused, in characters.
MOST_SHOWN = 200

# Every number has two ends: what is larger than anyone needs would end in a traceback far away, or never.
LARGEST = 1_000_000_000
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Limit = Positive | None
Fraction = Annotated[float, Field(ge=0, le=1)]
Attempts = Annotated[int, Field(ge=1, le=20)]
Samples = Annotated[int, Field(ge=1, le=1_000_000)]
Gigabytes = Annotated[float, Field(gt=0, le=LARGEST)]


class Model(BaseModel):
    """Base of every parameter group: no unknown keys, no silent conversion of types, no inf, no changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


M = TypeVar("M", bound=Model)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises NightjarError for a missing file, broken YAML or a doubled key."""
    return _mapping(_read(path), path)


def read_optional(path: Path) -> dict[str, Any]:
    """As `read_yaml`, but empty where there is no such file or nothing in it."""
    value = _read(path) if path.is_file() else None
    return {} if value is None else _mapping(value, path)


def _read(path: Path) -> Any:
    return parse(read_text(path), path)


def read_text(path: Path) -> str:
    """The text of a YAML file. Raises NightjarError if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NightjarError("not found", path, "run from the project's root") from None
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", path, "save the file as UTF-8") from None


def parse(text: str, where: object) -> Any:
    """The value of a text in YAML. Raises NightjarError for one that is broken or has a doubled key."""
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"{where}:{mark.line + 1}" if mark else where
        problem = _shown(getattr(error, "problem", error))
        raise NightjarError(f"not valid YAML ({problem})", line, "mend that line") from None
    except (ValueError, LookupError) as error:  # a month 13, `!!bool x`
        raise NightjarError(f"not valid YAML ({_shown(error)})", where, "mend that value") from None
    except RecursionError:
        raise NightjarError("not valid YAML (nested too deeply)", where, "mend that file") from None


def _mapping(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NightjarError("not a mapping of keys to values", path, "start from profiles/sample.yaml")
    return value


# The password of an address: a line about it must not show it.
_SECRET = re.compile(r"(://[^/@:\s]*:|password=)[^@&\s'\"]+")


def checked(model: type[M], values: Any, where: object, *group: str) -> M:
    """`values` as a `model`. Raises NightjarError naming the first bad key, below `group`, and how many more."""
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
            shown = _shown(_repr(first["input"]))
            what = f"{key} = {shown} is not allowed{told}{more}"
        raise NightjarError(what, where, fix) from None


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"


def _shown(value: object) -> str:
    """So much of a value as fits into a line, without the password of an address."""
    text = _SECRET.sub(r"\1…", str(value))
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _told(kind: str, message: str) -> tuple[str, str]:
    """What is wrong, if that is more than what to write instead, and what to write, of an error of pydantic."""
    if kind == "value_error":  # of a validator of ours: `what; fix`, or the fix alone
        what, _, fix = message.removeprefix("Value error, ").rpartition("; ")
        return what and f": {what}", fix
    if kind in ("dict_type", "model_type"):
        return "", "it should be a mapping of keys to values"
    return "", re.sub(r"^\w+ should ", "it should ", message)
