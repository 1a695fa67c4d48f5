"""Parts that groups of params.yaml share: artifacts that may be none, and names with defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BeforeValidator, PlainSerializer

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, StrictModel, checked
from nightjar.core.errors import NightjarError


def artifact(value: Any) -> Path | None:
    """The path that a value of params.yaml names; None for data/none. The only place that knows what means none.

    DVC cannot leave a dependency out: an empty file stands for it. Raises ValueError for what is no path.
    """
    if not isinstance(value, str) or not value:
        raise ValueError(f"write a path, or {paths.NONE} for none")
    return None if Path(value) == paths.NONE else Path(value)


# A path that a stage depends on, or None.
Artifact = Annotated[
    Path | None,
    BeforeValidator(artifact),
    PlainSerializer(lambda path: (path or paths.NONE).as_posix(), return_type=str),
]

# The set of tools that has all of them.
ALL_TOOLS = "all"
S = TypeVar("S", bound=StrictModel)
# How alike a mistyped name is to the one that is meant, at least.
MISTYPED = 0.8


class Defaults(StrictModel, Generic[S], extra="allow"):
    """A group with settings for several names: `defaults` has them all, the group of a name those that differ."""

    defaults: S
    __pydantic_extra__: dict[str, dict[str, Any]]

    @property
    def by_name(self) -> Mapping[str, Mapping[str, Any]]:
        """The settings of each name that differ from the defaults."""
        return self.__pydantic_extra__ or {}

    def settings(self, group: str, name: str, where: object = PARAMS_FILE) -> S:
        """All settings of a name in this group."""
        if name not in self.by_name:
            fix = f"add it, {{}} where nothing differs from {group}.defaults"
            raise NightjarError(f"the group {group}.{name} is missing", where, fix)
        values = {**self.defaults.model_dump(), **self.by_name[name]}
        return checked(type(self.defaults), values, where, group, name)

    def check_all(self, group: str, names: Iterable[str], where: object) -> None:
        """Raise NightjarError unless each of `names` has a group, and for a wrong value in any group."""
        names = list(names)
        for name in self.by_name:
            # Groups that no name uses remain from other profiles; one that is almost a name is mistyped.
            if name not in names and (near := get_close_matches(name, names, 1, MISTYPED)):
                what = f"the group {group}.{name} is not used"
                raise NightjarError(what, where, f"did you mean {group}.{near[0]}?")
        for name in dict.fromkeys([*names, *self.by_name]):
            self.settings(group, name, where)
