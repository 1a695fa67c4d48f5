"""Profiles as values: what each gives to every key of params.yaml, and which one a set of values is nearest to.

profiles/sample.yaml has every key; another profile names what it changes, and may extend a profile other than it. The
keys `targets` and `supply` are no parameters: `nightjar plan --profile` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from nightjar.core.config import Gigabytes, Item, Model, Name, Positive, checked, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown

PROFILES = Path("profiles")
BASE = "sample"
EXTENDS = "extends"
# Mappings with keys of the user's choice: a profile that has one replaces it whole.
REPLACED = frozenset(
    {
        "augment.tools",
        "consistency.benchmarks",
        "predict.systems",
        "readers.recipes",
        "rerank.benchmarks",
        "retrieve.benchmarks",
        "train.recipes",
    }
)
# Groups with settings by the name of a dataset, a recipe, a benchmark or a tool, to which a profile may add one.
OPEN = frozenset({"benchmarks", "ingest", "predict", "readers", "tools", "train"})


class Supply(Model):
    """What a profile reads and the repository does not have: its publisher's address, its licence and its size.

    `parameters` and `width` (numbers of a vector) are of models. `counts` are of data: `train_tasks` and `test_tasks`,
    `documents` and their `tokens`, `tasks`, `questions` and `train_questions`.
    """

    what: Name
    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    licence: Name
    gigabytes: Gigabytes
    parameters: Annotated[float, Field(ge=1)] | None = None
    width: Positive | None = None
    counts: dict[Item, Positive] = Field(default_factory=dict)


class About(Model):
    """What a profile says about itself: the stages that it is for (none: all), and a supply for each source, which is
    a path, or hub:NAME.
    """

    targets: list[Name] = Field(default_factory=list)
    supply: dict[Name, Supply] = Field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One key whose value differs; `old` is None for a key that is added, `new` for one that is removed."""

    key: str
    old: Any
    new: Any
    kind: Literal["changed", "added", "removed"] = "changed"


def names(root: Path) -> list[str]:
    """The profiles of the project at `root`."""
    return sorted(path.stem for path in (root / PROFILES).glob("*.yaml"))


def values(root: Path, profile: str) -> dict[str, Any]:
    """The value of every key in `profile`. Raises NightjarError for a file that is broken or an unknown key."""
    found = read_yaml(root / PROFILES / f"{BASE}.yaml")
    for over, path in chain(root, profile):
        overlay(found, over, "", path)
    return found


def nearest(root: Path, given: Mapping[str, Any]) -> tuple[str | None, list[Change], list[str]]:
    """The profile with the fewest keys that differ from `given`, those keys, and a line for each unreadable profile.

    Only groups in `given` are compared. Of profiles equally near, the base comes first, then the alphabet decides. The
    name is None where no profile can be read.
    """
    found: tuple[str | None, list[Change]] = (None, [])
    unreadable = []
    for name in sorted(names(root), key=lambda name: (name != BASE, name)):
        try:
            of_profile = values(root, name)
        except NightjarError as error:
            unreadable.append(str(error))
            continue
        differing = list(changes({key: of_profile.get(key) for key in given}, given))
        if found[0] is None or len(differing) < len(found[1]):
            found = (name, differing)
    return *found, unreadable


def chain(root: Path, profile: str) -> list[tuple[dict[str, Any], Path]]:
    """The overlays to lay over the sample profile, in that order: those a profile extends, then its own."""
    found: list[tuple[dict[str, Any], Path]] = []
    seen: list[str] = []
    name = profile
    while name != BASE:
        path = root / PROFILES / f"{name}.yaml"
        if name in seen:
            raise NightjarError("extends itself", path, f"the circle is {' -> '.join([*seen, name])}")
        if name not in (known := names(root)):
            what, where = (
                (f"extends {shown(str(name))}", found[-1][1])
                if found
                else (f"no profile {shown(str(name))}", root / PROFILES)
            )
            fix = f"there are: {', '.join(known)}" if known else "run from the project's root"
            raise NightjarError(what, where, fix)
        seen.append(name)
        over = {key: value for key, value in read_yaml(path).items() if key not in About.model_fields}
        name = over.pop(EXTENDS, BASE)
        found.append((over, path))
    return found[::-1]


def about(root: Path, profile: str) -> About:
    """What `profile` and those it extends say about themselves. Raises NightjarError as `chain` does."""
    found = About()
    for _, path in chain(root, profile):
        own = {key: value for key, value in read_yaml(path).items() if key in About.model_fields}
        more = checked(About, own, path)
        found = About(targets=more.targets or found.targets, supply={**found.supply, **more.supply})
    return found


def overlay(values: Any, over: Mapping[str, Any], prefix: str, where: Path) -> None:
    """Put the values of `over` into `values`, mapping by mapping but for those in REPLACED.

    Raises NightjarError for a key that is not there.
    """
    for key, value in over.items():
        path = f"{prefix}{key}"
        if key not in values and prefix.removesuffix(".") in OPEN:
            values[key] = value
            continue
        if key not in values:
            raise NightjarError(f"unknown key {path}", where, "remove it, or mend its spelling")
        if path not in REPLACED and isinstance(value, Mapping) and isinstance(values[key], Mapping):
            overlay(values[key], value, f"{path}.", where)
        else:
            values[key] = value


def changes(old: Any, new: Any, prefix: str = "") -> Iterable[Change]:
    """The keys, below `prefix`, whose values differ."""
    keys = [*new, *(key for key in old if key not in new)]
    for key in keys:
        before, after, path = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, Mapping | None) and isinstance(after, Mapping):
            yield from changes(before or {}, after, f"{path}.")
        elif before != after or type(before) is not type(after):
            yield Change(
                path, before, after, "removed" if key not in new else "changed" if key in old else "added"
            )


def own(root: Path, changed: Iterable[Change]) -> list[str]:
    """The removed keys that no profile of the project at `root` has: a user added them to params.yaml."""
    removed = [change.key for change in changed if change.kind == "removed"]
    if not removed:
        return []
    known = []
    for name in names(root):
        with suppress(NightjarError):
            known.append(read_yaml(root / PROFILES / f"{name}.yaml"))
    return [key for key in removed if not any(_has(values, key) for values in known)]


def _has(values: Any, key: str) -> bool:
    for name in key.split("."):
        if not isinstance(values, Mapping) or name not in values:
            return False
        values = values[name]
    return True
