"""The files that a stage runs, against what Python itself imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from stages._runtime.closure import WITHOUT_EFFECT, Code
from stages._runtime.source_file import SourceFile
from tests.conftest import ROOT

CODE = Code(ROOT)

# Prints which module of the project imports which, as Python does it: at the top of each module by its own hook, in
# functions by their bytecode.
RECORDER = """
import builtins, dis, importlib, json, sys, types
edges, real = [], builtins.__import__
OURS = ("nightjar", "stages")

def names(module, imported):
    yield module
    for name in imported or ():
        value = getattr(sys.modules.get(module), name, None)
        if isinstance(value, types.ModuleType):
            yield value.__name__
        elif isinstance(getattr(value, "__module__", None), str):
            yield value.__module__

def record(name, globals=None, locals=None, fromlist=(), level=0):
    result = real(name, globals, locals, fromlist, level)
    if globals and name.split(".")[0] in OURS:
        edges.extend((globals.get("__name__"), other) for other in names(name, fromlist))
    return result

def scan(code, module):
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            last = None
            for step in dis.get_instructions(part):
                if step.opname == "IMPORT_NAME":
                    last = step.argval
                    if last.split(".")[0] in OURS:
                        real(last)
                        edges.append((module, last))
                elif step.opname == "IMPORT_FROM" and last.split(".")[0] in OURS:
                    try:
                        real(last, fromlist=(step.argval,))
                    except ImportError:
                        continue
                    edges.extend((module, other) for other in names(last, (step.argval,)))
            scan(part, module)

builtins.__import__ = record
for name in sys.argv[1:]:
    importlib.import_module(name)
done = set()
while todo := [name for name in list(sys.modules) if name.split(".")[0] in OURS and name not in done]:
    for name in todo:
        done.add(name)
        spec = sys.modules[name].__spec__
        scan(spec.loader.get_code(name), name)
print(json.dumps(edges))
"""


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """The modules that each module imports, as Python does it."""
    modules = [name for name in CODE.files if name.startswith("stages.") and "bench" not in name]
    run = subprocess.run(
        [sys.executable, "-c", RECORDER, *modules], cwd=ROOT, capture_output=True, text=True, check=True
    )
    edges: dict[str, set[str]] = {}
    for importer, module in json.loads(run.stdout.splitlines()[-1]):
        edges.setdefault(importer, set()).add(module)
    return edges


@pytest.mark.parametrize("stage", CODE.stages())
def test_closure_has_all_that_python_imports(stage: str, imported: dict[str, set[str]]) -> None:
    roots = [name for name in CODE.files if name.startswith(f"stages.{stage}.")]
    todo, reached = list(roots), set[str]()
    while todo:
        module = todo.pop()
        if module in reached or module not in CODE.files:
            continue
        reached.add(module)
        todo += [".".join(module.split(".")[:-1])]
        if str(CODE.files[module].path) not in WITHOUT_EFFECT:
            todo += imported.get(module, ())
    paths = {str(CODE.files[module].path) for module in reached} - WITHOUT_EFFECT.keys()
    assert len(paths) > 5 and not paths - CODE.closure(roots)


TREE = {
    "nightjar/__init__.py": "",
    "nightjar/top.py": "",
    "nightjar/inside.py": "",
    "nightjar/typed.py": "",
    "nightjar/unused.py": "",
    "nightjar/by_string.py": "",
    "nightjar/relative/__init__.py": "from . import near",
    "nightjar/relative/near.py": "from ..top import x",
    "nightjar/lazily/__init__.py": "if TYPE_CHECKING:\n    from nightjar.lazily.used import one\n"
    "    from nightjar.lazily.other import two\n__getattr__, __dir__ = lazy(__name__)\n",
    "nightjar/lazily/used.py": "",
    "nightjar/lazily/other.py": "",
    "nightjar/data/__init__.py": "",
    "nightjar/data/reader.py": "FOLDER = Path(__file__).parent",
    "nightjar/data/plain.py": "",
    "nightjar/data/texts/words.txt": "",
    "nightjar/data/table.toml": "",
    "stages/__init__.py": "",
    "stages/code/__init__.py": "",
}


def _closure(root: Path, source: str) -> set[str]:
    for name, text in {**TREE, "stages/x/__main__.py": source}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    paths = Code(root).closure(["stages.x.__main__"])
    packages = {name for name in paths if PurePosixPath(name).name == "__init__.py"}
    return {name.removeprefix("nightjar/") for name in paths - packages} - {"stages/x/__main__.py"}


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("import nightjar.top", {"top.py"}),
        ("import nightjar.top as it", {"top.py"}),
        ("from nightjar import top", {"top.py"}),
        ("def f():\n    from nightjar.inside import x", {"inside.py"}),
        ("try:\n    pass\nexcept A:\n    from nightjar import inside", {"inside.py"}),
        ("match x:\n    case 1:\n        from nightjar import inside", {"inside.py"}),
        ("if TYPE_CHECKING:\n    from nightjar import typed\nelse:\n    from nightjar import top", {"top.py"}),
        ("import nightjar.relative", {"relative/near.py", "top.py"}),
        ("from nightjar.lazily import one", {"lazily/used.py"}),
        ("from nightjar.lazily import *", {"lazily/used.py", "lazily/other.py"}),
        ("from nightjar import lazily\nlazily.two()", {"lazily/other.py"}),
        ("import nightjar.lazily\nnightjar.lazily.two()", {"lazily/other.py"}),
        ("import nightjar.lazily as name\nname.one", {"lazily/used.py"}),
        ("import nightjar.lazily", set()),
        ('import_module("nightjar.by_string")', {"by_string.py"}),
        ('NAMES = {"a": "nightjar.by_string:Name"}', {"by_string.py"}),
        ("from nightjar.data import plain", {"data/plain.py"}),
        ("from nightjar.data import reader", {"data/reader.py", "data/texts/words.txt", "data/table.toml"}),
    ],
)  # fmt: skip
def test_closure_follows(tmp_path: Path, source: str, files: set[str]) -> None:
    assert _closure(tmp_path, source) == files


def test_closure_of_a_file_without_effect_ends_there() -> None:
    assert "nightjar/params/train.py" not in CODE.closure(["stages._runtime.stage"])
    assert not [path for path in WITHOUT_EFFECT if not (ROOT / path).is_file()]


def test_names_of_a_registry_are_read_without_importing_it() -> None:
    from nightjar.benchmarks import registry as benchmarks
    from nightjar.tools import tool_registry as tools

    assert list(CODE.registered("benchmark")) == list(benchmarks.OWN)
    assert list(CODE.registered("tool")) == list(tools.BUILT_IN)
    assert all(
        module in CODE.files for kind in ("benchmark", "tool") for module in CODE.registered(kind).values()
    )
    registry = SourceFile(ROOT, PurePosixPath("nightjar/tools/tool_registry.py"))
    with pytest.raises(KeyError, match="NOTHING"):
        registry.dictionary("NOTHING")
