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

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Limit = Annotated[int, Field(ge=1)] | None


class Model(BaseModel):
    """Base of every parameter group: no unknown keys, no silent conversion of types, no changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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
            shown = _SECRET.sub(r"\1…", repr(first["input"]))
            what = f"{key} = {shown} is not allowed{told}{more}"
        raise NightjarError(what, where, fix) from None


def _told(kind: str, message: str) -> tuple[str, str]:
    """What is wrong, if that is more than what to write instead, and what to write, of an error of pydantic."""
    if kind == "value_error":  # of a validator of ours: `what; fix`, or the fix alone
        what, _, fix = message.removeprefix("Value error, ").rpartition("; ")
        return what and f": {what}", fix
    if kind in ("dict_type", "model_type"):
        return "", "it should be a mapping of keys to values"
    return "", re.sub(r"^\w+ should ", "it should ", message)
