"""The rule for names: a name says what it holds. Each package has a budget of exceptions, which may only fall."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("nightjar", "stages", "pipelines", "bench")
NO_NAMES = set(
    [
        "found",
        "own",
        "made",
        "known",
        "wanted",
        "given",
        "most",
        "end",
        "some",
        "whole",
        "rest",
        "here",
        "there",
        "left",
        "kept",
        "shown",
        "asked",
        "said",
        "over",
        "afresh",
        "arms",
        "mend",
        "gone",
        "alike",
        "attended",
        "conduct",
        "doubled",
        "meet",
        "mild",
        "tell",
        "told",
        "moved",
        "things",
    ]
)
# Names of a comprehension or a lambda alone.
SHORT_LIVED = {"it", "one", "each", "other"}
NO_OPENINGS = ("What", "Whether", "How", "Where", "Those", "That")
# Files that every folder may have, and every folder of a benchmark. A file of pipelines/commands has the name of its
# command.
FOLDER_FILES = {"__init__", "__main__"}
BENCHMARK_FILES = {"formats", "metrics", "prompts", "questions", "report", "scoring", "sources", "tasks"}
BENCHMARK_FOLDER = re.compile(r"nightjar/benchmarks/\w+/")
BUDGETS = {
    "names": {"nightjar": 0, "stages": 0, "pipelines": 0, "bench": 0},
    "docstrings": {"nightjar": 0, "stages": 0, "pipelines": 0, "bench": 0},
    "shared": {"classes": 0, "files": 0},
}


@cache
def trees(package: str) -> dict[str, ast.Module]:
    files = sorted((ROOT / package).rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def names(function: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Yield the line and the name of everything that `function` names, and whether it lives in one expression."""
    short_lived = {
        id(name)
        for node in ast.walk(function)
        for part in ([node.args] if isinstance(node, ast.Lambda) else getattr(node, "generators", ()))
        for name in ast.walk(part.target if isinstance(part, ast.comprehension) else part)
    }
    for node in ast.walk(function):
        match node:
            case (
                ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
            ):
                yield node.lineno, name, id(node) in short_lived
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield node.lineno, name, False
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name, False


def name_faults(tree: ast.Module) -> Iterator[str]:
    bounds = {name for _, name, _ in names(tree)} >= {"start", "end"}
    for line, name, short_lived in names(tree):
        plain = name.strip("_")
        allowed = short_lived if plain in SHORT_LIVED else plain == "end" and bounds
        if plain in NO_NAMES | SHORT_LIVED and not allowed:
            yield f"{line}: {name}"


def docstring_faults(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = (ast.get_docstring(node) or "").split()
            if words and words[0].rstrip(",") in NO_OPENINGS:
                yield f"{getattr(node, 'lineno', 1)}: {' '.join(words[:6])}"


@cache
def faults(package: str) -> dict[str, list[str]]:
    """Return the faults of `package` by rule, each with its file and line."""
    lists: dict[str, list[str]] = {"names": [], "docstrings": []}
    for file, tree in trees(package).items():
        lists["names"] += [f"{file}:{fault}" for fault in name_faults(tree)]
        lists["docstrings"] += [f"{file}:{fault}" for fault in docstring_faults(tree)]
    return lists


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("rule", ["names", "docstrings"])
def test_names_say_what_they_hold(package: str, rule: str) -> None:
    lines, budget = faults(package)[rule], BUDGETS[rule][package]
    assert len(lines) <= budget, "\n".join(lines)
    assert len(lines) == budget, f"lower the budget of {rule} in {package} to {len(lines)}"


def shared_names(kind: str) -> dict[str, list[str]]:
    """Return the names of top-level classes, or of files, that more than one file has, with these files."""
    places: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for file, tree in trees(package).items():
            stem = Path(file).stem
            classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
            stems = {stem} - (FOLDER_FILES | (BENCHMARK_FILES if BENCHMARK_FOLDER.match(file) else set()))
            for name in classes if kind == "classes" else stems:
                places[name].append(file)
    return {name: files for name, files in places.items() if len(files) > 1}


@pytest.mark.parametrize("kind", ["classes", "files"])
def test_one_name_is_one_thing(kind: str) -> None:
    shared, budget = shared_names(kind), BUDGETS["shared"][kind]
    assert len(shared) <= budget, "\n".join(
        f"{name}: {', '.join(files)}" for name, files in sorted(shared.items())
    )


def test_the_rule_finds_what_it_forbids() -> None:
    tree = ast.parse('''
def rows(found, start, end):
    """What is read."""
    for it in found:
        self.kept = [it for it in found] + sorted(found, key=lambda one: one)
''')
    assert Counter(fault.split(": ")[1] for fault in name_faults(tree)) == {"found": 1, "it": 1, "kept": 1}
    assert list(docstring_faults(tree)) == ["2: What is read."]


if __name__ == "__main__":  # python tests/test_names.py FOLDER: the faults of the files in a folder
    import sys

    for package in PACKAGES:
        for rule, lines in faults(package).items():
            print(*(f"{rule}: {line}" for line in lines if line.startswith(sys.argv[1])), sep="\n")
