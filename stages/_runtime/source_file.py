"""One file of Python as the closures see it: its code without comments and docstrings, its digest, and its imports."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from nightjar.core.errors import NightjarError

_STRING = rb'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""' + rb"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
_STRING += rb'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"' + rb"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
# Strings remain; comments, blanks at the end of a line, and blank lines go.
_PIECE = re.compile(
    rb"(" + _STRING + rb")|[ \t]*#[^\n]*|[ \t]+(?=\n|\Z)|\n(?=[ \t]*(?:#[^\n]*)?(?:\n|\Z))", re.DOTALL
)
_MODULE = re.compile(rb"[\"']((?:nightjar|stages)(?:\.\w+)+)(?::\w+)?[\"']")
_READS_FILES = re.compile(rb"\b__file__\b|\bimportlib[. ](?:import )?resources\b")


def code_alone(source: bytes, tree: ast.Module, without: str = "") -> bytes:
    """The source without comments, docstrings and blank lines, as it is spelled; and without what it assigns at its top
    to the name `without`.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    text, copied = [], 0
    for node in _statements(tree.body):
        if _is_docstring(node) or (without and _assigns(node, without)):
            text.append(source[copied : starts[node.lineno - 1] + node.col_offset])
            copied = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
    text.append(source[copied:])
    return _PIECE.sub(lambda piece: piece[1] or b"", b"".join(text)).strip()


def _is_docstring(node: ast.stmt) -> bool:
    """Tell whether the statement is a string alone, which does nothing."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _assigns(node: ast.stmt, variable: str) -> bool:
    """Tell whether the statement assigns to the variable."""
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == variable for target in targets)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, also those in others, in their order."""
    for node in body:
        yield node
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            for part in getattr(node, field, ()):
                if isinstance(part, ast.stmt):
                    yield from _statements([part])
                else:  # a handler or a case
                    yield from _statements(part.body)


@dataclass(frozen=True)
class Import:
    """One name that a file imports: `name` of `module`, or the module alone; `local` is its name in the file."""

    module: str
    name: str = ""
    local: str = ""


@dataclass(frozen=True)
class _Contents:
    """The code of a file, its imports when it runs, and those of its first block for type checkers."""

    code: bytes
    imports: tuple[Import, ...]
    for_type_checkers: tuple[Import, ...]


class SourceFile:
    """One file of Python below `root`, parsed when it is needed. Raises NightjarError for what is not Python.

    Its code leaves out what the file assigns at its top to the name `without`.
    """

    def __init__(self, root: Path, path: PurePosixPath, without: str = "") -> None:
        self.path = path
        self.is_package = path.name == "__init__.py"
        parts = path.parent.parts if self.is_package else path.with_suffix("").parts
        self.module = ".".join(parts)
        self._root, self._without = root, without

    @cached_property
    def _source(self) -> bytes:
        return (self._root / self.path).read_bytes()

    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self._source)
        except SyntaxError as error:
            where = f"{self._root / self.path}, line {error.lineno}"
            raise NightjarError(f"not Python: {error.msg}", where, "correct the file") from None

    @cached_property
    def _contents(self) -> _Contents:
        # The tree is not kept: searches for garbage through all trees would take longer than the parsing.
        tree = self._tree()
        checked = next(
            (node.body for node in tree.body if isinstance(node, ast.If) and _for_type_checkers(node)), []
        )
        return _Contents(
            code_alone(self._source, tree, self._without),
            tuple(self._imports(tree.body)),
            tuple(self._imports(checked)),
        )

    @property
    def code(self) -> bytes:
        return self._contents.code

    @cached_property
    def digest(self) -> str:
        return digest_of(self.code)

    @property
    def imports(self) -> tuple[Import, ...]:
        """Imports of the file when it runs: not the imports for type checkers."""
        return self._contents.imports

    @cached_property
    def lazy(self) -> dict[str, Import]:
        """The imports for type checkers, which a package with `lazy(__name__)` makes when a name is used (PEP 562)."""
        if not self.is_package or b"lazy(__name__)" not in self.code:
            return {}
        return {imported.local: imported for imported in self._contents.for_type_checkers}

    @cached_property
    def modules_in_strings(self) -> list[str]:
        return [match[1].decode() for match in _MODULE.finditer(self.code)]

    @cached_property
    def reads_files(self) -> bool:
        """Tell whether the file may read data beside it."""
        return _READS_FILES.search(self.code) is not None

    def attributes(self, name: str) -> set[str]:
        """The attributes of `name` that the file uses."""
        return {match.decode() for match in re.findall(rb"\b%b\.(\w+)" % name.encode(), self.code)}

    def _imports(self, body: Iterable[ast.stmt]) -> Iterator[Import]:
        for node in body:
            if _for_type_checkers(node):
                yield from self._imports(node.orelse)  # type: ignore[attr-defined]
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(alias.name, "", alias.asname or alias.name)
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                yield from (Import(module, alias.name, alias.asname or alias.name) for alias in node.names)
            else:
                for field in ("body", "handlers", "orelse", "finalbody", "cases"):
                    for part in getattr(node, field, ()):
                        yield from self._imports([part] if isinstance(part, ast.stmt) else part.body)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.module.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def dictionary(self, variable: str) -> dict[str, str]:
        """The dictionary of strings that the file assigns to a name at its top."""
        for node in self._tree().body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _assigns(node, variable):
                return dict(ast.literal_eval(node.value))
        raise KeyError(f"{self.path}: no dictionary {variable}")


def _for_type_checkers(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If):
        return False
    test = node.test
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
