"""The files of code that each stage runs, by their imports, and a digest of each: the files of data/code.

A stage runs the files of its folder and what they import, at the top of a file, in functions, and as names of modules
in strings. What a registry loads by name has a closure of its own, so that an item of a stage depends on its own alone
(`BY_NAME`). Nothing of the code is executed: the source of any checkout can be read, such as that of a clone.

A digest covers the source without comments, docstrings and blank lines, on every version of Python. Messages count: the
reason of a refused row is the text of an exception.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import Any

from nightjar.core.errors import NightjarError

PACKAGES = ("nightjar", "stages")
# The stage that writes the closures.
STAGE, COMMAND = "code", "python -m stages.code"
# Files that decide no result, which no closure has.
WITHOUT_EFFECT = {
    "nightjar/core/files.py": "moves results into place",
    "nightjar/core/paths.py": "names the places, which dvc.yaml has too",
    "nightjar/core/startup.py": "saves seconds",
    "nightjar/params/__init__.py": "the settings that stages read are parameters of dvc.yaml",
    "nightjar/params/root.py": "the settings that stages read are parameters of dvc.yaml",
    "stages/_runtime/checkpoint.py": "keeps work that its digest names",
    "stages/_runtime/stage.py": "the harness: it passes parameters on, and writes facts",
}
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


class SourceFile:
    """One file of Python below `root`, parsed once, when it is needed. Raises NightjarError for what is not Python."""

    def __init__(self, root: Path, path: PurePosixPath) -> None:
        self.path = path
        self.is_package = path.name == "__init__.py"
        parts = path.parent.parts if self.is_package else path.with_suffix("").parts
        self.module = ".".join(parts)
        self._root = root

    @cached_property
    def _source(self) -> bytes:
        return (self._root / self.path).read_bytes()

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self._source)
        except SyntaxError as error:
            where = f"{self._root / self.path}, line {error.lineno}"
            raise NightjarError(f"not Python: {error.msg}", where, "correct the file") from None

    @cached_property
    def code(self) -> bytes:
        return code_alone(self._source, self._tree, _TABLES.get(str(self.path), ""))

    @cached_property
    def digest(self) -> str:
        return digest_of(self.code)

    @cached_property
    def imports(self) -> list[Import]:
        """Imports of the file when it runs: not the imports for type checkers."""
        return list(self._imports(self._tree.body))

    @cached_property
    def lazy(self) -> dict[str, Import]:
        """The imports for type checkers, which a package with `lazy(__name__)` makes when a name is used (PEP 562)."""
        if not self.is_package or b"lazy(__name__)" not in self.code:
            return {}
        block = next(node for node in self._tree.body if _for_type_checkers(node))
        return {imported.local: imported for imported in self._imports(block.body)}  # type: ignore[attr-defined]

    @cached_property
    def modules_in_strings(self) -> list[str]:
        return [match[1].decode() for match in _MODULE.finditer(self.code)]

    @property
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
        for node in self._tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _assigns(node, variable):
                return dict(ast.literal_eval(node.value))
        raise KeyError(f"{self.path}: no dictionary {variable}")


def _for_type_checkers(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If):
        return False
    test = node.test
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


@dataclass(frozen=True)
class Registry:
    """A file that loads modules by name.

    The file `table` has a dictionary `variable` with the module of each name, as `module` or `module:object`, or with
    its package, in which it is the file `inside`. Other names may be those of `settings`, keys of params.yaml, which
    the module `others` makes; other packages offer theirs by the entry points of `group`. The folder `texts` has a file
    for a name, which belongs to the closure of that name alone.
    """

    path: str
    table: str
    variable: str
    inside: str = ""
    settings: tuple[str, ...] = ()
    group: str = ""
    others: str = ""
    texts: str = ""


def _of_benchmarks(path: str, inside: str, *settings: str) -> Registry:
    group, others = "nightjar.benchmarks", "nightjar.benchmarks.registry"
    return Registry(path, "nightjar/benchmarks/folders.py", "OWN", inside, settings, group, others)


_TOOLS, _PREDICTORS = "nightjar/tools/registry.py", "nightjar/predict/__init__.py"
# Kinds of what is loaded by name.
BY_NAME: Mapping[str, Registry] = {
    # What asks the questions of a benchmark, and what scores the answers.
    "benchmark": _of_benchmarks(
        "nightjar/benchmarks/question_registry.py", "questions", "benchmarks", "ingest"
    ),
    "scoring": _of_benchmarks("nightjar/benchmarks/registry.py", "scoring", "benchmarks"),
    "predictor": Registry(_PREDICTORS, _PREDICTORS, "BUILT_IN"),
    "tool": Registry(
        _TOOLS,
        _TOOLS,
        "BUILT_IN",
        settings=("augment.tools", "tools.all"),
        group="nightjar.tools",
        texts="nightjar/prompts/texts",
    ),
}
# What a table says of a name belongs to the closure of that name, and not to the digest of the file.
_TABLES = {registry.table: registry.variable for registry in BY_NAME.values()}
_REGISTRIES = {registry.path for registry in BY_NAME.values()}
_TEXTS = {registry.texts for registry in BY_NAME.values()}


class Code:
    """The code of a checkout: its files, and what each of them makes run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, SourceFile] = {}
        self._data: dict[str, list[PurePosixPath]] = {}
        self._digests: dict[str, str] = {}
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*")):
                place = PurePosixPath(path.relative_to(root).as_posix())
                if "__pycache__" in place.parts or not path.is_file():
                    continue
                if path.suffix == ".py":
                    source = SourceFile(root, place)
                    self.files[source.module] = source
                else:
                    self._data.setdefault(str(place.parent), []).append(place)

    def registered(self, kind: str) -> dict[str, str]:
        """The module of each name of a kind."""
        inside = BY_NAME[kind].inside
        values = {name: value.partition(":")[0] for name, value in self._table(kind).items()}
        return {name: f"{value}.{inside}" if inside else value for name, value in values.items()}

    def _table(self, kind: str) -> dict[str, str]:
        registry = BY_NAME[kind]
        return self.files[_module_of(registry.table)].dictionary(registry.variable)

    def stages(self) -> list[str]:
        """The names of the stages."""
        main = re.compile(r"stages\.(\w+)\.__main__")
        return [match[1] for module in self.files if (match := main.fullmatch(module))]

    def closure(self, modules: Iterable[str]) -> set[str]:
        """The paths of all files that run when these modules are imported and their functions called."""
        seen: set[str] = set()
        todo = list(modules)
        while todo:
            module = todo.pop()
            if module in seen or module not in self.files:
                continue
            seen.add(module)
            source = self.files[module]
            if str(source.path) not in WITHOUT_EFFECT:
                todo += self._needs(source)
            parent = module.rpartition(".")[0]
            todo += [parent] if parent else []
        paths = {str(self.files[module].path) for module in seen} - WITHOUT_EFFECT.keys()
        return paths | {str(data) for module in seen for data in self._data_of(self.files[module])}

    def _needs(self, source: SourceFile) -> Iterator[str]:
        for imported in source.imports:
            yield from self._modules(imported)
            package = self._package(imported)
            if package is not None and package.lazy:
                for name in source.attributes(imported.local):
                    yield from self._modules(Import(package.module, name))
        if str(source.path) not in _REGISTRIES:
            for text in source.modules_in_strings:
                yield text if text in self.files else text.rpartition(".")[0]

    def _package(self, imported: Import) -> SourceFile | None:
        """The package that an import names, if it names one."""
        name = f"{imported.module}.{imported.name}" if imported.name else imported.module
        source = self.files.get(name)
        return source if source and source.is_package else None

    def _modules(self, imported: Import) -> Iterator[str]:
        yield imported.module
        source = self.files.get(imported.module)
        if not imported.name or source is None:
            return
        names = source.lazy if imported.name == "*" else [imported.name]
        for name in names:
            if f"{imported.module}.{name}" in self.files:
                yield f"{imported.module}.{name}"
            elif name in source.lazy:
                yield from self._modules(source.lazy[name])

    def _data_of(self, source: SourceFile) -> Iterator[PurePosixPath]:
        """The data files of the module's folder, if it reads any: of those in folders without modules too."""
        if not source.reads_files:
            return
        packages = {str(other.path.parent) for other in self.files.values()}
        folder = str(source.path.parent)
        for place, files in self._data.items():
            inside = [str(one) for one in (PurePosixPath(place), *PurePosixPath(place).parents)]
            if place not in _TEXTS and next((one for one in inside if one in packages), None) == folder:
                yield from files

    def _of_name(self, kind: str, name: str, module: str) -> set[str]:
        """The closure of a name: that of its module, and its text."""
        texts = self._data.get(BY_NAME[kind].texts, [])
        return self.closure([module]) | {str(text) for text in texts if text.stem == name}

    def stage_files(self, stage: str) -> set[str]:
        """The paths of all files that a stage may run: its closure, with all names of what it loads by name."""
        paths = self.closure([f"stages.{stage}.__main__"])
        kinds: set[str] = set()
        while loaded := {kind for kind in BY_NAME if BY_NAME[kind].path in paths} - kinds:
            kinds |= loaded
            paths.update(
                *(self._of_name(kind, *it) for kind in loaded for it in self.registered(kind).items())
            )
        return paths

    def stage_digest(self, stage: str) -> str:
        """A digest of all code of this project that a stage may run."""
        return digest_of(json.dumps(self.digests(self.stage_files(stage))).encode())

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """The digest of each file."""
        return {path: self._digest(path) for path in sorted(paths)}

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            source = self.files.get(_module_of(path)) if path.endswith(".py") else None
            self._digests[path] = source.digest if source else digest_of((self.root / path).read_bytes())
        return self._digests[path]

    def contents(self, settings: Mapping[str, Any]) -> dict[str, str]:
        """The name and the text of each file of data/code, under the values `settings` of params.yaml.

        `STAGE.json` is the closure of a stage. `KIND-NAME.json` is that of one name of a registry, and `KIND.json` that
        of all its names. `tools-SET.json` is that of a set of tools. Of another package's code, its version stands for
        its files.
        """
        texts = {}
        for stage in self.stages():
            if stage != STAGE:
                texts[f"{stage}.json"] = self._text(self.closure([f"stages.{stage}.__main__"]), {})
        for kind, registry in BY_NAME.items():
            table = self._table(kind)
            modules = self.registered(kind)
            closures = {name: self._of_name(kind, name, module) for name, module in modules.items()}
            names = {name for key in registry.settings for name in _group(settings, key)} - closures.keys()
            packages = _packages(registry.group) if names else {}
            # Other names of `settings` may be those of data sets that no benchmark reads.
            loaded = names & {*packages, *(_group(settings, registry.settings[0]) if names else ())}
            closures |= {name: self.closure([registry.others] if name in loaded else []) for name in names}
            for name in sorted(closures):
                version = {key: packages[key] for key in [name] if key in packages}
                texts[f"{kind}-{name}.json"] = self._text(closures[name], version, table.get(name, ""))
            texts[f"{kind}.json"] = self._text(set().union(*closures.values()), packages)
        for name, tools in _group(settings, "tools").items():
            texts[f"tools-{name}.json"] = self._tools(tools)
        return texts

    def _tools(self, names: Iterable[str]) -> str:
        """The closure of a set of tools."""
        modules = self.registered("tool")
        packages = _packages(BY_NAME["tool"].group) if set(names) - modules.keys() else {}
        versions = {name: packages[name] for name in names if name in packages}
        closures = (self._of_name("tool", name, modules[name]) for name in names if name in modules)
        return self._text(set().union(*closures), versions)

    def _text(self, paths: Iterable[str], packages: Mapping[str, str], registered: str = "") -> str:
        content = {"files": self.digests(paths), "packages": packages}
        return json.dumps(content | ({"registered": registered} if registered else {}), indent=1) + "\n"


def _group(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The group of params.yaml at a dotted key; an empty one where there is none."""
    group: Any = settings
    for part in key.split("."):
        group = group.get(part) if isinstance(group, Mapping) else None
    return group if isinstance(group, Mapping) else {}


def _packages(group: str) -> dict[str, str]:
    """The package and its version of each name that installed packages offer in a group of entry points."""
    points = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return {point.name: f"{point.dist.name} {point.dist.version}" for point in points if point.dist}
