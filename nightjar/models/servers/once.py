"""Functions that the first of several threads calls for all, such as the checks of a server."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, ParamSpec, TypeVar

from nightjar.core.errors import NightjarError

_Parameters = ParamSpec("_Parameters")
_Value = TypeVar("_Value")


class Once(Generic[_Parameters, _Value]):
    """A function that is called once. Threads that come later wait for its value, or its fault."""

    def __init__(self, function: Callable[_Parameters, _Value]) -> None:
        self._function, self._lock = function, Lock()
        self._values: list[_Value] = []
        self._fault: NightjarError | None = None

    def __call__(self, *arguments: _Parameters.args, **named: _Parameters.kwargs) -> _Value:
        with self._lock:
            if self._fault is not None:
                raise self._fault
            if not self._values:
                try:
                    self._values.append(self._function(*arguments, **named))
                except NightjarError as fault:
                    self._fault = fault
                    raise
            return self._values[0]
