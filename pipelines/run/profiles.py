"""Profiles: params.yaml is profiles/sample.yaml, which has every key, overlaid with a profile and single settings."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import RoundTripRepresenter

from nightjar.core.config import PARAMS_FILE, parse, read_text, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from nightjar.core.json_text import shown
from nightjar.core.paths import PARAMS_BEFORE
from nightjar.params import validate
from nightjar.params.profiles import BASE, PROFILES, Change, changes, lay_over, own, put
from pipelines.run.preflight import check_project

# Of a value of --set, in characters.
LONGEST_VALUE = 10_000
EVERY_KEY = "profiles/sample.yaml has every key"


def apply(root: Path, profile: str, settings: Iterable[str] = (), write: bool = True) -> list[Change]:
    """Write params.yaml for `profile` with `settings` ("KEY=VALUE", the value in YAML); returns what changes.

    Comments of profiles/sample.yaml are kept. If entries are removed that no profile has, PARAMS_BEFORE gets the file
    as it was. Raises NightjarError for an unknown profile, key or value, before anything is written.
    """
    overrides = dict(map(setting, settings))
    base_path = root / PROFILES / f"{BASE}.yaml"
    read_yaml(base_path)  # for its one-line errors
    values = deepcopy(_loaded(base_path.read_text(encoding="utf-8")))
    lay_over(values, root, profile)
    put(values, overrides, "--set", EVERY_KEY)
    # Checked without the comments: a plain copy of what will be written.
    text = _dump(values)
    target = root / PARAMS_FILE
    new = parse(text, target)
    check_project(validate(new, f"profile {profile}"), root, f"profile {profile}")
    found = list(changes(_old(target), new))
    if write and own(root, found):
        write_text(root / PARAMS_BEFORE, read_text(target))
    if write:
        write_text(target, text)
    return found


def edited(text: str, settings: Mapping[str, Any]) -> str:
    """The text of a params file with `settings` (dotted key: value), its comments kept. Values are not checked.

    Raises NightjarError for a key that the text does not have.
    """
    values = deepcopy(_loaded(text))
    put(values, settings, PARAMS_FILE, EVERY_KEY)
    return _dump(values)


class _Representer(RoundTripRepresenter):
    """How values are written. A class of its own: DVC writes its files with the one of ruamel.yaml."""


# DVC's parser refuses a colon in a text without quotation marks where a mapping is on one line.
_Representer.add_representer(
    str,
    lambda representer, text: representer.represent_scalar(
        "tag:yaml.org,2002:str", text, style='"' if ":" in text else None
    ),
)
_Representer.add_representer(
    type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "null")
)


def _round_trip() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000  # a system, a recipe or a tool is one line
    yaml.Representer = _Representer
    return yaml


# A copy takes a tenth of the time.
@lru_cache(maxsize=2)
def _loaded(text: str) -> Any:
    """The value of a text with its comments, which the caller must not change."""
    return _round_trip().load(text)


def _dump(values: Any) -> str:
    stream = io.StringIO()
    _round_trip().dump(values, stream)
    return stream.getvalue()


def _old(target: Path) -> dict[str, Any]:
    """What params.yaml holds now; nothing if it is not there or broken, for then it is to be replaced."""
    try:
        return read_yaml(target)
    except NightjarError:
        return {}


def setting(given: str) -> tuple[str, Any]:
    """The key and the value of "KEY=VALUE", the value in YAML. Raises NightjarError for anything else."""
    key, sign, text = given.partition("=")
    if not sign or not key:
        raise NightjarError(f"{shown(given)} is not KEY=VALUE", "--set", "such as --set seed=7")
    key = key.strip()
    where = f"--set {key}"
    if len(text) > LONGEST_VALUE:
        what = f"the value has {len(text):,} characters, at most {LONGEST_VALUE:,} are allowed"
        raise NightjarError(what, where, "write long values into a profile")
    try:
        return key, parse(text, where) if text.strip() else ""
    except NightjarError as error:
        what = f"{shown(text)} is not a value: {error.what}"
        raise NightjarError(what, where, "put it in quotation marks") from None
