"""The library's public names: all there, documented, and cheap to import."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nightjar
from tests.conftest import ROOT

LAZY = ["core", "judge", "lm", "prompts", "search"]
HEAVY = ["torch", "faiss", "transformers", "pandas", "prefect"]


def _loaded(code: str) -> list[str]:
    """Which of the large libraries a fresh process has loaded after `code`."""
    code = f"{code}\nimport sys\nprint(sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names: list[str] = ast.literal_eval(done.stdout)
    return names


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_can_be_imported_and_is_documented(package: str) -> None:
    module = importlib.import_module(f"nightjar.{package}")
    assert len(module.__doc__ or "") > 100
    assert sorted(module.__all__) == module.__all__ and set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name).__doc__, name
    with pytest.raises(AttributeError, match=f"'nightjar.{package}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", LAZY)
def test_what_type_checkers_see_is_what_is_imported(package: str) -> None:
    module = importlib.import_module(f"nightjar.{package}")
    block = next(
        node for node in ast.parse(Path(str(module.__file__)).read_text()).body if isinstance(node, ast.If)
    )
    seen = set()
    for node in block.body:
        assert isinstance(node, ast.ImportFrom) and node.module
        source = importlib.import_module(node.module)
        for alias in node.names:
            name = alias.asname or alias.name
            seen.add(name)
            assert getattr(module, name) is getattr(source, alias.name)
    assert seen == set(module.__all__)


def test_no_public_name_is_that_of_a_module_in_its_package() -> None:
    """Importing the module would take the name's place."""
    for package in LAZY:
        folder = ROOT / "nightjar" / package
        module = importlib.import_module(f"nightjar.{package}")
        modules = {path.stem for path in folder.glob("*.py")}
        assert not {name for name in module.__all__ if name in modules}


def test_the_packages_are_attributes_of_nightjar() -> None:
    folders = {path.parent.name for path in (ROOT / "nightjar").glob("*/__init__.py")}
    assert set(nightjar.__all__) == folders <= set(dir(nightjar))
    assert nightjar.search.LexicalIndex.__name__ == "LexicalIndex"


def test_the_version_is_that_of_the_installed_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert nightjar.__version__ == project["version"]


def test_imports_load_no_large_library() -> None:
    assert _loaded("import nightjar") == []
    assert _loaded("\n".join(f"import nightjar.{package}" for package in nightjar.__all__)) == []
    names = "LexicalIndex, Rankings, reciprocal_rank, Encoder, load_encoder"
    assert _loaded(f"from nightjar.search import {names}\nLexicalIndex.build(['a b']).search(['a'], 1)") == []
    assert _loaded("from nightjar.lm import load_tokenizer") == []
    assert _loaded("import nightjar\nnightjar.search.DenseIndex") == ["faiss"]
