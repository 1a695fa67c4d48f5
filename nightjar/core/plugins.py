"""The code of other packages, which entry points name: whatever it raises becomes one line that names the package."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from nightjar.core.display import stdout_kept
from nightjar.core.errors import NightjarError, explain

FIX = "correct or uninstall that package"


def points(group: str, built_in: Mapping[str, EntryPoint]) -> dict[str, EntryPoint]:
    """The entry points of a group by name, Nightjar's `built_in` first; nothing is loaded."""
    named_points = dict(built_in)
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        earlier = named_points.setdefault(point.name, point)
        if earlier.value != point.value:
            thing = group.rpartition(".")[2]
            what = f"two {thing} have this name: {earlier.value} and {point.value}"
            raise NightjarError(what, place(point), "rename one, or uninstall its package")
    return named_points


def named(group: str, name: str, where: object) -> EntryPoint:
    """The entry point that an installed package offers as `name`; nothing is loaded."""
    offered = entry_points(group=group)
    matches, thing = (
        [point for point in offered if point.name == name],
        group.rpartition(".")[2].removesuffix("s"),
    )
    if not matches:
        names = ", ".join(sorted({point.name for point in offered})) or "none"
        fix = f"install the package that offers it; installed are: {names}"
        raise NightjarError(f"no installed package offers this {thing}", where, fix)
    if len(matches) > 1:
        packages = ", ".join(sorted(package(point)["package"] for point in matches))
        what = f"several packages offer this {thing} ({packages})"
        raise NightjarError(what, where, "uninstall all but one")
    return matches[0]


def package(point: EntryPoint) -> dict[str, str]:
    """The package of an entry point, and its version."""
    distribution = point.dist
    return {
        "package": distribution.name if distribution else "unknown",
        "version": distribution.version if distribution else "unknown",
    }


def place(point: EntryPoint) -> str:
    """Describe an entry point for a message: its package, its group and name, and the object it names."""
    package = f"package {point.dist.name}, " if point.dist else ""
    return f"{package}entry point {point.name!r} of the group {point.group} = {point.value}"


def load(point: EntryPoint) -> Any:
    """The object that an entry point names. Raises NightjarError if it cannot be loaded."""
    with calling(place(point), "it cannot be loaded"):
        return point.load()


def check_watched(point: EntryPoint, code: str, key: str, where: object) -> None:
    """Raise NightjarError if the code in use is not what the graph watches: the path `code`, which `key` names.

    A module may be a file there, or a copy of one: a clone of the project has copies, and so has an installation that
    is not editable, until a file is edited. A path that is not there is DVC's to refuse.
    """
    watched = Path(code)
    if not watched.exists():
        return
    with calling(place(point), "it cannot be loaded"):
        module = import_module(point.module)
    # What pip wrote; of an editable installation that is setuptools' finder, which is no code of the package.
    files = (point.dist.files or ()) if point.dist else ()
    used = [
        Path(str(it.locate()))
        for it in files
        if it.suffix == ".py" and not it.name.startswith("__editable__")
    ]
    for file in [Path(str(module.__file__)), *used]:
        same = [watched] if watched.is_file() else watched.rglob(file.name)
        if file.resolve().is_relative_to(watched.resolve()) or not file.is_file():
            continue
        if not any(other.read_bytes() == file.read_bytes() for other in same):
            what = f"{key} is {code}, but the code in use is {file}"
            fix = "install the package from there: pip install --no-deps --editable FOLDER"
            raise NightjarError(what, where, fix)


@contextmanager
def calling(where: str, what: str) -> Iterator[None]:
    """While code of another package runs: what it raises, SystemExit included, is a NightjarError `what` at `where`.

    A NightjarError of its own remains, and so does an interrupt. What it prints goes to standard error.
    """
    try:
        with stdout_kept():
            yield
    except (NightjarError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise NightjarError(f"{what} ({explain(error)})", where, FIX) from error


def guarded(function: Callable[..., Any], where: str, name: str) -> Callable[..., Any]:
    """Wrap a function of another package: what it raises, and what its iterator or functions raise, names `where`."""
    what = f"{name} fails"

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        with calling(where, what):
            result = function(*arguments, **options)
        if isinstance(result, Iterator):
            return _guarded_items(result, where, what)
        if isinstance(result, Mapping):
            return {
                key: guarded(value, where, f"{name}[{key!r}]") if callable(value) else value
                for key, value in result.items()
            }
        return result

    return call


def guard(thing: Any, base: type, where: str) -> None:
    """Wrap what an object of another package has for `base`, methods and functions: what they raise names `where`."""
    for name in {*dir(base), *vars(thing)}:
        if name.startswith("_") or isinstance(getattr(type(thing), name, None), property):
            continue
        member = getattr(thing, name)
        if callable(member) and not isinstance(member, type):
            object.__setattr__(thing, name, guarded(member, where, name))  # some are frozen


def _guarded_items(items: Iterator[Any], where: str, what: str) -> Iterator[Any]:
    while True:
        with calling(where, what):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
