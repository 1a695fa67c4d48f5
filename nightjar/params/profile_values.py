"""Profiles as values: what each gives to every key of params.yaml.

profiles/defaults.yaml has every key, and is no profile. A profile names what it changes; `extends` names a profile that
it changes, and `removes` the entries that it leaves out. `nightjar plan --profile` reads `targets` and `takes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from nightjar.core import paths
from nightjar.core.config import Name, StrictModel, checked, read_yaml
from nightjar.core.config import value as value_of
from nightjar.core.errors import NightjarError, did_you_mean
from nightjar.core.json_text import quote_short
from nightjar.params.augment import ToolParams
from nightjar.params.benchmarks import Labeller
from nightjar.params.groups import ALL_TOOLS
from nightjar.params.inputs import RecordsPath
from nightjar.params.predict import PredictBenchmark, System
from nightjar.params.readers import QaReader, ReaderInputs, ReaderRecipe
from nightjar.params.search import RerankModel, Retrieval
from nightjar.params.train import RecipeInputs, Training

PROFILES = Path("profiles")
DEFAULTS = Path("profiles/defaults.yaml")
# Where a setting may add an entry.
SYSTEMS = "predict.systems"
# Mappings to which a profile may add entries: by the name of a dataset, a recipe, a benchmark, a system or a tool. An
# entry may have every key of its model; without one, those that it has already.
OPEN: Mapping[str, type[StrictModel] | None] = {
    "augment.tools": ToolParams,
    "benchmarks": None,
    "consistency.benchmarks": Labeller,
    "ingest": RecordsPath,
    "predict": PredictBenchmark,
    "predict.systems": System,
    "qa_readers": QaReader,
    "readers": ReaderRecipe,
    "readers.recipes": ReaderInputs,
    "rerank.benchmarks": RerankModel,
    "retrieve.benchmarks": Retrieval,
    "tools": None,
    "tools.all": None,
    "train": Training,
    "train.recipes": RecipeInputs,
}


class About(StrictModel):
    """The notes of a profile about itself.

    `extends` is the profile that it changes. `removes` has the dotted keys of entries that it leaves out; that of a
    mapping stands for all of its entries. `targets` are the stages that it is for (none: all), and `takes` says how
    long on which machine.
    """

    extends: Name | None = None
    removes: list[Name] = Field(default_factory=list)
    targets: list[Name] = Field(default_factory=list)
    takes: Name | None = None


@dataclass(frozen=True)
class Change:
    """One key whose value differs; `old` is None for a key that is added, `new` for one that is removed."""

    key: str
    old: Any
    new: Any
    kind: Literal["changed", "added", "removed"] = "changed"


def names(root: Path) -> list[str]:
    """The profiles of the project at `root`."""
    return sorted(path.stem for path in (root / PROFILES).glob("*.yaml") if path.stem != DEFAULTS.stem)


def values(root: Path, profile: str) -> dict[str, Any]:
    """The value of every key in `profile`. Raises NightjarError for a file that is broken or an unknown key."""
    merged = read_yaml(root / DEFAULTS)
    apply(merged, root, profile)
    return merged


def apply(values: Any, root: Path, profile: str) -> About:
    """Lay `profile`, and before it those that it extends, over `values`, the defaults.

    Mappings are merged, entry by entry, after the entries that a profile removes are out. Returns what the profiles say
    about themselves together. Raises NightjarError for an unknown or broken profile, and for a key that is unknown.
    """
    all_notes = About()
    for profile_values, notes, path in _chain(root, profile):
        for key in notes.removes:
            _remove(values, key, path)
        for name, keys in _moved_tools(profile_values).items():
            profile_values["predict"]["systems"][name] |= keys
        _overlay(values, profile_values, "", path)
        _check_names(values, profile_values, path)
        all_notes = About(targets=notes.targets or all_notes.targets, takes=notes.takes or all_notes.takes)
    complete(values)
    return all_notes


def moved_tools(root: Path, profile: str) -> dict[Path, dict[str, dict[str, str]]]:
    """Return the systems that `apply` moves to the present form: by the file of `profile`, or of one that it extends,
    and by their names the keys that they get.
    """
    by_file = {path: _moved_tools(profile_values) for profile_values, _, path in _chain(root, profile)}
    return {path: systems for path, systems in by_file.items() if systems}


def _moved_tools(profile_values: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the set of tools and the index of each system whose `tools` is a path: the index, before it was a key."""
    systems, none = value_of(profile_values, SYSTEMS), paths.NONE.as_posix()
    new_keys = {}
    for name, system in systems.items() if isinstance(systems, Mapping) else ():
        index = system.get("tools") if isinstance(system, Mapping) else None
        if isinstance(index, str) and "/" in index:
            calls_tools = index != none and system.get("kind", "model") == "model"
            new_keys[str(name)] = {"tools": ALL_TOOLS if calls_tools else "none", "index": index}
    return new_keys


def complete(values: Any) -> None:
    """Give what a profile adds the keys that it does not name.

    A recipe or a reader trains as the defaults say. A benchmark has no split, no encoder, no settings of its own for
    predictions, and the language model as it is for a system, where it has none.
    """
    for group in ("train", "readers"):
        recipes = value_of(values, f"{group}.recipes")
        for name in recipes if isinstance(recipes, Mapping) else ():
            values[group].setdefault(name, {})
    predict, benchmarks, none = values.get("predict"), values.get("benchmarks"), paths.NONE.as_posix()
    systems = predict.get("systems") if isinstance(predict, dict) else None
    if not isinstance(systems, dict) or not isinstance(benchmarks, dict):
        return  # whoever checks the values says so
    answered = {it.get("benchmark") for it in systems.values() if isinstance(it, Mapping)}
    for name, group in benchmarks.items():
        if not isinstance(group, dict) or {"split", "encoder"} <= group.keys():
            continue
        for key in ("split", "encoder"):
            group.setdefault(key, none)
        predict.setdefault(name, {})
        if name not in answered:
            model = {
                "kind": "model",
                "weights": paths.LANGUAGE_MODEL.as_posix(),
                "evidence": none,
                "tools": "none",
                "index": none,
            }
            systems[f"{name}-untuned"] = {"benchmark": name, "system": "untuned", **model}


def unpin(values: Any, settings: Mapping[str, Any]) -> None:
    """Take the sha256 out of `values` if `settings` name another source and no sha256: it is of one source."""
    if (
        "sha256" in values
        and "sha256" not in settings
        and settings.get("source", values["source"]) != values["source"]
    ):
        values["sha256"] = None


def put(values: Any, settings: Mapping[str, Any], where: object, fix: str) -> None:
    """Set values by dotted keys; a mapping may be a new system."""
    for key, value in settings.items():
        group = values
        *groups, last = key.split(".")
        for name in groups:
            group = group.get(name) if isinstance(group, Mapping) else None
        added = ".".join(groups) == SYSTEMS and isinstance(value, Mapping)
        if not isinstance(group, Mapping) or not (last in group or added or optional(key)):
            names = map(str, group) if isinstance(group, Mapping) else ()
            near = did_you_mean(last, names, near_key(key, values, fix))
            raise NightjarError(f"unknown key {quote_short(key, quoted=False)}", where, near)
        if isinstance(group.get(last), Mapping) and not isinstance(value, Mapping):
            fix_of_group = f"give one of them, such as {key}.KEY=VALUE"
            raise NightjarError(f"{key} is a group of keys", where, fix_of_group)
        beside = {name: None for name in group if ".".join([*groups, name]) in settings}
        unpin(group, {**beside, last: value})
        group[last] = value  # type: ignore[index]


def near_key(key: str, values: Any, otherwise: str) -> str:
    """The fix of a dotted key that `values` do not have: the one that may be meant by its last word, or `otherwise`."""
    by_word: dict[str, list[str]] = {}
    for dotted in _dotted(values):
        by_word.setdefault(dotted.rpartition(".")[2], []).append(dotted)
    words = get_close_matches(key.rpartition(".")[2], by_word, 1)
    near = get_close_matches(key, by_word[words[0]], 1, 0.0) if words else [key]
    return otherwise if near == [key] else f"did you mean {near[0]}?"


def _dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{name}.")


def _chain(root: Path, profile: str) -> list[tuple[dict[str, Any], About, Path]]:
    """The profiles to lay over the defaults, in that order: those a profile extends, then its own."""
    chain: list[tuple[dict[str, Any], About, Path]] = []
    names_before: list[str] = []
    name: str | None = profile
    while name is not None:
        path = root / PROFILES / f"{name}.yaml"
        if name in names_before:
            raise NightjarError("extends itself", path, f"the circle is {' -> '.join([*names_before, name])}")
        if name not in (profiles := names(root)):
            what, where = (
                (f"extends {quote_short(str(name))}", chain[-1][2])
                if chain
                else (f"no profile {quote_short(str(name))}", root / PROFILES)
            )
            fix = f"there are: {', '.join(profiles)}" if profiles else "run from the project's root"
            raise NightjarError(what, where, did_you_mean(str(name), profiles, fix))
        names_before.append(name)
        values = read_yaml(path)
        notes = checked(
            About, {key: value for key, value in values.items() if key in About.model_fields}, path
        )
        chain.append(
            ({key: value for key, value in values.items() if key not in About.model_fields}, notes, path)
        )
        name = notes.extends
    return chain[::-1]


def _remove(values: Any, key: str, where: Path) -> None:
    """Remove the entry `key`, or all entries of the mapping `key`."""
    group, _, entry = key.rpartition(".")
    entries = value_of(values, key)
    if key in OPEN and isinstance(entries, MutableMapping):
        entries.clear()
    elif group in OPEN and entries is not None:
        del value_of(values, group)[entry]
    else:
        fix = f"name an entry of one of them: {', '.join(sorted(OPEN))}"
        raise NightjarError(f"removes {quote_short(key, quoted=False)}, which is no entry", where, fix)


def _check_names(values: Any, profile_values: Mapping[str, Any], where: Path) -> None:
    """Raise NightjarError if a profile has settings for a name that nothing lists: it is mistyped."""
    for group, listed in (
        ("train", "train.recipes"),
        ("readers", "readers.recipes"),
        ("predict", "benchmarks"),
    ):
        entries = profile_values.get(group)
        for name in entries if isinstance(entries, Mapping) else ():
            if name not in ("defaults", "launcher", "recipes", "systems", *(value_of(values, listed) or ())):
                fix = f"correct its spelling, or add it to {listed}"
                raise NightjarError(f"{group}.{name} is not in {listed}", where, fix)


def optional(key: str) -> bool:
    """Return whether a dotted key belongs to an entry that may leave it out: then its default holds."""
    group, _, last = key.rpartition(".")
    model = OPEN.get(group.rpartition(".")[0])
    return model is not None and last in model.model_fields


def _overlay(values: Any, changed_values: Mapping[str, Any], prefix: str, where: Path) -> None:
    """Put the values of `changed_values` into `values`, mapping by mapping."""
    unpin(values, changed_values)
    for key, value in changed_values.items():
        path = f"{prefix}{key}"
        if key not in values and prefix.removesuffix(".") not in OPEN and not optional(path):
            fix = did_you_mean(str(key), map(str, values), "remove it, or correct its spelling")
            raise NightjarError(f"unknown key {path}", where, fix)
        if isinstance(value, Mapping) and isinstance(values.get(key), Mapping):
            _overlay(values[key], value, f"{path}.", where)
        else:
            values[key] = value


def changes(old: Any, new: Any, prefix: str = "") -> Iterable[Change]:
    """The keys, below `prefix`, whose values differ."""
    keys = [*new, *(key for key in old if key not in new)]
    for key in keys:
        before, after, path = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from changes(before, after, f"{path}.")
        elif before is None and isinstance(after, Mapping) and after:
            yield from changes({}, after, f"{path}.")
        elif key not in new or key not in old:
            yield Change(path, before, after, "added" if key in new else "removed")
        elif before != after or type(before) is not type(after):
            yield Change(path, before, after)
