"""A stage's view of the parameters: the settings that its entry in dvc.yaml declares, and no others.

DVC runs a stage again when a declared setting changes. A stage that reads another setting would keep a stale result, so
reading one raises NightjarError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NoReturn, TypeVar

from nightjar.core.config import REFUSAL, StrictModel
from nightjar.core.errors import NightjarError
from nightjar.params import Params
from stages._runtime.stage_items import declared_settings

_M = TypeVar("_M", bound=StrictModel)
# A dotted key, split.
_Key = tuple[str, ...]


def declared_view(params: Params, stage: str) -> Params:
    """The parameters with the settings alone that dvc.yaml declares for `stage`, such as `train@combined`."""
    keys = [tuple(key.split(".")) for key in declared_settings(params, stage)]
    return _model_view(params, keys, (), stage)


def _view(value: Any, keys: Sequence[_Key], path: _Key, stage: str) -> Any:
    if () in keys:
        return value
    if isinstance(value, StrictModel):
        return _model_view(value, keys, path, stage)
    return DeclaredItems(value, keys, path, stage) if isinstance(value, Mapping) else value


def _children(values: Mapping[str, Any], keys: Sequence[_Key], path: _Key, stage: str) -> dict[str, Any]:
    """The declared ones of a group's values, by their names."""
    names = {key[0] for key in keys}
    return {
        name: _view(value, [key[1:] for key in keys if key[0] == name], (*path, name), stage)
        for name, value in values.items()
        if name in names
    }


def _model_view(group: _M, keys: Sequence[_Key], path: _Key, stage: str) -> _M:
    """A copy of a group without the fields that are not declared; `StrictModel` refuses to read those."""

    def refuse(name: str) -> NoReturn:
        _refuse((*path, name), stage)

    copy = group.model_copy()
    fields = _children(group.__dict__, keys, path, stage)
    object.__setattr__(copy, "__dict__", fields | {REFUSAL: refuse})
    if group.__pydantic_extra__ is not None:
        extra = DeclaredItems(group.__pydantic_extra__, keys, path, stage)
        object.__setattr__(copy, "__pydantic_extra__", extra)
    return copy


def _refuse(path: _Key, stage: str) -> NoReturn:
    key = ".".join(path)
    raise NightjarError(
        f"{stage} reads the setting {key}, which it does not declare", "dvc.yaml", f"add {key} to its params"
    )


class DeclaredItems(dict[str, Any]):
    """The declared items of a group. Looking up another one, or going through all of them, raises NightjarError."""

    def __init__(self, items: Mapping[str, Any], keys: Sequence[_Key], path: _Key, stage: str) -> None:
        super().__init__(_children(items, keys, path, stage))
        self._stage, self._path, self._hidden = stage, path, items.keys() - self.keys_declared()

    def keys_declared(self) -> Set[str]:
        """The names of the declared items."""
        return super().keys()

    def _check_whole(self) -> None:
        if self._hidden:
            _refuse(self._path, self._stage)

    def _check_item(self, name: object) -> None:
        if name in self._hidden:
            _refuse((*self._path, str(name)), self._stage)

    def __bool__(self) -> bool:
        return bool(self._hidden or self.keys_declared())

    def __missing__(self, name: str) -> NoReturn:
        self._check_item(name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        self._check_item(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._check_item(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self._check_whole()
        return super().__iter__()

    def __len__(self) -> int:
        self._check_whole()
        return super().__len__()

    def keys(self) -> Any:
        self._check_whole()
        return super().keys()

    def values(self) -> Any:
        self._check_whole()
        return super().values()

    def items(self) -> Any:
        self._check_whole()
        return super().items()
