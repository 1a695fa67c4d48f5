"""Profiles: params.yaml is profiles/defaults.yaml, which has every key, overlaid with a profile and single settings."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from nightjar.core.config import PARAMS_FILE, parse, read_text, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from nightjar.core.json_text import quote_short
from nightjar.core.paths import PARAMS_BEFORE
from nightjar.params import validate
from nightjar.params.profile_values import DEFAULTS, Change, changes, put
from nightjar.params.profile_values import values as profile_values
from pipelines.project.applied_profile import added_by_user
from pipelines.run.preflight import check_project

# Of a value of --set, in characters.
LONGEST_VALUE = 10_000
EVERY_KEY = f"{DEFAULTS} has every key"


# Of params.yaml, which `nightjar use` writes without the comments of the profiles.
HEADER = (
    f"# Written by `nightjar use PROFILE --set KEY=VALUE`. {DEFAULTS} describes every setting.\n"
    "# Edit it as you like: a stage runs again when a setting that it reads changes.\n"
)
# Characters of the values of a mapping that is written on one line.
LONGEST_LINE = 180


def apply(root: Path, profile: str, settings: Iterable[str] = ()) -> list[Change]:
    """Write params.yaml for `profile` with `settings` ("KEY=VALUE", the value in YAML); returns what changes.

    If entries are removed that no profile has, PARAMS_BEFORE gets the file as it was. Raises NightjarError for an
    unknown profile, key or value, before anything is written.
    """
    text, target = checked_text(root, profile, settings), root / PARAMS_FILE
    differences = list(changes(_old(target), parse(text, target)))
    if added_by_user(root, differences):
        write_text(root / PARAMS_BEFORE, read_text(target))
    write_text(target, text)
    return differences


def checked_text(root: Path, profile: str, settings: Iterable[str] = ()) -> str:
    """Return the text of params.yaml that `apply` writes, checked as it will be read."""
    text = params_text(values_with(root, profile, settings))
    check_project(validate(parse(text, root / PARAMS_FILE), f"profile {profile}"), root, f"profile {profile}")
    return text


def values_with(root: Path, profile: str, settings: Iterable[str]) -> dict[str, Any]:
    """Return the value of every key in `profile` with `settings`. Raises NightjarError as `apply` does."""
    values = profile_values(root, profile)
    put(values, dict(map(setting, settings)), "--set", EVERY_KEY)
    return values


def edited(text: str, settings: Mapping[str, Any]) -> str:
    """The text of a params file with `settings` (dotted key: value). Values are not checked.

    Raises NightjarError for a key that the text does not have.
    """
    values = parse(text, PARAMS_FILE)
    put(values, settings, PARAMS_FILE, EVERY_KEY)
    return params_text(values)


def params_text(values: Mapping[str, Any]) -> str:
    """The text of params.yaml, with an entry such as a system or a recipe on one line."""
    yaml, stream = YAML(), io.StringIO()
    yaml.width, yaml.Representer = 1000, _Representer
    yaml.dump({name: _styled(value) for name, value in values.items()}, stream)
    # A blank line before every group.
    return HEADER + re.sub(r"(?m)^(?=\w+:$)", "\n", stream.getvalue())


class _Representer(RoundTripRepresenter):
    """The style of values. It is a class of its own, because DVC writes its files with the one of ruamel.yaml."""


_Representer.add_representer(
    type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "null")
)


def _styled(value: Any, depth: int = 0) -> Any:
    """A copy of a value with the style that each part is written in.

    A colon in a text needs quotation marks, which DVC drops when it writes a mapping on one line: such a mapping takes
    several.
    """
    if isinstance(value, Mapping):
        mapping = CommentedMap((name, _styled(item, depth + 1)) for name, item in value.items())
        text = "".join(map(str, value.values()))
        nested = any(isinstance(item, Mapping) for item in value.values())
        short = len(value) <= 10 and len(text) <= LONGEST_LINE
        if not value or (depth and short and not nested and ":" not in text):
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(_styled(item, 1) for item in value)
        sequence.fa.set_flow_style()
        return sequence
    quoted = isinstance(value, str) and (":" in value or not re.search(r"\w", value))
    return DoubleQuotedScalarString(value) if quoted else value


def _old(target: Path) -> dict[str, Any]:
    """Return the values of params.yaml; none if it is missing or broken, because it is to be replaced then."""
    try:
        return read_yaml(target)
    except NightjarError:
        return {}


def setting(argument: str) -> tuple[str, Any]:
    """The key and the value of "KEY=VALUE", the value in YAML. Raises NightjarError for anything else."""
    key, sign, text = argument.partition("=")
    if not sign or not key:
        raise NightjarError(f"{quote_short(argument)} is not KEY=VALUE", "--set", "such as --set seed=7")
    key = key.strip()
    where = f"--set {key}"
    if len(text) > LONGEST_VALUE:
        what = f"the value has {len(text):,} characters, at most {LONGEST_VALUE:,} are allowed"
        raise NightjarError(what, where, "write long values into a profile")
    try:
        return key, parse(text, where) if text.strip() else ""
    except NightjarError as error:
        what = f"{quote_short(text)} is not a value: {error.what}"
        raise NightjarError(what, where, "put it in quotation marks") from None
