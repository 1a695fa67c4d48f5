"""The library's public names: all there, documented, and cheap to import."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nightjar
from nightjar import benchmarks, core, judge, models, params, search, tools
from nightjar.benchmarks import registry, scores
from nightjar.benchmarks.question import Question
from nightjar.text import rouge
from tests.conftest import ROOT

LAZY = ["core", "judge", "models", "search"]
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


def test_no_public_name_is_that_of_a_module_in_its_package() -> None:
    """Importing the module would take the name's place; a module that is itself a public name has it already."""
    for package in LAZY:
        folder = ROOT / "nightjar" / package
        module = importlib.import_module(f"nightjar.{package}")
        modules = {path.stem for path in folder.glob("*.py")}
        names = modules & set(module.__all__)
        assert all(isinstance(getattr(module, name), ModuleType) for name in names), names


def test_the_packages_are_attributes_of_nightjar() -> None:
    folders = {path.parent.name for path in (ROOT / "nightjar").glob("*/__init__.py")}
    assert set(nightjar.__all__) == folders | {"evaluate"} <= set(dir(nightjar))
    assert nightjar.evaluate.__module__ == "nightjar.predict.evaluation"
    assert nightjar.search.LexicalIndex.__name__ == "LexicalIndex"


def test_the_version_is_that_of_the_installed_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert nightjar.__version__ == project["version"]


def test_imports_load_no_large_library() -> None:
    assert _loaded("import nightjar") == []
    assert _loaded("\n".join(f"import nightjar; nightjar.{name}" for name in nightjar.__all__)) == []
    names = "LexicalIndex, Rankings, reciprocal_rank, Encoder, load_encoder"
    assert _loaded(f"from nightjar.search import {names}\nLexicalIndex.build(['a b']).search(['a'], 1)") == []
    assert _loaded("from nightjar.models import load_tokenizer") == []
    assert _loaded("import nightjar\nnightjar.search.DenseIndex") == ["faiss"]


LINES = ["the cat sat", "a dog ran"]
BENCHMARK = registry.load_benchmark("supernatinst")
QUESTION = Question("b", "t", "1", {}, ("a",))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        # A text where a list is wanted would be read letter by letter.
        (lambda: rouge.score("the cat", ["the cat"]), "predictions: a str instead of a list; give a list"),
        (lambda: rouge.score(["the cat"], ["the cat"]), "references: a str instead of a list"),
        (lambda: search.LexicalIndex.build("the cat"), "texts: a str"),
        (lambda: search.LexicalIndex.build(LINES).search("cat", 1), "queries: a str"),
        (lambda: models.Prompt(0, "the cat", 5), "prompt 0: a text instead of ids"),
        (lambda: models.Prompt(0, [1], 5, stop="cat"), "stop: a str"),
        (lambda: models.generate_text(None, "the cat", 5), "prompts: a str"),
        (lambda: tools.answer(None, "the cat"), "prompts: a str"),
        (lambda: scores.score(BENCHMARK, "x", [QUESTION], ["Paris"]), "answers: a str"),
        (lambda: judge.score_answers("key", "answers"), "answer_files: a str"),
        # Other mistakes.
        (lambda: rouge.score(["a", "b"], [["a"]]), "every prediction needs at least one reference"),
        (lambda: rouge.score(["a"], [[]]), "every prediction needs at least one reference"),
        (lambda: scores.score(BENCHMARK, "x", [QUESTION], []), "0 lists of answers for 1 que"),
        (lambda: search.LexicalIndex.build(LINES).search(["cat"], 0), "k: 0 is not allowed"),
        (lambda: search.DenseIndex.build([np.eye(2, dtype=np.float32)]).search([1.0, 0.0], 1), "queries of shape (2,)"),
        (lambda: search.reciprocal_rank([search.Rankings.empty(1, 1), search.Rankings.empty(2, 1)]), "1 and 2 queries"),
        (lambda: models.Prompt(0, [], 5), "prompt 0: no ids"),
        (lambda: models.Prompt(0, [1], 0), "max_new_tokens: 0 is not allowed"),
        (lambda: models.prepare(0, 0), "threads: 0 is not allowed"),
        (lambda: tools.insert("a cat", [(9, tools.Call("Calculator", "1"), None)]), "offset 9 is outside"),
        (lambda: tools.answer(None, ["a"], days=[]), "1 prompts, but 0 days"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_nightjar_error_of_one_line(call: Callable[[], object], told: str) -> None:
    with pytest.raises(core.NightjarError) as caught:
        call()
    assert told in str(caught.value)


def test_paths_may_be_texts(workdir: Path) -> None:
    with core.ArtifactWriter("made") as writer:
        writer.write(core.contracts.TASKS, [])
    assert core.read_rows("made", core.contracts.TASKS) == []
    assert sum(batch.num_rows for batch in core.batches("made", core.contracts.TASKS)) == 0
    assert core.read_rejected("made").num_rows == 0
    assert core.check("made") == [] and params.load(str(ROOT / "params.yaml")).seed
    Path("index").mkdir()
    search.LexicalIndex.write(LINES, "index")
    assert search.LexicalIndex.load("index").search(["cat"], 1).ids.tolist() == [[0]]
    search.DenseIndex.build([np.eye(2, dtype=np.float32)]).save("index", {"name": "x"})
    assert len(search.DenseIndex.load("index", {"name": "x"})) == 2
    row = {"id": "1", "prediction": "a", "references": ["a"], "task_id": "t", "task_category": "c"}
    Path("file.jsonl").write_text(json.dumps(row) + "\n")
    assert benchmarks.score_files("supernatinst", "file.jsonl", "file.jsonl")["metrics"]["rougeL"] == 100
    assert benchmarks.compare_files("supernatinst", "file.jsonl", "file.jsonl", "file.jsonl")["n"] == 1
    Path("file.jsonl").write_text(json.dumps({**row, "input": "x", "definition": "Do it."}) + "\n")
    assert judge.Texts(references="file.jsonl").keys() == [("t", "1")]
    for missing in (models.load_model, models.load_tokenizer, search.SentenceEncoder, search.load_encoder):
        with pytest.raises(core.NightjarError, match="nowhere"):
            missing("nowhere")
