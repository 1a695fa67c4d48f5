"""The files of code that each stage runs, by their imports, and a digest of each: the files of data/code.

A stage runs the files of its folder and what they import, at the top of a file, in functions, and as names of modules
in strings. What a registry loads by name has a closure of its own, so that an item of a stage depends on its own alone
(`BY_NAME`). Nothing of the code is executed: the source of any checkout can be read, such as that of a clone.

A digest covers the source without comments, docstrings and blank lines, on every version of Python. Messages count: the
reason of a refused row is the text of an exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import Any

from stages._runtime.source_file import Import, SourceFile, digest_of, module_of

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


_TOOLS, _PREDICTORS = "nightjar/tools/tool_registry.py", "nightjar/predict/__init__.py"
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
                    source = SourceFile(root, place, _TABLES.get(str(place), ""))
                    self.files[source.module] = source
                else:
                    self._data.setdefault(str(place.parent), []).append(place)
        self._package_folders = {str(source.path.parent) for source in self.files.values()}

    def registered(self, kind: str) -> dict[str, str]:
        """The module of each name of a kind."""
        inside = BY_NAME[kind].inside
        values = {name: value.partition(":")[0] for name, value in self._table(kind).items()}
        return {name: f"{value}.{inside}" if inside else value for name, value in values.items()}

    def _table(self, kind: str) -> dict[str, str]:
        registry = BY_NAME[kind]
        return self.files[module_of(registry.table)].dictionary(registry.variable)

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
        folder, packages = str(source.path.parent), self._package_folders
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
            source = self.files.get(module_of(path)) if path.endswith(".py") else None
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
